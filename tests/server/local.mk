# SPDX-License-Identifier: BSD-2-Clause
# Without a transport: double.c stands in for it.
CRITERION_TESTS += %D%/test_server
%C%_test_server_SOURCES = %D%/double.c %D%/double.h %D%/test_attr.c %D%/test_cred.c %D%/test_data.c \
	%D%/test_dirs.c %D%/test_drc.c %D%/test_handle.c %D%/test_mount.c %D%/test_null.c \
	%D%/test_race.c %D%/test_readdir.c
%C%_test_server_CFLAGS = $(TEST_CFLAGS)
%C%_test_server_LDADD = tools/nfsrdmad/libnfsrdmad.la wire/libwire.la util/libutil.la $(URING_LIBS) \
	$(TIRPC_LIBS) $(CRITERION_LIBS)
