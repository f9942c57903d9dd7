# SPDX-License-Identifier: BSD-2-Clause
EXTRA_DIST += tests/data/iozone
if HAVE_JANSSON
CRITERION_TESTS += %D%/test_bench
%C%_test_bench_SOURCES = %D%/test_doc.c %D%/test_move.c %D%/test_options.c %D%/test_report.c \
	%D%/test_stats.c %D%/test_walk.c tools/nfsrdma-bench/compare.c tools/nfsrdma-bench/csv.c \
	tools/nfsrdma-bench/doc.c tools/nfsrdma-bench/doc_rows.c tools/nfsrdma-bench/matrix.c tools/nfsrdma-bench/numa.c \
	tools/nfsrdma-bench/move.c tools/nfsrdma-bench/options.c \
	tools/nfsrdma-bench/options_iozone.c tools/nfsrdma-bench/picture.c \
	tools/nfsrdma-bench/plan.c tools/nfsrdma-bench/report.c \
	tools/nfsrdma-bench/report_excel.c tools/nfsrdma-bench/report_html.c \
	tools/nfsrdma-bench/results.c tools/nfsrdma-bench/stats.c tools/nfsrdma-bench/table.c \
	tools/nfsrdma-bench/tests.c tools/nfsrdma-bench/walk.c
%C%_test_bench_CFLAGS = $(TEST_CFLAGS) $(JANSSON_CFLAGS) \
	-DTEST_DATA='"$(abs_top_srcdir)/tests/data"'
%C%_test_bench_LDADD = $(NFSRDMA_LAYERS) $(NFSRDMA_LIBS) $(JANSSON_LIBS) $(CRITERION_LIBS) -lm
%C%_test_bench_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=util_clock_ns -Wl,--wrap=clock_nanosleep
endif
