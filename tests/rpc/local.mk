# SPDX-License-Identifier: BSD-2-Clause
CRITERION_TESTS += %D%/test_rpc
%C%_test_rpc_SOURCES = %D%/echo.c %D%/echo.h tests/tcp/peer.c tests/tcp/peer.h %D%/test_loop.c \
	%D%/test_recover.c %D%/test_rpcbind.c %D%/test_steady.c %D%/test_timer.c \
	$(ALLOC_SOURCES)
%C%_test_rpc_CFLAGS = $(TEST_CFLAGS)
%C%_test_rpc_LDFLAGS = $(AM_LDFLAGS) $(ALLOC_WRAP)
%C%_test_rpc_LDADD = $(TEST_LIBS)
