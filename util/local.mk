# SPDX-License-Identifier: BSD-2-Clause
noinst_LTLIBRARIES += %D%/libutil.la
%C%_libutil_la_SOURCES = %D%/util.h %D%/clock.c %D%/err.c %D%/hist.c %D%/log.c %D%/random.c \
	%D%/signal.c %D%/size.c %D%/sock.c %D%/stdio.c %D%/text.c %D%/ticker.c
