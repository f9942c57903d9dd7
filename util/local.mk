# SPDX-License-Identifier: BSD-2-Clause
noinst_LTLIBRARIES += %D%/libutil.la
%C%_libutil_la_SOURCES = %D%/util.h
