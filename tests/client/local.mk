# SPDX-License-Identifier: BSD-2-Clause
CRITERION_TESTS += %D%/test_client
%C%_test_client_SOURCES = %D%/fake_nfs.h %D%/fake_nfs.c %D%/fake_tree.h %D%/fake_tree.c \
	%D%/fake_proc.h %D%/fake_proc.c %D%/test_options.c %D%/test_url.c %D%/test_mount.c \
	%D%/test_path.c %D%/test_name.c %D%/test_io.c %D%/test_dir.c %D%/test_async.c %D%/test_unstable.c \
	%D%/wrap.h %D%/wrap.c %D%/test_memory.c %D%/test_faults.c
%C%_test_client_CFLAGS = $(TEST_CFLAGS)
%C%_test_client_LDADD = $(TEST_LIBS)
# allocations, lease takings and look-ups of the libraries go through wrap.c
%C%_test_client_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc \
	-Wl,--wrap=mr_lease_take,--wrap=mr_lease_give \
	-Wl,--wrap=getaddrinfo,--wrap=transport_rpcbind_getport
