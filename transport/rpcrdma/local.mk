# SPDX-License-Identifier: BSD-2-Clause
transport_libtransport_la_SOURCES += %D%/header.h %D%/header.c %D%/private.h %D%/private.c \
	%D%/plan.h %D%/plan.c
