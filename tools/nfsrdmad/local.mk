# SPDX-License-Identifier: BSD-2-Clause
# All but main is a library, so that tests can call the procedures without a transport.
noinst_LTLIBRARIES += %D%/libnfsrdmad.la
%C%_libnfsrdmad_la_SOURCES = %D%/access.c %D%/aio.c %D%/aio.h %D%/attr.c %D%/counts.c %D%/counts.h %D%/cred.c %D%/cred.h \
	%D%/dispatch.c %D%/drc.c %D%/drc.h %D%/exports.c %D%/exports.h %D%/hand.c %D%/hand.h %D%/handle.c %D%/handle.h \
	%D%/key.c %D%/key.h %D%/mounts.c %D%/mounts.h %D%/null.c %D%/null.h %D%/null_data.c %D%/null_tree.c \
	%D%/null_tree.h %D%/objects.c %D%/objects.h %D%/options.c %D%/options.h %D%/proc_attr.c \
	%D%/proc_create.c %D%/proc_fs.c %D%/proc_fs.h %D%/proc_link.c %D%/proc_lookup.c \
	%D%/proc_mount.c %D%/proc_read.c %D%/proc_readdir.c %D%/proc_remove.c %D%/proc_write.c \
	%D%/resolve.c %D%/server.c %D%/server.h %D%/siphash.c %D%/siphash.h %D%/sync.c %D%/walk.c
%C%_libnfsrdmad_la_CFLAGS = $(AM_CFLAGS) $(TIRPC_CFLAGS) $(URING_CFLAGS)

sbin_PROGRAMS += nfsrdmad
nfsrdmad_SOURCES = %D%/main.c
nfsrdmad_CFLAGS = $(AM_CFLAGS) $(TIRPC_CFLAGS) $(URING_CFLAGS)
nfsrdmad_LDADD = %D%/libnfsrdmad.la transport/libtransport.la mr/libmr.la iommu-aware/libiommu.la \
	wire/libwire.la util/libutil.la $(NFSRDMA_LIBS)
