# SPDX-License-Identifier: BSD-2-Clause
EXTRA_DIST += tests/data/sysfs
CRITERION_TESTS += %D%/test_iommu
%C%_test_iommu_SOURCES = %D%/test_device.c %D%/test_policy.c %D%/test_probe.c %D%/test_space.c
%C%_test_iommu_CFLAGS = $(TEST_CFLAGS) -DTEST_DATA='"$(abs_top_srcdir)/tests/data"'
%C%_test_iommu_LDADD = iommu-aware/libiommu.la util/libutil.la $(CRITERION_LIBS)
