#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# quickstart.sh - the README's first command: in a path with blanks, twice, after Ctrl-C, without io_uring, with
# 64 MiB of /dev/shm; nothing left running or lying about, no setting changed.
. "$(dirname "$0")/../lib.sh"
no_uring=$BUILD/tests/e2e/no_uring
unset LD_LIBRARY_PATH

# The tree as it is, without what was built.
copy="$T/a copy with blanks"
mkdir "$copy" "$T/tmp"
tree() {
	git ls-files -z --cached --others --exclude-standard 2>/dev/null | xargs -0 -r ls -d 2>/dev/null | tar -c -T -
}
unpacked_tree() { # an archive's: its own list is what make dist packs, so leave out what building makes
	tar -c --exclude=./build --exclude=./autom4te.cache --exclude=./configure --exclude=Makefile.in .
}
(cd "$SRC" && if git rev-parse >/dev/null 2>&1; then tree; else unpacked_tree; fi) | tar -x -C "$copy"
[ -f "$copy/configure.ac" ] && [ ! -e "$copy/build" ] || { not_ok "the tree is copied"; finish; }

settings() { sysctl -a 2>/dev/null | grep -E '^(vm\.nr_|vm\.max_map|kernel\.(io_uring|yama|perf)|net\.(core|ipv4\.tcp_(r|w)mem|ipv4\.tcp_cong))' | sort; }
leftovers() { # of one run: processes and files
	pgrep -af "$copy" | grep -v "pgrep\|quickstart.sh$" >"$T/left"
	find "$T/tmp" -mindepth 1 >>"$T/left"
	[ ! -s "$T/left" ] || { cat "$T/left"; return 1; }
}
quick() { # CLAIM WRAPPER...
	local claim=$1
	shift
	if TMPDIR="$T/tmp" timeout -k 5 600 "$@" bash "$copy/tools/quickstart.sh" >"$T/out" 2>&1 </dev/null &&
		grep -q "checksums equal" "$T/out" && grep -q "^Done in" "$T/out"; then
		ok "$claim"
	else
		not_ok "$claim" "$(tail -n 40 "$T/out")"
	fi
	check "... and nothing is left of it" leftovers
}

before=$(settings)
# Ctrl-C goes to the whole foreground group.
interrupt() { # STEP SECONDS: Ctrl-C so long after the step was announced
	local pid status
	: >"$T/out"
	TMPDIR="$T/tmp" setsid env --default-signal=INT bash "$copy/tools/quickstart.sh" >"$T/out" 2>&1 </dev/null &
	pid=$!
	for _ in $(seq 600); do
		! grep -q "^$1" "$T/out" || break
		sleep 0.05
	done
	for _ in $(seq $((10 * $2))); do
		kill -0 $pid 2>/dev/null || break
		sleep 0.1
	done
	kill -INT -- -$pid 2>/dev/null
	wait $pid
	status=$?
	# A fast machine may be through by then.
	[ $status != 0 ] || grep -q "^Done in" "$T/out" && ok "Ctrl-C $2 s into '$1' ends it" ||
		not_ok "Ctrl-C $2 s into '$1' ends it" "status $status" "$(tail -n 5 "$T/out")"
	check "... and nothing is left of it" leftovers
}
for seconds in 2 6 10 20; do
	interrupt "2. Build" $seconds
done
quick "the quick start builds and runs in a path with blanks" env
check "it shows iozone's lines" grep -q "Children see throughput for .* readers" "$T/out"
quick "it runs a second time" env
quick "it runs without io_uring" "$no_uring"
quick "it runs where io_uring is not known" "$no_uring" --enosys
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
	quick "it runs with 64 MiB of /dev/shm" unshare -m sh -c 'mount -t tmpfs -o size=64m none /dev/shm && exec "$@"' shm
else
	skip "it runs with 64 MiB of /dev/shm" "needs root for a mount namespace"
fi

for step in "3. A server" "4. A file" "5. A short"; do
	interrupt "$step" 0
done
quick "it runs after Ctrl-C" env
[ "$(settings)" = "$before" ] && ok "no setting of the system was changed" ||
	not_ok "no setting of the system was changed" "$(diff <(echo "$before") <(settings))"
finish
