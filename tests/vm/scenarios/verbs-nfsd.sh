# SPDX-License-Identifier: BSD-2-Clause
# verbs-nfsd - our client over verbs, on rxe and on siw, against the kernel's nfsd in the same guest; there too the
# iwarp fabric, because nobody else pins anything in the guest and so its pins can be counted.
# limit: 800
# peer: rxe | client over verbs on rxe | nfsd on rxe
# peer: siw | client over verbs on siw | nfsd on siw
# peer: rxe-small | the same, inline 1024 and one slot | nfsd on rxe
# peer: siw-small | the same, inline 1024 and one slot | nfsd on siw
# peer: iwarp-inside | client, iwarp fabric, in the guest | nfsd on siw
. "$(dirname "$0")/../lib.sh"
entries=100000

head -c 9000001 /dev/urandom >"$T/sent"
vm_boot guest mem=2000 <<JOB
# libtool's wrappers want a shell the guest may not have
export LD_LIBRARY_PATH=/build/client/.libs
guest_dummy dum0 10.91.0.1
guest_dummy dum1 10.92.0.1
guest_rdma rxe dum0
guest_rdma siw dum1
mount -t tmpfs -o size=900m,nr_inodes=0 none /export
guest_many /export/many $entries
head -c 9000001 /dev/urandom >/export/given
sha256sum </export/given >/ctl/given.sha
sha256sum <"/ctl/sent" >/ctl/sent.sha
guest_nfsd 8
# run NAME ADDRESS OPTIONS: the client's checks, and both checksums
run() {
	timeout 200 /build/tests/vm/peer_check "\$2:/export" "proto=rdma,mountport=20048,noresvport,\$3" \
		/ctl/sent /tmp/received $entries pins >"/ctl/\$1.tap" 2>"/ctl/\$1.err"
	echo \$? >"/ctl/\$1.status"
	sha256sum </export/sent >"/ctl/\$1.sent"
	sha256sum </tmp/received >"/ctl/\$1.received"
	rm -f /export/sent /tmp/received
}
run rxe 10.91.0.1 fabric=verbs
run siw 10.92.0.1 fabric=verbs
run rxe-small 10.91.0.1 fabric=verbs,inline=1024,slots=1
run siw-small 10.92.0.1 fabric=verbs,inline=1024,slots=1
run iwarp-inside 10.92.0.1 fabric=iwarp
for d in "rxe 10.91.0.1" "siw 10.92.0.1"; do
	set -- \$d
	timeout 100 /build/tests/vm/connect_check \$2 20049 verbs 200 >/ctl/\$1.connect 2>&1
	timeout 60 /build/.libs/nfsrdma -v -o mountport=20048,noresvport doctor \$2:/export >/ctl/\$1.doctor 2>&1
	echo \$? >/ctl/\$1.doctor.status
done
# A network without a device: auto must say so and go on in software; and with nobody there, name both attempts.
ip link add dum2 type dummy && ip addr add 10.93.0.1/24 dev dum2 && ip link set dum2 up
/build/.libs/nfsrdma -o port=4711,noresvport ls 10.92.0.1:/export >/ctl/both.err 2>&1
/build/.libs/nfsrdma -o fabric=verbs,noresvport ls 10.93.0.1:/export >/ctl/nodev.err 2>&1
true
JOB
cp "$T/sent" "$T/guest/sent"
vm_wait guest 780 || not_ok "the guest ends in order"
for name in rxe siw rxe-small siw-small iwarp-inside; do
	[ -s "$T/guest/$name.status" ] || { not_ok "$name: runs"; continue; }
	tap_pass "$name" "$T/guest/$name.tap"
	sed 's/^/# stderr: /' "$T/guest/$name.err"
	check "$name: runs to its end" test "$(cat "$T/guest/$name.status")" = 0
	check "$name: what was sent is what the server's kernel has" \
		cmp "$T/guest/sent.sha" "$T/guest/$name.sent"
	check "$name: what was received is what the server's kernel had" \
		cmp "$T/guest/given.sha" "$T/guest/$name.received"
done
for d in rxe siw; do
	tap_pass $d "$T/guest/$d.connect"
	sed "s/^/# $d doctor: /" "$T/guest/$d.doctor"
	check "$d: doctor finds nothing amiss" test "$(cat "$T/guest/$d.doctor.status")" = 0
	check "$d: auto took the device that leads there, and says so" \
		grep -q "fabric: verbs on .*$d.*: an RDMA device leads to the server" "$T/guest/$d.doctor"
	check "$d: doctor names the device's limits" grep -q "^ok   route: by RDMA device .*$d.*SGEs" "$T/guest/$d.doctor"
done
sed 's/^/# /' "$T/guest/both.err" "$T/guest/nodev.err"
check "auto: both attempts are in the error" grep -qE "verbs: .*refused.*; iwarp: .*refused" "$T/guest/both.err"
check "verbs: no device leads there: said with a hint" grep -qE "device.*\(.+\)" "$T/guest/nodev.err"
finish
