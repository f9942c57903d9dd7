# SPDX-License-Identifier: BSD-2-Clause
# Without transport: double.c stands in for it.
CRITERION_TESTS += %D%/test_server
%C%_test_server_SOURCES = %D%/double.c %D%/double.h %D%/test_data.c %D%/test_handle.c
%C%_test_server_CFLAGS = $(TEST_CFLAGS)
%C%_test_server_LDADD = tools/nfsrdmad/libnfsrdmad.la wire/libwire.la util/libutil.la $(URING_LIBS) \
	$(TIRPC_LIBS) $(CRITERION_LIBS)
