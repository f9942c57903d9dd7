# SPDX-License-Identifier: BSD-2-Clause
CRITERION_TESTS += %D%/test_iwarp
%C%_test_iwarp_SOURCES = %D%/pair.h %D%/pair.c %D%/test_loop.c %D%/test_golden.c %D%/test_stag.c \
	%D%/peer.h %D%/peer.c %D%/test_violation.c %D%/test_startup.c %D%/test_stream.c %D%/test_end.c \
	%D%/test_pin.c %D%/test_forbidden.c %D%/test_cq.c %D%/test_scatter.c %D%/test_iommu.c
%C%_test_iwarp_CFLAGS = $(TEST_CFLAGS) $(URING_CFLAGS)
%C%_test_iwarp_LDADD = $(TEST_LIBS)

# Not a test: measures, see its head.
check_PROGRAMS += %D%/stream
%C%_stream_SOURCES = %D%/stream.c
%C%_stream_LDADD = $(NFSRDMA_LAYERS) $(NFSRDMA_LIBS)
