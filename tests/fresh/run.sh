#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# fresh/run.sh - the README's two commands on a fresh, minimal Debian 12, as a new user would run them.
#
#   tests/fresh/run.sh [--quick | --kernel] [--keep DIR]
#
# Makes a root with mmdebstrap from this machine's own package sources (minimal: no git, no sudo, no compiler), puts a clean
# copy of the committed tree into it, and runs tools/quickstart.sh and tests/run.sh there in namespaces of their
# own (--quick: quickstart only; --kernel: with the guests, their kernel built from nothing).  Needs root and mmdebstrap.  Prints TAP; times and sizes as comments.
set -u
src=$(cd "$(dirname "$0")/../.." && pwd)
quick=0 kernel= root=
while [ $# -gt 0 ]; do
	case $1 in
	--quick) quick=1 ;;
	--kernel) kernel=--kernel ;;
	--keep) root=${2:?}; shift ;;
	*) echo "fresh/run.sh: unknown option '$1'" >&2; exit 2 ;;
	esac
	shift
done
n=0 bad=0
ok() { n=$((n + 1)); echo "ok $n - $1"; }
not_ok() { n=$((n + 1)) bad=1; echo "not ok $n - $1"; [ -z "${2:-}" ] || tail -n 60 "$2" | sed 's/^/# /'; }
if [ "$(id -u)" != 0 ] || ! command -v mmdebstrap >/dev/null; then
	echo "ok 1 - a fresh Debian 12 runs both commands # SKIP needs root and mmdebstrap"
	echo 1..1
	exit 0
fi
log=$(mktemp)
if [ -z "$root" ]; then
	root=$(mktemp -d "${TMPDIR:-/tmp}/nfsrdma-fresh.XXXXXX")
	trap 'rm -rf --one-file-system "$root" "$log"' EXIT
fi
trap 'exit 130' INT TERM

start=$SECONDS
sources=$(find /etc/apt/sources.list /etc/apt/sources.list.d -type f \( -name '*.list' -o -name '*.sources' \) -size +0 2>/dev/null)
if [ ! -e "$root/etc/debian_version" ]; then
	mmdebstrap --variant=minbase --mode=root --skip=check/empty --include=ca-certificates bookworm "$root" $sources >"$log" 2>&1 ||
		{ not_ok "mmdebstrap makes a minimal Debian 12" "$log"; echo "1..$n"; exit 1; }
	for f in /etc/apt/apt.conf.d/*; do
		grep -qiE 'proxy|verify|retries' "$f" && cp "$f" "$root/etc/apt/apt.conf.d/"
	done
fi
ok "mmdebstrap makes a minimal Debian 12"
echo "# $((SECONDS - start)) s, $(du -sxm "$root" | cut -f1) MB"
cp /etc/resolv.conf /etc/hosts "$root/etc/" 2>/dev/null

# A clean copy of what is committed, in a path with a blank, owned by a user.
dir="/home/user/nfsrdma src"
mkdir -p "$root/home/user"
rm -rf "$root$dir"
mkdir "$root$dir"
git -C "$src" archive HEAD | tar -x -C "$root$dir" || { not_ok "the committed tree is copied"; exit 1; }

inside() { # its own mount and pid namespaces: nothing it leaves running survives
	unshare --mount --pid --fork --kill-child bash -c '
		root=$1; shift
		mount --make-rprivate /
		mount --bind "$root" "$root" || exit 99 # a root that namespaces can be made in
		mount -t proc none "$root/proc" && mount --rbind /sys "$root/sys" && mount --rbind /dev "$root/dev" || exit 99
		mount -t tmpfs -o size=64m none "$root/dev/shm"
		exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb LC_ALL=C ${CI:+CI=$CI} "$@"' inside "$root" "$@"
}
installed_mb() { echo $(($(awk '/^Installed-Size:/ {s += $2} END {print s}' "$root/var/lib/dpkg/status") / 1024)); }

mb=$(installed_mb) start=$SECONDS
if inside bash "$dir/tools/quickstart.sh" >"$log" 2>&1 </dev/null; then ok "quickstart.sh runs on a fresh Debian 12, in a path with a blank and with 64 MiB of /dev/shm"; else
	not_ok "quickstart.sh runs on a fresh Debian 12, in a path with a blank and with 64 MiB of /dev/shm" "$log"; fi
echo "# quickstart: $((SECONDS - start)) s, $(($(installed_mb) - mb)) MB of packages"
start=$SECONDS
if inside bash "$dir/tools/quickstart.sh" >"$log" 2>&1 </dev/null; then ok "quickstart.sh runs a second time"; else not_ok "quickstart.sh runs a second time" "$log"; fi
echo "# again: $((SECONDS - start)) s"
if [ $quick = 0 ]; then
	mb=$(installed_mb) start=$SECONDS
	if inside bash -c "cd '$dir' && tests/run.sh $kernel" >"$log" 2>&1 </dev/null; then ok "tests/run.sh runs on a fresh Debian 12"; else not_ok "tests/run.sh runs on a fresh Debian 12" "$log"; fi
	echo "# tests/run.sh $kernel: $((SECONDS - start)) s, $(($(installed_mb) - mb)) MB of packages; $(tail -n 1 "$log")"
fi
echo "1..$n"
exit $bad
