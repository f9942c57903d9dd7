#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# bench-modes.sh - nfsrdma-bench's modes end to end: every sample of iozone's, verifying, times, sharing, what is
# counted against what others count, and what is left when it is broken off.
. "$(dirname "$0")/../lib.sh"
export TMPDIR=$T

# Only iozone's lines, every figure an N.
iozone_lines() {
	grep -v '^# ' "$1" | sed -E 's/^\tRun began: .*/\tRun began: DATE/; s/^\tCommand line used: .*/\tCommand line used: X/
		/^ +[0-9]+ +[0-9]+ /{s/^( +[0-9]+ +[0-9]+)/\1|/; :a; s/\|(.*) [0-9]+/|\1 N/; ta; s/ +/ /g}
		/^"/s/ [0-9.]+/ N/g; s/(=|time|utilization) +[0-9.]+/\1 N/g; s/ +$//; s/  +/ /g'
}

same_as_sample() { # SAMPLE ARGS...
	local sample=$SRC/tests/data/iozone/$1.txt
	shift
	timeout 120 "$BENCH" "$@" >"$T/out" || return
	diff <(tail -n +2 "$sample" | iozone_lines /dev/stdin) <(iozone_lines "$T/out")
}
check "all tests of throughput mode print iozone's lines" \
	same_as_sample throughput-all -i0 -i1 -i2 -i3 -i4 -i5 -i8 -s8m -r64k -t2
check "operations per second print iozone's lines" same_as_sample throughput-ops -O -i0 -i1 -i2 -s8m -r4k -t2
check "the chart of throughput mode is iozone's" same_as_sample excel-throughput -R -i0 -i1 -s4m -r256k -t2 -+u
check "the matrix is iozone's" same_as_sample auto-small -a -n64 -g512 -i0 -i1 -i2 -i3 -i4 -i5
check "a matrix of chosen records is iozone's" same_as_sample auto-yq -a -s1m -y64k -q256k -i0 -i1
check "the tables for a spreadsheet are iozone's" same_as_sample excel -R -a -n64 -g256 -i0 -i1
check "a single row is iozone's" same_as_sample single -i0 -i1 -i2 -s8m -r64k
check "microseconds per operation are iozone's" same_as_sample latency-ops-single -O -N -i0 -s1m -r64k

every() { timeout 100 "$BENCH" -E -i0 -i1 -i2 -i3 -i4 -i5 -i6 -i7 -i9 -i10 -i11 -i12 -s2m -r64k --verify "$@" >"$T/out"; }
row() { [ "$(grep -E '^ +2048 ' "$T/out" | wc -w)" = 23 ]; }
check "every test of the table moves what it should, over RDMA" every
check "and fills its cell" row
check "over TCP" every -o proto=tcp
mkdir "$T/folder"
check "with plain system calls" every --client "posix:$T/folder"
check "with plain system calls at a depth" timeout 60 "$BENCH" -i0 -i1 -i2 -s4m -r64k --depth 8 --verify --client "posix:$T/folder"
check "in throughput mode at a depth, with several buffers and jitter" timeout 60 "$BENCH" -t3 -s4m -r64k --depth 4 -m -K --verify
check "with one mount for all children" timeout 60 "$BENCH" -t4 -s4m -r64k --depth 4 --shared --verify
check "with a pattern" timeout 60 "$BENCH" -i0 -i1 -i2 -t2 -s2m -r64k -V 90
check "with threads bound, delayed and thinking" timeout 60 "$BENCH" -i0 -t2 -s512k -r64k -P0 -d10 -J2 -x
check "all in one file" timeout 60 "$BENCH" -i0 -i1 -t2 -s1m -r64k -+V

