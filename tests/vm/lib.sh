# SPDX-License-Identifier: BSD-2-Clause
#
# lib.sh - what the scenarios share, on the host's side.  A scenario is run by run.sh in network and
# process-id namespaces of its own, so whatever it starts and whatever interfaces it makes are gone
# with it.
#
#   $VM_KERNEL, $VM_IMAGE         from run.sh
#   vm_tap                        make the tap interface t0; the host is 10.90.0.1, the guest 10.90.0.2
#   vm_bridge                     t0 and t1 on a bridge, for two guests; no address of the host's is on it
#   vm_start NAME [OPTION...] <<JOB    boot a guest that runs JOB (bash; guest/lib.sh is read first) and
#                                 wait until it calls guest_serve or ends.  Options: tap[=t1],
#                                 mem=MB, address=A
#   vm_run NAME SECONDS [OPTION...] <<JOB   boot, wait for the job's end, show its output; its status
#   vm_stop NAME                  let the guest's guest_serve return, wait for its end
#   vm_do NAME COMMANDS           have a guest in guest_serve run them; prints what they print
#   vm_out NAME                   what its job has printed
#
# A guest's control folder is $T/NAME: job, out, status, dmesg, console.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
VM_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
GUEST=10.90.0.2
HOST=10.90.0.1
declare -A VM_PIDS=()

vm_tap() {
	ip link set lo up
	ip tuntap add t0 mode tap
	ip addr add "$HOST/24" dev t0
	ip link set t0 up
}

vm_bridge() {
	local t
	ip link add b0 type bridge && ip link set b0 up
	for t in t0 t1; do
		ip tuntap add $t mode tap && ip link set $t master b0 && ip link set $t up
	done
}

# Where UML keeps the guest's memory: a sparse file, in memory where there is room.
vm_mem_dir() {
	local free
	free=$(df -Pm /dev/shm 2>/dev/null | awk 'NR == 2 { print $4 }')
	if [ "${free:-0}" -gt "$1" ]; then echo /dev/shm; else echo "${TMPDIR:-/tmp}"; fi
}

# vm_boot NAME [OPTION...] <JOB: start the guest in the background.
vm_boot() {
	local name=$1 ctl=$T/$1 mem=1000 tap= address=$GUEST option
	shift
	for option; do
		case $option in
		tap) tap=vec0:transport=tap,ifname=t0,depth=128,gro=1 ;;
		tap=*) tap=vec0:transport=tap,ifname=${option#tap=},depth=128,gro=1 ;;
		address=*) address=${option#address=} ;;
		mem=*) mem=${option#mem=} ;;
		esac
	done
	rm -rf "${ctl:?}"
	mkdir -p "$ctl/uml" # UML empties uml/NAME there when it starts
	cp -r "$VM_DIR/guest" "$ctl/guest"
	{ echo '. /ctl/guest/lib.sh'; cat; } >"$ctl/job"
	echo "$address" >"$ctl/address"
	echo "$SRC" >"$ctl/src.path"
	echo "$BUILD" >"$ctl/build.path"
	# The kernel command line is split at blanks: no path of the user's goes there.
	ln -s "$VM_IMAGE" "$ctl/root"
	: >"$ctl/out"
	TMPDIR=$(vm_mem_dir "$mem") "$VM_KERNEL" mem="${mem}M" root=/dev/root rootfstype=hostfs \
		rootflags="$ctl/root/" ro init=/first vmctl="$ctl" umid="$name" uml_dir="$ctl/uml/" \
		con=null con0=null,fd:1 panic=1 quiet loglevel=4 $tap \
		</dev/null >"$ctl/console" 2>&1 &
	VM_PIDS[$name]=$!
}

# vm_lend_libnfs NAME: libnfs, which the bench is linked with, is not in the image: /ctl/lib has it when it is there.
vm_lend_libnfs() {
	mkdir "$T/$1/lib.new"
	ldd "$BUILD/nfsrdma-bench" | awk '/libnfs/ { print $3 }' | xargs -r -I{} cp {} "$T/$1/lib.new/"
	mv "$T/$1/lib.new" "$T/$1/lib"
}

vm_alive() { kill -0 "${VM_PIDS[$1]}" 2>/dev/null; }

# vm_until NAME SECONDS FILE: wait for one of the control folder's files; false: the guest died or is late.
vm_until() {
	local end=$((SECONDS + $2))
	until [ -e "$T/$1/$3" ] || [ -e "$T/$1/status" ]; do
		if ! vm_alive "$1" || [ $SECONDS -ge $end ]; then break; fi
		sleep 0.1
	done
	[ -e "$T/$1/$3" ]
}

vm_complain() {
	echo "# guest $1: $2"
	tail -n 25 "$T/$1/out" | sed 's/^/#   out: /'
	# without the addresses of call traces
	grep -vF '] [<' "$T/$1/console" | tail -n 25 | sed 's/^/#   console: /'
	[ ! -s "$T/$1/dmesg" ] || tail -n 15 "$T/$1/dmesg" | sed 's/^/#   dmesg: /'
}

vm_start() {
	vm_boot "$@"
	vm_until "$1" 150 ready && return 0
	vm_complain "$1" "did not get ready"
	return 1
}

# vm_wait NAME SECONDS: until the guest has powered off; the job's status.
vm_wait() {
	local end=$((SECONDS + $2)) status
	while vm_alive "$1" && [ $SECONDS -lt $end ]; do sleep 0.1; done
	if vm_alive "$1"; then
		kill -KILL "${VM_PIDS[$1]}"
		vm_complain "$1" "still running after $2 s"
		return 124
	fi
	wait "${VM_PIDS[$1]}" 2>/dev/null
	status=$(cat "$T/$1/status" 2>/dev/null) || { vm_complain "$1" "ended without a status"; return 125; }
	return "$status"
}

vm_run() {
	local name=$1 seconds=$2 status
	shift 2
	vm_boot "$name" "$@"
	vm_wait "$name" "$seconds"
	status=$?
	sed 's/^/# /' "$T/$name/out"
	return $status
}

vm_stop() {
	: >"$T/$1/stop"
	vm_wait "$1" 30
}

vm_do() {
	local ctl=$T/$1
	rm -f "$ctl/did"
	echo "$2" >"$ctl/do.new"
	mv "$ctl/do.new" "$ctl/do"
	vm_until "$1" 100 did && cat "$ctl/did"
}

vm_out() { cat "$T/$1/out"; }

# tap_pass NAME FILE: the TAP lines a program in the guest printed, as this scenario's own, NAME (unless it is empty)
# put in front.
tap_pass() {
	local line claim name=${1:+$1: }
	while IFS= read -r line; do
		claim=$(sed -E 's/^(not )?ok [0-9]* - //' <<<"$line")
		case $line in
		'ok '*'# SKIP '*) skip "$name${claim%% # SKIP*}" "${claim##*# SKIP }" ;;
		'ok '*) ok "$name$claim" ;;
		'not ok '*) not_ok "$name$claim" ;;
		'# '*) echo "# $name${line#\# }" ;;
		'Bail out!'*) not_ok "${name}ran to its end" "$line" ;;
		esac
	done <"$2"
}
