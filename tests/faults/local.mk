# SPDX-License-Identifier: BSD-2-Clause
EXTRA_DIST += %D%/copy.sh
check_PROGRAMS += %D%/proxy
%C%_proxy_SOURCES = %D%/proxy.c
%C%_proxy_CFLAGS = $(AM_CFLAGS) -Wno-missing-prototypes
