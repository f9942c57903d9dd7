# SPDX-License-Identifier: BSD-2-Clause
# Each folder adds its Criterion binary to CRITERION_TESTS (and its helpers to check_PROGRAMS).
TEST_LIBS = $(NFSRDMA_LAYERS) $(NFSRDMA_LIBS) $(CRITERION_LIBS)
TEST_CFLAGS = $(AM_CFLAGS) $(CRITERION_CFLAGS) $(TIRPC_CFLAGS) -Wno-missing-prototypes

include tests/util/local.mk
include tests/wire/local.mk
include tests/iommu-aware/local.mk
include tests/mr/local.mk
include tests/fake/local.mk
include tests/tcp/local.mk
include tests/rpc/local.mk
include tests/rpcrdma/local.mk
include tests/iwarp/local.mk
include tests/verbs/local.mk
include tests/cli/local.mk
include tests/client/local.mk
include tests/server/local.mk
include tests/e2e/local.mk
include tests/fuzz/local.mk
include tests/faults/local.mk
include tests/abi/local.mk
include tests/bench/local.mk
include tests/nfsrdma-bench/local.mk
include tests/vm/local.mk

if HAVE_CRITERION
check_PROGRAMS += $(CRITERION_TESTS)
endif

EXTRA_DIST += %D%/run.sh %D%/lib.sh %D%/marked.py %D%/skips.txt %D%/pending.txt %D%/dist/run.sh %D%/fresh/run.sh \
	tools/packages.sh tools/quickstart.sh tools/configure.sh CONTRIBUTING.md docs

# What tests/run.sh builds and asks for
.PHONY: check-programs list-criterion
check-programs: $(check_PROGRAMS)
list-criterion:
	@echo $(CRITERION_TESTS)

# make check: the Criterion tests; tests/run.sh runs everything
check-local: check-programs
	$(top_srcdir)/tests/run.sh --build-dir $(abs_top_builddir) --no-configure --units
