#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# iommu-model.sh - nfsrdma-iommu model: its document, its files, whom it refuses.
. "$(dirname "$0")/../lib.sh"
IOMMU=$(program nfsrdma-iommu)
if ! [ -x "$IOMMU" ]; then
	skip "nfsrdma-iommu model" "built without jansson"
	finish
fi
doc() { python3 -c 'import json,sys; d = json.load(open(sys.argv[1])); assert eval(sys.argv[2]), d' "$T/doc" "$1"; }
model() { timeout 60 "$IOMMU" model "$@" --json >"$T/doc"; }

model
check "the model needs no file and no privilege" test $? = 0
check "its document is as the interface says" doc "d['schema'] == 'nfsrdma-iommu-model/1' and \
	all(set(p) == {'name', 'value', 'unit', 'source'} for p in d['parameters']) and \
	all(set(r) == {'kernel_commit', 'test', 'published_kBps', 'predicted_kBps', 'error_pct', 'role'} for r in d['rows'])"
check "at most four parameters are fitted" doc "1 <= sum(p['source'].startswith('fitted') for p in d['parameters']) <= 4"
check "the testing error's rows are excluded, and no others" doc \
	"all((r['role'] == 'excluded') == (r['kernel_commit'] == 'c062db039f40') for r in d['rows']) and len(d['rows']) == 12"
check "fitted and held-out rows are met within 5 %" doc "all(abs(r['error_pct']) < 5 for r in d['rows'] if r['role'] != 'excluded')"
check "the traced costs alone give a prediction with its error" doc \
	"sum(p['name'].startswith('traced') and p['error_pct'] is not None for p in d['predictions']) == 4"
check "no prediction is above its bound" doc "all(p['predicted_kBps'] <= p['bound_kBps'] * 1.000001 for p in d['predictions'])"
check "the compiled figures are those of data/" eval "model --figures '$SRC/data/cx3-iozone-2021.csv'; cp '$T/doc' '$T/file'; model; cmp '$T/doc' '$T/file'"
model --policy strict --mode per-io --threads 4 --record 4k --link 100 --inval-us 1.5
check "what is asked is what is predicted" doc \
	"[(p['direction'], p['policy'], p['mode'], p['threads'], p['record']) for p in d['predictions'][8:]] == [(x, 'strict', 'per-io', 4, 4096) for x in ('read', 'write')]"
timeout 60 "$IOMMU" cost --sizes 64k,256k,1m --json >"$T/costs"
model --costs "$T/costs"
check "measured costs of registration are taken over" doc "any(p['name'] == 'register_call' and p['source'].startswith('measured') for p in d['parameters'])"
check "it prints for people too" eval "'$IOMMU' model | grep -q 'held-out'"
printf 'kernel_commit,test,children_kBps\nbad,readers,1\n' >"$T/bad.csv"
echo '{}' >"$T/bad.json"
for bad in "--threads 0" "--threads x" "--record 0" "--link x" "--link 0" "--link -1" "--policy slow" "--mode none" "--inval-us -1" \
	"--figures $T/none" "--figures $T/bad.csv" "--figures $T" "--costs $T/none" "--costs $T/bad.json" "--costs $T/bad.csv" \
	"--bad" "word" "--threads"; do
	# shellcheck disable=SC2086
	"$IOMMU" model $bad >"$T/out" 2>"$T/err"
	check "model ${bad//$T/T} is refused as usage" eval "test $? = 2 && test \$(wc -l <'$T/err') = 1 && ! test -s '$T/out'"
done
finish
