#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# layering.sh - the house stands: dependencies point down, folders are entered by their front door,
# global names carry their folder, and nothing mutable is global.  TAP on stdout.
set -u
src=$(cd "$(dirname "$0")/../.." && pwd)
build=${BUILD:-$src/build}
work=$(mktemp -d "${TMPDIR:-/tmp}/nfsrdma-layers.XXXXXX")
trap 'rm -rf "$work"' EXIT
n=0 bad=0
cd "$src" || exit 1

none() { # claim, file of offences: must be empty
	n=$((n + 1))
	if [ ! -s "$2" ]; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		sed 's/^/# /' "$2"
		bad=1
	fi
}

# What each folder may include of the others.
may() {
	case $1 in
	util) echo "" ;;
	wire | iommu-aware) echo "util" ;;
	mr) echo "util iommu-aware" ;;
	transport) echo "util wire iommu-aware mr" ;;
	client) echo "util wire iommu-aware mr transport" ;;
	tools/nfsrdma) echo "util client" ;;
	tools/*) echo "util wire iommu-aware mr transport client" ;;
	examples) echo "client" ;;
	esac
}

# Their front doors.
door() {
	case $1 in
	util/util.h | wire/wire.h | wire/nfs3_xdr.h | wire/mount_xdr.h | iommu-aware/iommu.h | mr/mr.h | \
		transport/transport.h | client/nfsrdma.h) return 0 ;;
	esac
	return 1
}

: >"$work/up" >"$work/back"
for folder in util wire iommu-aware mr transport client tools/* examples; do
	[ -d "$folder" ] || continue
	allowed=" $(may "$folder") "
	while IFS=: read -r file header; do
		other=$header
		case $header in
		tools/*) other=tools/$(echo "$header" | cut -d/ -f2) ;;
		*) other=${header%%/*} ;;
		esac
		[ "$other" != "$folder" ] || continue
		case $allowed in
		*" $other "*) door "$header" || echo "$file includes $header" >>"$work/back" ;;
		*) echo "$file includes $header" >>"$work/up" ;;
		esac
	done < <(grep -rnoE '^#[[:space:]]*include[[:space:]]+"[^"]+"' --include='*.[ch]' "$folder" |
		sed -E 's/^([^:]*):[0-9]+:.*"([^"]+)"/\1:\2/' | grep -v ':config\.h$' | grep ':.*/')
done
none "includes point down" "$work/up"
none "folders are entered by their boundary headers" "$work/back"
grep -rnE '^#[[:space:]]*include[[:space:]]+"' --include='*.[ch]' util wire iommu-aware mr transport client |
	grep -vE '"(config\.h|[a-z0-9-]+/[^"]*)"' >"$work/relative"
none "the libraries' includes name their folder" "$work/relative"

# The same of what was compiled: no library needs a symbol of a higher one.
lib() { echo "$build/$1/.libs/lib$2.a"; }
needs() { nm -u "$(lib "$1" "$2")" 2>/dev/null | awk '{ print $2 }' | grep -E "^($3)" | sed "s|^|$1 needs |"; }
{
	needs util util 'wire_|mr_|iommu_|transport_|client_|nfsrdma_'
	needs wire wire 'mr_|iommu_|transport_|client_|nfsrdma_'
	needs iommu-aware iommu 'wire_|mr_|transport_|client_|nfsrdma_'
	needs mr mr 'wire_|transport_|client_|nfsrdma_'
	needs transport transport 'client_|nfsrdma_'
} >"$work/symbols"
none "libraries need nothing of higher ones" "$work/symbols"

# Global names carry the folder's prefix.
names() { # folder library prefixes
	nm --defined-only "$(lib "$1" "$2")" 2>/dev/null | awk 'NF == 3 && $2 ~ /^[A-Z]$/ { print $3 }' |
		grep -vE "^($3)|^__odr_asan|^__asan|^DW\.ref" | sed "s|^|$1: |"
}
{
	names util util 'util_'
	names wire wire 'wire_|xdr_'
	names iommu-aware iommu 'iommu_'
	names mr mr 'mr_'
	names transport transport 'transport_|tcp_|rpcrdma_|fabric_|verbs_|iwarp_'
	names client client 'client_|nfsrdma_'
} >"$work/names"
none "global names carry their folder's prefix" "$work/names"

# Mutable data: everything in .data and .bss.  (The thread's last error is thread-local: .tbss.)
for pair in "util util" "wire wire" "iommu-aware iommu" "mr mr" "transport transport" "client client"; do
	set -- $pair
	objdump -t "$(lib "$1" "$2")" 2>/dev/null |
		awk '$2 ~ /O|l/ && ($(NF-2) ~ /^\.(data|bss)(\..*)?$/) && $(NF-2) !~ /rel\.ro/ && $(NF-1) !~ /^0+$/ { print $NF }' |
		grep -vE 'asan|LASAN|ubsan|^\.' | sed "s|^|$1: |"
done >"$work/globals"
none "nothing mutable is global" "$work/globals"

# Texts
git ls-files '*.c' '*.h' 2>/dev/null | while read -r file; do
	head -1 "$file" | grep -q 'SPDX-License-Identifier: BSD-2-Clause' || echo "$file"
done >"$work/spdx"
none "every source begins with its licence" "$work/spdx"
git ls-files '*.c' '*.h' 2>/dev/null | xargs -r wc -l | awk '$2 != "total" && $1 > 800 { print $2 ": " $1 " lines" }' >"$work/long"
none "no source is longer than 800 lines" "$work/long"
git grep -nE '\b(TODO|FIXME|XXX)\b' -- '*.c' '*.h' '*.x' >"$work/todo" 2>/dev/null
none "no source puts anything off" "$work/todo"
git grep -nE '\b(abort|exit|_exit|printf|perror|puts)[[:space:]]*\(' -- util wire iommu-aware mr transport client 2>/dev/null |
	grep -vE 'nprintf|/\*|^\S+:\s*\*' >"$work/prints"
none "libraries never abort, exit or print" "$work/prints"

echo "1..$n"
exit $bad
