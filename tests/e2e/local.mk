# SPDX-License-Identifier: BSD-2-Clause
EXTRA_DIST += \
	%D%/bad-input.sh \
	%D%/bench.sh \
	%D%/bench-modes.sh \
	%D%/bench-mpi.sh \
	%D%/bench-sweep.sh \
	%D%/bench-share.sh \
	%D%/bench-page.py \
	%D%/cli.sh \
	%D%/containers.sh \
	%D%/doctor.sh \
	%D%/every-procedure.py \
	%D%/ganesha.sh \
	%D%/handle-after-restart.py \
	%D%/install.sh \
	%D%/iommu.sh \
	%D%/libnfs-tools.sh \
	%D%/matrix.sh \
	%D%/modes.sh \
	%D%/nfsrdmad.sh \
	%D%/quickstart.sh \
	%D%/steady.sh \
	%D%/tshark-tcp.sh \
	%D%/tshark.sh \
	%D%/unprivileged-server.sh \
	%D%/unprivileged.sh
check_PROGRAMS += %D%/no_uring
%C%_no_uring_SOURCES = %D%/no_uring.c
%C%_no_uring_CFLAGS = $(AM_CFLAGS) -Wno-missing-prototypes
%C%_no_uring_LDADD = -lseccomp

# On the shared library, as an application is.
check_PROGRAMS += %D%/steady
%C%_steady_SOURCES = %D%/steady.c
%C%_steady_CFLAGS = $(AM_CFLAGS) -Wno-missing-prototypes
%C%_steady_LDADD = client/libnfsrdma.la
