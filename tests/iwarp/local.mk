# SPDX-License-Identifier: BSD-2-Clause
CRITERION_TESTS += %D%/test_iwarp
%C%_test_iwarp_SOURCES = %D%/pair.h %D%/pair.c %D%/test_loop.c
%C%_test_iwarp_CFLAGS = $(TEST_CFLAGS) $(URING_CFLAGS)
%C%_test_iwarp_LDADD = $(TEST_LIBS)
