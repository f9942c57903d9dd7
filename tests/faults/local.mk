# SPDX-License-Identifier: BSD-2-Clause
check_PROGRAMS += %D%/proxy %D%/ops
%C%_proxy_SOURCES = %D%/proxy.c
%C%_proxy_CFLAGS = $(AM_CFLAGS) -Wno-missing-prototypes
%C%_ops_SOURCES = %D%/ops.c
%C%_ops_LDADD = $(NFSRDMA_LAYERS) $(NFSRDMA_LIBS)
EXTRA_DIST += %D%/lost.sh %D%/lost-reply.sh %D%/copy.sh
