# SPDX-License-Identifier: BSD-2-Clause
# libclient: the convenience library (bench, tests); libnfsrdma: what is installed.
noinst_LTLIBRARIES += %D%/libclient.la
%C%_libclient_la_SOURCES = %D%/nfsrdma.h %D%/internal.h %D%/options.h %D%/options.c %D%/suggest.c \
	%D%/url.c %D%/resolve.c %D%/cred.c %D%/error.c %D%/ctx.c %D%/connect.c %D%/mountd.c \
	%D%/mountproto.c %D%/export.c %D%/mount.c %D%/info.c %D%/drive.c %D%/call.c %D%/proc.c \
	%D%/path.c %D%/lookup.c %D%/attr.c %D%/name.c %D%/link.c %D%/dir.c %D%/fs.c %D%/file.c \
	%D%/doctor.h %D%/doctor.c %D%/doctor_machine.c %D%/doctor_server.c \
	%D%/buf.c %D%/rw.c %D%/io.c %D%/read.c %D%/write.c %D%/unstable.c %D%/commit.c
%C%_libclient_la_CFLAGS = $(AM_CFLAGS) $(TIRPC_CFLAGS)

include_HEADERS += %D%/nfsrdma.h
pkgconfig_DATA = %D%/nfsrdma.pc
EXTRA_DIST += %D%/libnfsrdma.map examples/read.c

# All the layers, for programs that may look below the public header (never together with the .so)
NFSRDMA_LAYERS = client/libclient.la transport/libtransport.la mr/libmr.la iommu-aware/libiommu.la \
	wire/libwire.la util/libutil.la
NFSRDMA_LIBS = $(TIRPC_LIBS) $(URING_LIBS) $(RDMACM_LIBS) $(VERBS_LIBS) $(ISAL_LIBS) $(NUMA_LIBS)

lib_LTLIBRARIES += %D%/libnfsrdma.la
%C%_libnfsrdma_la_SOURCES =
%C%_libnfsrdma_la_LIBADD = $(NFSRDMA_LAYERS) $(NFSRDMA_LIBS)
%C%_libnfsrdma_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0 -no-undefined \
	-Wl,--version-script=$(top_srcdir)/%D%/libnfsrdma.map
%C%_libnfsrdma_la_DEPENDENCIES = $(NFSRDMA_LAYERS) %D%/libnfsrdma.map
