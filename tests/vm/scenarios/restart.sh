# SPDX-License-Identifier: BSD-2-Clause
# restart - the server goes away and comes back, and the link goes down and up, in the middle of a copy: it completes
# and compares; told to be soft, it fails in time and in words.  (rxe's link: in two-guests, because an rxe whose own
# interface was down while the CM had something to send makes no connection any more.)
# limit: 500
# peer: rxe | client over verbs on rxe | nfsd on rxe
# peer: siw | client over verbs on siw | nfsd on siw
# peer: iwarp | client, iwarp fabric outside the guest | nfsd on siw, over a tap
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../guest/pace.sh"
slow=rsize=64k,wsize=64k,mountport=20048,noresvport
over=$T/over
soft=soft,timeo=20,retrans=1

vm_tap
head -c $size /dev/urandom >"$T/big"

vm_boot guest tap mem=2500 <<JOB
guest_rdma siw vec0
guest_dummy dum0 10.91.0.1
guest_dummy dum1 10.92.0.1
guest_rdma rxe dum0
guest_rdma siw dum1
mount -t tmpfs -o size=1000m none /export
cp /ctl/big /tmp/big
. /ctl/guest/pace.sh
over=/tmp/over
guest_nfsd 8
nfsd_moved() { # read|written: since the mark
	local which=\$1
	set -- \$(grep '^io ' /proc/net/rpc/nfsd)
	[ \$which = read ] || shift
	echo \$((\$2 - \${mark:-0}))
}
nfsd_has_moved() { [ "\$(nfsd_moved "\$1")" -gt $struck_after ]; }
link_down_up() { ip link set \$1 down; sleep 2; ip link set \$1 up; }
# struck NAME ADDRESS STRIKE...: a copy there, then back, each struck in the middle
struck() {
	local name=\$1 o=-q\ --stats\ -o\ proto=rdma,fabric=verbs,$slow target=\$2:/export/big dir
	shift 2
	for dir in written read; do
		rm -f /tmp/over
		mark=0
		mark=\$(nfsd_moved \$dir)
		if [ \$dir = written ]; then
			feed /tmp/big | timeout 150 /build/.libs/nfsrdma \$o write \$target >/tmp/cp.out 2>&1 &
		else
			{ timeout 150 /build/.libs/nfsrdma \$o cat \$target 2>/tmp/cp.out; echo \$? >/tmp/cat.status; } | drain /tmp/back &
		fi
		copy=\$!
		guest_until 60 nfsd_has_moved \$dir; tap "\$name, \$dir: the copy is under way" \$?
		"\$@"
		kill -0 \$copy; tap "\$name, \$dir: and is not over when everything is back" \$?
		: >/tmp/over
		wait \$copy; tap "\$name, \$dir: it completes" \$?
		if [ \$dir = written ]; then cmp /tmp/big /export/big; else cmp /tmp/big /tmp/back && [ "\$(cat /tmp/cat.status)" = 0 ]; fi
		tap "\$name, \$dir: and compares" \$?
		echo "# \$name, \$dir: \$(grep reconnects /tmp/cp.out), \$(grep retransmits /tmp/cp.out)"
		grep '^nfsrdma:' /tmp/cp.out | tail -n 4 | sed "s/^/# /"
	done
	rm -f /tmp/back /export/big
}
soft() { # NAME ADDRESS STRIKE...: and it stays so
	local name=\$1 target=\$2:/export/big start status
	shift 2
	mark=0
	mark=\$(nfsd_moved written)
	rm -f /tmp/over
	feed /tmp/big | timeout 100 /build/.libs/nfsrdma -q -o proto=rdma,fabric=verbs,$slow,$soft write \$target >/tmp/cp.out 2>&1 &
	copy=\$!
	guest_until 60 nfsd_has_moved written
	"\$@"
	: >/tmp/over
	start=\$SECONDS
	wait \$copy
	status=\$?
	[ \$status = 1 ] && [ \$((SECONDS - start)) -le 30 ]; tap "\$name, soft: gives up in time" \$?
	echo "# \$name, soft: status \$status after \$((SECONDS - start)) s"
	sed "s/^/# /" /tmp/cp.out
	[ "\$(wc -l </tmp/cp.out)" = 1 ] && grep -q '^nfsrdma: write: .*: .*' /tmp/cp.out; tap "\$name, soft: in one line that says so" \$?
	rm -f /export/big /export/.nfsrdma*
}
{
	struck "rxe: nfsd restarted" 10.91.0.1 guest_nfsd_restart 1
	struck "siw: nfsd restarted" 10.92.0.1 guest_nfsd_restart 1
	struck "siw: link down and up" 10.92.0.1 link_down_up dum1
	soft "rxe: nfsd gone" 10.91.0.1 rpc.nfsd 0
	rpc.nfsd -V 3 8; guest_nfsd_listen
	soft "siw: link down" 10.92.0.1 ip link set dum1 down
	ip link set dum1 up
} >/ctl/tap 2>/ctl/tap.err
guest_serve
exit \$tap_bad
JOB
cp "$T/big" "$T/guest/big"
if vm_until guest 400 ready; then
	tap_pass "" "$T/guest/tap"
else
	tail -n 20 "$T/guest/tap.err" | sed 's/^/# /'
	vm_complain guest "did not get through"
	[ ! -s "$T/guest/tap" ] || tap_pass "" "$T/guest/tap"
	not_ok "the guest gets to its outside half"
	finish
fi

# ---- from outside: our client's iwarp fabric, nfsd's siw, the tap between them
moved() { vm_do guest "mark=0; nfsd_moved $1"; }
outside() { # NAME STRIKE...
	local name=$1 o="-q --stats -o proto=rdma,fabric=iwarp,$slow" dir before start
	shift
	for dir in written read; do
		rm -f "$over"
		before=$(moved $dir)
		if [ $dir = written ]; then
			feed "$T/big" | timeout 150 nfsrdma $o write "$GUEST:/export/big" >"$T/cp.out" 2>&1 &
		else
			timeout 150 nfsrdma $o cat "$GUEST:/export/big" 2>"$T/cp.out" | drain "$T/back" &
		fi
		copy=$!
		start=$SECONDS
		until [ $(($(moved $dir) - before)) -gt $struck_after ] || [ $((SECONDS - start)) -gt 60 ]; do sleep 0.05; done
		"$@"
		check "$name, $dir: the copy is not over when everything is back" kill -0 $copy
		: >"$over"
		wait $copy
		check "$name, $dir: it completes" test $? = 0
		if [ $dir = written ]; then
			check "$name, $dir: and compares" test "$(vm_do guest 'cmp /tmp/big /export/big && echo same')" = same
		else
			check "$name, $dir: and compares" cmp "$T/big" "$T/back"
		fi
		echo "# $name, $dir: $(grep reconnects "$T/cp.out"), $(grep retransmits "$T/cp.out")"
	done
	rm -f "$T/back"
	vm_do guest 'rm /export/big'
}
# (From inside: UML gives an interface up for good when the tap itself goes down.)
tap_down_up() { vm_do guest 'link_down_up vec0'; }
outside "iwarp: nfsd restarted" vm_do guest 'guest_nfsd_restart 1'
outside "iwarp: link down and up" tap_down_up

: >"$T/guest/stop"
vm_wait guest 60
check "the guest ends in order" test $? = 0
finish
