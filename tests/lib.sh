# SPDX-License-Identifier: BSD-2-Clause
#
# lib.sh - what the shell tests share.  Source it first; it needs bash.
#
#   $BUILD   the build folder (from tests/run.sh; default ./build of the source tree)
#   $SRC     the source tree
#   $T       this test's temporary folder, removed at the end
#   ok CLAIM / not_ok CLAIM [DETAIL...] / skip CLAIM REASON      print TAP lines
#   check CLAIM COMMAND...             ok when COMMAND succeeds; its output is shown otherwise
#   server_start [VAR=]ARGS...         start nfsrdmad on free ports; sets SERVER_PID RDMA_PORT TCP_PORT
#   server_stop                        SIGTERM, wait, check that it ended with 0
#   finish                             the plan and the exit status; call it last
set -u

SRC=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
BUILD=${BUILD:-$SRC/build}
T=$(mktemp -d "${TMPDIR:-/tmp}/nfsrdma-test.XXXXXX")
chmod 755 "$T"
export PATH=$BUILD:$PATH LC_ALL=C
tap_n=0 tap_bad=0 SERVER_PID=
declare -a LIB_PIDS=()

lib_cleanup() {
	local pid
	for pid in "${LIB_PIDS[@]}"; do
		kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null
	done
	rm -rf "$T"
}
trap lib_cleanup EXIT
trap 'exit 130' INT TERM

ok() { tap_n=$((tap_n + 1)); echo "ok $tap_n - $1"; }
not_ok() {
	tap_n=$((tap_n + 1)) tap_bad=1
	echo "not ok $tap_n - $1"
	shift
	[ $# = 0 ] || printf '%s\n' "$@" | sed 's/^/# /'
}
skip() { tap_n=$((tap_n + 1)); echo "ok $tap_n - $1 # SKIP $2"; }
check() {
	local claim=$1
	shift
	if "$@" >"$T/check.out" 2>&1; then ok "$claim"; else not_ok "$claim" "status $? of: $*" "$(tail -n 20 "$T/check.out")"; fi
}
finish() { echo "1..$tap_n"; exit $tap_bad; }

# Programs of the build tree; past libtool's wrappers, which cost more than what they start.
program() { [ -x "$BUILD/.libs/$1" ] && echo "$BUILD/.libs/$1" || echo "$BUILD/$1"; }
export LD_LIBRARY_PATH=$BUILD/client/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} PATH=$BUILD/.libs:$PATH
NFSRDMA=$(program nfsrdma) NFSRDMAD=$(program nfsrdmad) BENCH=$(program nfsrdma-bench)

json_get() { python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$1" "$2"; }

# server_start ARGS...: waits for the ready line, at most 10 s.
server_start() {
	local i
	: >"$T/ready"
	"${SERVER_WRAP[@]:-env}" "$NFSRDMAD" --port 0 --tcp-port 0 --no-rpcbind --state "$T/state" "$@" \
		>"$T/ready" 2>"$T/nfsrdmad.err" &
	SERVER_PID=$!
	LIB_PIDS+=("$SERVER_PID")
	for i in $(seq 200); do
		[ -s "$T/ready" ] && break
		kill -0 "$SERVER_PID" 2>/dev/null || break
		sleep 0.05
	done
	if ! [ -s "$T/ready" ]; then
		echo "# nfsrdmad did not get ready:"
		sed 's/^/# /' "$T/nfsrdmad.err"
		return 1
	fi
	RDMA_PORT=$(json_get "$T/ready" rdma_port)
	TCP_PORT=$(json_get "$T/ready" tcp_port)
}

server_stop() {
	local status
	kill -TERM "$SERVER_PID" 2>/dev/null
	wait "$SERVER_PID"
	status=$?
	SERVER_PID=
	return $status
}

sha() { sha256sum "$1" | cut -d' ' -f1; }
random_file() { head -c "$2" /dev/urandom >"$1"; }

# until_in_the_middle FOLDER: wait, at most 10 s, until a file that is being written there has its first MiB.
until_in_the_middle() {
	for _ in $(seq 200); do
		[ "$(find "$1" -type f -size +1M | wc -l)" = 0 ] || break
		sleep 0.05
	done
}

# proxy_start PORT ARGS...: a faulty link to PORT; sets PROXY_PORT, commands go to fd PROXY_IN.
proxy_start() {
	local fifo=$T/proxy.$RANDOM
	mkfifo "$fifo"
	"$BUILD/tests/faults/proxy" "$@" <"$fifo" >"$T/proxy.port" 2>"$T/proxy.err" &
	PROXY_PID=$!
	LIB_PIDS+=("$PROXY_PID")
	exec {PROXY_IN}>"$fifo"
	rm -f "$fifo"
	for _ in $(seq 100); do
		[ ! -s "$T/proxy.port" ] || break
		sleep 0.02
	done
	PROXY_PORT=$(cat "$T/proxy.port")
	[ -n "$PROXY_PORT" ]
}
proxy_say() { echo "$1" >&"$PROXY_IN"; }
proxy_stop() {
	exec {PROXY_IN}>&-
	kill "$PROXY_PID" 2>/dev/null # what was started meanwhile may hold its input open
	wait "$PROXY_PID" 2>/dev/null
	: >"$T/proxy.port"
}
