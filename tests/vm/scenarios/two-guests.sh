# SPDX-License-Identifier: BSD-2-Clause
# two-guests - our client over verbs in one guest, nfsd in another, a wire between them that is pulled in the middle of a
# copy: on a software device in one guest the packets never reach an interface, so a link that goes down there says
# little.
# limit: 400
# peer: rxe | client over verbs on rxe | nfsd on rxe, in another guest
# peer: siw | client over verbs on siw | nfsd on siw, in another guest
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../guest/pace.sh"

vm_bridge
head -c $size /dev/urandom >"$T/big"
vm_boot client tap=t1 mem=700 address=10.90.0.3 <<'JOB'
. /ctl/guest/pace.sh
over=/tmp/over
o="-q --stats -o proto=rdma,fabric=verbs,rsize=64k,wsize=64k,mountport=20048,noresvport"
guest_rdma siw vec0
guest_serve
JOB
vm_start server tap=t0 mem=700 <<JOB || { not_ok "the kernel's server starts"; finish; }
guest_rdma siw vec0
mount -t tmpfs -o size=200m none /export
guest_nfsd 8
guest_serve
JOB
cp "$T/big" "$T/client/big"
vm_until client 100 ready || { vm_complain client "did not get ready"; not_ok "the client's guest starts"; finish; }

# Seen once: no frame went between the guests, ARP neither, until a port had been taken off the bridge and put on again. So
# the wire is looked at before anything of this scenario begins.
reached() { vm_do client "timeout 1 bash -c ': >/dev/tcp/$GUEST/2049' && echo yes"; }
wire() {
	local try
	for try in {1..20}; do
		[ "$(reached 2>/dev/null)" != yes ] || return 0
		[ $try != 5 ] || { echo "# the wire is plugged in again"; ip link set t1 nomaster; ip link set t1 master b0; }
		sleep 0.5
	done
	return 1
}
check "the wire between the guests carries" wire

sent() { vm_do client "cat /sys/class/net/vec0/statistics/$1_bytes"; }
# Out for so long that the device tries again more than once.  (Taken off the bridge: UML gives an interface up for
# good when the tap itself goes down.)
pull() { ip link set t1 nomaster; sleep 4; ip link set t1 master b0; }
copy() { # DEVICE, written or read, COUNTER: pulled in the middle
	local name="$1, $2" before end=$((SECONDS + 60))
	before=$(sent "$3")
	case $2 in
	written) vm_do client "rm -f /tmp/over; feed /ctl/big | timeout 90 /build/.libs/nfsrdma \$o write $GUEST:/export/big >/tmp/cp.out 2>&1 & copy=\$!" ;;
	read) vm_do client "rm -f /tmp/over; timeout 90 /build/.libs/nfsrdma \$o cat $GUEST:/export/big 2>/tmp/cp.out | drain /tmp/back & copy=\$!" ;;
	esac
	until [ $(($(sent "$3") - before)) -gt $struck_after ] || [ $SECONDS -gt $end ]; do sleep 0.05; done
	pull
	check "$name: the copy is not over when the wire is back" \
		test "$(vm_do client 'kill -0 $copy && echo runs')" = runs
	vm_do client ': >/tmp/over'
	check "$name: it completes" test "$(vm_do client 'wait $copy; echo $?')" = 0
	case $2 in
	written) check "$name: and compares" test "$(vm_do server 'sha256sum </export/big')" = "$(sha256sum <"$T/big")" ;;
	read) check "$name: and compares" test "$(vm_do client 'cmp /ctl/big /tmp/back && echo same')" = same ;;
	esac
	vm_do client "grep -E 'reconnects|retransmits|^nfsrdma:' /tmp/cp.out" | sed "s/^/# $name: /"
}
for device in siw rxe; do
	if [ $device = rxe ]; then
		vm_do server 'rdma link del siw-vec0; guest_rdma rxe vec0; guest_nfsd_restart 0'
		vm_do client 'rdma link del siw-vec0; guest_rdma rxe vec0'
	fi
	copy $device written tx
	copy $device read rx
done
check "the client's guest ends in order" vm_stop client
check "the server's guest ends in order" vm_stop server
finish
