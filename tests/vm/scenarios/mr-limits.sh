# SPDX-License-Identifier: BSD-2-Clause
# mr-limits - real huge pages of both sizes under a pool's slabs, and a control group (version 2) whose limit refuses.
# needs: qemu
# limit: 200
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../qemu-lib.sh"

qemu_boot limits mem=4608 append="hugepagesz=1G hugepages=1" <<'JOB'
# check NAME ARGUMENT...
check() {
	local name=$1
	shift
	timeout 60 /build/tests/vm/pool_check "$@" >"/ctl/$name.tap" 2>"/ctl/$name.err"
}
echo madvise >/sys/kernel/mm/transparent_hugepage/enabled
check without-2m pages 2m 2048
echo never >/sys/kernel/mm/transparent_hugepage/enabled
check without-any pages auto 4
check giant pages 1g 1048576
echo 16 >/proc/sys/vm/nr_hugepages
check auto pages auto 2048
check huge pages 2m 2048
check off pages off 4
mkdir -p /sys/fs/cgroup
grep -q ' /sys/fs/cgroup cgroup2 ' /proc/mounts || mount -t cgroup2 none /sys/fs/cgroup
echo +memory >/sys/fs/cgroup/cgroup.subtree_control
mkdir -p /sys/fs/cgroup/g/h
echo 67108864 >/sys/fs/cgroup/g/memory.max
(
	echo $BASHPID >/sys/fs/cgroup/g/h/cgroup.procs
	check cgroup cgroup /sys/fs/cgroup/g/memory.max 67108864
)
JOB
check "the guest runs to its end" vm_wait limits 120
sed 's/^/# /' "$T/limits/out"
for name in without-2m without-any giant auto huge off cgroup; do
	tap_pass "$name" "$T/limits/$name.tap"
	[ ! -s "$T/limits/$name.err" ] || sed 's/^/# stderr: /' "$T/limits/$name.err"
done
finish
