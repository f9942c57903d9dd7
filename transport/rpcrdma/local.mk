# SPDX-License-Identifier: BSD-2-Clause
transport_libtransport_la_SOURCES += %D%/header.h %D%/header.c %D%/private.h %D%/private.c \
	%D%/plan.h %D%/plan.c %D%/sendq.h %D%/sendq.c %D%/buffers.h %D%/buffers.c \
	%D%/requester.h %D%/requester.c %D%/requester_send.c %D%/requester_close.c %D%/requester_recv.c \
	%D%/responder.h %D%/responder.c %D%/responder_conn.c %D%/responder_recv.c \
	%D%/responder_read.c %D%/responder_send.c
