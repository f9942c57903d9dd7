#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# documents.sh - what the documents name is there: the tests that the security table promises, other tests and
# functions by name, files by path.
. "$(dirname "$0")/../lib.sh"
cd "$SRC" || exit 1
documents=(README.md CONTRIBUTING.md docs/*.md)
set -f # names may end in a star

tests=$(grep -rhoE '^Test\([a-z_0-9]+, *[a-z_0-9]+' tests --include='*.c' | sed 's/^Test(//; s/, */ /')
suites=$(cut -d' ' -f1 <<<"$tests" | sort -u)
names=$(cut -d' ' -f2 <<<"$tests")

# Words in backticks, one a line
ticked() { grep -oE '`[^`]+`' | tr -d '`'; }
# known NAME: a test of that name (* stands for its end), or a suite
known() { grep -qxE "${1//\*/[a-z_0-9]*}" <<<"$names" || grep -qx "$1" <<<"$suites"; }

table=$(sed -n '/^| it tries /,/^$/p' docs/memory.md | tail -n +3)
: >"$T/lost"
rows=0
while IFS= read -r row; do
	rows=$((rows + 1))
	cell=$(sed 's/ |$//; s/.*| //' <<<"$row")
	[ -n "$(ticked <<<"$cell")" ] || [[ $cell == "the same"* ]] || echo "no test: $row" >>"$T/lost"
	for name in $(ticked <<<"$cell"); do
		known "$name" || echo "$name: $row" >>"$T/lost"
	done
done <<<"$table"
check "the security table is found" test "$rows" -ge 9
check "each of its rows names a test that there is" eval 'cat "$T/lost"; [ ! -s "$T/lost" ]'

: >"$T/lost"
for doc in "${documents[@]}"; do
	for name in $(ticked <"$doc" | grep -E '^[a-z0-9]+(_[a-z0-9]+){3,}\*?$' | sort -u); do
		known "$name" || grep -rqwF --include='*.[ch]' "$name" client iommu-aware mr transport tests tools util wire ||
			echo "$doc: $name" >>"$T/lost"
	done
done
check "tests and functions that documents name are there" eval 'cat "$T/lost"; [ ! -s "$T/lost" ]'

: >"$T/lost"
for doc in "${documents[@]}"; do
	for path in $(ticked <"$doc" | tr ' ' '\n' | grep -E '^(tests|tools|client|mr|transport|iommu-aware|util|wire|docs|data)/[A-Za-z0-9_./-]*[a-z0-9]$' | sort -u); do
		[ -e "$path" ] || compgen -G "$path.*" >/dev/null || [ -e "$BUILD/$path" ] || echo "$doc: $path" >>"$T/lost"
	done
done
check "files that documents name are there" eval 'cat "$T/lost"; [ ! -s "$T/lost" ]'
finish
