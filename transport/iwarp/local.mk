# SPDX-License-Identifier: BSD-2-Clause
# The software RNIC.  CRC32C comes from ISA-L, or from a table where that is missing.
transport_libtransport_la_SOURCES += %D%/internal.h \
	%D%/crc.h %D%/mpa.h %D%/mpa.c %D%/ddp.h %D%/ddp.c %D%/terminate.h %D%/terminate.c \
	%D%/stag.h %D%/stag.c %D%/pin.h %D%/pin.c %D%/lock.c %D%/provider.c %D%/fabric.c \
	%D%/cq.c %D%/conn.c %D%/startup.c %D%/listen.c %D%/post.c %D%/tx.c %D%/rx.c %D%/scatter.c %D%/translate.c %D%/message.c \
	%D%/sock_plain.c %D%/sock_uring.c
if HAVE_ISAL
transport_libtransport_la_SOURCES += %D%/crc_isal.c
else
transport_libtransport_la_SOURCES += %D%/crc_table.c
endif
