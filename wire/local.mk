# SPDX-License-Identifier: BSD-2-Clause
noinst_LTLIBRARIES += %D%/libwire.la
%C%_libwire_la_SOURCES = %D%/wire.h %D%/wire_nfs3.h
%C%_libwire_la_CFLAGS = $(AM_CFLAGS) $(TIRPC_CFLAGS)
