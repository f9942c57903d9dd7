#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# iommu-tool.sh - nfsrdma-iommu iova, cost and watch: what they report, whom they refuse, what they leave behind.
# No figure is judged here.
. "$(dirname "$0")/../lib.sh"
IOMMU=$(program nfsrdma-iommu)
if ! [ -x "$IOMMU" ]; then
	skip "nfsrdma-iommu iova, cost and watch" "built without jansson"
	finish
fi
# doc FILE EXPRESSION: holds for the document d
doc() { python3 -c 'import json,sys; d = json.loads(open(sys.argv[1]).read()); assert eval(sys.argv[2]), d' "$1" "$2"; }

timeout 60 "$IOMMU" iova --threads 2 --seconds 1 --json >"$T/iova"
check "iova measures" test $? = 0
check "iova has three allocators side by side" doc "$T/iova" \
	"[a['name'] for a in d['allocators']] == ['control', 'magazine', 'tree'] and d['threads'] == 2"
check "iova has a figure for each" doc "$T/iova" \
	"all(a['ns_one_thread'] > 0 and a['ns_all_threads'] > 0 for a in d['allocators']) and d['magazine_over_tree'] > 0"
timeout 60 "$IOMMU" iova --allocator tree --seconds 1 --json >"$T/iova"
check "iova --allocator picks one, beside the control" doc "$T/iova" "[a['name'] for a in d['allocators']] == ['control', 'tree']"
check "iova prints for people too" eval "timeout 60 '$IOMMU' iova --seconds 1 | grep -q '^magazine over tree'"

timeout 60 "$IOMMU" cost --sizes 4k,1m --json >"$T/cost"
check "cost measures registration on the software RNIC" test $? = 0
check "cost has a row per size and kind of page" doc "$T/cost" \
	"d['fabric'] == 'iwarp' and [(r['size'], r['page']) for r in d['rows']][:2] == [(4096, '4k'), (1048576, '4k')]"
check "cost finds what is pinned where the kernel books it" doc "$T/cost" \
	"all(r['vm_pin_kb'] + r['vm_lck_kb'] == r['size'] // 1024 for r in d['rows'] if r['page'] == '4k')"
check "cost prints a table too" eval "timeout 60 '$IOMMU' cost --sizes 64k | grep -q '64 KiB *4k'"
(ulimit -l 64 && timeout 60 setpriv --bounding-set=-all --inh-caps=-all "$IOMMU" cost --sizes 1m --json >"$T/cost" 2>/dev/null)
check "cost goes on where a limit refuses" doc "$T/cost" "d['rows'][0]['size'] == 1048576"
check "and names the limit" doc "$T/cost" "'the memlock limit is 64 KiB' in d['rows'][0]['error']"
"$IOMMU" cost --fabric verbs --address 127.0.0.1 >"$T/out" 2>"$T/err"
check "cost says why there is no verbs device" eval "test $? = 1 && grep -q '^nfsrdma-iommu: cost: ' '$T/err'"
for bdf in 0000:ff:1f.7 ../../x 00:01.0 0000:00:00.0x; do
	"$IOMMU" cost --vfio $bdf 2>"$T/err"
	check "cost --vfio $bdf is refused with a word" eval "test $? = 1 && test \$(wc -l <'$T/err') = 1"
done

export XDG_RUNTIME_DIR=$T/run
mkdir -m 700 "$XDG_RUNTIME_DIR"
mkdir "$T/export"
server_start --null --export "$T/export=/e" || { not_ok "nfsrdmad starts"; finish; }
timeout 20 "$IOMMU" watch "$SERVER_PID" --interval 0.1 --count 2 --json >"$T/watch" 2>"$T/err"
check "watch sees a process of ours" test $? = 0
tail -n 1 "$T/watch" >"$T/last"
check "watch finds its ledger" doc "$T/last" "d['ledgers'] >= 1 and d['pages_charged'] is not None and d['vm_pin_kb'] is not None"
check "watch says once why a witness is missing, or has it" eval "test \$(wc -l <'$T/err') -le 1"

