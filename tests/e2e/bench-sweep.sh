#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# bench-sweep.sh - several runs in one: sweeps, clients side by side, comparisons, baselines, reports.
. "$(dirname "$0")/../lib.sh"
export TMPDIR=$T

headline() {
	timeout 200 "$BENCH" --sweep mr=pool,window,per-io --sweep proto=rdma,tcp -i0 -i1 -i2 \
		-s4m -r256k -t2 --report "$T/page.html" --json "$T/sweep.json" --csv "$T/sweep.csv" >"$T/out"
}
check "the headline sweep runs, in small" headline
document() {
	python3 - "$T/sweep.json" <<-'PY'
		import json, sys
		d = json.load(open(sys.argv[1]))
		runs = d["runs"]
		assert d["schema"] == "nfsrdma-bench/1" and d["complete"] and d["rounds"] == 3
		assert [(r["set"]["mr"], r["set"]["proto"]) for r in runs] == [(m, p) for m in ("pool", "window", "per-io") for p in ("rdma", "tcp")]
		for r in runs:
		    assert r["env"]["proto"] == r["set"]["proto"]
		    assert [t["name"] for t in r["tests"]] == ["initial writers", "rewriters", "readers", "re-readers", "random readers", "random writers"]
		    for t in r["tests"]:
		        assert len(t["rounds_kBps"]) == 3 and t["children_kBps"] == sorted(t["rounds_kBps"])[1]
		        assert ("ratio" in t) == (r is not runs[0]), t
		        if r["set"] == {"mr": "pool", "proto": "rdma"}: assert t["ledger"]["registrations"] == 0
		        if r["set"] == {"mr": "per-io", "proto": "rdma"}: assert t["ledger"]["registrations_per_io"] >= 1
		        if r["set"] == {"mr": "window", "proto": "rdma"}: assert t["ledger"]["windows_bound_per_io"] >= 1, t["ledger"]
	PY
}
check "its document has a run per combination with median, rounds and ratio" document
check "its table is prefixed" grep -qE '^#   mr=per-io proto=tcp +[0-9.]+ \(' "$T/out"
in_turns() { [ "$(grep -oE '^# round . of 3, case .' "$T/out" | tr -cd '0-9\n' | cut -c1,3 | tr '\n' ' ')" = "11 12 13 14 15 16 21 22 23 24 25 26 31 32 33 34 35 36 " ]; }
check "cases are taken in turns" in_turns
check "the CSV has a line per case and test" [ "$(wc -l <"$T/sweep.csv")" = 37 ]
check "nothing of the page comes from elsewhere" bash -c "! grep -oiE '(src|href|url|@import)[ =(]' '$T/page.html'"
if command -v chromium >/dev/null; then
	page() {
		timeout 100 chromium --headless --no-sandbox --disable-gpu --user-data-dir="$T/chromium" --dump-dom "file://$T/page.html" \
			>"$T/dom" 2>"$T/chromium.err" && python3 "$SRC/tests/e2e/bench-page.py" "$T/dom" "$T/sweep.json"
	}
	check "a browser shows the figures of the page" page
else
	skip "a browser shows the figures of the page" "no chromium"
fi

any_option() {
	timeout 100 "$BENCH" --sweep crc=on,off --sweep inline=1024,4096 --sweep nconnect=1,2 --rounds 1 -i1 -i0 -s1m -r64k -t2 --json "$T/any.json" >/dev/null &&
		[ "$(python3 -c 'import json,sys; print(len(json.load(open(sys.argv[1]))["runs"]))' "$T/any.json")" = 8 ]
}
check "any mount option can be swept" any_option
refused() { timeout 20 "$BENCH" --sweep mr=pool,nonsense -i0 2>"$T/err"; [ $? = 2 ] && [ "$(wc -l <"$T/err")" = 1 ]; }
check "a value that is none is refused before anything is run" refused

