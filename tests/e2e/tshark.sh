#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# tshark.sh - a dissector that is not ours reads a whole session, over iwarp and over tcp: nothing malformed, nothing
# unknown, and the fields say what was done.
. "$(dirname "$0")/../lib.sh"

if ! command -v tshark >/dev/null || [ "$(id -u)" != 0 ]; then
	skip "a dissector reads the session" "needs root and tshark"
	finish
fi
mkdir -m 777 "$T/export"
server_start --export "$T/export=/e" || { not_ok "the server starts"; finish; }
random_file "$T/f" 300000

session() { # OPTS
	local n="$NFSRDMA -q -o $1"
	$n mkdir 127.0.0.1:/e/d && $n cp "$T/f" 127.0.0.1:/e/d/f && $n ls -la 127.0.0.1:/e/d && $n cp 127.0.0.1:/e/d/f "$T/back" &&
		$n mv 127.0.0.1:/e/d/f 127.0.0.1:/e/d/g && $n rm 127.0.0.1:/e/d/g && $n rmdir 127.0.0.1:/e/d 2>/dev/null ||
		$n rm -r 127.0.0.1:/e/d
	cmp "$T/f" "$T/back"
}

capture() { # PORT OPTS: into $T/cap
	rm -f "$T/cap"
	tshark -q -i lo -f "tcp port $1" -w "$T/cap" >"$T/tshark.log" 2>&1 &
	local pid=$! i
	for i in $(seq 200); do [ -s "$T/cap" ] && break; sleep 0.05; done
	sleep 0.3
	session "$2" >"$T/session" 2>&1
	local status=$?
	sleep 1
	kill -INT $pid
	wait $pid 2>/dev/null
	return $status
}

# fields DECODE FILTER FIELD...: through tshark -r
shark() { tshark -r "$T/cap" -o tcp.desegment_tcp_streams:TRUE "$@" 2>/dev/null; }

if capture "$RDMA_PORT" "proto=rdma,fabric=iwarp,crc=on,port=$RDMA_PORT"; then ok "a session over iwarp runs while it is captured"; else not_ok "a session over iwarp runs while it is captured" "$(cat "$T/session")"; fi
as=()
shark "${as[@]}" -T fields -e frame.protocols | tr ':' '\n' | sort | uniq -c >"$T/protocols"
for p in iwarp_mpa iwarp_ddp_rdmap rpcordma rpc nfs; do
	check "the dissector finds $p" grep -qw "$p" "$T/protocols"
done
bad=$(shark "${as[@]}" -Y '_ws.malformed || iwarp_mpa.bad_length || _ws.expert.severity >= 8388608' -T fields -e frame.number -e _ws.expert.message | head -n 5)
[ -z "$bad" ] && ok "nothing over iwarp is malformed" || not_ok "nothing over iwarp is malformed" "$bad" "$(cat "$T/protocols")"
crc=$(shark "${as[@]}" -V | grep -c "CRC check:.*[Bb]ad\|CRC.*incorrect")
[ "$crc" = 0 ] && ok "every CRC is right" || not_ok "every CRC is right" "$crc are not"
shark "${as[@]}" -V >"$T/v"
for f in "RDMA Write" "Read Request" "Read Response" "Send" "Write chunk\|Write list" "Read chunk\|Read list" "NFS.*READ\|Procedure: READ (6)" "Procedure: WRITE (7)" "Procedure: COMMIT (21)\|V3 COMMIT"; do
	check "the dissector shows: $f" grep -qi "$f" "$T/v"
done

if capture "$TCP_PORT" "proto=tcp,port=$TCP_PORT"; then ok "a session over tcp runs while it is captured"; else not_ok "a session over tcp runs while it is captured" "$(cat "$T/session")"; fi
as=(-d "tcp.port==$TCP_PORT,rpc")
bad=$(shark "${as[@]}" -Y '_ws.malformed || _ws.expert.severity >= 8388608' -T fields -e frame.number -e _ws.expert.message | head -n 5)
[ -z "$bad" ] && ok "nothing over tcp is malformed" || not_ok "nothing over tcp is malformed" "$bad"
shark "${as[@]}" -T fields -e nfs.procedure_v3 | tr ',' '\n' | sort -n | uniq >"$T/procs"
for p in 1 3 6 7 8 9 12 14 17 19 21; do
	check "the dissector sees procedure $p" grep -qx "$p" "$T/procs"
done
check "the server stops cleanly" server_stop
finish
