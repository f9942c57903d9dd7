# SPDX-License-Identifier: BSD-2-Clause
# verbs-nfsd - our client over verbs, on rxe and on siw, against the kernel's nfsd in the same guest.
# limit: 800
. "$(dirname "$0")/../lib.sh"
entries=2000

head -c 9000001 /dev/urandom >"$T/sent"
vm_boot guest mem=2000 <<JOB
guest_dummy dum0 10.91.0.1
guest_dummy dum1 10.92.0.1
guest_rdma rxe dum0
guest_rdma siw dum1
mount -t tmpfs -o size=900m none /export
guest_many /export/many $entries
head -c 9000001 /dev/urandom >/export/given
sha256sum </export/given >/ctl/given.sha
sha256sum <"/ctl/sent" >/ctl/sent.sha
guest_nfsd 8
# run NAME ADDRESS OPTIONS: the client's checks, and both checksums
run() {
	timeout 200 /build/tests/vm/peer_check "\$2:/export" "proto=rdma,fabric=verbs,mountport=20048,\$3" \
		/ctl/sent /tmp/received $entries >"/ctl/\$1.tap" 2>"/ctl/\$1.err"
	echo \$? >"/ctl/\$1.status"
	sha256sum </export/sent >"/ctl/\$1.sent"
	sha256sum </tmp/received >"/ctl/\$1.received"
	rm -f /export/sent /tmp/received
}
run rxe 10.91.0.1 noresvport
run siw 10.92.0.1 noresvport
run rxe-small 10.91.0.1 inline=1024,slots=1
run siw-small 10.92.0.1 inline=1024,slots=1
JOB
cp "$T/sent" "$T/guest/sent"
vm_wait guest 780 || not_ok "the guest ends in order"
for name in rxe siw rxe-small siw-small; do
	[ -s "$T/guest/$name.status" ] || { not_ok "$name: runs"; continue; }
	tap_pass "$name" "$T/guest/$name.tap"
	sed 's/^/# stderr: /' "$T/guest/$name.err"
	check "$name: runs to its end" test "$(cat "$T/guest/$name.status")" = 0
	check "$name: what was sent is what the server's kernel has" \
		cmp "$T/guest/sent.sha" "$T/guest/$name.sent"
	check "$name: what was received is what the server's kernel had" \
		cmp "$T/guest/given.sha" "$T/guest/$name.received"
done
finish
