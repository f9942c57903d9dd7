# SPDX-License-Identifier: BSD-2-Clause
# transport_libtransport_la_SOURCES += %D%/file.c
