# SPDX-License-Identifier: BSD-2-Clause
CRITERION_TESTS += %D%/test_rpcrdma
%C%_test_rpcrdma_SOURCES = %D%/test_header.c %D%/test_private.c %D%/test_plan.c
%C%_test_rpcrdma_CFLAGS = $(TEST_CFLAGS)
%C%_test_rpcrdma_LDADD = $(TEST_LIBS)