# busy MODE EXPRESSION: holds for one of the samples while the bench is at work in that mode
busy() {
	"$BENCH" -o "mr=$1,port=$RDMA_PORT,mountport=$TCP_PORT" --target 127.0.0.1:/null -i 0 -i 1 -s 8g -r 256k \
		>"$T/bench" 2>&1 &
	local pid=$!
	LIB_PIDS+=("$pid")
	timeout 20 "$IOMMU" watch "$pid" --interval 0.3 --count 6 --json >"$T/watch" 2>/dev/null
	kill "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
	tail -n 3 "$T/bench"
	python3 -c 'import json,sys
samples = [json.loads(line) for line in open(sys.argv[1])]
assert any(d["ledgers"] and eval(sys.argv[2]) for d in samples), samples' "$T/watch" "$2"
}
check "a mount in per-io mode registers and maps for each I/O" busy per-io "d['registrations_per_s'] > 10 and d['iova_maps_per_s'] >= 0"
check "a mount in pool mode holds its pins, and registers nothing" busy pool \
	"d['vm_pin_kb'] + d['vm_lck_kb'] == 4 * d['pages_charged'] > 0 and d['registrations_per_s'] == 0"

# What the policy makes of a small limit is said by every tool that pins.
small() { (ulimit -l 8192 && timeout 60 setpriv --bounding-set=-all --inh-caps=-all "$@"); }
small "$NFSRDMA" -v -o "port=$RDMA_PORT,mountport=$TCP_PORT" ls 127.0.0.1:/null >"$T/out" 2>"$T/err"
check "nfsrdma -v says what the pool is like, and why" grep -q '^nfsrdma: pool: 4 KiB pages, .*: the memlock limit is 8 MiB' "$T/err"
check "and what to mind" grep -q '^nfsrdma: memlock-small: the memlock limit is 8 MiB' "$T/err"
small "$BENCH" -o "port=$RDMA_PORT,mountport=$TCP_PORT" --target 127.0.0.1:/null -i 0 -s 1m -r 64k --json "$T/bench.json" >"$T/out" 2>&1
check "the bench's header warns" grep -q '^# warning: memlock-small: ' "$T/out"
check "and so does its document" grep -q '"memlock-small"' "$T/bench.json"
check "in pool mode nobody speaks of invalidations" eval "! grep -q '^# invalidations: ' '$T/out' && ! grep -q '\"invalidations\"' '$T/bench.json'"
batch='at most [0-9]* share a doorbell, none waits longer than [0-9]* us: '
window=mr=window,port=$RDMA_PORT,mountport=$TCP_PORT
"$BENCH" -o "$window" --target 127.0.0.1:/null -i 0 -s 1m -r 64k --json "$T/bench.json" >"$T/out" 2>&1
check "the bench's header has how those of windows are batched, and why" grep -q "^# invalidations: $batch" "$T/out"
check "and so has its document" grep -q "\"invalidations\": *\"$batch" "$T/bench.json"
"$NFSRDMA" -v --stats -o "$window" ls 127.0.0.1:/null >"$T/out" 2>"$T/err"
check "nfsrdma -v says it" grep -q "^nfsrdma: invalidations: $batch" "$T/err"
check "and --stats, beside the pool" eval "grep -q '^invalidations $batch' '$T/err' && grep -q '^pool .*: ' '$T/err'"
"$NFSRDMA" -q --json --stats -o "$window" ls 127.0.0.1:/null >"$T/out" 2>"$T/err"
check "and its document has it all" doc "$T/err" "d['mr'] == 'window' and d['pool'] and d['iommu'].startswith('iommu ') and 'doorbell' in d['invalidations']"
server_stop
small_server() {
	SERVER_WRAP=(setpriv --bounding-set=-all --inh-caps=-all) &&
		{ ulimit -S -l 8192 && server_start -v --null --export "$T/export=/e"; } &&
		"$NFSRDMA" -o "port=$RDMA_PORT,mountport=$TCP_PORT" ls 127.0.0.1:/null && server_stop
}
limit=$(ulimit -S -l)
check "a server under a small limit serves" small_server
ulimit -S -l "$limit"
unset SERVER_WRAP
check "nfsrdmad -v says what its pool is like, and why" grep -q '^nfsrdmad: pool for iwarp: 4 KiB pages, .*: the memlock limit is 8 MiB' "$T/nfsrdmad.err"
check "and what to mind, once" test "$(grep -c '^nfsrdmad: memlock-small: the memlock limit is 8 MiB' "$T/nfsrdmad.err")" = 1
timeout 20 "$IOMMU" watch 4194303 --interval 0.1 --count 1 2>"$T/err"
check "watch says that a process is not there" eval "test $? = 1 && grep -q 'no process 4194303' '$T/err'"
"$IOMMU" watch --interval 0.2 >"$T/out" 2>/dev/null &
pid=$!
LIB_PIDS+=("$pid")
sleep 0.7
kill -TERM "$pid"
wait "$pid"
check "an interrupt ends watch" test $? = 130
for bad in "iova --threads 0" "iova --threads x" "iova --allocator slab" "cost --sizes 0" "cost --sizes 4k," "cost --sizes ,4k" "cost --sizes 5000" "cost --sizes 2g" \
	"cost --fabric tcp" "cost --vfio 0000:00:00.0 --fabric iwarp" "cost --vfio 0000:00:00.0 --address ::1" "cost --api type1" "watch x" "watch 1 2" "watch --interval 0" "watch --interval x" "iova --bad" "cost word" "watch --count"; do
	# shellcheck disable=SC2086
	"$IOMMU" $bad >"$T/out" 2>"$T/err"
	check "$bad is refused as usage" eval "test $? = 2 && test \$(wc -l <'$T/err') = 1"
