# SPDX-License-Identifier: BSD-2-Clause
# The mock stands in for libibverbs and librdmacm, which are therefore not linked.
CRITERION_TESTS += %D%/test_verbs
%C%_test_verbs_SOURCES = %D%/mock.h %D%/rig.h %D%/mock_cm.c %D%/mock_verbs.c %D%/test_connect.c \
	%D%/test_errors.c %D%/test_events.c %D%/test_limits.c %D%/test_listen.c %D%/test_traffic.c
%C%_test_verbs_CFLAGS = $(TEST_CFLAGS) $(VERBS_CFLAGS) $(RDMACM_CFLAGS)
%C%_test_verbs_LDADD = $(NFSRDMA_LAYERS) $(TIRPC_LIBS) $(URING_LIBS) $(ISAL_LIBS) $(NUMA_LIBS) \
	$(CRITERION_LIBS)
