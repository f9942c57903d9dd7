# SPDX-License-Identifier: BSD-2-Clause
if HAVE_JANSSON
bin_PROGRAMS += nfsrdma-bench
nfsrdma_bench_SOURCES = %D%/bench.h %D%/child.c %D%/child.h %D%/client_nfsrdma.c \
	%D%/client_posix.c %D%/counters.c %D%/env.c %D%/json.c %D%/main.c %D%/notes.c \
	%D%/options.c %D%/report.c %D%/run.c %D%/server.c
nfsrdma_bench_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS) $(LIBNFS_CFLAGS)
nfsrdma_bench_LDADD = $(NFSRDMA_LAYERS) $(NFSRDMA_LIBS) $(JANSSON_LIBS) $(LIBNFS_LIBS)
if HAVE_LIBNFS
nfsrdma_bench_SOURCES += %D%/client_libnfs.c
else
nfsrdma_bench_SOURCES += %D%/client_libnfs_none.c
endif
endif
