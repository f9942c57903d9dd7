#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# steady.sh - the steady state of pool and of window mode costs no registration, pin, map or malloc per I/O and at most
# one doorbell per RPC: seen by strace, VmPin and a counting allocator, and compared with the library's own counters.
. "$(dirname "$0")/../lib.sh"
count=2000

mkdir -m 777 "$T/export"
server_start --export "$T/export=/e" || { not_ok "the server starts"; finish; }

# Between the marks: lines of strace -f.
between() { sed -n '/steady-begin/,/steady-end/p' "$T/strace" | grep -v 'steady-'; }
calls() { between | grep -cE "$1"; }

one() { # NAME OPTS MODE RECORD DEPTH
	local name="$1 $3 $4 bytes at depth $5" j=$T/json
	if ! strace -f -o "$T/strace" "$BUILD/tests/e2e/steady" 127.0.0.1:/e "$2" "$3" "$4" "$5" $count >"$j" 2>"$T/err"; then
		not_ok "$name: runs" "$(tail -n 3 "$T/err")"
		return
	fi
	python3 - "$j" "$(calls 'io_uring_register\(')" "$(calls '(mmap|munmap|mremap|madvise|mlock|munlock|brk)\(')" \
		"$(calls 'sendmsg\(|sendmmsg\(|writev\(|sendto\(')" \
		"$(calls 'io_uring_enter\(|recvmsg\(|recvfrom\(|readv\(')" "$1" >"$T/verdict" 2>&1 <<'P'
import json, sys
d = json.load(open(sys.argv[1])); reg, mem, sub, rcv = map(int, sys.argv[2:6]); n = d["operations"]; bad = []
def want(claim, good):
    print(("  " if good else "! ") + claim)
    if not good: bad.append(claim)
want(f"strace saw {reg} io_uring_register", reg == 0)
want(f"strace saw {mem} calls that map memory", mem == 0)
want(f"the allocator was called {d['mallocs']} times", d["mallocs"] == 0)
want(f"VmPin {d['vm_pin_kb_before']} -> {d['vm_pin_kb_after']} kB", d["vm_pin_kb_before"] == d["vm_pin_kb_after"])
for k in ("registrations", "deregistrations", "pages_charged", "pages_released", "iova_maps", "iova_unmaps"):
    want(f"the ledger's {k} grew by {d[k]}", d[k] == 0)
if sys.argv[6] != "tcp":
    want(f"the ledger says {d['pages_charged_now_total']*4} kB pinned, VmPin {d['vm_pin_kb_after']}", d["pages_charged_now_total"]*4 == d["vm_pin_kb_after"])
if sys.argv[6] == "windows":
    want(f"{d['windows_bound']} windows bound for {n} operations", d["windows_bound"] >= n or d["windows_bound"] == 0)
    want(f"{d['windows_now_total']} still bound", d["windows_now_total"] == 0)
want(f"{d['rpcs']} RPCs for {n} operations", d["rpcs"] >= n)
want(f"{d['doorbells']} doorbells for {d['rpcs']} RPCs", d["doorbells"] <= d["rpcs"])
want(f"strace saw {sub} sends, the counters {d['doorbells']} doorbells and {d['progress_sends']} sends for the peer's reads", abs(d["doorbells"] + d["progress_sends"] - sub) <= 2)
if sys.argv[6] != "tcp":
    want(f"strace saw {rcv} calls that receive or wait, the counters {d['receive_calls']}", abs(d["receive_calls"] - rcv) <= 4)
sys.exit(1 if bad else 0)
P
	if [ $? = 0 ]; then ok "$name: costs nothing but doorbells"; else not_ok "$name: costs nothing but doorbells" "$(cat "$T/verdict")"; fi
	grep -q "VmPin after umount: 0 kB" "$T/err" && ok "$name: all pins are gone after the unmount" ||
		not_ok "$name: all pins are gone after the unmount" "$(cat "$T/err")"
}

rdma=proto=rdma,fabric=iwarp,port=$RDMA_PORT tcp=proto=tcp,port=$TCP_PORT
for depth in 1 8; do
	for mode in read write; do
		one iwarp "$rdma" $mode 4096 $depth
		one iwarp "$rdma" $mode 262144 $depth
		one windows "$rdma,mr=window" $mode 4096 $depth
		one windows "$rdma,mr=window" $mode 262144 $depth
		one tcp "$tcp" $mode 262144 $depth
	done
done

# 1000 calls outstanding on one thread.
check "1000 reads outstanding on one thread over iwarp" "$BUILD/tests/e2e/steady" 127.0.0.1:/e "$rdma,slots=1024" read 4096 1000 20000
check "1000 reads outstanding on one thread over tcp" "$BUILD/tests/e2e/steady" 127.0.0.1:/e "$tcp,slots=1024" read 4096 1000 20000
check "1000 calls outstanding on 8 credits" "$BUILD/tests/e2e/steady" 127.0.0.1:/e "$rdma,slots=8" write 4096 1000 5000
check "the server stops cleanly" server_stop
finish
