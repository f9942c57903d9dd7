# SPDX-License-Identifier: BSD-2-Clause
# iwarp-nfsd - our software RNIC in user space, over a tap, against the kernel's nfsd on siw: an NFS/RDMA
# client without RDMA hardware or kernel modules on a real server.
# limit: 500
# peer: iwarp | client, iwarp fabric outside the guest | nfsd on siw, over a tap
# peer: iwarp-small | the same, inline 1024 and one slot | nfsd on siw
. "$(dirname "$0")/../lib.sh"
entries=100000

vm_tap
vm_start server tap mem=1600 <<JOB || { not_ok "the kernel's server starts"; finish; }
guest_rdma siw vec0
mount -t tmpfs -o size=600m,nr_inodes=0 none /export
guest_many /export/many $entries
head -c 9000001 /dev/urandom >/export/given
sha256sum </export/given >/ctl/given.sha
guest_nfsd 8
guest_serve
JOB
head -c 9000001 /dev/urandom >"$T/sent"
sha256sum <"$T/sent" >"$T/sent.sha"

peer() { # name options
	timeout 200 "$BUILD/tests/vm/peer_check" "$GUEST:/export" "mountport=20048,noresvport,$2" \
		"$T/sent" "$T/received" $entries >"$T/$1.tap" 2>"$T/$1.err"
	status=$?
	tap_pass "$1" "$T/$1.tap"
	check "$1: the client runs to its end" test $status = 0
	check "$1: what was sent is what the server's kernel has" \
		test "$(vm_do server 'sha256sum </export/sent; rm /export/sent')" = "$(cat "$T/sent.sha")"
	check "$1: what was received is what the server's kernel had" \
		test "$(sha256sum <"$T/received")" = "$(cat "$T/server/given.sha")"
	rm -f "$T/received"
	sed 's/^/# stderr: /' "$T/$1.err"
}
peer iwarp proto=rdma,fabric=iwarp
peer iwarp-small proto=rdma,fabric=iwarp,inline=1024,slots=1

# The peer that answers before it listens shows once in some fifty connections.
# A connection that took a second is one whose SYN was lost: told, and by whom.
counter() { awk -v want="$1" '/^TcpExt:/ { if (!n++) split($0, name); else for (i in name) if (name[i] == want) print $i }'; }
syns() { counter TCPSynRetrans </proc/net/netstat; }
drops() { vm_do server 'cat /proc/net/netstat' | counter ListenDrops; }
syns=$(syns) drops=$(drops)
timeout 150 "$BUILD/tests/vm/connect_check" "$GUEST" 20049 iwarp 200 >"$T/connect.tap" 2>"$T/connect.err"
echo "# iwarp: connecting: $(($(syns) - syns)) SYNs sent again, $(($(drops) - drops)) dropped by the server's listener"
[ -s "$T/connect.tap" ] || not_ok "iwarp: connections" "$(cat "$T/connect.err")"
tap_pass iwarp "$T/connect.tap"

timeout 60 nfsrdma -v -o mountport=20048,noresvport doctor "$GUEST:/export" >"$T/doctor" 2>"$T/doctor.err"
check "iwarp: doctor finds nothing amiss" test $? = 0
sed 's/^/# doctor: /' "$T/doctor" "$T/doctor.err"
check "iwarp: and took the software RNIC by itself, where no device is" \
	grep -q "^ok   connect: iwarp on iwarp to $GUEST:20049" "$T/doctor"
check "mountd is asked over UDP" timeout 60 nfsrdma -q -o fabric=iwarp,mountproto=udp,mountport=20048,noresvport stat "$GUEST:/export/given"
check "the guest ends in order" vm_stop server
finish
