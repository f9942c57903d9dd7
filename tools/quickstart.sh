#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# quickstart.sh - from a fresh clone to a file read and written over NFS/RDMA, on any machine.
#
#   tools/quickstart.sh        as root, with sudo, or as a user where the packages are there already
#
# Installs what building needs (asks sudo; or prints the one apt-get line), builds in build/ as the invoking
# user, starts nfsrdmad on free loopback ports, copies a file in and back over RDMA (the software RNIC when
# there is no device), compares checksums, lists it, runs a short benchmark.  Changes no setting of
# the system and leaves nothing running.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf '\n\033[1m%s\033[0m\n' "$*" | if [ -t 1 ]; then cat; else sed 's/\x1b\[[0-9]*m//g'; fi; }
run() { printf '  $ %s\n' "$*"; "$@" 2>&1 | sed 's/^/    /'; }
fail() { echo "quickstart: $*" >&2; exit 1; }

# Root by way of sudo: build and run as who called.
if [ "$(id -u)" = 0 ] && [ -n "${SUDO_USER:-}" ] && [ "$SUDO_USER" != root ] && [ -z "${NFSRDMA_QUICKSTART_USER:-}" ]; then
	tools/packages.sh install build || fail "the packages for building are missing (above)"
	exec sudo -u "$SUDO_USER" -H NFSRDMA_QUICKSTART_USER=1 bash "$(pwd)/tools/quickstart.sh"
fi

start=$SECONDS
work= server=
cleanup() {
	[ -z "$server" ] || { kill -TERM "$server" 2>/dev/null && wait "$server" 2>/dev/null; } || true
	[ -z "$work" ] || rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

say "1. Packages"
tools/packages.sh install build || fail "the packages for building are missing (above)"
echo "  all there"

say "2. Build (in build/)"
tools/configure.sh build || fail "the build could not be set up (above)"
make -s -C build -j"$(nproc)" all >build/make.log 2>&1 ||
	{ tail -n 30 build/make.log; fail "the build failed (above; all of it in build/make.log)"; }
echo "  done after $((SECONDS - start)) s"
PATH=$(pwd)/build:$PATH

work=$(mktemp -d "${TMPDIR:-/tmp}/nfsrdma-quickstart.XXXXXX")
chmod 755 "$work"
mkdir -m 1777 "$work/export" # the server squashes root
say "3. A server on loopback (nfsrdmad, ports chosen by the kernel)"
nfsrdmad --export "$work/export=/demo" --port 0 --tcp-port 0 --no-rpcbind --state "$work/state" \
	>"$work/ready" 2>"$work/nfsrdmad.err" &
server=$!
for _ in $(seq 200); do
	[ ! -s "$work/ready" ] || break
	kill -0 "$server" 2>/dev/null || break
	sleep 0.05
done
[ -s "$work/ready" ] || { cat "$work/nfsrdmad.err" >&2; fail "the server did not start (above)"; }
sed 's/^/    /' "$work/ready"
port=$(sed -n 's/.*"rdma_port": *\([0-9]*\).*/\1/p' "$work/ready")
target="nfs://127.0.0.1:$port/demo"

say "4. A file there and back, over RDMA"
file=$(readlink -f build/client/.libs/libnfsrdma.so)
run nfsrdma cp "$file" "$target/copy"
run nfsrdma ls -l "$target"
run nfsrdma --stats cp "$target/copy" "$work/back"
sent=$(sha256sum <"$file") got=$(sha256sum <"$work/back")
[ "$sent" = "$got" ] || fail "the checksums differ: sent $sent, got back $got"
echo "    checksums equal: ${sent%% *}"

say "5. A short benchmark (iozone's options, iozone's lines)"
run nfsrdma-bench --target "127.0.0.1:/demo" -o "proto=rdma,port=$port" -i0 -i1 -s32m -r256k -t2

kill -TERM "$server"
wait "$server" || fail "the server ended with status $?"
server=
say "Done in $((SECONDS - start)) s.  Nothing is left running; the files were in $work, which is gone now."
echo "Next: nfsrdma --help, man build/man/*.1, or run the tests: tests/run.sh"
