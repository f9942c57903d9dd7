# SPDX-License-Identifier: BSD-2-Clause
# Manual pages are written in scdoc; each has a line here.
MAN_SOURCES = %D%/nfsrdma.1.scd %D%/nfsrdma-bench.1.scd %D%/nfsrdma-iommu.1.scd %D%/nfsrdmad.8.scd %D%/libnfsrdma.3.scd

EXTRA_DIST += $(MAN_SOURCES)
if HAVE_SCDOC
man_MANS += $(MAN_SOURCES:.scd=)
CLEANFILES += $(MAN_SOURCES:.scd=)
endif

$(MAN_SOURCES:.scd=): %: %.scd
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)$(SCDOC) <$< >$@
