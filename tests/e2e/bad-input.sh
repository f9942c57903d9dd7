#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# bad-input.sh - what goes wrong ends in one clear line with a hint, status 1 (usage 2), within its bound, and leaves
# nothing behind.
. "$(dirname "$0")/../lib.sh"

mkdir -m 777 "$T/export" "$T/export/dir"
echo data >"$T/export/file"
server_start --export "$T/export=/e" || { not_ok "the server starts"; finish; }
rdma=proto=rdma,fabric=iwarp,port=$RDMA_PORT tcp=proto=tcp,port=$TCP_PORT

# bad STATUS SECONDS PATTERN CLAIM COMMAND...
bad() {
	local want=$1 limit=$2 pattern=$3 claim=$4 start status took
	shift 4
	start=$(date +%s%N)
	timeout $((limit + 20)) "$@" >"$T/out" 2>"$T/err" </dev/null
	status=$?
	took=$((($(date +%s%N) - start) / 1000000))
	if [ $status = "$want" ] && [ "$(wc -l <"$T/err")" = 1 ] && grep -qE "$pattern" "$T/err" &&
		[ $took -le $((limit * 1000)) ] && [ ! -s "$T/out" ]; then
		ok "$claim"
	else
		not_ok "$claim" "status $status (want $want) after $took ms (limit $limit s), want /$pattern/" \
			"stderr: $(cat "$T/err")" "stdout: $(head -c 300 "$T/out")"
	fi
}

# A listener that does something else: python, one connection after the other.
other_peer() { # PYTHON-BODY using c (the connection); sets OTHER_PORT
	python3 - "$1" >"$T/other" 2>"$T/other.err" <<'P' &
import socket, sys, time
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(8); print(s.getsockname()[1], flush=True)
s.settimeout(40)
while True:
    try: c, _ = s.accept()
    except TimeoutError: break
    try: exec(sys.argv[1])
    except OSError: pass
    c.close()
P
	LIB_PIDS+=($!)
	for _ in $(seq 100); do [ ! -s "$T/other" ] || break; sleep 0.02; done
	OTHER_PORT=$(cat "$T/other")
	: >"$T/other"
}
closed_port=$(python3 -c 'import socket; s=socket.socket(); s.bind(("127.0.0.1",0)); print(s.getsockname()[1])')

