#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# unprivileged.sh - server, client and bench together as a real unprivileged user, without capabilities, under the
# 8 MiB of RLIMIT_MEMLOCK that containers and Debian give (io_uring charges it per user across processes).
. "$(dirname "$0")/../lib.sh"

if [ "$(id -u)" = 0 ]; then
	# As root: become nobody in a copy of the environment.
	as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all --inh-caps=-all)
	chown 65534:65534 "$T"
else
	as_user=(env)
fi
limited() { (ulimit -l 8192 && exec "${as_user[@]}" env HOME="$T" XDG_RUNTIME_DIR="$T" "$@"); }
limited_exec=(bash -c 'ulimit -l 8192; exec "$@"' limited "${as_user[@]}" env HOME="$T" XDG_RUNTIME_DIR="$T")

limited mkdir "$T/export" "$T/out"
SERVER_WRAP=("${limited_exec[@]}")
server_start --export "$T/export=/e" || { not_ok "the server starts unprivileged under 8 MiB of memlock"; finish; }
ok "the server starts unprivileged under 8 MiB of memlock"
check "it says that it acts as its own user" grep -qi "own user\|unprivileged" "$T/nfsrdmad.err"

random_file "$T/f" $((64 << 20))
chmod 644 "$T/f"
for o in "proto=rdma,port=$RDMA_PORT" "proto=tcp,port=$TCP_PORT"; do
	check "64 MiB are written with $o" limited "$NFSRDMA" -q -o "$o" cp "$T/f" 127.0.0.1:/e/f
	check "64 MiB are read with $o" limited "$NFSRDMA" -q -o "$o" cp 127.0.0.1:/e/f "$T/out/f"
	check "they are the same with $o" cmp "$T/f" "$T/out/f"
	rm -f "$T/out/f"
	check "they are removed with $o" limited "$NFSRDMA" -q -o "$o" rm 127.0.0.1:/e/f
done

# Bench and a copy at the same time as the server: three processes of one user share the limit.
limited "$BENCH" --target 127.0.0.1:/e -o "proto=rdma,port=$RDMA_PORT" -i0 -i1 -s16m -r256k -t4 >"$T/bench.out" 2>&1 &
bench=$!
check "a copy runs beside the bench" limited "$NFSRDMA" -q -o "proto=rdma,port=$RDMA_PORT" cp "$T/f" 127.0.0.1:/e/beside
wait $bench
status=$?
[ $status = 0 ] && ok "the bench runs with 4 children under the same limit" ||
	not_ok "the bench runs with 4 children under the same limit" "$(cat "$T/bench.out")"
check "what was copied beside it is whole" cmp "$T/f" "$T/export/beside"
check "the bench's private server runs under the limit too" limited "$BENCH" -i0 -i1 -s4m -r64k -t2 --dir "$T/out"
check "the server stops cleanly" server_stop
finish
