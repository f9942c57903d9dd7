#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# bench-mpi.sh - ranks on one machine as one bench.
. "$(dirname "$0")/../lib.sh"
export TMPDIR=$T
MPI=$(program nfsrdma-bench-mpi)
claims=("two ranks are one report of both" "it is the sum of both" "ranks stop together" "a failure of one rank ends all, with its words"
	"one rank is a plain run")
if ! [ -x "$MPI" ] || ! command -v mpirun >/dev/null; then
	for c in "${claims[@]}"; do skip "$c" "built without Open MPI, or no mpirun"; done
	finish
fi
ranks() { # N ARGS...
	local n=$1
	shift
	OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout 100 mpirun --oversubscribe --mca btl self,vader,tcp \
		-np "$n" "$MPI" --mpi "$@" >"$T/out" 2>"$T/err"
}
report() {
	ranks 2 -i0 -i1 -s4m -r64k -t2 -x -C --verify --json "$T/mpi.json" || { cat "$T/err"; return 1; }
	[ "$(grep -c 'Children see throughput for  4 readers' "$T/out")" = 1 ] && [ "$(grep -c 'Throughput test with 4 processes' "$T/out")" = 1 ] &&
		[ "$(grep -c '^	Child\[3\] xfer' "$T/out")" = 4 ] && [ "$(grep -c 'iozone test complete' "$T/out")" = 1 ]
}
check "${claims[0]}" report
sums() {
	python3 - "$T/mpi.json" "$T/out" <<-'PY'
		import json, re, sys
		d = json.load(open(sys.argv[1]))
		lines = re.findall(r"xfer count = +([\d.]+) kB, Throughput = +([\d.]+)", open(sys.argv[2]).read())
		for i, t in enumerate(d["tests"]):
		    parts = [(float(a), float(b)) for a, b in lines[4 * i:4 * i + 4]]
		    assert t["children"] == 4 and t["ios"] == 4 * 64 and t["bytes"] == 4 * (4 << 20)
		    assert sum(a for a, _ in parts) == 4 * 4096
		    assert abs(sum(b for _, b in parts) - t["children_kBps"]) < 0.1
		    assert t["transport"]["rpcs"] >= t["ios"]
	PY
}
check "${claims[1]}" sums
together() { ranks 2 -i0 -i1 -s8m -r64k -t2 --json "$T/mpi.json" && grep -q 'Min xfer' "$T/out"; }
check "${claims[2]}" together
fails() { ! ranks 2 -i1 -s4m -r64k -t2 && [ "$(grep -c 'write one first with -i0' "$T/err")" = 1 ]; }
check "${claims[3]}" fails
check "${claims[4]}" ranks 1 -i0 -s1m -r64k -t2
finish