for p in "rdma $rdma" "tcp $tcp"; do
	name=${p%% *} o=${p#* }
	closed=proto=$name,port=$closed_port
	[ $name = tcp ] || closed=$closed,fabric=iwarp
	bad 1 5 "ls: .*127.0.0.1.*$closed_port.*refused.*\(.+\)" "$name: a port where nobody listens" nfsrdma -o "$closed" ls 127.0.0.1:/e
	bad 1 5 "no.*export|No such" "$name: no such export" nfsrdma -o "$o" ls 127.0.0.1:/nothing
	bad 1 5 "No such file" "$name: no such file" nfsrdma -o "$o" cat 127.0.0.1:/e/nofile
	bad 1 5 "longer than NFS allows" "$name: a name too long" nfsrdma -o "$o" stat "127.0.0.1:/e/$(printf 'x%.0s' $(seq 256))"
	bad 1 5 "Not a directory" "$name: a file where a directory must be" nfsrdma -o "$o" ls 127.0.0.1:/e/file/x
	bad 1 5 "directory" "$name: reading a directory" nfsrdma -o "$o" cat 127.0.0.1:/e/dir
	bad 1 5 "exists" "$name: making what is there" nfsrdma -o "$o" mkdir 127.0.0.1:/e/dir
	other_peer 'c.recv(4096); c.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"*4); time.sleep(1)'
	bad 1 10 "\(.+\)" "$name: a peer that speaks HTTP" nfsrdma -o "${o%port=*}port=$OTHER_PORT,soft,timeo=20,retrans=1" ls 127.0.0.1:/e
	other_peer 'c.recv(64)'
	bad 1 20 "\(.+\)" "$name: a peer that closes in the middle" nfsrdma -o "${o%port=*}port=$OTHER_PORT,soft,timeo=20,retrans=1" ls 127.0.0.1:/e
	other_peer 'c.recv(4096); time.sleep(30)'
	bad 1 30 "\(.+\)" "$name: a peer that says nothing" nfsrdma -o "${o%port=*}port=$OTHER_PORT,soft,timeo=20,retrans=1" ls 127.0.0.1:/e
done
other_peer 'c.recv(20); c.sendall(b"MPA ID Rep Frame" + bytes([0x40, 9, 0, 0])); time.sleep(1)'
bad 1 10 "revision|version" "rdma: a peer of another MPA revision" nfsrdma -o "proto=rdma,fabric=iwarp,port=$OTHER_PORT,soft,timeo=20,retrans=1" ls 127.0.0.1:/e
other_peer 'c.recv(20); c.sendall(b"MPA ID Rep Frame" + bytes([0x30, 2, 0, 4, 0, 16, 0, 16])); time.sleep(1)'
bad 1 10 "reject" "rdma: a peer that rejects" nfsrdma -o "proto=rdma,fabric=iwarp,port=$OTHER_PORT,soft,timeo=20,retrans=1" ls 127.0.0.1:/e
bad 1 10 "iWARP|\(.+\)" "rdma: the server's TCP port taken for the RDMA port" nfsrdma -o "proto=rdma,fabric=iwarp,port=$TCP_PORT,soft,timeo=20,retrans=1" ls 127.0.0.1:/e

# An address that no packet reaches: namespaces of our own, with routes that say so, drop, or ask in vain.
if [ "$(id -u)" = 0 ] && unshare -n true 2>/dev/null; then
	bad 1 40 "hole" "a server behind a blackhole" \
		unshare -n sh -c 'ip link set lo up; ip route add blackhole 192.0.2.0/24; exec nfsrdma -o proto=rdma,fabric=iwarp,soft ls 192.0.2.1:/e'
	bad 1 40 "route|no answer in time" "a server that is not on the wire" \
		unshare -n sh -c 'ip tuntap add dev d0 mode tap; ip addr add 192.0.2.2/24 dev d0; ip link set d0 up; exec nfsrdma -o proto=rdma,fabric=iwarp,soft ls 192.0.2.1:/e'
	bad 1 40 "unreachable|No route" "an unreachable server" \
		unshare -n sh -c 'ip link set lo up; ip route add unreachable 192.0.2.0/24; exec nfsrdma -o proto=tcp,soft ls 192.0.2.1:/e'
else
	skip "an unreachable server" "needs root for a network namespace"
fi
bad 1 20 "no-such-host|resolve|not known" "a host that has no name" nfsrdma ls no-such-host.invalid:/e

# Usage
bad 2 2 "unknown option.*proot.*proto" "an unknown option lists the near miss" nfsrdma -o proot=tcp ls 127.0.0.1:/e
bad 2 2 "rsize" "an option with a bad value" nfsrdma -o rsize=banana ls 127.0.0.1:/e
bad 2 2 "lock" "an option refused by name with the reason" nfsrdma -o lock ls 127.0.0.1:/e
bad 2 2 "frobnicate" "an unknown command" nfsrdma frobnicate
bad 2 2 "." "no command" nfsrdma
bad 2 2 "." "a malformed target" nfsrdma ls "[::1:/e"
bad 2 2 "export" "nfsrdmad without an export" nfsrdmad
bad 2 2 "foo" "an unknown option in a URL" nfsrdma ls 'nfs://127.0.0.1/e?foo'
bad 2 2 "nosuch" "nfsrdmad with an unknown option" nfsrdmad --nosuch
bad 1 5 "No such file" "nfsrdmad with an export that is not there" nfsrdmad --export "$T/none=/x" --port 0 --tcp-port 0 --no-rpcbind --state "$T/s2"
bad 1 5 "in use" "nfsrdmad on a port that is taken" nfsrdmad --export "$T/export=/e" --port 0 --tcp-port "$TCP_PORT" --no-rpcbind --state "$T/s3"
bad 2 2 "." "nfsrdma-bench with an unknown option" nfsrdma-bench --nosuch

# Permission
if [ "$(id -u)" = 0 ]; then
	chmod 700 "$T/export/dir"
	bad 1 5 "Permission denied" "permission denied is said" nfsrdma -o "$tcp,uid=65534,gid=65534" ls 127.0.0.1:/e/dir
else
	skip "permission denied is said" "needs root to serve with callers' credentials"
fi

# A full disk: a small tmpfs as the export.
if [ "$(id -u)" = 0 ] && mkdir "$T/full" && mount -t tmpfs -o size=4m,mode=777 none "$T/full" 2>/dev/null; then
	server_stop
	server_start --export "$T/full=/full"
	random_file "$T/big" $((16 << 20))
	for p in "rdma proto=rdma,fabric=iwarp,port=$RDMA_PORT" "tcp proto=tcp,port=$TCP_PORT"; do
		bad 1 10 "No space left.*" "${p%% *}: a full disk" nfsrdma -q -o "${p#* }" cp "$T/big" 127.0.0.1:/full/big
		[ -z "$(ls "$T/full/big" 2>/dev/null)" ] && ok "${p%% *}: and nothing looks complete" ||
			not_ok "${p%% *}: and nothing looks complete" "$(ls -la "$T/full")"
		rm -f "$T"/full/* "$T"/full/.nfsrdma*
	done
	server_stop
	umount "$T/full"
else
	skip "a full disk" "needs root for a small tmpfs"
fi
[ -z "$SERVER_PID" ] || check "the server stops cleanly" server_stop
check "no temporary file is left in the export" test -z "$(find "$T/export" -name '.nfsrdma*')"
finish