json_says() { # FILE EXPRESSION over d
	python3 -c 'import json,sys; d=json.load(open(sys.argv[1])); assert eval(sys.argv[2]), json.dumps(d)[:3000]' "$@"
}
timed() {
	timeout 60 "$BENCH" -i1 -i0 -s1m -r64k -t2 --depth 2 --duration 0.8 --warmup 0.3 --json "$T/timed.json" >"$T/out" &&
		json_says "$T/timed.json" 'd["complete"] and all(t["ios"] > 40 and not t["cut_short"] for t in d["tests"])'
}
check "a run for a time goes round its files and counts after the warm-up" timed
rate() {
	timeout 60 "$BENCH" -i0 -s1m -r64k -+O 2000 --json "$T/rate.json" >"$T/out" && grep -q 'coordinated omission' "$T/out" &&
		json_says "$T/rate.json" 'd["tests"][0]["latency_us"]["from"] == "due"'
}
check "a fixed rate says that coordinated omission is handled" rate
latency_files() {
	(cd "$T/folder" && timeout 60 "$BENCH" -i0 -i1 -s1m -r64k -Q >/dev/null && timeout 60 "$BENCH" -i0 -s1m -r64k -t2 -x -Q >/dev/null) &&
		[ "$(wc -l <"$T/folder/rol.dat")" = 17 ] && [ -s "$T/folder/rwol.dat" ] && [ "$(wc -l <"$T/folder/Child_1_wol.dat")" = 17 ]
}
check "offset and latency files have a line per record" latency_files

# ---- what is counted, against what others count
counted() { # bytes on the wire, from the interface's counters in a network of its own
	unshare -n bash -c '
		ip link set lo up && timeout 60 "$1" -i0 -+n -s64m -r256k -t2 -x --json "$2" >/dev/null
		awk "/lo:/{print \$10}" /proc/net/dev' _ "$BENCH" "$T/wire.json" >"$T/wire" &&
		json_says "$T/wire.json" "d['tests'][0]['bytes'] == 128 << 20 and 1 <= $(cat "$T/wire") / (128 << 20) < 1.1"
}
if [ "$(id -u)" = 0 ] && unshare -n true 2>/dev/null; then
	check "bytes are what the interface counted" counted
else
	skip "bytes are what the interface counted" "needs root and network namespaces"
fi
cpu() {
	python3 - "$BENCH" "$T/cpu.json" <<-'PY'
		import json, resource, subprocess, sys
		subprocess.run([sys.argv[1], "-i0", "-i1", "-s128m", "-r256k", "-t2", "--json", sys.argv[2]], check=True, stdout=subprocess.DEVNULL)
		u = resource.getrusage(resource.RUSAGE_CHILDREN)
		tests = json.load(open(sys.argv[2]))["tests"]
		told = sum(t["cpu_s"] + t["server_cpu_s"] for t in tests)
		assert 0.4 * (u.ru_utime + u.ru_stime) < told <= 1.02 * (u.ru_utime + u.ru_stime), (told, u)
		assert sum(t["cpu_user_s"] for t in tests) <= u.ru_utime * 1.02
	PY
}
check "CPU times are within what the system charged" cpu

# ---- names and verification
mkdir -m 777 "$T/export"
server_start --export "$T/export=/e" || { not_ok "the server starts"; finish; }
on() { timeout 60 "$BENCH" --target 127.0.0.1:/e -o "port=$RDMA_PORT,mountport=$TCP_PORT" "$@" >"$T/out" 2>"$T/err"; }
server_counted() { # every client's bytes, as the server counted them: one more line behind the ready line
	local who
	for who in rdma tcp $(ldd "$BENCH" | grep -q libnfs && echo libnfs); do
		counts_ask && cp "$T/counts" "$T/counts.before" &&
			by_$who -i0 -i1 -i2 -s8m -r64k -t2 -x --json "$T/server.json" && counts_ask &&
			python3 - "$T/counts.before" "$T/counts" "$T/server.json" <<-'PY' || return
				import json, sys
				a, b, d = (json.load(open(p)) for p in sys.argv[1:])
				moved = {t["name"]: t["bytes"] for t in d["tests"]}
				reads = sum(n for name, n in moved.items() if "read" in name)
				writes = sum(n for name, n in moved.items() if "writ" in name)
				counted = b["read_bytes"] - a["read_bytes"], b["written_bytes"] - a["written_bytes"]
				assert reads and writes and counted == (reads, writes), (counted, moved)
				assert b["calls"]["READ"] - a["calls"].get("READ", 0) == reads >> 16, b
			PY
	done
}
by_rdma() { on "$@"; }
by_tcp() { timeout 60 "$BENCH" --target 127.0.0.1:/e -o "proto=tcp,port=$TCP_PORT,mountport=$TCP_PORT" "$@" >"$T/out"; }
by_libnfs() { by_tcp --client libnfs "$@"; }
counts_ask() {
	local i n
	n=$(wc -l <"$T/ready")
	kill -USR1 "$SERVER_PID"
	for i in $(seq 100); do
		[ "$(wc -l <"$T/ready")" -le "$n" ] || break
		sleep 0.05
	done
	tail -n +$((n + 1)) "$T/ready" >"$T/counts"
	[ -s "$T/counts" ]
}
check "bytes are what the server counted" server_counted
names() { on -i0 -t2 -F one two -s1m -r64k -w && [ "$(ls "$T/export" | tr '\n' ' ')" = "one two " ] && on -i1 -+E -s1m -r64k -f two; }
check "files are named, kept and read again" names
corrupt() {
	on -i0 -s1m -r64k -w --verify && on -i1 -s1m -r64k -w --verify || return
	printf x | dd of="$T/export/iozone.DUMMY.0" bs=1 seek=700001 conv=notrunc 2>/dev/null
	! on -i1 -s1m -r64k -w --verify && grep -q 'not what was written at byte 700000' "$T/err"
}
check "verifying finds a byte that was changed, and names it" corrupt

