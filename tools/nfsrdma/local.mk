# SPDX-License-Identifier: BSD-2-Clause
# The parts that tests/cli looks into are a library of their own; the program links the installed library.
noinst_LTLIBRARIES += %D%/libcli.la
%C%_libcli_la_SOURCES = %D%/cli.h %D%/json.h %D%/place.h %D%/copy.h %D%/transfer.h %D%/local_io.h \
	%D%/progress.h %D%/interrupt.h %D%/commands.h \
	%D%/options.c %D%/report.c %D%/target.c %D%/output.c %D%/mode.c %D%/owner.c %D%/progress.c \
	%D%/place.c %D%/local_io.c %D%/transfer.c %D%/interrupt.c \
	%D%/copy_out.c %D%/copy_file.c %D%/copy_tree.c \
	%D%/cmd_cat.c %D%/cmd_chmod.c %D%/cmd_chown.c %D%/cmd_cp.c %D%/cmd_df.c %D%/cmd_doctor.c %D%/cmd_exports.c \
	%D%/cmd_ln.c %D%/cmd_ls.c %D%/cmd_mkdir.c %D%/cmd_mv.c %D%/cmd_readlink.c %D%/cmd_rm.c \
	%D%/cmd_rmdir.c %D%/cmd_stat.c %D%/cmd_touch.c %D%/cmd_truncate.c %D%/cmd_write.c
%C%_libcli_la_CFLAGS = $(AM_CFLAGS) $(URING_CFLAGS) $(JANSSON_CFLAGS)
if HAVE_JANSSON
%C%_libcli_la_SOURCES += %D%/json_jansson.c
else
%C%_libcli_la_SOURCES += %D%/json_none.c
endif
EXTRA_DIST += %D%/json_none.c %D%/json_jansson.c

bin_PROGRAMS += nfsrdma
nfsrdma_SOURCES = %D%/main.c
nfsrdma_LDADD = %D%/libcli.la client/libnfsrdma.la util/libutil.la $(URING_LIBS) $(JANSSON_LIBS)
