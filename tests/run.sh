#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# run.sh - build, run every test, count.
#
#   tests/run.sh [--kernel] [--fresh] [--dist] [--units] [--only PATTERN] [--build-dir DIR] [--no-configure] [--no-packages] [--list]
#
# Without options: every test that needs no guest kernel and no package that starts services.
#   --kernel        adds the guests (tests/vm): real kernel peers in User Mode Linux
#   --fresh         adds a minimal Debian 12 root in which the README's two commands are run (tests/fresh)
#   --dist          adds make distcheck: a second build, from the tarball (tests/dist)
#   --pending       also what tests/pending.txt holds back
#   --units         only the Criterion binaries (make check)
#   --only PATTERN  only tests whose name matches the glob, e.g. 'mr', 'e2e/*'
#   --no-configure  DIR is configured and built already
#   --no-packages   install nothing
#
# A test is a Criterion binary (tests/mr/test_mr, named "mr") or a script that prints TAP (tests/e2e/cli.sh,
# named "e2e/cli").  A skip must be on the list tests/skips.txt with its reason; with CI set in the environment
# one that is not fails the run.  The last line counts: N passed, N failed, N skipped.
set -u
src=$(cd "$(dirname "$0")/.." && pwd)
build=$src/build kernel=0 fresh=0 dist=0 units=0 pending=0 only='*' configure=1 packages=1 list=0

while [ $# -gt 0 ]; do
	case $1 in
	--kernel) kernel=1 ;;
	--fresh) fresh=1 ;;
	--dist) dist=1 ;;
	--units) units=1 ;;
	--pending) pending=1 ;;
	--only) only=${2:?--only needs a pattern}; shift ;;
	--build-dir) build=${2:?--build-dir needs a folder}; shift ;;
	--no-configure) configure=0 packages=0 ;;
	--no-packages) packages=0 ;;
	--list) list=1 ;;
	-h | --help) sed -n '3,24s/^# \{0,1\}//p' "$0"; exit 0 ;;
	*) echo "run.sh: unknown option '$1' (see --help)" >&2; exit 2 ;;
	esac
	shift
done
cd "$src" || exit 1

if [ $packages = 1 ]; then
	purposes="build test"
	[ $kernel = 0 ] || purposes="$purposes kernel"
	[ $fresh = 0 ] || purposes="$purposes fresh"
	tools/packages.sh install $purposes || exit 1
fi
jobs=$(nproc)
if [ $configure = 1 ]; then
	tools/configure.sh "$build" --enable-werror || exit 1
fi
make -s -C "$build" -j"$jobs" all >"$build/make.log" 2>&1 &&
	make -s -C "$build" -j"$jobs" check-programs >>"$build/make.log" 2>&1 ||
	{ tail -n 40 "$build/make.log" >&2; echo "run.sh: the build failed (above; all of it in $build/make.log)" >&2
	echo "0 passed, 1 failed, 0 skipped"; exit 1; }

