# SPDX-License-Identifier: BSD-2-Clause
CRITERION_TESTS += %D%/test_wire
%C%_test_wire_SOURCES = %D%/cases.h %D%/pieces.h %D%/guard.h %D%/cases.c %D%/cases_nfs3_names.c \
	%D%/cases_nfs3_rest.c %D%/cases_bulk.c %D%/cases_readdir.c %D%/cases_rpc.c %D%/cases_mount.c \
	%D%/test_cases.c %D%/test_xdr.c %D%/test_rpc.c %D%/test_bulk.c %D%/test_readdir.c \
	%D%/test_mount.c %D%/test_rpcbind.c %D%/test_status.c
%C%_test_wire_CFLAGS = $(TEST_CFLAGS)
%C%_test_wire_LDADD = wire/libwire.la util/libutil.la $(TIRPC_LIBS) $(CRITERION_LIBS)
