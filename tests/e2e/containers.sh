#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# containers.sh - what containers take away: io_uring (by seccomp, with either errno) and room in /dev/shm.
. "$(dirname "$0")/../lib.sh"
no_uring=$BUILD/tests/e2e/no_uring

mkdir -m 777 "$T/export"
random_file "$T/f" $((32 << 20))
for errno in "" --enosys; do
	SERVER_WRAP=("$no_uring" $errno)
	server_start --export "$T/export=/e" || { not_ok "the server starts without io_uring ($errno)"; continue; }
	ok "the server starts without io_uring ($errno)"
	for o in "proto=rdma,fabric=iwarp,port=$RDMA_PORT" "proto=rdma,fabric=iwarp,crc=on,port=$RDMA_PORT" "proto=tcp,port=$TCP_PORT"; do
		check "a file is written without io_uring, $o ($errno)" "$no_uring" $errno "$NFSRDMA" -q -o "$o" cp "$T/f" 127.0.0.1:/e/f
		check "and read ($o $errno)" "$no_uring" $errno "$NFSRDMA" -q -o "$o" cp 127.0.0.1:/e/f "$T/back"
		check "and is the same ($o $errno)" cmp "$T/f" "$T/back"
		check "a client with io_uring gets along with a server without ($o $errno)" "$NFSRDMA" -q -o "$o" cp 127.0.0.1:/e/f "$T/back2"
		check "and reads the same ($o $errno)" cmp "$T/f" "$T/back2"
		rm -f "$T/back" "$T/back2" "$T/export/f"
	done
	check "the bench runs without io_uring ($errno)" "$no_uring" $errno "$BENCH" --target 127.0.0.1:/e -o "proto=rdma,fabric=iwarp,port=$RDMA_PORT" -i0 -i1 -s4m -r64k -t2
	check "the server stops cleanly ($errno)" server_stop
done

# VmLck, not VmPin, is what mlock costs: the statistics call it locked.
SERVER_WRAP=(env)
server_start --export "$T/export=/e"
"$no_uring" "$NFSRDMA" --stats -q -o "proto=rdma,fabric=iwarp,port=$RDMA_PORT" cp "$T/f" 127.0.0.1:/e/f >"$T/stats" 2>&1
if grep -Eq 'pages_charged[^0-9]+0$' "$T/stats" && grep -q locked "$T/stats"; then
	ok "what is locked is not called pinned"
else
	not_ok "what is locked is not called pinned" "$(cat "$T/stats")"
fi
server_stop

if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
	SERVER_WRAP=(unshare -m sh -c 'mount -t tmpfs -o size=64m none /dev/shm && exec "$@"' shm)
	server_start --export "$T/export=/e"
	check "a file is copied with 64 MiB of /dev/shm" "${SERVER_WRAP[@]}" "$NFSRDMA" -q -o "proto=rdma,fabric=iwarp,port=$RDMA_PORT" cp "$T/f" 127.0.0.1:/e/g
	check "and is the same" cmp "$T/f" "$T/export/g"
	check "the bench runs with 64 MiB of /dev/shm" "${SERVER_WRAP[@]}" "$BENCH" --target 127.0.0.1:/e -o "proto=rdma,fabric=iwarp,port=$RDMA_PORT" -i0 -i1 -s16m -r256k -t4
	check "the server stops cleanly" server_stop
else
	skip "64 MiB of /dev/shm" "needs root for a mount namespace"
fi
finish
