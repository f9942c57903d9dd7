# SPDX-License-Identifier: BSD-2-Clause
transport_libtransport_la_SOURCES += %D%/internal.h %D%/collect.c %D%/conn.c %D%/connect.c \
	%D%/cq.c %D%/device.c %D%/domain.c %D%/errors.c %D%/events.c %D%/limits.c %D%/listen.c \
	%D%/open.c %D%/post.c %D%/provider.c %D%/ring.c
