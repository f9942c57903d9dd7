# SPDX-License-Identifier: BSD-2-Clause
noinst_LTLIBRARIES += %D%/libiommu.la
%C%_libiommu_la_SOURCES = %D%/iommu.h %D%/internal.h %D%/advice.h %D%/read.c %D%/probe.c %D%/unit.c \
	%D%/numa.c %D%/lockers.c %D%/list.c %D%/device.c %D%/pins.c %D%/summary.c %D%/policy.c %D%/advice.c \
	%D%/advice_domain.c %D%/advice_options.c %D%/advice_memory.c %D%/tree.h \
	%D%/tree.c %D%/space.c %D%/iova.c %D%/vfio.c %D%/vfio.h %D%/vfio_iommufd.c %D%/vfio_type1.c %D%/trace.c