# ---- the tests there are: "name kind path"
tests=$(make -s --no-print-directory -C "$build" list-criterion | tr ' ' '\n' | sed -n 's|^tests/\(.*\)/test_.*$|\1 criterion &|p'
	[ $units = 0 ] || exit 0
	for s in tests/abi tests/cli tests/e2e tests/faults; do
		for f in "$s"/*.sh; do [ -x "$f" ] && echo "${f#tests/} tap $f" | sed 's|\.sh | |'; done
	done
	[ $kernel = 0 ] || echo "vm tap tests/vm/run.sh"
	[ $fresh = 0 ] || echo "fresh tap tests/fresh/run.sh"
	[ $dist = 0 ] || echo "dist tap tests/dist/run.sh")
[ $list = 0 ] || { echo "$tests" | cut -d' ' -f1; exit 0; }

work=$(mktemp -d "${TMPDIR:-/tmp}/nfsrdma-run.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
export BUILD=$build
passed=0 failed=0 skipped=0 failures=

# Criterion's own parent loses a few blocks now and then.  LeakSanitizer's reports are therefore judged here, by who
# allocated: what is left of a report without the blocks that libcriterion itself asked for.
foreign_leaks() { # files: prints what is to be reported
	awk 'BEGIN { RS = ""; ORS = "\n\n" }
	/leak of [0-9]+ byte/ { if ($0 !~ /#1 [^\n]*libcriterion/) { print; n++ } next }
	/ERROR: LeakSanitizer|^SUMMARY: [^\n]* leaked in / { next }
	/[^ \n=]/ { print; n++ }
	END { exit !n }' "$@"
}

run_one() { # name kind path
	local tap=$work/tap log=$work/log limit=300 start=$SECONDS status p f s
	: >"$tap"
	case $1 in
	vm | fresh | dist) limit=2400 ;;
	e2e/matrix | e2e/quickstart) limit=1500 ;;
	esac
	if [ "$2" = criterion ]; then
		(cd "$build" && ASAN_OPTIONS="${ASAN_OPTIONS:-}:log_path=$work/asan" \
			LSAN_OPTIONS="${LSAN_OPTIONS:-}:exitcode=0" timeout -k 10 $limit "$3" --tap="$tap" -q) \
			>"$log" 2>&1
	else
		timeout -k 10 $limit "$3" >"$tap" 2>"$log" </dev/null
	fi
	status=$?
	p=$(grep -c '^ok' "$tap")
	f=$(grep -c '^not ok' "$tap")
	s=$(grep -c '^ok.*# SKIP' "$tap")
	p=$((p - s))
	if [ $status != 0 ] && [ "$f" = 0 ]; then
		f=1
		echo "not ok - $1 ended with status $status (124: timed out) without naming a failure" >>"$tap"
	fi
	if [ $((p + f + s)) = 0 ]; then
		f=1
		echo "not ok - $1 ran no test" >>"$tap"
	fi
	if ls "$work"/asan* >/dev/null 2>&1; then
		if foreign_leaks "$work"/asan* >"$work/report"; then
			f=$((f + 1))
			{ echo "not ok - $1: sanitizer report"; cat "$work/report"; } >>"$tap"
		fi
		rm -f "$work"/asan*
	fi
	unlisted=$(grep '^ok.*# SKIP' "$tap" | while read -r line; do
		claim=$(echo "$line" | sed 's/^ok *[0-9]* *- *//; s/ *# SKIP.*//')
		grep -qxF "$1: $claim" <(sed 's/ *|.*//; /^#/d' tests/skips.txt) || echo "$1: $claim # ${line#*# SKIP }"
	done)
	if [ -n "$unlisted" ] && [ -n "${CI:-}" ]; then
		f=$((f + $(echo "$unlisted" | wc -l)))
		echo "$unlisted" | sed 's/^/not ok - skip not on tests\/skips.txt: /' >>"$tap"
	fi
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
	printf '%-22s %4d passed %3d failed %3d skipped %4d s\n' "$1" $p $f $s $((SECONDS - start))
	grep '^ok.*# SKIP' "$tap" | sed 's/^/    /'
	sed -n 's/^# time: /    /p' "$tap"
	if [ $f != 0 ]; then
		failures="$failures $1"
		grep -A12 '^not ok' "$tap" | head -n 80 | sed 's/^/    /'
		tail -n 20 "$log" | sed 's/^/    | /'
	fi
}

[ "$only" = '*' ] || pending=1
while read -r name kind path; do
	if [ $pending = 0 ] && grep -qxF "$name" tests/pending.txt; then
		echo "$name: pending (tests/pending.txt)"
		continue
	fi
	case $name in
	$only | ${only%/}/*) run_one "$name" "$kind" "$path" ;;
	esac
done <<<"$tests"

[ -z "$failures" ] || echo "failed:$failures"
[ $((passed + failed + skipped)) != 0 ] || { echo "run.sh: no test matches '$only'" >&2; failed=1; }
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
