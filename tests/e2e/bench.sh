#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# bench.sh - nfsrdma-bench as people run it: iozone's lines, our notes, JSON, signals, errors.
. "$(dirname "$0")/../lib.sh"
export TMPDIR=$T

# Only iozone's lines, every figure an N.
iozone_lines() {
	grep -v '^# ' "$1" | sed -E 's/^\tRun began: .*/\tRun began: DATE/; s/^\tMachine = .*/\tMachine = X/
		s/^\tCommand line used: .*/\tCommand line used: X/; s/(=|time|utilization) +[0-9.]+/\1 N/g'
}

same_as_sample() { # SAMPLE ARGS...
	local sample=$SRC/tests/data/iozone/$1.txt
	shift
	timeout 120 "$BENCH" "$@" >"$T/out" || return
	diff <(tail -n +2 "$sample" | iozone_lines /dev/stdin) <(iozone_lines "$T/out")
}

usage() { # ARGS...: exit 2 and one line
	timeout 20 "$BENCH" "$@" >"$T/out" 2>"$T/err"
	[ $? = 2 ] && [ ! -s "$T/out" ] && [ "$(wc -l <"$T/err")" = 1 ]
}

fails() { # PATTERN ARGS...: exit 1 and one line that matches
	local pattern=$1
	shift
	timeout 60 "$BENCH" "$@" >"$T/out" 2>"$T/err"
	[ $? = 1 ] && [ "$(wc -l <"$T/err")" = 1 ] && grep -qE "$pattern" "$T/err" || { cat "$T/err"; return 1; }
}

# Nothing of the private server: no process with its folder in its arguments, no folder.
nothing_left() {
	local i
	for i in $(seq 100); do
		pgrep -f -- "--export $T/nfsrdma-bench" >/dev/null || break
		sleep 0.1
	done
	! pgrep -af -- "--export $T/nfsrdma-bench" && ! ls -d "$T"/nfsrdma-bench.* 2>/dev/null
}

check "an unknown option is a usage error of one line" usage -Z
check "an option that can mean nothing is a usage error" usage -i0 -B
check "a bad mount option is a usage error" usage -o rsiez=1m
check "a test that needs files says how to get them" fails 'write one first with -i0' -i1 -s1m -r64k
check "a file system without room is named" fails 'has .* free \(use --dir' -i0 -s1024g -r1m -t1000
check "an unreachable target is one line" fails . -i0 --target 127.0.0.1:/x -o port=1,mountport=1
check "nothing is left behind by failures" nothing_left

check "the lines over RDMA are iozone's" \
	same_as_sample throughput-12 -M -+u -i0 -i1 -s4m -r256k -t12 -I
check "the header names fabric and IOMMU" grep -qE '^# iommu ' "$T/out"
check "the header names the fabric" grep -qE '^# fabric (iwarp|verbs), device ' "$T/out"
check "the lines over TCP are iozone's" \
	same_as_sample throughput-x-n -x -+n -i0 -i1 -s8m -r64k -t2 -e -c -o proto=tcp
check "the lines of a range are iozone's" same_as_sample throughput-range -l1 -u2 -i0 -i1 -s4m -r256k
check "nothing is left behind by runs" nothing_left

table() { timeout 60 "$BENCH" -i0 -i1 -s1m -r64k --client "$1" >"$T/out" && grep -qE '^ +1024 +64( +[0-9]+){4} +$' "$T/out"; }
check "the table is filled in" table nfsrdma
if "$BENCH" --client libnfs --help 2>&1 | grep -q libnfs && ldd "$BENCH" | grep -q libnfs; then
	check "libnfs does the I/O when asked to" table libnfs
else
	skip "libnfs does the I/O when asked to" "built without libnfs"
fi
mkdir "$T/folder"
check "plain system calls do the I/O when asked to" table "posix:$T/folder"

json() {
	timeout 120 "$BENCH" -i0 -i1 -s16m -r256k -t2 --depth 4 --json "$T/result.json" >"$T/out" || return
	python3 - "$T/result.json" <<-'PY'
		import json, sys
		d = json.load(open(sys.argv[1]))
		assert d["schema"] == "nfsrdma-bench/1", d["schema"]
		assert [t["name"] for t in d["tests"]] == ["initial writers", "rewriters", "readers", "re-readers"]
		assert d["env"]["mr"] == "pool" and d["env"]["iommu"].startswith("iommu ")
		for t in d["tests"]:
		    assert t["children"] == 2 and t["children_kBps"] > 0 and t["min_xfer_kB"] <= 16384
		    assert 0 < t["latency_us"]["p50"] <= t["latency_us"]["p99.9"] <= t["latency_us"]["max"]
		    l = t["ledger"]
		    for name in "registrations deregistrations pages_charged pages_released iova_maps iova_unmaps".split():
		        assert l[name] == 0 and l[name + "_per_io"] == 0, (t["name"], name, l[name])
		    tr = t["transport"]
		    assert tr["rpcs"] >= t["ios"], tr
		    assert tr["doorbells"] <= tr["rpcs"], tr
		    assert tr["retransmits"] == 0 and tr["reconnects"] == 0
	PY
}
check "JSON: no registration, pin or map per I/O, at most one doorbell per RPC" json

