# SPDX-License-Identifier: BSD-2-Clause
noinst_LTLIBRARIES += %D%/libwire.la
%C%_libwire_la_SOURCES = %D%/wire.h %D%/wire_nfs3.h %D%/wire_rpcbind.h \
	%D%/xdr.c %D%/xdr_bridge.c %D%/rpc.c %D%/rpcbind.c \
	%D%/nfs3_bulk.h %D%/nfs3_attr.c %D%/nfs3_read.c %D%/nfs3_write.c %D%/nfs3_link.c %D%/nfs3_readdir.c \
	%D%/nfs3_status.c %D%/mount.c
%C%_libwire_la_CFLAGS = $(AM_CFLAGS) $(TIRPC_CFLAGS)
%C%_libwire_la_LIBADD = %D%/libwirexdr.la

# What rpcgen writes does not hold up to our warnings: a library of its own, merged into libwire.
noinst_LTLIBRARIES += %D%/libwirexdr.la
nodist_%C%_libwirexdr_la_SOURCES = %D%/nfs3_xdr.c %D%/nfs3_xdr.h %D%/mount_xdr.c %D%/mount_xdr.h
%C%_libwirexdr_la_CFLAGS = $(AM_CFLAGS) $(TIRPC_CFLAGS) -Wno-unused-variable -Wno-cast-function-type

EXTRA_DIST += %D%/nfs3.x %D%/mount.x
BUILT_SOURCES += %D%/nfs3_xdr.h %D%/mount_xdr.h
CLEANFILES += %D%/nfs3_xdr.x %D%/nfs3_xdr.h %D%/nfs3_xdr.c \
	%D%/mount_xdr.x %D%/mount_xdr.h %D%/mount_xdr.c

# rpcgen names the header it includes after its input, path and all: so it runs in the build folder
# on a copy.  Its -o would put the temporary name into the include guard: hence the redirection.
%D%/nfs3_xdr.x: %D%/nfs3.x
	$(AM_V_GEN)$(MKDIR_P) %D% && rm -f $@ && cp "$(top_srcdir)/%D%/nfs3.x" $@
%D%/mount_xdr.x: %D%/mount.x
	$(AM_V_GEN)$(MKDIR_P) %D% && rm -f $@ && cp "$(top_srcdir)/%D%/mount.x" $@

WIRE_RPCGEN = $(RPCGEN) $$flag $$input > $(@F).tmp && mv $(@F).tmp $(@F)
%D%/nfs3_xdr.h: %D%/nfs3_xdr.x
	$(AM_V_GEN)cd %D% && flag=-h input=nfs3_xdr.x && $(WIRE_RPCGEN)
%D%/nfs3_xdr.c: %D%/nfs3_xdr.x
	$(AM_V_GEN)cd %D% && flag=-c input=nfs3_xdr.x && $(WIRE_RPCGEN)
%D%/mount_xdr.h: %D%/mount_xdr.x
	$(AM_V_GEN)cd %D% && flag=-h input=mount_xdr.x && $(WIRE_RPCGEN)
%D%/mount_xdr.c: %D%/mount_xdr.x
	$(AM_V_GEN)cd %D% && flag=-c input=mount_xdr.x && $(WIRE_RPCGEN)