done
# refused COMMAND ARGUMENT WORDS: the argument is named, and what is wrong with it
refused() {
	"$IOMMU" "$1" --json "$2" >"$T/out" 2>"$T/err"
	[ $? = 2 ] && ! [ -s "$T/out" ] && grep -qxF "nfsrdma-iommu: $1: $2: $3 (see nfsrdma-iommu --help)" "$T/err" || { cat "$T/err"; return 1; }
}
for command in show cost watch iova model; do
	check "$command -x is named as it stands" refused $command -x "unknown option"
	check "$command -xy, too" refused $command -xy "unknown option"
	check "$command --nonsense=1" refused $command --nonsense=1 "unknown option"
	check "$command --json=1 is told what it is" refused $command --json=1 "takes no value"
done

# unwritable ARGS: neither a full disk nor a closed stdout goes by unsaid, and the line has the reason
unwritable() {
	timeout 20 "$IOMMU" "$@" >/dev/full 2>"$T/err"
	[ $? = 1 ] && [ "$(grep -v 'no IOMMU maps' "$T/err" | wc -l)" = 1 ] && grep -q 'No space left on device$' "$T/err" || { cat "$T/err"; return 1; }
	timeout 20 "$IOMMU" "$@" >&- 2>"$T/err"
	[ $? = 1 ] && [ "$(grep -v 'no IOMMU maps' "$T/err" | wc -l)" = 1 ] || { cat "$T/err"; return 1; }
}
for args in --help --version "show --help" show "show --json" model "model --json" "iova --seconds 1" "cost --sizes 4k" "cost --sizes 4k --json" \
	"watch --count 1 --interval 0.01" "watch --count 1 --interval 0.01 --json"; do
	# shellcheck disable=SC2086
	check "$args: what cannot be written is said" unwritable $args
done
enough() { timeout 20 "$IOMMU" watch --interval 0.01 2>"$T/err" | head -n 1 >"$T/out"; [ -s "$T/out" ] && ! grep -v 'no IOMMU maps' "$T/err"; }
check "watch | head ends without a word" enough
finish