interrupt() { # SIGNAL
	local pid status i
	# A shell starts background jobs with SIGINT ignored.
	env --default-signal=INT "$BENCH" -i0 -i1 -s4g -r64k -t2 >"$T/out" 2>"$T/err" &
	pid=$!
	for i in $(seq 200); do
		grep -q 'Each process' "$T/out" && break
		sleep 0.05
	done
	sleep 0.5
	kill "-$1" "$pid"
	wait "$pid"
	status=$?
	[ $status = 130 ] && grep -q 'cut short' "$T/out" && grep -q 'Min xfer' "$T/out" ||
		{ echo "status $status"; cat "$T/out" "$T/err"; return 1; }
}
room=$(df --output=avail -k "$T" | tail -n 1)
if [ "$room" -gt $((9 * 1024 * 1024)) ]; then
	check "Ctrl-C prints what there is and exits 130" interrupt INT
	check "nothing is left behind by Ctrl-C" nothing_left
	killed() {
		"$BENCH" -i0 -s4g -r64k >/dev/null 2>&1 &
		sleep 1
		kill -KILL $!
		wait $! 2>/dev/null
		for _ in $(seq 100); do
			pgrep -f -- "--export $T/nfsrdma-bench" >/dev/null || return 0
			sleep 0.1
		done
		return 1
	}
	check "no server outlives a bench that is killed" killed
else
	skip "Ctrl-C prints what there is and exits 130" "needs 9 GiB free in $T"
	skip "nothing is left behind by Ctrl-C" "needs 9 GiB free in $T"
	skip "no server outlives a bench that is killed" "needs 9 GiB free in $T"
fi

mkdir "$T/export"
server_start --export "$T/export" || not_ok "nfsrdmad starts"
[ "$(id -u)" != 0 ] || chmod 777 "$T/export"
target() {
	timeout 60 "$BENCH" -i0 -i1 -s1m -r64k -t2 --target "127.0.0.1:$T/export" \
		-o "port=$RDMA_PORT,mountport=$TCP_PORT" "$@" >"$T/out"
}
files() { ls "$T/export" | wc -l; }
check "a target is written to" target
check "files are removed" [ "$(files)" = 0 ]
check "-w keeps the files" target -w
check "they are there, whole" [ "$(stat -c %s "$T/export"/iozone.DUMMY.[01] | sort -u)" = 1048576 ]
server_stop

if [ "$(id -u)" = 0 ]; then
	unprivileged() {
		mkdir -p "$T/user" && chown 65534 "$T/user"
		(ulimit -l 8192; cd / && TMPDIR=$T/user setpriv --reuid=65534 --regid=65534 --clear-groups \
			--bounding-set=-all --inh-caps=-all timeout 120 "$BENCH" -i0 -i1 -s8m -r256k -t4 --depth 2) >"$T/out"
	}
	check "an ordinary user under 8 MiB of memlock can run it" unprivileged
	check "and is told the limit" grep -q 'memlock 8 MiB' "$T/out"
else
	skip "an ordinary user under 8 MiB of memlock can run it" "only root can become one here"
	skip "and is told the limit" "only root can become one here"
fi

# A server that does not answer any more cannot hold a bench that was interrupted.
mkdir -m 777 "$T/silent"
server_start --export "$T/silent=/e" || { not_ok "the server starts"; finish; }
silent() {
	local pid status
	env --default-signal=INT "$BENCH" --target 127.0.0.1:/e -o "proto=rdma,fabric=iwarp,port=$RDMA_PORT" -i0 -s512m -r64k -t2 \
		>"$T/out" 2>"$T/err" &
	pid=$!
	until_in_the_middle "$T/silent"
	kill -STOP "$SERVER_PID"
	kill -INT "$pid"
	wait "$pid"
	status=$?
	kill -CONT "$SERVER_PID"
	[ $status = 130 ] && [ "$(grep -c . "$T/err")" = 1 ] && grep -q "interrupted; the server does not answer" "$T/err" ||
		{ echo "status $status"; cat "$T/out" "$T/err"; return 1; }
}
check "Ctrl-C ends a bench whose server is silent, in one line" silent
check "the server stops cleanly" server_stop
finish
