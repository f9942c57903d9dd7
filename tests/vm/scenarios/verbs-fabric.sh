# SPDX-License-Identifier: BSD-2-Clause
# verbs-fabric - the verbs fabric alone, both roles, on the kernel's rxe and siw.
# limit: 300
. "$(dirname "$0")/../lib.sh"

vm_run guest 250 <<'JOB'
guest_dummy dum0 10.91.0.1
guest_dummy dum1 10.92.0.1
guest_rdma rxe dum0
guest_rdma siw dum1
rdma link
check() { # device address [iwarp]
	local device=$1
	shift
	timeout 110 /build/tests/vm/fabric_check "$@" >"/ctl/$device.tap" 2>"/ctl/$device.err"
	echo $? >"/ctl/$device.status"
}
check rxe 10.91.0.1
check siw 10.92.0.1 iwarp
JOB
check "the guest runs the programs" test -s "$T/guest/siw.status"
for d in rxe siw; do
	[ -s "$T/guest/$d.tap" ] && tap_pass "$d" "$T/guest/$d.tap"
	sed 's/^/# stderr: /' "$T/guest/$d.err"
	check "$d: the checks run to their end" test "$(cat "$T/guest/$d.status")" = 0
done
finish
