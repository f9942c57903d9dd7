# SPDX-License-Identifier: BSD-2-Clause
CRITERION_TESTS += %D%/test_mr
%C%_test_mr_SOURCES = %D%/fake.h %D%/fake.c %D%/shaky.h %D%/shaky.c %D%/test_budget.c %D%/test_cache.c %D%/test_cgroup.c %D%/test_class.c \
	%D%/test_faults.c %D%/test_interval.c \
	%D%/test_ledger.c %D%/test_memory.c %D%/test_model.c %D%/test_pages.c %D%/test_pool.c %D%/test_grant.c %D%/test_property.c %D%/test_stack.c %D%/test_threads.c %D%/test_watch.c
%C%_test_mr_CFLAGS = $(TEST_CFLAGS)
%C%_test_mr_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc,--wrap=calloc,--wrap=aligned_alloc \
	-Wl,--wrap=free,--wrap=mmap,--wrap=munmap,--wrap=pthread_mutex_lock \
	-Wl,--wrap=madvise,--wrap=syscall,--wrap=mbind,--wrap=numa_available,--wrap=numa_max_node
if HAVE_NUMA
%C%_test_mr_SOURCES += %D%/test_numa.c
endif
%C%_test_mr_LDADD = $(TEST_LIBS)
