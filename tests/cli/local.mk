# SPDX-License-Identifier: BSD-2-Clause
# The library is played by fake_nfsrdma.c, so that the pipeline meets every order, shortage and failure.
CRITERION_TESTS += %D%/test_cli
%C%_test_cli_SOURCES = %D%/fake_nfsrdma.h %D%/fake_nfsrdma.c %D%/test_text.c %D%/test_mode.c \
	%D%/test_options.c %D%/test_progress.c %D%/test_transfer.c %D%/test_transfer_faults.c
%C%_test_cli_CFLAGS = $(TEST_CFLAGS) $(URING_CFLAGS)
%C%_test_cli_LDADD = tools/nfsrdma/libcli.la util/libutil.la $(URING_LIBS) $(JANSSON_LIBS) \
	$(CRITERION_LIBS)
EXTRA_DIST += %D%/iommu-show.sh %D%/iommu-tool.sh %D%/iommu-model.sh %D%/iommu-completion.sh %D%/iommu-mutated.sh %D%/mutate_trees.py tests/data/iommu-show
