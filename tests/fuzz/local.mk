# SPDX-License-Identifier: BSD-2-Clause
# Every target is part of test_fuzz, which replays the corpora; with --enable-fuzz each is a libFuzzer program
# too, run as:  tests/fuzz/fuzz_wire_read -max_len=4096 /tmp/new ../tests/fuzz/corpus/wire_read
# How to add one: fuzz.h.
fuzz_shared = %D%/fuzz.h %D%/round_trip.h %D%/targets.h
fuzz_cflags = $(AM_CFLAGS) $(TIRPC_CFLAGS) -DFUZZ_ENGINE
fuzz_ldflags = $(AM_LDFLAGS) -fsanitize=fuzzer
fuzz_libs = $(NFSRDMA_LAYERS) $(NFSRDMA_LIBS)
# a client against a hand-played responder
fuzz_rig = $(FAKE_SOURCES) tests/rpcrdma/harness.h tests/rpcrdma/harness.c tests/rpcrdma/rig.h tests/rpcrdma/rig.c
fuzz_double = tests/server/double.c tests/server/double.h
fuzz_double_libs = tools/nfsrdmad/libnfsrdmad.la wire/libwire.la util/libutil.la $(URING_LIBS) $(TIRPC_LIBS)

CRITERION_TESTS += %D%/test_fuzz
%C%_test_fuzz_SOURCES = %D%/test_fuzz.c $(fuzz_shared) \
	%D%/fuzz_wire_rpc_call.c %D%/fuzz_wire_rpc_reply.c %D%/fuzz_wire_read.c %D%/fuzz_wire_write.c \
	%D%/fuzz_wire_link.c %D%/fuzz_wire_readdir.c %D%/fuzz_wire_mount.c %D%/fuzz_wire_rpcbind.c \
	%D%/fuzz_wire_generated.c %D%/fuzz_rpcrdma_header.c %D%/fuzz_rpcrdma_private.c \
	%D%/fuzz_iwarp_mpa.c %D%/fuzz_iwarp_segment.c %D%/fuzz_iwarp_stream.c \
	%D%/fuzz_rpcrdma_requester.c $(fuzz_rig) %D%/fuzz_client_target.c \
	%D%/fuzz_iommu_figures.c
%C%_test_fuzz_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_CORPUS='"$(abs_top_srcdir)/%D%/corpus"'
%C%_test_fuzz_CFLAGS = $(TEST_CFLAGS)
%C%_test_fuzz_LDADD = $(TEST_LIBS)
EXTRA_DIST += %D%/corpus

# In a binary of their own also because what stands in for the server's transport would meet the real one.
CRITERION_TESTS += %D%/test_fuzz_slow
%C%_test_fuzz_slow_SOURCES = %D%/test_fuzz.c $(fuzz_shared) %D%/fuzz_iommu_probe.c %D%/fuzz_server_call.c \
	$(fuzz_double)
%C%_test_fuzz_slow_CPPFLAGS = $(%C%_test_fuzz_CPPFLAGS) -DFUZZ_LIST=FUZZ_SLOW_TARGETS -DFUZZ_STEP=7
%C%_test_fuzz_slow_CFLAGS = $(TEST_CFLAGS)
%C%_test_fuzz_slow_LDADD = iommu-aware/libiommu.la $(fuzz_double_libs) $(CRITERION_LIBS)

