#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# matrix.sh - random data in and out, compared byte for byte: 1 GiB with one option varied at a time, 64 MiB
# over the whole cross product, over iwarp and tcp.
#
#   MATRIX_BIG, MATRIX_SMALL: other sizes in MiB.
. "$(dirname "$0")/../lib.sh"
big=${MATRIX_BIG:-1024} small=${MATRIX_SMALL:-64}

# Files in memory where there is room for them (two of the big size), else on disk.
room=$(df --output=avail -m /dev/shm 2>/dev/null | tail -n 1)
if [ "${room:-0}" -gt $((big * 3)) ]; then
	store=$(mktemp -d /dev/shm/nfsrdma-test.XXXXXX)
	trap 'rm -rf "$store"; lib_cleanup' EXIT
else
	store=$T
fi
mkdir -m 777 "$store/export"
server_start --export "$store/export=/e" || { not_ok "the server starts"; finish; }
random_file "$store/big" $((big << 20))
random_file "$store/small" $((small << 20))

# trip OPTIONS FILE CLAIM
trip() {
	local out
	if ! out=$("$NFSRDMA" -q -o "$1" cp "$2" 127.0.0.1:/e/f 2>&1); then
		not_ok "$3" "writing failed" "$out"
	elif ! cmp -s "$store/export/f" "$2"; then
		not_ok "$3" "what the server holds differs"
	elif ! out=$("$NFSRDMA" -q -o "$1" cp 127.0.0.1:/e/f "$store/back" 2>&1); then
		not_ok "$3" "reading failed" "$out"
	elif ! cmp -s "$store/back" "$2"; then
		not_ok "$3" "what was read back differs"
	else
		ok "$3"
	fi
	rm -f "$store/export/f" "$store/back"
}

rdma=proto=rdma,fabric=iwarp,port=$RDMA_PORT tcp=proto=tcp,port=$TCP_PORT
for o in crc=auto crc=on inline=1024 slots=1 rsize=4k,wsize=4k rsize=64k,wsize=64k rsize=1m,wsize=1m; do
	trip "$rdma,$o" "$store/big" "$big MiB over iwarp come back equal with $o"
done
for o in slots=1 rsize=4k,wsize=4k rsize=64k,wsize=64k rsize=1m,wsize=1m; do
	trip "$tcp,$o" "$store/big" "$big MiB over tcp come back equal with $o"
done
for size in 4k 64k 1m; do
	for slots in 1 128; do
		o=rsize=$size,wsize=$size,slots=$slots
		trip "$tcp,$o" "$store/small" "$small MiB over tcp come back equal with $o"
		for crc in on off; do
			for inline in 1024 4096; do
				trip "$rdma,$o,crc=$crc,inline=$inline" "$store/small" \
					"$small MiB over iwarp come back equal with $o,crc=$crc,inline=$inline"
			done
		done
	done
done
check "the server stops cleanly" server_stop
finish
