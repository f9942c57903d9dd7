# SPDX-License-Identifier: BSD-2-Clause
transport_libtransport_la_SOURCES += %D%/cache.c %D%/datagram.c %D%/internal.h %D%/link.c %D%/receive.c \
	%D%/request.c %D%/responder.c %D%/responder.h %D%/send.c %D%/socket.c \
	%D%/stream.c %D%/stream.h
