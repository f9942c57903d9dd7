# SPDX-License-Identifier: BSD-2-Clause
noinst_LTLIBRARIES += %D%/libmr.la
%C%_libmr_la_SOURCES = %D%/mr.h
