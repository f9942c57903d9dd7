#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# iommu-mutated.sh - nfsrdma-iommu show never fails: 150 trees that mutate_trees.py breaks, the same ones each time.
#
#   CASES=100000 SEED=7 tests/cli/iommu-mutated.sh     others, and more of them
. "$(dirname "$0")/../lib.sh"
IOMMU=$(program nfsrdma-iommu)
if ! [ -x "$IOMMU" ]; then
	skip "nfsrdma-iommu show on broken trees" "built without jansson"
	finish
fi
"$SRC/tests/iommu-aware/trees.sh" "$SRC/tests/data/sysfs" "$T/trees"
mkdir "$T/work" "$T/bin"
cp "$IOMMU" "$T/bin/nfsrdma-iommu"
broken() { timeout "${LIMIT:-250}" python3 "$SRC/tests/cli/mutate_trees.py" "$T/bin/nfsrdma-iommu" "$T/trees" "$T/work" --seed "$1" --cases "$2"; }
check "show answers whatever the tree, in text and in JSON" broken "${SEED:-1}" "${CASES:-150}"
finish