if ENABLE_FUZZ
noinst_PROGRAMS += %D%/fuzz_wire_rpc_call
%C%_fuzz_wire_rpc_call_SOURCES = %D%/fuzz_wire_rpc_call.c
%C%_fuzz_wire_rpc_call_CFLAGS = $(fuzz_cflags)
%C%_fuzz_wire_rpc_call_LDFLAGS = $(fuzz_ldflags)
%C%_fuzz_wire_rpc_call_LDADD = $(fuzz_libs)
noinst_PROGRAMS += %D%/fuzz_wire_rpc_reply
%C%_fuzz_wire_rpc_reply_SOURCES = %D%/fuzz_wire_rpc_reply.c
%C%_fuzz_wire_rpc_reply_CFLAGS = $(fuzz_cflags)
%C%_fuzz_wire_rpc_reply_LDFLAGS = $(fuzz_ldflags)
%C%_fuzz_wire_rpc_reply_LDADD = $(fuzz_libs)
noinst_PROGRAMS += %D%/fuzz_wire_read
%C%_fuzz_wire_read_SOURCES = %D%/fuzz_wire_read.c
%C%_fuzz_wire_read_CFLAGS = $(fuzz_cflags)
%C%_fuzz_wire_read_LDFLAGS = $(fuzz_ldflags)
%C%_fuzz_wire_read_LDADD = $(fuzz_libs)
noinst_PROGRAMS += %D%/fuzz_wire_write
%C%_fuzz_wire_write_SOURCES = %D%/fuzz_wire_write.c
%C%_fuzz_wire_write_CFLAGS = $(fuzz_cflags)
%C%_fuzz_wire_write_LDFLAGS = $(fuzz_ldflags)
%C%_fuzz_wire_write_LDADD = $(fuzz_libs)
noinst_PROGRAMS += %D%/fuzz_wire_link
%C%_fuzz_wire_link_SOURCES = %D%/fuzz_wire_link.c
%C%_fuzz_wire_link_CFLAGS = $(fuzz_cflags)
%C%_fuzz_wire_link_LDFLAGS = $(fuzz_ldflags)
%C%_fuzz_wire_link_LDADD = $(fuzz_libs)
noinst_PROGRAMS += %D%/fuzz_wire_readdir
%C%_fuzz_wire_readdir_SOURCES = %D%/fuzz_wire_readdir.c
%C%_fuzz_wire_readdir_CFLAGS = $(fuzz_cflags)
%C%_fuzz_wire_readdir_LDFLAGS = $(fuzz_ldflags)
%C%_fuzz_wire_readdir_LDADD = $(fuzz_libs)
noinst_PROGRAMS += %D%/fuzz_wire_mount
%C%_fuzz_wire_mount_SOURCES = %D%/fuzz_wire_mount.c
%C%_fuzz_wire_mount_CFLAGS = $(fuzz_cflags)
%C%_fuzz_wire_mount_LDFLAGS = $(fuzz_ldflags)
%C%_fuzz_wire_mount_LDADD = $(fuzz_libs)
noinst_PROGRAMS += %D%/fuzz_wire_rpcbind
%C%_fuzz_wire_rpcbind_SOURCES = %D%/fuzz_wire_rpcbind.c
%C%_fuzz_wire_rpcbind_CFLAGS = $(fuzz_cflags)
%C%_fuzz_wire_rpcbind_LDFLAGS = $(fuzz_ldflags)
%C%_fuzz_wire_rpcbind_LDADD = $(fuzz_libs)
noinst_PROGRAMS += %D%/fuzz_wire_generated
%C%_fuzz_wire_generated_SOURCES = %D%/fuzz_wire_generated.c
%C%_fuzz_wire_generated_CFLAGS = $(fuzz_cflags)
%C%_fuzz_wire_generated_LDFLAGS = $(fuzz_ldflags)
%C%_fuzz_wire_generated_LDADD = $(fuzz_libs)
noinst_PROGRAMS += %D%/fuzz_rpcrdma_header
%C%_fuzz_rpcrdma_header_SOURCES = %D%/fuzz_rpcrdma_header.c
%C%_fuzz_rpcrdma_header_CFLAGS = $(fuzz_cflags)
%C%_fuzz_rpcrdma_header_LDFLAGS = $(fuzz_ldflags)
%C%_fuzz_rpcrdma_header_LDADD = $(fuzz_libs)
noinst_PROGRAMS += %D%/fuzz_rpcrdma_private
%C%_fuzz_rpcrdma_private_SOURCES = %D%/fuzz_rpcrdma_private.c
%C%_fuzz_rpcrdma_private_CFLAGS = $(fuzz_cflags)
%C%_fuzz_rpcrdma_private_LDFLAGS = $(fuzz_ldflags)
%C%_fuzz_rpcrdma_private_LDADD = $(fuzz_libs)
noinst_PROGRAMS += %D%/fuzz_iwarp_mpa
%C%_fuzz_iwarp_mpa_SOURCES = %D%/fuzz_iwarp_mpa.c
%C%_fuzz_iwarp_mpa_CFLAGS = $(fuzz_cflags)
%C%_fuzz_iwarp_mpa_LDFLAGS = $(fuzz_ldflags)
%C%_fuzz_iwarp_mpa_LDADD = $(fuzz_libs)
noinst_PROGRAMS += %D%/fuzz_iwarp_segment
%C%_fuzz_iwarp_segment_SOURCES = %D%/fuzz_iwarp_segment.c
%C%_fuzz_iwarp_segment_CFLAGS = $(fuzz_cflags)
%C%_fuzz_iwarp_segment_LDFLAGS = $(fuzz_ldflags)
%C%_fuzz_iwarp_segment_LDADD = $(fuzz_libs)
noinst_PROGRAMS += %D%/fuzz_iwarp_stream
%C%_fuzz_iwarp_stream_SOURCES = %D%/fuzz_iwarp_stream.c
%C%_fuzz_iwarp_stream_CFLAGS = $(fuzz_cflags)
%C%_fuzz_iwarp_stream_LDFLAGS = $(fuzz_ldflags)
%C%_fuzz_iwarp_stream_LDADD = $(fuzz_libs)
noinst_PROGRAMS += %D%/fuzz_client_target
%C%_fuzz_client_target_SOURCES = %D%/fuzz_client_target.c
%C%_fuzz_client_target_CFLAGS = $(fuzz_cflags)
%C%_fuzz_client_target_LDFLAGS = $(fuzz_ldflags)
%C%_fuzz_client_target_LDADD = $(fuzz_libs)
noinst_PROGRAMS += %D%/fuzz_iommu_figures
%C%_fuzz_iommu_figures_SOURCES = %D%/fuzz_iommu_figures.c
%C%_fuzz_iommu_figures_CFLAGS = $(fuzz_cflags)
%C%_fuzz_iommu_figures_LDFLAGS = $(fuzz_ldflags)
%C%_fuzz_iommu_figures_LDADD = $(fuzz_libs)
noinst_PROGRAMS += %D%/fuzz_iommu_probe
%C%_fuzz_iommu_probe_SOURCES = %D%/fuzz_iommu_probe.c
%C%_fuzz_iommu_probe_CFLAGS = $(fuzz_cflags)
%C%_fuzz_iommu_probe_LDFLAGS = $(fuzz_ldflags)
%C%_fuzz_iommu_probe_LDADD = $(fuzz_libs)
noinst_PROGRAMS += %D%/fuzz_rpcrdma_requester
%C%_fuzz_rpcrdma_requester_SOURCES = %D%/fuzz_rpcrdma_requester.c $(fuzz_rig)
%C%_fuzz_rpcrdma_requester_CFLAGS = $(fuzz_cflags) $(CRITERION_CFLAGS) -Wno-missing-prototypes
%C%_fuzz_rpcrdma_requester_LDFLAGS = $(fuzz_ldflags)
%C%_fuzz_rpcrdma_requester_LDADD = $(fuzz_libs) $(CRITERION_LIBS)
noinst_PROGRAMS += %D%/fuzz_server_call
%C%_fuzz_server_call_SOURCES = %D%/fuzz_server_call.c $(fuzz_double)
%C%_fuzz_server_call_CFLAGS = $(fuzz_cflags) $(CRITERION_CFLAGS) -Wno-missing-prototypes
%C%_fuzz_server_call_LDFLAGS = $(fuzz_ldflags)
%C%_fuzz_server_call_LDADD = $(fuzz_double_libs) $(CRITERION_LIBS)
endif
