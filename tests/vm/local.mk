# SPDX-License-Identifier: BSD-2-Clause
# What the guests run beside the tools, and the scripts that run guests.
check_PROGRAMS += %D%/fabric_check %D%/peer_check %D%/connect_check %D%/mode_check %D%/many %D%/numa_check %D%/pool_check \
	%D%/security_check
%C%_numa_check_SOURCES = %D%/numa_check.c %D%/standin.h
%C%_numa_check_LDADD = mr/libmr.la iommu-aware/libiommu.la util/libutil.la $(URING_LIBS) $(NUMA_LIBS)
%C%_pool_check_SOURCES = %D%/pool_check.c %D%/standin.h
%C%_pool_check_LDADD = mr/libmr.la iommu-aware/libiommu.la util/libutil.la $(URING_LIBS) $(NUMA_LIBS)
%C%_many_SOURCES = %D%/many.c
%C%_connect_check_SOURCES = %D%/connect_check.c
%C%_connect_check_LDADD = $(NFSRDMA_LAYERS) $(NFSRDMA_LIBS)
%C%_fabric_check_SOURCES = %D%/fabric_check.c
%C%_fabric_check_LDADD = $(NFSRDMA_LAYERS) $(NFSRDMA_LIBS)
%C%_mode_check_SOURCES = %D%/mode_check.c
%C%_mode_check_LDADD = $(NFSRDMA_LAYERS) $(NFSRDMA_LIBS)
%C%_peer_check_SOURCES = %D%/peer_check.c
%C%_peer_check_LDADD = $(NFSRDMA_LAYERS) $(NFSRDMA_LIBS)
# The suite of the hostile server, for where Criterion does not run.
%C%_security_check_SOURCES = %D%/plain/main.c %D%/plain/criterion/criterion.h $(FAKE_SOURCES) \
	tests/rpcrdma/harness.h tests/rpcrdma/harness.c tests/rpcrdma/evil.h tests/rpcrdma/evil.c \
	tests/rpcrdma/test_security.c
%C%_security_check_CPPFLAGS = -I$(top_srcdir)/%D%/plain $(AM_CPPFLAGS)
%C%_security_check_CFLAGS = $(AM_CFLAGS) $(TIRPC_CFLAGS) -Wno-missing-prototypes
%C%_security_check_LDADD = $(NFSRDMA_LAYERS) $(NFSRDMA_LIBS)
EXTRA_DIST += %D%/bench_table.py %D%/common.sh %D%/guest %D%/image.sh %D%/iommu_table.py \
	%D%/iommufd-kernel.sh %D%/iommufd.config %D%/kernel.sh %D%/lib.sh \
	%D%/peers.py %D%/qemu-kernel.sh %D%/qemu-lib.sh %D%/run.sh %D%/scenarios %D%/uml.config

# Real kernel peers in guests, after everything else.
.PHONY: check-vm
check-vm: check-programs
	$(top_srcdir)/tests/run.sh --kernel --build-dir $(abs_top_builddir) --no-configure
