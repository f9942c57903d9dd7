# SPDX-License-Identifier: BSD-2-Clause
# kernel-restart - our server ends and comes back, killed or told to, and the link goes down and up, in the middle of the
# kernel's copy: it completes and compares.
# limit: 400
# peer: rxe | nfsrdmad over verbs on rxe | kernel's client on rxe
# peer: siw | nfsrdmad over verbs on siw | kernel's client on siw
# peer: iwarp | nfsrdmad, iwarp fabric outside the guest | kernel's client on siw, over a tap
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../guest/pace.sh"
options=vers=3,proto=rdma,port=20049,mountport=2049,mountproto=tcp,nolock

vm_tap
head -c $size /dev/urandom >"$T/big"
mkdir -m 777 "$T/export"
vm_boot guest tap mem=1500 <<JOB
guest_rdma siw vec0
guest_dummy dum0 10.91.0.1
guest_dummy dum1 10.92.0.1
guest_rdma rxe dum0
guest_rdma siw dum1
mount -t tmpfs -o size=500m none /export
. /ctl/guest/pace.sh
over=/tmp/over
serve() {
	guest_nfsrdmad inner --export /export --listen 0.0.0.0 --port 20049 --tcp-port 2049 --iwarp-port 20050 --state /tmp/state
	inner=\$guest_pid
}
has_begun() { [ "\$(stat -c %s /export/big)" -gt \$struck_after ]; }
struck() { # NAME ADDRESS SIGNAL
	local name=\$1 d=/mnt/\$1
	mkdir -p \$d
	timeout 60 mount.nfs \$2:/export \$d -o $options; tap "\$name: mounts" \$?
	rm -f /tmp/over
	feed /ctl/big | dd of=\$d/big bs=\$piece iflag=fullblock oflag=direct 2>/dev/null &
	copy=\$!
	guest_until 60 has_begun; tap "\$name: the copy is under way" \$?
	kill -\$3 \$inner
	wait \$inner
	sleep 0.5
	serve; tap "\$name: our server comes back after SIG\$3" \$?
	: >/tmp/over
	wait \$copy; tap "\$name: the kernel's copy completes" \$?
	cmp /ctl/big /export/big; tap "\$name: and compares" \$?
	echo 3 >/proc/sys/vm/drop_caches
	cmp /ctl/big \$d/big; tap "\$name: read back, too" \$?
	rm \$d/big
	umount \$d; tap "\$name: unmounts" \$?
}
link_down_up() { ip link set \$1 down; sleep 2; ip link set \$1 up; }
{
	serve
	struck rxe 10.91.0.1 KILL
	struck siw 10.92.0.1 TERM
	kill \$inner
	wait \$inner; tap "the server in the guest ends in order" \$?
} >/ctl/tap 2>/ctl/tap.err
guest_serve
exit \$tap_bad
JOB
cp "$T/big" "$T/guest/big"
if ! vm_until guest 250 ready; then
	vm_complain guest "did not get through"
	not_ok "the guest gets to its outside half"
fi
tap_pass "" "$T/guest/tap"
[ ! -s "$T/guest/inner.err" ] || tail -n 6 "$T/guest/inner.err" | sed 's/^/# nfsrdmad in the guest: /'
vm_alive guest || finish

# ---- and outside, where the kernel's siw meets our iwarp fabric
serve() {
	: >"$T/ready"
	"$BUILD/nfsrdmad" --export "$T/export=/export" --no-root-squash --listen "$HOST" --port 20049 --tcp-port 2049 \
		--no-rpcbind --state "$T/state" -v >"$T/ready" 2>>"$T/nfsrdmad.err" &
	SERVER_PID=$!
	LIB_PIDS+=("$SERVER_PID")
	for i in $(seq 300); do [ -s "$T/ready" ] && break; sleep 0.1; done
}
restart() {
	kill -KILL "$SERVER_PID"
	wait "$SERVER_PID" 2>/dev/null
	sleep 0.5
	serve
}
# (From inside: UML gives an interface up for good when the tap itself goes down.)
link() { vm_do guest 'link_down_up vec0'; }
begun() { [ "$(stat -c %s "$T/export/big" 2>/dev/null || echo 0)" -gt $struck_after ]; }
struck() { # NAME STRIKE...
	local name=$1 end=$((SECONDS + 60))
	shift
	vm_do guest 'rm -f /tmp/over; feed /ctl/big | dd of=/mnt/o/big bs=$piece iflag=fullblock oflag=direct 2>/dev/null & copy=$!'
	until begun || [ $SECONDS -gt $end ]; do sleep 0.05; done
	check "$name: the copy is under way" begun
	"$@"
	vm_do guest ': >/tmp/over'
	check "$name: the kernel's copy completes" test "$(vm_do guest 'wait $copy; echo $?')" = 0
	check "$name: and compares" cmp "$T/big" "$T/export/big"
	check "$name: read back, too" \
		test "$(vm_do guest 'echo 3 >/proc/sys/vm/drop_caches; cmp /ctl/big /mnt/o/big && rm /mnt/o/big && echo same')" = same
}
serve
said=$(vm_do guest "mkdir -p /mnt/o; timeout 60 mount.nfs $HOST:/export /mnt/o -o $options 2>&1 && echo mounted")
check "iwarp: mounts" test "$said" = mounted
struck "iwarp: our server killed and restarted" restart
struck "iwarp: link down and up" link
check "iwarp: unmounts" test "$(vm_do guest 'umount /mnt/o && echo unmounted')" = unmounted
server_stop
check "iwarp: the server ends in order" test $? = 0
check "the guest ends in order" vm_stop guest
finish
