# SPDX-License-Identifier: BSD-2-Clause
# iwarp-nfsd - our software RNIC in user space, over a tap, against the kernel's nfsd on siw: an NFS/RDMA
# client without RDMA hardware or kernel modules on a real server.
# limit: 500
. "$(dirname "$0")/../lib.sh"
entries=2000

vm_tap
vm_start server tap mem=1200 <<JOB || { not_ok "the kernel's server starts"; finish; }
guest_rdma siw vec0
mount -t tmpfs -o size=600m none /export
guest_many /export/many $entries
head -c 9000001 /dev/urandom >/export/given
guest_nfsd 8
guest_serve
sha256sum </export/given >/ctl/given.sha
sha256sum </export/sent >/ctl/sent.sha
JOB
head -c 9000001 /dev/urandom >"$T/sent"

timeout 300 "$BUILD/tests/vm/peer_check" "$GUEST:/export" \
	"proto=rdma,fabric=iwarp,mountport=20048,noresvport" "$T/sent" "$T/received" $entries >"$T/check.tap"
status=$?
tap_pass iwarp "$T/check.tap"
check "the client runs to its end" test $status = 0
check "the guest ends in order" vm_stop server
check "what the client sent is what the server's kernel has" \
	test "$(sha256sum <"$T/sent")" = "$(cat "$T/server/sent.sha")"
check "what the client received is what the server's kernel had" \
	test "$(sha256sum <"$T/received")" = "$(cat "$T/server/given.sha")"
finish
