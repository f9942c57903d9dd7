# SPDX-License-Identifier: BSD-2-Clause
noinst_LTLIBRARIES += %D%/libiommu.la
%C%_libiommu_la_SOURCES = %D%/iommu.h
