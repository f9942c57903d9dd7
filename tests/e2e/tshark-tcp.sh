#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# tshark-tcp.sh - Wireshark's dissectors read a whole session with nfsrdmad over TCP and find nothing malformed.
. "$(dirname "$0")/../lib.sh"

claim="tshark reads a session over TCP without a malformed packet"
if ! command -v tshark nfs-cp >/dev/null; then
	skip "$claim" "tshark or libnfs-utils is missing"
	finish
fi
if [ "$(id -u)" != 0 ]; then
	skip "$claim" "capturing needs root"
	finish
fi

mkdir -p "$T/export/dir"
chmod 777 "$T/export" "$T/export/dir"
random_file "$T/export/file" 300001
ln -s file "$T/export/link"
for i in $(seq 150); do : >"$T/export/dir/entry-$i"; done
server_start --export "$T/export=/export" || { not_ok "nfsrdmad starts"; finish; }

tshark -q -i lo -f "tcp port $TCP_PORT" -w "$T/session.pcapng" >"$T/tshark.log" 2>&1 &
tshark_pid=$!
LIB_PIDS+=("$tshark_pid")
for _ in $(seq 100); do
	grep -q "Capturing on" "$T/tshark.log" && [ -s "$T/session.pcapng" ] && break
	sleep 0.1
done
sleep 0.5

ports="nfsport=$TCP_PORT&mountport=$TCP_PORT"
random_file "$T/in" 500009
timeout 30 nfs-ls "nfs://127.0.0.1/export/dir?$ports" >/dev/null
timeout 30 nfs-cp "$T/in" "nfs://127.0.0.1/export/copied?$ports" >/dev/null
timeout 30 nfs-cat "nfs://127.0.0.1/export/file?$ports" >/dev/null
timeout 30 nfs-cat "nfs://127.0.0.1/export/none?$ports" >/dev/null 2>&1
python3 "$SRC/tests/e2e/every-procedure.py" 127.0.0.1 "$TCP_PORT" /export >"$T/procs" 2>&1
check "every procedure answers a client written from the RFC" grep -q '^all 22 procedures answered$' "$T/procs"
[ -s "$T/procs" ] && sed 's/^/# /' "$T/procs"
sleep 1
kill -INT "$tshark_pid"
wait "$tshark_pid" 2>/dev/null
server_stop

# The ports are free ones: tell the dissectors what is spoken there.
read_session() { tshark -r "$T/session.pcapng" -d "tcp.port==$TCP_PORT,rpc" "$@" 2>/dev/null; }
bad=$(read_session -Y '_ws.malformed || _ws.expert.severity == error' | head -5)
if [ -z "$bad" ]; then ok "$claim"; else not_ok "$claim" "$bad"; fi
replies=$(read_session -Y 'nfs && rpc.msgtyp == 1' -T fields -e nfs.procedure_v3 | tr ',' '\n' | sort -nu | tr '\n' ' ')
check "its dissectors saw a reply of every procedure" test "$replies" = "$(seq -s ' ' 0 21) "
check "and of MOUNT" test -n "$(read_session -Y 'mount && rpc.msgtyp == 1')"
unanswered=$(comm -3 <(read_session -Y 'rpc.msgtyp == 0' -T fields -e rpc.xid | tr ',' '\n' | sort) \
	<(read_session -Y 'rpc.msgtyp == 1' -T fields -e rpc.xid | tr ',' '\n' | sort))
check "each call has one reply of its XID" test -z "$unanswered"
finish
