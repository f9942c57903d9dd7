#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# unprivileged-server.sh - nfsrdmad as a user without capabilities, with 8 MiB of lockable memory, beside a client
# that shares them.
. "$(dirname "$0")/../lib.sh"

# As root, become nobody; as anybody else, we are unprivileged already.
plain=(env)
if [ "$(id -u)" = 0 ]; then
	plain=(setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all)
	plain+=(prlimit --memlock=8388608:8388608)
fi
SERVER_WRAP=("${plain[@]}" env "HOME=$T/home")
mkdir -p "$T/export" "$T/home"
chmod 777 "$T/export" "$T/home" "$T"

server_start --export "$T/export=/export" || { not_ok "it starts without privilege"; finish; }
ok "it starts without privilege"
check "and says as whom it acts" grep -q "unprivileged: acts as user $("${plain[@]}" id -u) for every caller" "$T/nfsrdmad.err"
check "it holds no capability" grep -qE '^CapEff:\s0+$' "/proc/$SERVER_PID/status"
check "every procedure answers over TCP" timeout 60 python3 "$SRC/tests/e2e/every-procedure.py" 127.0.0.1 "$TCP_PORT" /export
if [ -x "$BENCH" ]; then
	check "a client of the same user writes and reads over RDMA" timeout 120 "${plain[@]}" env "HOME=$T/home" \
		"$BENCH" -i0 -i1 -s8m -r256k -t2 --target 127.0.0.1:/export \
		-o "rdma,port=$RDMA_PORT,mountport=$TCP_PORT"
	check "and over TCP" timeout 120 "${plain[@]}" env "HOME=$T/home" \
		"$BENCH" -i0 -i1 -s8m -r256k -t2 --target 127.0.0.1:/export \
		-o "proto=tcp,port=$TCP_PORT,mountport=$TCP_PORT"
fi
check "what it pinned stays within the limit" eval \
	'[ "$(awk "/^VmPin|^VmLck/ {n += \$2} END {print n}" "/proc/$SERVER_PID/status")" -le 8192 ]'
port=$TCP_PORT
python3 "$SRC/tests/e2e/handle-after-restart.py" get 127.0.0.1 "$port" /export >"$T/handle"
server_stop
server_start --export "$T/export=/export" --tcp-port "$port" || { not_ok "it starts again"; finish; }
check "a handle from before is found by walking" python3 "$SRC/tests/e2e/handle-after-restart.py" use 127.0.0.1 "$port" <"$T/handle"
if server_stop; then ok "it stops"; else not_ok "it stops"; fi

# Where no state folder can be had, it serves all the same and says what that means.
SERVER_WRAP=("${plain[@]}" env -u HOME -u XDG_STATE_HOME)
"${SERVER_WRAP[@]}" "$NFSRDMAD" --port 0 --tcp-port 0 --no-rpcbind --export "$T/export=/export" >"$T/out" 2>"$T/err" &
pid=$!
for _ in $(seq 100); do [ -s "$T/out" ] && break; sleep 0.05; done
kill "$pid"
wait "$pid"
check "without a state folder it says that handles will not last" grep -q "will not survive a restart" "$T/err"
finish
