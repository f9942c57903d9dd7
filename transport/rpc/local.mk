# SPDX-License-Identifier: BSD-2-Clause
transport_libtransport_la_SOURCES += %D%/call.c %D%/client.c %D%/ctx.c %D%/internal.h \
	%D%/listen.c %D%/ready.c %D%/recover.c %D%/request.c %D%/rpcbind.c %D%/server.c \
	%D%/timer.c %D%/worker.c %D%/worker.h
