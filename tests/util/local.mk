# SPDX-License-Identifier: BSD-2-Clause
CRITERION_TESTS += %D%/test_util
%C%_test_util_SOURCES = %D%/test_util.c %D%/test_sock.c
%C%_test_util_CFLAGS = $(TEST_CFLAGS)
%C%_test_util_LDADD = util/libutil.la $(CRITERION_LIBS)
