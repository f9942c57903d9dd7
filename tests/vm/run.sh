#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# run.sh - our fabrics, client and server against the kernel's, in User Mode Linux guests.
#
#   tests/vm/run.sh [--list] [SCENARIO...]
#
# Builds the guest kernel (kernel.sh, minutes, once) and the guest's root (image.sh, once) into a cache
# outside the clone, then runs the scenarios (scenarios/*.sh), two or more at once, each in network and process-id
# namespaces of its own and within a time limit.  Prints TAP: `ok N - scenario: claim`, and at the end a
# table of what took how long.  Exits 1 if a test failed.  Where Debian's packages cannot be had the
# guests are skipped, with the reason.
#
#   BUILD              the build folder (default: build)
#   NFSRDMA_VM_CACHE   the cache (default ~/.cache/nfsrdma-vm)
#   NFSRDMA_VM_AT_ONCE how many scenarios run at a time (default: one for each processor, at most 4)
#   NFSRDMA_VM_KEEP    a folder to keep each scenario's output in
#   NFSRDMA_VM_IOMMUFD 1: build the kernel with iommufd too, a quarter of an hour once
set -u
here=$(cd "$(dirname "$0")" && pwd)
src=$(cd "$here/../.." && pwd)
export BUILD=${BUILD:-$src/build}
at_once=${NFSRDMA_VM_AT_ONCE:-$(nproc)}
[ "$at_once" -le 4 ] || at_once=4
n=0 bad=0

result() { # "ok" or "not ok", claim
	n=$((n + 1))
	echo "$1 $n - $2"
	[ "$1" = ok ] || bad=1
}

# Nothing can be run here: one skip with the reason, which CI does not accept.
skip_all() {
	echo "ok 1 - guests run # SKIP $1"
	echo "1..1"
	exit 0
}

names=()
for arg; do
	case $arg in
	--list) (cd "$here/scenarios" && ls -- *.sh | sed 's/\.sh$//'); exit 0 ;;
	-*) sed -n '4,20s/^# \{0,1\}//p' "$0"; exit 2 ;;
	*) names+=("$arg") ;;
	esac
done
[ ${#names[@]} -gt 0 ] || mapfile -t names < <(cd "$here/scenarios" && ls -- *.sh | sed 's/\.sh$//')

[ "$(uname -m)" = x86_64 ] || skip_all "User Mode Linux runs on x86-64 only"
[ "$(id -u)" = 0 ] || skip_all "needs root for network namespaces and tap interfaces"
[ -c /dev/net/tun ] || skip_all "there is no /dev/net/tun"
unshare --net --pid --fork true 2>/dev/null || skip_all "namespaces are forbidden here"

started=$SECONDS
# made KIND SCRIPT: its path in $made, or the run's end: a skip where something is lacking.
made() {
	local status
	made=$("$here/$2")
	status=$?
	[ $status != 77 ] || skip_all "$made"
	[ $status = 0 ] || {
		result "not ok" "$1 can be built"
		echo "1..$n"
		exit 1
	}
	times+=("$(printf '%-20s %4d s' "$1" $((SECONDS - started)))")
}
times=()
made "the guest's kernel" kernel.sh && VM_KERNEL=$made
started=$SECONDS
made "the guest's image" image.sh && VM_IMAGE=$made
export VM_KERNEL VM_IMAGE

# Renumber a scenario's lines and put its name in front.
pass_on() { # name file
	local line
	while IFS= read -r line; do
		case $line in
		'ok '* | 'not ok '*)
			n=$((n + 1))
			sed -E "s/^(not ok|ok) [0-9]+ - /\1 $n - $1: /" <<<"$line"
			;;
		1..*) ;;
		*) echo "$line" ;;
		esac
	done <"$2"
}

