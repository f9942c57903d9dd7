#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# packages.sh - the Debian 12 packages each purpose needs, and how to get them.
#
#   tools/packages.sh list PURPOSE...     print them
#   tools/packages.sh missing PURPOSE...  print those not installed (exit 1 when there are any)
#   tools/packages.sh install PURPOSE...  install what is missing: as root, or by sudo without asking for a
#                                         password twice; otherwise print the one line to run, exit 1
#
# PURPOSE: build (compile and run), test (tests/run.sh), kernel (tests/run.sh --kernel), fresh (--fresh).
# And peer, which is listed only: tests/e2e/ganesha.sh unpacks those outside the system, as they start services.
set -euo pipefail

packages() {
	case $1 in
	build) echo build-essential autoconf automake libtool pkg-config rpcsvc-proto \
		libtirpc-dev libibverbs-dev librdmacm-dev liburing-dev libnuma-dev libisal-dev \
		libjansson-dev libnfs-dev ;;
	test) echo git libcriterion-dev libseccomp-dev scdoc python3 strace iproute2 \
		libnfs-utils tshark iperf3 valgrind clang libclang-rt-14-dev xz-utils procps util-linux \
		gnuplot-nox openmpi-bin libopenmpi-dev netbase ;;
	kernel) echo flex bison bc libelf-dev xz-utils iproute2 util-linux qemu-system-x86 busybox-static cpio kmod ;;
	fresh) echo git mmdebstrap ;;
	peer) echo nfs-ganesha nfs-ganesha-vfs libntirpc4.3 libnfsidmap1 liburcu8 libwbclient0 libwrap0 \
		rpcbind ;;
	*) echo "packages.sh: unknown purpose '$1' (build, test, kernel, fresh, peer)" >&2; exit 2 ;;
	esac
}

missing() {
	local p
	for p in "$@"; do
		[ "$(dpkg-query -W -f='${db:Status-Status}' "$p" 2>/dev/null)" = installed ] || echo "$p"
	done
}

action=${1:-}
[ $# -gt 1 ] || { echo "usage: packages.sh list|missing|install PURPOSE..." >&2; exit 2; }
shift
all=$(for purpose in "$@"; do packages "$purpose"; done | tr ' ' '\n' | sort -u)

case $action in
list) echo "$all" ;;
missing)
	want=$(missing $all)
	[ -z "$want" ] || { echo "$want"; exit 1; }
	;;
install)
	case " $* " in *' peer '*) echo "packages.sh: peer packages start services: they are never installed" >&2; exit 2 ;; esac
	want=$(missing $all)
	[ -n "$want" ] || exit 0
	if [ "$(id -u)" = 0 ]; then
		as_root=()
	elif command -v sudo >/dev/null && sudo -n true 2>/dev/null || { [ -t 0 ] && command -v sudo >/dev/null; }; then
		as_root=(sudo)
	else
		echo "These Debian packages are missing; install them and run this again:" >&2
		echo "  apt-get install --no-install-recommends" $want >&2
		exit 1
	fi
	echo "installing:" $want
	log=$(mktemp)
	trap 'rm -f "$log"' EXIT
	if ! { "${as_root[@]}" apt-get update -q &&
		"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
			apt-get install -q -y --no-install-recommends $want; } >"$log" 2>&1; then
		tail -n 20 "$log" >&2
		echo "packages.sh: apt-get failed (above); the line was: apt-get install --no-install-recommends" $want >&2
		exit 1
	fi
	;;
*) echo "usage: packages.sh list|missing|install PURPOSE..." >&2; exit 2 ;;
esac