mkdir "$T/folder"
clients() {
	timeout 200 "$BENCH" --client nfsrdma "${@/#/--client=}" --rounds 3 --depth 4 -i0 -i1 -s4m -r256k -t2 --json "$T/clients.json" >"$T/out" &&
		python3 - "$T/clients.json" "$#" <<-'PY'
			import json, sys
			runs = json.load(open(sys.argv[1]))["runs"]
			assert len(runs) == int(sys.argv[2]) + 1
			for r in runs[1:]:
			    for t in r["tests"]:
			        q = t["ratio"]
			        assert q["to"] == "client=nfsrdma" and 0 < q["low95"] <= q["mean"] <= q["high95"], q
		PY
}
if ldd "$BENCH" | grep -q libnfs; then
	check "libnfs and plain calls beside the library: ratio and its confidence" clients libnfs "posix:$T/folder"
else
	check "plain calls beside the library: ratio and its confidence" clients "posix:$T/folder"
fi

# ---- pictures
if command -v gnuplot >/dev/null; then
	picture() { timeout 60 "$BENCH" --sweep mr=pool,per-io --rounds 1 -i0 -s1m -r64k -t2 --report "$T/p.$1" >/dev/null && head -c 200 "$T/p.$1" | grep -qaE "$2"; }
	check "a picture is drawn as SVG" picture svg '<svg|<\?xml'
	check "a picture is drawn as PNG" picture png PNG
else
	skip "a picture is drawn as SVG" "no gnuplot"
	skip "a picture is drawn as PNG" "no gnuplot"
fi
without() { PATH=/nonexistent "$BENCH" -i0 -s1m -r64k --report "$T/q.svg" >/dev/null 2>"$T/err"; [ $? = 1 ] && grep -q 'there is no gnuplot (install gnuplot-nox' "$T/err"; }
check "without gnuplot it says what to install" without

# ---- one document against another
one() { timeout 60 "$BENCH" -i0 -i1 -s1m -r64k -t2 "$@" >"$T/out" 2>"$T/err"; }
one --json "$T/a.json"
echo '{"schema":"nfsrdma-bench/1"}' >"$T/empty.json"
"$BENCH" --compare "$T/empty.json" "$T/a.json" >"$T/out" 2>"$T/err"
[ $? = 1 ] && grep -q 'it has no tests' "$T/err" && ok "a document without tests is not compared" ||
	not_ok "a document without tests is not compared" "$(cat "$T/out" "$T/err")"
same() { "$BENCH" --compare "$T/a.json" "$T/a.json" >"$T/out" && [ "$(grep -c 'ratio  1.000' "$T/out")" = 8 ]; }
check "a comparison of a document with itself has ratios of 1" same
python3 - "$T/a.json" "$T/fast.json" <<'PY'
import json, sys
d = json.load(open(sys.argv[1]))
for t in d["tests"]: t["children_kBps"] *= 1e4
json.dump(d, open(sys.argv[2], "w"))
PY
status() { local want=$1; shift; one "$@"; [ $? = "$want" ]; }
check "a baseline that is met passes" status 0 --baseline "$T/a.json" --fail-below 0.0001
check "a baseline that is missed fails with 1" status 1 --baseline "$T/fast.json" --fail-below 0.95
other() { timeout 60 "$BENCH" -i0 -s2m -r64k --baseline "$T/a.json" --fail-below 0.95 >"$T/out" 2>"$T/err"; [ $? = 125 ] && [ "$(wc -l <"$T/err")" = 1 ]; }
check "a baseline of other tests is no verdict: 125" other
check "a baseline that is not there is no verdict: 125" status 125 --baseline "$T/none.json"

# A history of ten commits; from the seventh on the program is slow.
bisect() {
	local i first
	git init -q "$T/repo" && cd "$T/repo" || return
	git config user.email t@example.org && git config user.name t
	for i in $(seq 10); do
		[ "$i" -lt 7 ] && echo "" >slow || echo "-+O 20" >slow
		echo "$i" >n && git add . && git commit -qm "change $i" || return
	done
	cat >"$T/measure" <<-END
		#!/bin/sh
		exec "$BENCH" -i0 -+n -s1m -r64k \$(cat slow) --baseline "$T/base.json" --fail-below 0.5
	END
	chmod +x "$T/measure"
	timeout 60 "$BENCH" -i0 -+n -s1m -r64k -+O 400 --json "$T/base.json" >/dev/null || return
	git bisect start HEAD HEAD~9 >/dev/null && git bisect run "$T/measure" >"$T/bisect" 2>&1
	grep -A20 'is the first bad commit' "$T/bisect" | grep -q 'change 7'
}
check "git bisect run finds the commit that made it slow" bisect
finish
