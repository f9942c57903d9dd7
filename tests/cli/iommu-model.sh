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
# rows on a line: 3 us and half a us for each page, releasing included
rows() { for pages in 1 16 64 256 16384; do printf ',{"size":%d,"page":"4k","%s_us":%s,"%s_us":%s}' $((pages * 4096)) "$1" "$(awk "BEGIN{print 1 + $pages * 0.25}")" "$2" "$(awk "BEGIN{print 2 + $pages * 0.25}")"; done | cut -c2-; }
document() { printf '{"schema":"nfsrdma-iommu-cost/1","maps_included":%s,"rows":[%s]}' "$1" "$(rows "$2" "$3")"; }
document false register release >"$T/registers"
document true register release >"$T/behind"
document false map unmap >"$T/maps"
parameter() { echo "[p['value'] for p in d['parameters'] if p['name'] == '$1'][0]"; }
near() { echo "abs($1 - ($2)) < 1e-6"; }
asked() { echo "[p['delay_us'] for p in d['predictions'] if p['name'] == 'as asked' and p['mode'] == '$1' and p['direction'] == 'read'][0]"; }
model --costs "$T/registers" --policy strict
check "calls and pages are found in rows on a line" doc "$(near "$(parameter register_call)" 3) and $(near "$(parameter register_page)" 0.5)"
check "registering is in the delay once per I/O" doc "$(near "$(asked per-io)" "$(parameter read_delay)")"
check "and in the pool's not at all: 3 + 64 / 2 us less" doc "$(near "$(asked pool)" "$(parameter read_delay) - 35")"
model --costs "$T/registers" --costs "$T/maps" --policy lazy --mode per-io
check "two documents give registering and maps" doc "$(near "$(parameter register_page)" 0.5) and $(near "$(parameter map_page)" 0.5) and \
	all(abs(p['maps_us'] - (3 * 3 + 64 * 0.5)) < 1e-6 for p in d['predictions'] if p['name'] == 'as asked')"
model --costs "$T/behind" --policy strict --mode per-io
check "what was measured behind a translating IOMMU is not mapped a second time" doc "all(p['maps_us'] == 0 for p in d['predictions'] if p['name'] == 'as asked')"

check "the mend is held against the data's figures" doc "[(p['direction'], p['published_kBps']) for p in d['predictions'] if p['name'] == '933fcd01e97e2'] == [('read', 5870000), ('write', 4430000)]"
"$IOMMU" model >"$T/text"
check "what nobody measured is a dash" eval "grep -qE '^ +that machine, pool .* - +- no maps' '$T/text' && ! grep -qE ' 0 +no maps' '$T/text'"
model --cases
check "the other published cases are four, each with figures, counter and command" doc "set(d) == {'schema', 'cases'} and [len(c['figures']) for c in d['cases']] == [7, 3, 3, 2] and \
	all(c['counter'] and c['command'] and all(f['us_per_operation'] > 0 for f in c['figures']) for c in d['cases'])"
check "a figure is held against the first of its setup" doc "[round(f['of_first'], 3) for f in d['cases'][1]['figures']] == [1, 0.288, 0.98] and round(d['cases'][0]['figures'][5]['of_first'], 3) == 0.765"
"$IOMMU" model --cases >"$T/cases"
check "text has them too, and after everything else" eval "tail -n \$(wc -l <'$T/cases') '$T/text' | cmp - '$T/cases'"
check "it prints for people too" eval "'$IOMMU' model | grep -q 'held-out'"
printf 'kernel_commit,test,children_kBps\nbad,readers,1\n' >"$T/bad.csv"
echo '{}' >"$T/bad.json"
echo '{"schema":"nfsrdma-iommu-cost/1","rows":[{"size":4096,"page":"4k","map_us":1,"unmap_us":1}]}' >"$T/once.json"
echo '{"schema":"nfsrdma-iommu-cost/1","rows":[{"size":4096,"page":"4k","map_us":1e308,"unmap_us":1e308},{"size":8192,"page":"4k","map_us":1,"unmap_us":1}]}' >"$T/huge.json"
for bad in "--threads 0" "--threads x" "--record 0" "--link x" "--link 0" "--link -1" "--policy slow" "--mode none" "--inval-us -1" \
	"--figures $T/none" "--figures $T/bad.csv" "--figures $T" "--costs $T/none" "--costs $T/bad.json" "--costs $T/bad.csv" \
	"--costs $T" "--costs $T/once.json" "--costs $T/huge.json" "--inval-us ." "--link 1e3" "--cases=x" \
	"--bad" "word" "--threads"; do
	# shellcheck disable=SC2086
	"$IOMMU" model $bad >"$T/out" 2>"$T/err"
	check "model ${bad//$T/T} is refused as usage" eval "test $? = 2 && test \$(wc -l <'$T/err') = 1 && ! test -s '$T/out'"
done
finish
