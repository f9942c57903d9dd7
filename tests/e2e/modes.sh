#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# modes.sh - each way of registering memory holds what it promises, end to end over the software RNIC: the ledger beside
# VmPin, memory of the application registered and deregistered, memory that cannot be pinned, stale mappings noticed.
# The same program runs on the kernel's devices in tests/vm.
. "$(dirname "$0")/../lib.sh"

mkdir -m 777 "$T/export"
server_start --export "$T/export=/e" || { not_ok "the server starts"; finish; }
o=fabric=iwarp,port=$RDMA_PORT,mountport=$TCP_PORT

# run NAME MODE [OPTIONS [refused]]
run() {
	local line status
	timeout 60 "$BUILD/tests/vm/mode_check" 127.0.0.1:/e "$o${3:+,$3}" "$2" ${4:+"$4"} >"$T/$1.tap" 2>"$T/$1.err"
	status=$?
	while IFS= read -r line; do
		case $line in
		'ok '*) ok "$1: ${line#ok * - }" ;;
		'not ok '*) not_ok "$1: ${line#not ok * - }" ;;
		'# '*) echo "$line" ;;
		esac
	done <"$T/$1.tap"
	check "$1: runs to its end" test $status = 0
	sed 's/^/# stderr: /' "$T/$1.err"
}

export TMPDIR=$T
for mode in pool window per-io cache; do run $mode $mode; done
# Page frames are for the privileged to see; the others are told.
if [ "$(id -u)" = 0 ]; then
	run verify cache mr-verify,mr-monitor=off
else
	nfsrdma -o "$o,mr=cache,mr-verify" ls 127.0.0.1:/e >"$T/verify" 2>&1
	check "verify: who may not see page frames is told" grep -q CAP_SYS_ADMIN "$T/verify"
fi
run odp odp "" refused
check "the server stops cleanly" server_stop
finish
