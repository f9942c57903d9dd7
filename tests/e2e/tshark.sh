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
	local n=("$NFSRDMA" -q -o "$1")
	"${n[@]}" mkdir 127.0.0.1:/e/d && "${n[@]}" cp "$T/f" 127.0.0.1:/e/d/f && "${n[@]}" ls -la 127.0.0.1:/e/d &&
		"${n[@]}" cp 127.0.0.1:/e/d/f "$T/back" && "${n[@]}" mv 127.0.0.1:/e/d/f 127.0.0.1:/e/d/g &&
		"${n[@]}" rm 127.0.0.1:/e/d/g && "${n[@]}" rmdir 127.0.0.1:/e/d 2>/dev/null ||
		"${n[@]}" rm -r 127.0.0.1:/e/d
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

# dissect [DECODE]: $T/v is the whole of the capture in words, $T/fields the columns below, a frame a line.
# In two passes: in the first the dissector only learns which RDMA Writes a reply lacks, and takes the reply without
# them for cut off; in the second it has put them back where they belong.
columns=(frame.number frame.protocols _ws.malformed _ws.expert.severity _ws.expert.message rpc.msgtyp iwarp_mpa.rev
	iwarp_rdma.opcode rpcordma.version rpcordma.reads_count rpcordma.writes_count rpcordma.rdma_length
	nfs.procedure_v3 nfs.count3)
dissect() {
	local shark=(tshark -2 -r "$T/cap" -o tcp.desegment_tcp_streams:TRUE "$@")
	"${shark[@]}" -V >"$T/v" 2>/dev/null
	"${shark[@]}" -T fields -E header=y ${columns[*]/#/-e } >"$T/fields" 2>/dev/null
}
# values COLUMN [COLUMN=VALUE...]: each value the column has, once, in frames where the others have theirs
values() {
	awk -F'\t' -v want="$*" '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; n = split(want, w, " "); next }
		{
			for (k = 2; k <= n; k++) {
				split(w[k], pair, "=")
				if (!index("," $at[pair[1]] ",", "," pair[2] ",")) next
			}
			print $at[w[1]]
		}' "$T/fields" | tr ',' '\n' | grep . | sort -u
}
# has CLAIM COLUMN VALUE [COLUMN=VALUE...]
has() {
	local claim=$1 column=$2 value=$3
	shift 3
	values "$column" "$@" | grep -qx "$value" && ok "$claim" ||
		not_ok "$claim" "wanted $column = $value among:" "$(values "$column" "$@" | head -n 20)"
}
# no_errors CLAIM: severity 8388608 is the dissector's "error"
no_errors() {
	local bad
	bad=$(awk -F'\t' 'NR > 1 { n = split($4, s, ","); for (i = 1; i <= n; i++) if ($3 != "" || s[i] >= 8388608) { print $1, $3, $5; next } }' "$T/fields")
	[ -z "$bad" ] && ok "$1" || not_ok "$1" "$(echo "$bad" | head -n 5)"
}

if capture "$RDMA_PORT" "proto=rdma,fabric=iwarp,crc=on,port=$RDMA_PORT"; then ok "a session over iwarp runs while it is captured"; else not_ok "a session over iwarp runs while it is captured" "$(cat "$T/session")"; fi
dissect
for p in iwarp_mpa iwarp_ddp_rdmap rpcordma rpc mount nfs; do
	check "the dissector finds $p" grep -qw "$p" "$T/fields"
done
no_errors "nothing over iwarp is malformed"
fpdus=$(grep -c 'CRC check: ' "$T/v")
good=$(grep -c 'CRC check: .*Good CRC32' "$T/v")
[ "$fpdus" -gt 50 ] && [ "$fpdus" = "$good" ] && ok "every CRC is right" || not_ok "every CRC is right" "$good of $fpdus"
has "MPA's revision is 2" iwarp_mpa.rev 2
has "RDMA Writes bring what is read" iwarp_rdma.opcode 0x00
has "RDMA Read Requests ask for what is written" iwarp_rdma.opcode 0x01
has "RDMA Read Responses bring it" iwarp_rdma.opcode 0x02
has "Sends carry the calls" iwarp_rdma.opcode 0x03
check "nothing else is sent" test -z "$(values iwarp_rdma.opcode | grep -vx '0x0[0-3]')"
has "RPC-over-RDMA's version is 1" rpcordma.version 1
has "WRITE offers its data in a read chunk" rpcordma.reads_count 1
has "as long as the file" rpcordma.rdma_length 300000 rpcordma.reads_count=1
has "READ's data come in a write chunk" rpcordma.writes_count 1
has "whose returned length is the file's" rpcordma.rdma_length 300000 rpc.msgtyp=1 rpcordma.writes_count=1
has "the dissector puts READ's reply together from both" nfs.count3 300000 rpc.msgtyp=1 nfs.procedure_v3=6
for p in 1 3 6 7 8 9 12 14 17 19 21; do
	has "the dissector sees procedure $p" nfs.procedure_v3 $p
done

if capture "$TCP_PORT" "proto=tcp,port=$TCP_PORT"; then ok "a session over tcp runs while it is captured"; else not_ok "a session over tcp runs while it is captured" "$(cat "$T/session")"; fi
dissect -d "tcp.port==$TCP_PORT,rpc"
no_errors "nothing over tcp is malformed"
for p in 1 3 6 7 8 9 12 14 17 19 21; do
	has "over tcp too, procedure $p" nfs.procedure_v3 $p
done
check "the server stops cleanly" server_stop
finish