# ---- broken off
lost() {
	on -i0 -s4g -r64k -t2 --give-up 2 --json "$T/lost.json" &
	local pid=$! status
	until_in_the_middle "$T/export"
	kill -STOP "$SERVER_PID"
	wait $pid
	status=$?
	kill -CONT "$SERVER_PID"
	[ $status = 1 ] && [ "$(wc -l <"$T/err")" = 1 ] && grep -q 'does not answer' "$T/err" &&
		json_says "$T/lost.json" 'not d["complete"] and "does not answer" in d["error"] and d["tests"][0]["cut_short"]' &&
		grep -q '^# incomplete' "$T/out" || { echo "status $status"; cat "$T/err"; return 1; }
}
rm -f "$T"/export/*
check "a server that stands still ends with an error and a document marked so" lost
server_stop
gone() {
	timeout 60 "$BENCH" -i0 -s4g -r64k -t2 --dir "$T/folder" --json "$T/gone.json" >"$T/out" 2>"$T/err" &
	local pid=$! status server
	until_in_the_middle "$T/folder"
	server=$(pgrep -f -- "--export $T/folder/nfsrdma-bench")
	kill -KILL "$server"
	wait $pid
	status=$?
	[ $status = 1 ] && [ "$(wc -l <"$T/err")" = 1 ] && json_says "$T/gone.json" 'not d["complete"] and d["error"]' ||
		{ echo "status $status"; cat "$T/err"; return 1; }
}
check "a private server that dies ends with an error and a document marked so" gone
stopped() {
	env --default-signal=INT "$BENCH" -i0 -s4g -r64k -t2 --dir "$T/folder" --json "$T/int.json" >"$T/out" 2>"$T/err" &
	local pid=$! status
	until_in_the_middle "$T/folder"
	kill -INT $pid
	wait $pid
	status=$?
	[ $status = 130 ] && json_says "$T/int.json" 'not d["complete"] and d["tests"][0]["ios"] > 0 and d["tests"][0]["cut_short"]'
}
check "Ctrl-C leaves a document of what there is, marked so" stopped
progress() {
	python3 - "$BENCH" <<-'PY'
		import os, pty, re, subprocess, sys
		m, s = pty.openpty()
		p = subprocess.Popen([sys.argv[1], "-i0", "-s1m", "-r64k", "-t2", "--duration", "2.5"], stderr=s, stdout=subprocess.DEVNULL)
		os.close(s)
		text = b""
		try:
		    while chunk := os.read(m, 4096): text += chunk
		except OSError: pass
		assert p.wait() == 0
		assert re.search(rb"initial writers: +\d+ %, \d+ MB/s, \d+ s left", text), text
		assert text.endswith(b"\x1b[K"), text
	PY
}
check "a terminal is told how far a test is, and is left clean" progress
finish
