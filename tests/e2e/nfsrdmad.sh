#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# nfsrdmad.sh - the server's manners: what it prints, how it starts, stops and starts again.
. "$(dirname "$0")/../lib.sh"

export_dir=$T/export
mkdir -p "$export_dir"
chmod 777 "$export_dir"
run() { timeout 20 "$NFSRDMAD" "$@" >"$T/out" 2>"$T/err"; }

# ---- the command line
run --help
check "--help says how it is used, exit 0" eval "[ $? = 0 ] && grep -q -- '--export' '$T/out' && ! [ -s '$T/err' ]"
run --version
check "--version says a version, exit 0" eval "[ $? = 0 ] && grep -qE '^nfsrdmad [0-9]+\.' '$T/out'"
usage() { # CLAIM ARGS...: one line on stderr, exit 2
	local claim=$1 status
	shift
	run "$@"
	status=$?
	if [ $status = 2 ] && [ "$(wc -l <"$T/err")" = 1 ] && ! [ -s "$T/out" ]; then
		ok "$claim"
	else
		not_ok "$claim" "status $status" "$(cat "$T/err")"
	fi
}
usage "nothing to serve is bad usage"
usage "an unknown option is bad usage" --export "$export_dir" --exprot x
usage "a missing value is bad usage" --export
usage "a port that is none is bad usage" --export "$export_dir" --port 70000
usage "a network that is none is bad usage" --export "$export_dir" --allow 10.0.0.0/40
usage "an address in half a bracket is bad usage" --export "$export_dir" --listen '[::1'
fails() { # CLAIM PATTERN ARGS...: one line that matches, exit 1
	local claim=$1 pattern=$2 status
	shift 2
	run --port 0 --tcp-port 0 --no-rpcbind "$@"
	status=$?
	if [ $status = 1 ] && [ "$(grep -c "$pattern" "$T/err")" = 1 ] && ! [ -s "$T/out" ]; then
		ok "$claim"
	else
		not_ok "$claim" "status $status" "$(cat "$T/err")"
	fi
}
fails "a folder that is not there is told" "$T/none: No such file" --export "$T/none"
mkdir -m 700 "$T/state-bad"
head -c 16 /dev/urandom >"$T/state-bad/handle.key"
chmod 644 "$T/state-bad/handle.key"
fails "a key others can read is refused" "handle.key: must be a file of this user with mode 0600" \
	--export "$export_dir" --state "$T/state-bad"

# Where standard output is closed the next descriptor would take its number: a socket, or the export's folder.
timeout 20 "$NFSRDMAD" --port 0 --tcp-port 0 --no-rpcbind --state "$T/state-closed" --export "$export_dir" >&- 2>"$T/err"
check "with standard output closed it says so" eval "[ $? = 1 ] && grep -q 'ready line: Bad file descriptor' '$T/err'"

# ---- serving
server_start --export "$export_dir=/data" --null || { not_ok "it starts"; finish; }
check "it prints one ready line of JSON" python3 - "$T/ready" <<'EOF'
import json, sys
lines = open(sys.argv[1]).read().splitlines()
assert len(lines) == 1, lines
ready = json.loads(lines[0])
assert ready["ready"] is True and ready["exports"] == ["/data", "/null"], ready
assert 0 < ready["rdma_port"] < 65536 and 0 < ready["tcp_port"] < 65536, ready
EOF
if [ "$(id -u)" = 0 ]; then
	check "as root it says that it acts with callers' credentials" grep -q "privileged: acts with callers' credentials, root squash on" "$T/nfsrdmad.err"
	check "and keeps no capability it does not need" python3 - "$SERVER_PID" <<'EOF'
import sys
status = dict(l.split(":", 1) for l in open(f"/proc/{sys.argv[1]}/status"))
kept = int(status["CapPrm"], 16)
# CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID SETGID SETUID NET_BIND_SERVICE IPC_LOCK MKNOD
allowed = sum(1 << b for b in (0, 1, 2, 3, 4, 6, 7, 10, 14, 27))
assert kept & ~allowed == 0, hex(kept)
assert status["NoNewPrivs"].strip() == "1"
EOF
fi
check "it listens on the loopback only" test -z "$(ss -ltnH "( sport = :$TCP_PORT or sport = :$RDMA_PORT )" | awk '$4 !~ /^127\.0\.0\.1:/')"
check "every procedure answers over TCP" timeout 60 python3 "$SRC/tests/e2e/every-procedure.py" 127.0.0.1 "$TCP_PORT" /data
fails "a port that is taken is told" "port $TCP_PORT: Address already in use" \
	--export "$export_dir" --state "$T/state2" --tcp-port "$TCP_PORT"

# ---- stopping, and starting again
exec 5<>"/dev/tcp/127.0.0.1/$TCP_PORT" 6<>"/dev/tcp/127.0.0.1/$RDMA_PORT"
printf '\200\0\1\0half a record' >&5
if server_stop; then ok "SIGTERM stops it with 0, idle and half-spoken connections or not"; else not_ok "SIGTERM stops it with 0"; fi
exec 5<&- 6<&-
check "it leaves nothing behind but its key" test "$(ls -A "$T/state")" = handle.key

server_start --export "$export_dir=/data" || { not_ok "it starts again"; finish; }
python3 "$SRC/tests/e2e/handle-after-restart.py" get 127.0.0.1 "$TCP_PORT" /data >"$T/handle"
port=$TCP_PORT
kill -9 "$SERVER_PID"
wait "$SERVER_PID" 2>/dev/null
server_start --export "$export_dir=/data" --tcp-port "$port" || { not_ok "it starts on the same port at once"; finish; }
ok "killed, it starts on the same port at once"
check "a handle from before still names its file" python3 "$SRC/tests/e2e/handle-after-restart.py" use 127.0.0.1 "$TCP_PORT" <"$T/handle"
server_stop
rm -rf "$T/state"
server_start --export "$export_dir=/data" --tcp-port "$port" || { not_ok "it starts with a new key"; finish; }
check "with another key it is none of ours" python3 "$SRC/tests/e2e/handle-after-restart.py" refused 127.0.0.1 "$TCP_PORT" <"$T/handle"
kill -INT "$SERVER_PID"
wait "$SERVER_PID"
check "SIGINT stops it with 0" test $? = 0
finish
