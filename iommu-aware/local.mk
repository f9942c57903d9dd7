# SPDX-License-Identifier: BSD-2-Clause
noinst_LTLIBRARIES += %D%/libiommu.la
%C%_libiommu_la_SOURCES = %D%/iommu.h %D%/internal.h %D%/read.c %D%/probe.c %D%/device.c \
	%D%/pins.c %D%/summary.c %D%/policy.c %D%/space.c
