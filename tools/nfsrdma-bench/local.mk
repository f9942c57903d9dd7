# SPDX-License-Identifier: BSD-2-Clause
if HAVE_JANSSON
bin_PROGRAMS += nfsrdma-bench
nfsrdma_bench_common = %D%/bench.h %D%/child.c %D%/child.h %D%/client.h %D%/client_nfsrdma.c \
	%D%/client_posix.c %D%/compare.c %D%/csv.c %D%/doc.c %D%/doc.h %D%/doc_rows.c %D%/env.c \
	%D%/group.h %D%/main.c %D%/matrix.c %D%/matrix.h %D%/measure.c %D%/measure.h %D%/memory.c %D%/move.c \
	%D%/notes.c %D%/numa.c %D%/options.c %D%/options.h %D%/options_iozone.c %D%/picture.c %D%/picture.h \
	%D%/plan.c %D%/progress.c %D%/progress.h %D%/report.c %D%/report_excel.c \
	%D%/report_file.c %D%/report_gnuplot.c %D%/report_html.c %D%/results.c %D%/run.c \
	%D%/server.c %D%/stats.c %D%/stats.h %D%/table.c %D%/tests.c %D%/walk.c %D%/walk.h
nfsrdma_bench_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS) $(LIBNFS_CFLAGS)
nfsrdma_bench_libs = $(NFSRDMA_LAYERS) $(NFSRDMA_LIBS) $(JANSSON_LIBS) $(LIBNFS_LIBS) -lm
nfsrdma_bench_LDADD = $(nfsrdma_bench_libs)
if HAVE_LIBNFS
nfsrdma_bench_common += %D%/client_libnfs.c
else
nfsrdma_bench_common += %D%/client_libnfs_none.c
endif
nfsrdma_bench_SOURCES = $(nfsrdma_bench_common)
if ENABLE_MPI
nfsrdma_bench_SOURCES += %D%/group_mpi.c
nfsrdma_bench_CFLAGS += $(MPI_CFLAGS)
nfsrdma_bench_LDADD += $(MPI_LIBS)
else
nfsrdma_bench_SOURCES += %D%/group_one.c
endif

# Both ways in the tests, however it is configured.
if HAVE_MPI
check_PROGRAMS += nfsrdma-bench-mpi
nfsrdma_bench_mpi_SOURCES = $(nfsrdma_bench_common) %D%/group_mpi.c
nfsrdma_bench_mpi_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS) $(LIBNFS_CFLAGS) $(MPI_CFLAGS)
nfsrdma_bench_mpi_LDADD = $(nfsrdma_bench_libs) $(MPI_LIBS)
endif
endif
