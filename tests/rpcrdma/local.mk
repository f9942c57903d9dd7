# SPDX-License-Identifier: BSD-2-Clause
CRITERION_TESTS += %D%/test_rpcrdma
%C%_test_rpcrdma_SOURCES = %D%/test_header.c %D%/test_private.c %D%/test_plan.c \
	%D%/test_sendq.c
%C%_test_rpcrdma_CFLAGS = $(TEST_CFLAGS)
%C%_test_rpcrdma_LDADD = $(TEST_LIBS)

# both roles, over the fake fabric
CRITERION_TESTS += %D%/test_rpcrdma_fake
%C%_test_rpcrdma_fake_SOURCES = $(FAKE_SOURCES) %D%/harness.h %D%/harness.c %D%/rig.h %D%/rig.c %D%/test_pair.c \
	%D%/test_requester.c %D%/test_replies.c \
	%D%/rawclient.h %D%/rawclient.c %D%/test_responder.c %D%/test_hostile.c \
	%D%/test_faults.c %D%/test_window.c
%C%_test_rpcrdma_fake_CFLAGS = $(TEST_CFLAGS)
%C%_test_rpcrdma_fake_LDADD = $(TEST_LIBS)

# both roles, over iwarp on loopback
CRITERION_TESTS += %D%/test_rpcrdma_iwarp
%C%_test_rpcrdma_iwarp_SOURCES = $(FAKE_SOURCES) %D%/harness.h %D%/harness.c %D%/test_iwarp.c \
	$(ALLOC_SOURCES)
%C%_test_rpcrdma_iwarp_CFLAGS = $(TEST_CFLAGS)
%C%_test_rpcrdma_iwarp_LDFLAGS = $(AM_LDFLAGS) $(ALLOC_WRAP)
%C%_test_rpcrdma_iwarp_LDADD = $(TEST_LIBS)

# a client against a hostile responder, over iwarp on loopback
CRITERION_TESTS += %D%/test_rpcrdma_security
%C%_test_rpcrdma_security_SOURCES = $(FAKE_SOURCES) %D%/harness.h %D%/harness.c %D%/evil.h %D%/evil.c \
	%D%/test_security.c
%C%_test_rpcrdma_security_CFLAGS = $(TEST_CFLAGS)
%C%_test_rpcrdma_security_LDADD = $(TEST_LIBS)
