#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# configure.sh - make a clone ready for make: autoreconf, then configure in a folder of its own.
#
#   tools/configure.sh FOLDER [CONFIGURE-OPTION...]
#
# Does nothing where that is done already, and does it again where it was interrupted or packages came or went
# meanwhile: what configure did not find is not built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
src=$(pwd) build=${1:?FOLDER}
shift

mkdir -p "$build" 2>/dev/null && [ -w "$build" ] ||
	{ echo "configure.sh: cannot write to $build: does it belong to another user?" >&2; exit 1; }
missing=$(tools/packages.sh missing build test || true)
[ ! -f "$build/.configured" ] || [ "$(cat "$build/.configured")" != "$missing" ] || exit 0
# autoreconf leaves its temporary files where it is interrupted.
rm -rf "$build/.tmp"
mkdir "$build/.tmp"
TMPDIR=$(cd "$build/.tmp" && pwd)
export TMPDIR
log=$build/configure.log
step() { # NAME COMMAND...
	local name=$1
	shift
	"$@" >"$log" 2>&1 || { tail -n 20 "$log" >&2; echo "configure.sh: $name failed (above; all of it in $log)" >&2; exit 1; }
}
# Makefile.in comes last.
[ -f configure ] && [ -f Makefile.in ] && [ ! configure.ac -nt configure ] || step autoreconf autoreconf -fi
# libtool is a shell script and most of the build's time: let it run in the fastest shell.
[ ! -x /bin/dash ] || export CONFIG_SHELL=/bin/dash
# The relative path keeps blanks in the folder's name away from configure.
case $(cd "$build" && pwd) in
"$src"/build) up=.. ;;
*) up=$src ;;
esac
cd "$build"
log=configure.log
step configure "$up/configure" -q "$@"
rm -rf .tmp
echo "$missing" >.configured
