#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# iommu-show.sh - nfsrdma-iommu show on every tree of tests/data/sysfs, as an unprivileged user: what it says against
# tests/data/iommu-show, and that its JSON says all of it.
#
#   UPDATE=1 tests/cli/iommu-show.sh     write the expected reports anew (then read the difference)
. "$(dirname "$0")/../lib.sh"
IOMMU=$(program nfsrdma-iommu)
golden=$SRC/tests/data/iommu-show

if ! [ -x "$IOMMU" ]; then
	skip "nfsrdma-iommu show" "built without jansson"
	finish
fi
mkdir "$T/bin"
cp "$IOMMU" "$T/bin/nfsrdma-iommu"
"$SRC/tests/iommu-aware/trees.sh" "$SRC/tests/data/sysfs" "$T/trees"
as_user=(env)
if [ "$(id -u)" = 0 ]; then # root may read what nobody may
	as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all --inh-caps=-all)
fi
show() { timeout 20 "${as_user[@]}" "$T/bin/nfsrdma-iommu" show "$@"; }

cat >"$T/complete.py" <<'PY'
import json, sys

# Every label of the text is a key of the document, every advice is whole, nothing is cut short.
doc = json.load(open(sys.argv[1]))
assert doc["schema"] == "nfsrdma-iommu-show/1"
for key in "machine", "iommu", "memory", "numa", "advice", "devices":
    assert key in doc, key
keys = set()
def walk(o):
    if isinstance(o, dict):
        for k, v in o.items():
            keys.add(k)
            walk(v)
    elif isinstance(o, list):
        for v in o:
            walk(v)
walk(doc)
for line in open(sys.argv[2]):
    label = line[:30].strip().replace(" ", "_")
    if line[29:30] == " " and line[30:].strip() and label:
        assert label in keys, label
for advice in doc["advice"] + [a for d in doc["devices"] for a in d["advice"]]:
    assert advice["level"] in ("warn", "note")
    assert all(advice[k] for k in ("id", "fact", "consequence", "remedy", "source")), advice
for device in doc["devices"]:
    assert set(device) >= {"name", "domain", "group", "node", "policy", "iommu_unit", "relaxed_ordering"}
PY

for tree in "$T"/trees/*/; do
	name=$(basename "$tree")
	show --root "$tree" >"$T/out" 2>"$T/err"
	check "$name: is answered" test $? = 0
	check "$name: without a word on stderr" test ! -s "$T/err"
	head -n 240 "$T/out" >"$T/head"
	[ -z "${UPDATE:-}" ] || cp "$T/head" "$golden/$name.txt"
	check "$name: reads as expected" diff -u "$golden/$name.txt" "$T/head"
	show --root "$tree" --json >"$T/json"
	check "$name: the JSON says all that the text says" python3 "$T/complete.py" "$T/json" "$T/out"
done
show --root "$T/trees/many" >"$T/out"
check "64 devices are listed, and no more" test "$(grep -c '^  device ' "$T/out")" = 64
check "every expected report has its tree" test "$(ls "$golden" | sed 's/\.txt$//')" = "$(cd "$T/trees" && ls -d -- */ | tr -d /)"

show >"$T/out" 2>&1
check "this machine is answered" test $? = 0
show --json >"$T/json"
check "this machine's JSON says all of it" python3 "$T/complete.py" "$T/json" "$T/out"
show --root /nonexistent >"$T/out" 2>&1
check "no machine at all is answered" test $? = 0
mkdir -p "$T/beyond/proc/self" && : >"$T/beyond/proc/self/status"
printf 'nr_foll_pin_acquired 18446744073709551615\nnr_foll_pin_released 1\n' >"$T/beyond/proc/vmstat"
show --root "$T/beyond" --json >"$T/json"
check "a number of 64 bits is not negative in JSON" python3 -c 'import json,sys; assert json.load(open(sys.argv[1]))["memory"]["pins_acquired"] > 2**63' "$T/json"
show --root "$T/trees/intel-strict" --device mlx5_1 >"$T/out"
check "--device picks one" test "$(grep -c '^  device ' "$T/out")" = 1
show --root "$T/trees/intel-strict" --device ../../etc >"$T/out"
check "--device cannot lead out of its folder" grep -q 'bus device found *no' "$T/out"
for bad in "--device" "--rot x" "word" "--json=1"; do
	show $bad >"$T/out" 2>"$T/err"
	check "show $bad is refused" test $? = 2
	check "show $bad is refused in one line" test "$(wc -l <"$T/err")" = 1
done
timeout 5 "$IOMMU" show >/dev/full 2>"$T/err"
check "a full disk is reported" test $? = 1
"$IOMMU" nonsense 2>"$T/err"
check "an unknown command is refused" test $? = 2
check "--help helps" eval "'$IOMMU' --help | grep -q 'show \[--root DIR\]'"
check "--version is the package's" test "$("$IOMMU" --version)" = "nfsrdma-iommu $("$NFSRDMA" --version | awk '{print $2}')"
finish
