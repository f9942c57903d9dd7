# SPDX-License-Identifier: BSD-2-Clause
noinst_LTLIBRARIES += %D%/libtransport.la
%C%_libtransport_la_SOURCES = %D%/transport.h %D%/fabric/fabric.h %D%/rpc/link.h
%C%_libtransport_la_CFLAGS = $(AM_CFLAGS) $(URING_CFLAGS) $(VERBS_CFLAGS) $(RDMACM_CFLAGS) $(ISAL_CFLAGS)

include transport/rpc/local.mk
include transport/tcp/local.mk
include transport/rpcrdma/local.mk
include transport/fabric/local.mk
include transport/iwarp/local.mk
include transport/verbs/local.mk
