# SPDX-License-Identifier: BSD-2-Clause
# Measurements, not tests: built with "make check-programs", run by hand
EXTRA_DIST += %D%/throughput.py %D%/modes.py %D%/share.py %D%/benchmarks.py %D%/ledger_cost.py %D%/iommu.py %D%/served.py %D%/iommu_tables.py %D%/iova.py
check_PROGRAMS += %D%/bench_lease
%C%_bench_lease_SOURCES = %D%/bench_lease.c
%C%_bench_lease_LDADD = mr/libmr.la iommu-aware/libiommu.la util/libutil.la $(URING_LIBS) $(NUMA_LIBS)
check_PROGRAMS += %D%/bench_modes
%C%_bench_modes_SOURCES = %D%/bench_modes.c
%C%_bench_modes_LDADD = client/libnfsrdma.la $(URING_LIBS)
check_PROGRAMS += %D%/bench_iova
%C%_bench_iova_SOURCES = %D%/bench_iova.c
check_PROGRAMS += %D%/bench_flush
%C%_bench_flush_SOURCES = %D%/bench_flush.c
%C%_bench_flush_LDADD = iommu-aware/libiommu.la util/libutil.la
%C%_bench_iova_LDADD = iommu-aware/libiommu.la util/libutil.la
