# SPDX-License-Identifier: BSD-2-Clause
EXTRA_DIST += tests/data/iozone
CRITERION_TESTS += %D%/test_bench
%C%_test_bench_SOURCES = %D%/test_options.c %D%/test_report.c tools/nfsrdma-bench/options.c \
	tools/nfsrdma-bench/report.c
%C%_test_bench_CFLAGS = $(TEST_CFLAGS) -DTEST_DATA='"$(abs_top_srcdir)/tests/data"'
%C%_test_bench_LDADD = util/libutil.la $(CRITERION_LIBS)
