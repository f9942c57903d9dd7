# SPDX-License-Identifier: BSD-2-Clause
CRITERION_TESTS += %D%/test_tcp
%C%_test_tcp_SOURCES = tests/rpc/echo.c tests/rpc/echo.h %D%/peer.c %D%/peer.h %D%/test_receive.c \
	%D%/test_responder.c %D%/test_send.c
%C%_test_tcp_CFLAGS = $(TEST_CFLAGS)
%C%_test_tcp_LDADD = $(TEST_LIBS)
