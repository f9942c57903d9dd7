# SPDX-License-Identifier: BSD-2-Clause
noinst_LTLIBRARIES += %D%/libmr.la
%C%_libmr_la_SOURCES = %D%/mr.h %D%/internal.h %D%/cache.h %D%/interval.h %D%/watch.h \
	%D%/budget.c %D%/cache.c %D%/cgroup.c %D%/class.c %D%/foreign.c %D%/grant.c %D%/grow.c %D%/interval.c \
	%D%/lease.c %D%/ledger.c %D%/local.c %D%/magazine.c %D%/memory.c %D%/mode.c %D%/monitor.c \
	%D%/piece.c %D%/plain.c %D%/poison.c %D%/pool.c %D%/quarantine.c %D%/region.c %D%/slab.c \
	%D%/span.c %D%/stack.c %D%/watch.c %D%/watch_read.c %D%/window.c %D%/witness.c
if HAVE_NUMA
%C%_libmr_la_SOURCES += %D%/numa.c
else
%C%_libmr_la_SOURCES += %D%/numa_none.c
endif
