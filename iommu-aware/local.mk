# SPDX-License-Identifier: BSD-2-Clause
noinst_LTLIBRARIES += %D%/libiommu.la
%C%_libiommu_la_SOURCES = %D%/iommu.h %D%/internal.h %D%/advice.h %D%/read.c %D%/probe.c %D%/unit.c \
	%D%/numa.c %D%/lockers.c %D%/list.c %D%/device.c %D%/pins.c %D%/summary.c %D%/policy.c %D%/advice.c \
	%D%/advice_domain.c %D%/advice_options.c %D%/advice_memory.c %D%/tree.h \
	%D%/tree.c %D%/space.c %D%/iova.c %D%/vfio.c %D%/vfio.h %D%/vfio_iommufd.c %D%/vfio_type1.c %D%/trace.c
%C%_libiommu_la_SOURCES += %D%/model.h %D%/model.c %D%/model_text.h %D%/model_text.c %D%/model_figures.c %D%/model_cases.c %D%/model_fit.c \
	%D%/swiommu.h %D%/swiommu.c %D%/swiommu_table.c %D%/swiommu_tlb.c %D%/swiommu_flush.c

# Published figures: installed, and compiled in as they stand in data/
dist_pkgdata_DATA = data/NOTES.md data/cx3-iozone-2021.csv data/cx3-mend-2021.csv data/other-iommu-figures.csv
iommu_model_inc = %D%/model_cx3.inc %D%/model_mend.inc %D%/model_cases.inc
BUILT_SOURCES += $(iommu_model_inc)
CLEANFILES += $(iommu_model_inc)
iommu_model_quote = $(AM_V_GEN)$(MKDIR_P) %D% && sed 's/[\\"]/\\&/g; s/^/"/; s/$$/\\n"/'
%D%/model_cx3.inc: data/cx3-iozone-2021.csv
	$(iommu_model_quote) $(top_srcdir)/data/cx3-iozone-2021.csv >$@.tmp && mv $@.tmp $@
%D%/model_mend.inc: data/cx3-mend-2021.csv
	$(iommu_model_quote) $(top_srcdir)/data/cx3-mend-2021.csv >$@.tmp && mv $@.tmp $@
%D%/model_cases.inc: data/other-iommu-figures.csv
	$(iommu_model_quote) $(top_srcdir)/data/other-iommu-figures.csv >$@.tmp && mv $@.tmp $@
%D%/model_figures.lo: %D%/model_cx3.inc
%D%/model_cases.lo: %D%/model_mend.inc %D%/model_cases.inc
