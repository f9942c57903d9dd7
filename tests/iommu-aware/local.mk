# SPDX-License-Identifier: BSD-2-Clause
EXTRA_DIST += %D%/trees.sh tests/data/sysfs
CRITERION_TESTS += %D%/test_iommu
%C%_test_iommu_SOURCES = %D%/test_advice.c %D%/test_device.c %D%/test_policy.c \
	%D%/test_iova.c %D%/test_model.c %D%/test_probe.c %D%/test_space.c \
	%D%/test_swiommu.c %D%/test_trace.c %D%/test_tree.c %D%/test_unit.c
%C%_test_iommu_CFLAGS = $(TEST_CFLAGS) -DTEST_TREES='"$(abs_top_builddir)/%D%/trees/"'
%C%_test_iommu_LDADD = iommu-aware/libiommu.la util/libutil.la $(CRITERION_LIBS)

# The trees are made each time: some 60 small files, any of which may have been edited.
.PHONY: iommu-trees clean-iommu-trees
check-programs: iommu-trees
iommu-trees:
	$(AM_V_GEN)$(top_srcdir)/%D%/trees.sh $(top_srcdir)/tests/data/sysfs %D%/trees
clean-local: clean-iommu-trees
clean-iommu-trees:
	rm -rf %D%/trees
