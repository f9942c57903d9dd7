#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# iommu.sh - the software IOMMU end to end: files are copied whole under every policy in every mode, the counters say who
# pays for what, and the bench sweeps policies and modes.
. "$(dirname "$0")/../lib.sh"

mkdir -m 777 "$T/export"
server_start --export "$T/export=/e" || { not_ok "the server starts"; finish; }
head -c 6000001 /dev/urandom >"$T/src"

copied() {
	local o=fabric=iwarp,port=$RDMA_PORT,mountport=$TCP_PORT,iommu=$1,mr=$2
	timeout 60 nfsrdma -q --stats -o "$o" cp "$T/src" "127.0.0.1:/e/$1-$2" 2>"$T/$1-$2.stats" &&
		timeout 60 nfsrdma -q -o "$o" cp "127.0.0.1:/e/$1-$2" "$T/back" && cmp "$T/src" "$T/back" && cmp "$T/src" "$T/export/$1-$2"
}
for policy in off passthrough lazy strict; do
	for mode in pool window per-io cache; do check "iommu=$policy mr=$mode: a file goes there and back whole" copied $policy $mode; done
done
count() { awk -v n="$2" '$1 == "ledger" && $2 == n { print $3 }' "$T/$1.stats"; }
check "off: nothing is mapped, nothing is looked up" [ "$(count off-pool iova_maps)$(count off-pool iotlb_lookups)" = 00 ]
check "strict: addresses are looked up" [ "$(count strict-pool iotlb_lookups)" -gt 90 ]
check "strict: nothing faults" [ "$(count strict-pool iommu_faults)$(count strict-per-io iommu_faults)$(count strict-window iommu_faults)" = 000 ]
check "--stats names the policy" grep -q "software IOMMU strict" "$T/strict-pool.stats"
modelled() {
	timeout 60 nfsrdma -q --stats -o "fabric=iwarp,port=$RDMA_PORT,mountport=$TCP_PORT,iommu=strict,iommu-inval-ns=2000" cp "$T/src" 127.0.0.1:/e/m 2>"$T/modelled" &&
		grep -q "modelled to take 2000 ns" "$T/modelled"
}
check "what is modelled is said to be" modelled
auto() {
	timeout 60 nfsrdma -v --stats -o "port=$RDMA_PORT,mountport=$TCP_PORT,iommu=strict" cp "$T/src" 127.0.0.1:/e/auto 2>"$T/auto" &&
		grep -q "software IOMMU strict" "$T/auto" && ! grep -q "not verbs" "$T/auto"
}
check "iommu= alone asks for the fabric that has one" auto
contradicts() { # WORD OPTIONS
	local status
	timeout 60 nfsrdma -o "port=$RDMA_PORT,mountport=$TCP_PORT,$2" ls 127.0.0.1:/e >"$T/out" 2>"$T/err"
	status=$?
	[ $status = 2 ] && [ "$(wc -l <"$T/err")" = 1 ] && ! [ -s "$T/out" ] && grep -q "iommu=.*fabric=iwarp.*not $1" "$T/err" || { echo "status $status"; cat "$T/err"; return 1; }
}
check "over TCP it is refused in one line" contradicts proto=tcp iommu=strict,proto=tcp
check "over verbs, too" contradicts fabric=verbs fabric=verbs,iommu=lazy
check "and where TCP might stand in" contradicts fallback=tcp fallback=tcp,iommu=passthrough
tcp_url() { ! timeout 60 nfsrdma -o iommu=strict ls "nfs://127.0.0.1:$TCP_PORT/e?tcp" 2>"$T/err" && grep -q "iommu=strict: .*not proto=tcp" "$T/err"; }
check "in a URL, too" tcp_url
check "off contradicts nobody" timeout 60 nfsrdma -q -o "iommu=off,proto=tcp,port=$TCP_PORT,mountport=$TCP_PORT" ls 127.0.0.1:/e
bench_contradicts() { timeout 60 "$BENCH" --sweep proto=rdma,tcp -o iommu=strict -i0 -s1m >"$T/out" 2>"$T/err"; [ $? = 2 ] && [ "$(wc -l <"$T/err")" = 1 ]; }
check "the bench says so before anything is run" bench_contradicts
check "the server stops cleanly" server_stop

export TMPDIR=$T
sweep() {
	timeout 300 "$BENCH" -o fabric=iwarp --sweep iommu=off,lazy,strict --sweep mr=pool,window,per-io --rounds 1 -i0 -i1 -s8m -r256k -t1 -I \
		--report "$T/page.html" --json "$T/sweep.json" >"$T/out"
}
check "the table of policies and modes is made" sweep
document() {
	python3 - "$T/sweep.json" <<-'PY'
		import json, sys
		try: thp = "[never]" not in open("/sys/kernel/mm/transparent_hugepage/enabled").read()
		except OSError: thp = False
		for r in json.load(open(sys.argv[1]))["runs"]:
		    policy, mode = r["set"]["iommu"], r["set"]["mr"]
		    for t in r["tests"]:
		        l, what = t["ledger"], (policy, mode, t["name"], t["ledger"])
		        assert l["iommu_faults"] == 0, what
		        assert (l["iotlb_lookups_per_io"] >= 4) == (policy != "off"), what
		        if mode != "per-io" and thp: assert l["iotlb_lookups_per_io"] < 32, ("a slab is mapped by leaves of 2 MiB", what)
		        if mode == "per-io" and policy != "off": assert l["iotlb_lookups_per_io"] >= 64, ("one page after the other", what)
		        if mode != "per-io" or policy == "off": assert l["iova_maps"] == l["iova_unmaps"] == l["iommu_flushes"] == 0, what
		        else: assert l["iova_maps_per_io"] >= 1, what
		        if mode == "per-io" and policy == "strict": assert l["iommu_flushes"] == l["iova_unmaps"] > 0, what
		        if policy != "strict": assert l["iommu_flushes"] == 0, what
	PY
}
check "per-io in strict mode waits for an invalidation per I/O, pool and window for none" document
check "the text has look-ups, maps and flushes" grep -qE 'iommu=strict mr=per-io.*look-ups.*maps.*flushes' "$T/out"
check "the page has the cases" grep -q 'iommu=strict mr=per-io' "$T/page.html"
all_say_modelled() { # the text's table, CSV, page, pictures and a comparison, in each line with a policy and in no other
	timeout 100 "$BENCH" -o fabric=iwarp,iommu-inval-ns=2000 --sweep iommu=off,strict --rounds 1 -i0 -+n -s1m -r256k -t1 \
		--report "$T/page.html" --json "$T/m.json" --csv "$T/m.csv" >"$T/out" &&
		grep -q '^#   iommu=strict modelled ' "$T/out" && ! grep -q '^#   iommu=off.*modelled' "$T/out" &&
		grep -q '^iommu=strict modelled,' "$T/m.csv" && grep -q '^iommu=off,' "$T/m.csv" &&
		grep -q '"case">iommu=strict modelled<' "$T/page.html" && grep -q 'modelled to take 2000 ns' "$T/m.json" &&
		timeout 100 "$BENCH" -o fabric=iwarp,iommu=strict,iommu-inval-ns=2000 -i0 -+n -s1m -r256k --json "$T/p.json" --csv "$T/p.csv" >"$T/out" &&
		grep -q '^# .*modelled to take 2000 ns' "$T/out" && grep -q '^modelled,' "$T/p.csv" &&
		"$BENCH" --compare "$T/p.json" "$T/p.json" | grep -q modelled
}
check "whatever shows modelled figures says so" all_say_modelled
finish
