#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# dist/run.sh - "make distcheck": the release's tarball builds, passes its unit tests from a read-only source,
# installs, uninstalls and cleans up after itself; and it holds all that is committed. A second whole build, so it
# is run by tests/run.sh --dist only.
. "$(dirname "$0")/../lib.sh"

# Of the committed files, only those that serve the repository itself.
not_packed='^(\.ci/|\.gitignore$|\.gitattributes$|m4/\.gitkeep$)'

cd "$BUILD" || exit 1
if make -s distcheck DISTCHECK_CONFIGURE_FLAGS='-q --enable-werror' >"$T/log" 2>&1; then
	ok "make distcheck passes"
else
	not_ok "make distcheck passes" "$(grep -B 30 '\*\*\*' "$T/log" | tail -n 60)"
fi
tarball=$(ls "$BUILD"/nfsrdma-*.tar.xz 2>/dev/null | tail -n 1)
check "there is a tarball" test -n "$tarball"
tar -tJf "$tarball" | sed 's|^[^/]*/||' | sort >"$T/packed"
if git -C "$SRC" rev-parse --git-dir >"$T/out" 2>&1; then
	git -C "$SRC" ls-files | grep -Ev "$not_packed" | sort >"$T/committed"
	left_out=$(comm -23 "$T/committed" "$T/packed")
	[ -z "$left_out" ] && ok "it holds every committed file" || not_ok "it holds every committed file" "$left_out"
else
	skip "it holds every committed file" "not a git checkout"
fi
check "and no link, object or editor's leftover" test -z "$(tar -tvJf "$tarball" | grep -E '^[lh]|\.(o|lo|la|orig|rej)$|~$')"
finish