work=$(mktemp -d "${TMPDIR:-/tmp}/nfsrdma-vm.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'kill $(jobs -rp) 2>/dev/null; wait; exit 130' INT TERM

# Run one scenario; its status and seconds in $work/NAME.end, last of all.
run_one() { # name
	local script=$here/scenarios/$1.sh started=$SECONDS limit child status
	# The first line that says "limit: N" bounds the scenario, in seconds.
	limit=$(sed -n 's/^# limit: \([0-9]*\)$/\1/p' "$script" 2>/dev/null | head -1)
	# The scenario's shell is process 1 of its namespace and does not hear a SIGTERM.
	timeout -s KILL "${limit:-300}" unshare --net --pid --fork --kill-child --mount-proc \
		bash "$script" >"$work/$1.tap" 2>"$work/$1.err" </dev/null &
	child=$!
	trap 'kill "$child"; exit 130' TERM
	wait "$child"
	status=$?
	echo "$status $((SECONDS - started))" >"$work/$1.new"
	mv "$work/$1.new" "$work/$1.end"
}

report() { # name
	local out=$work/$1.tap status seconds
	read -r status seconds <"$work/$1.end"
	echo "# scenario: $1"
	pass_on "$1" "$out"
	grep -q '^not ok' "$out" && bad=1
	if [ "$status" != 0 ] && ! grep -q '^not ok' "$out"; then
		result "not ok" "$1: runs to its end (status $status; 137: timed out)"
	fi
	[ ! -s "$work/$1.err" ] || tail -n 20 "$work/$1.err" | sed 's/^/# stderr: /'
	[ -z "${NFSRDMA_VM_KEEP:-}" ] || cp "$out" "$work/$1.err" "$NFSRDMA_VM_KEEP/"
	times+=("$(printf '%-20s %4d s, %d checks' "$1" "$seconds" "$(grep -cE '^(not )?ok ' "$out")")")
}

# Reports come in the order of the names, whichever is done first.
next=0
report_done() {
	while [ $next -lt ${#names[@]} ] && [ -e "$work/${names[next]}.end" ]; do
		report "${names[next]}"
		next=$((next + 1))
	done
}

# Wait until fewer than that many scenarios run.
fewer_than() { # count
	while [ "$(jobs -rp | wc -l)" -ge "$1" ]; do
		wait -n
		report_done
	done
	report_done
}

# Some scenarios need another kernel: false, with their end written, where that cannot be made.
needs_met() { # name
	local made status begun=$SECONDS need variable
	need=$(sed -n 's/^# needs: \([a-z]*\)$/\1/p' "$here/scenarios/$1.sh" 2>/dev/null | head -1)
	variable=VM_${need^^}
	[ -n "$need" ] && [ -z "${!variable:-}" ] || return 0
	made=$("$here/$need-kernel.sh")
	status=$?
	times+=("$(printf '%-20s %4d s' "the kernel for $need" $((SECONDS - begun)))")
	[ $status != 0 ] || { export "$variable=$made"; return 0; }
	if [ $status = 77 ]; then
		echo "ok 1 - guests with an IOMMU run # SKIP $made" >"$work/$1.tap"
	else
		echo "not ok 1 - the kernel for $need can be made" >"$work/$1.tap"
	fi
	: >"$work/$1.err"
	echo "0 0" >"$work/$1.end"
	return 1
}

started=$SECONDS
for name in "${names[@]}"; do
	needs_met "$name" || continue
	# One that measures time says so: nothing else runs meanwhile.
	alone=$(grep -cx '# alone' "$here/scenarios/$name.sh" 2>/dev/null)
	fewer_than $((${alone:-0} ? 1 : at_once))
	run_one "$name" &
	[ "${alone:-0}" = 0 ] || fewer_than 1
done
fewer_than 1
times+=("$(printf '%-20s %4d s, %d at once' "all scenarios" $((SECONDS - started)) "$at_once")")
printf '# time: %s\n' "${times[@]}"
echo "1..$n"
exit $bad
