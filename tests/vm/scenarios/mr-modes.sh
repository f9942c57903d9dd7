# SPDX-License-Identifier: BSD-2-Clause
# mr-modes - every way of registering memory on the kernel's devices: our client on rxe and siw against the kernel's
# nfsd and against our server, the ledger beside VmPin; what a device cannot do is refused; a hostile server on rxe
# that uses old keys; and the kernel's Send with Invalidate for the software RNIC's windows.
# limit: 600
# peer: rxe, mr=pool,window,per-io,cache | client over verbs on rxe | nfsd and nfsrdmad on rxe
# peer: siw, mr=pool,per-io | client over verbs on siw | nfsd and nfsrdmad on siw
# peer: iwarp, mr=window,per-io | client, iwarp fabric, in the guest | nfsd on siw
. "$(dirname "$0")/../lib.sh"
vm_boot guest mem=1600 <<'JOB'
guest_dummy dum0 10.91.0.1
guest_dummy dum1 10.92.0.1
guest_rdma rxe dum0
guest_rdma siw dum1
mount -t tmpfs -o size=300m none /export
mkdir -p /export/nfsrdmad /tmp/state
guest_nfsd 8
guest_nfsrdmad server --export /export/nfsrdmad=/export --listen 0.0.0.0 --port 20051 --tcp-port 2051 \
	--iwarp-port 20052 --state /tmp/state || guest_die "our server does not start"
nfsd=mountport=20048,noresvport
ours=port=20051,mountport=2051,mountproto=tcp,noresvport
# run NAME ADDRESS OPTIONS MODE [refused]
run() {
	timeout 60 /build/tests/vm/mode_check "$2:/export" "proto=rdma,$3" $4 $5 >"/ctl/$1.tap" 2>"/ctl/$1.err"
	echo $? >"/ctl/$1.status"
}
for mode in pool window per-io; do
	run rxe-nfsd-$mode 10.91.0.1 fabric=verbs,$nfsd $mode
	run rxe-nfsrdmad-$mode 10.91.0.1 fabric=verbs,$ours $mode
done
run rxe-nfsd-cache 10.91.0.1 fabric=verbs,mr-verify,mr-monitor=off,$nfsd cache
run rxe-nfsrdmad-cache 10.91.0.1 fabric=verbs,mr-verify,mr-monitor=off,$ours cache
for mode in pool per-io; do
	run siw-nfsd-$mode 10.92.0.1 fabric=verbs,$nfsd $mode
	run siw-nfsrdmad-$mode 10.92.0.1 fabric=verbs,$ours $mode
done
for mode in window per-io; do
	run iwarp-nfsd-$mode 10.92.0.1 fabric=iwarp,$nfsd $mode
done
run siw-refused-window 10.92.0.1 fabric=verbs,$nfsd window refused
run siw-refused-odp 10.92.0.1 fabric=verbs,$nfsd odp refused
run rxe-refused-odp 10.91.0.1 fabric=verbs,$nfsd odp refused
run iwarp-refused-odp 10.92.0.1 fabric=iwarp,$nfsd odp refused
# Windows on rxe: key and right hold; bounds are the region's (docs/memory.md says so).
NFSRDMA_TEST_FABRIC=verbs NFSRDMA_TEST_ADDRESS=10.91.0.1 timeout 240 /build/tests/vm/security_check \
	>/ctl/hostile.tap 2>/ctl/hostile.err
echo $? >/ctl/hostile.status
kill -TERM $guest_pid
wait $guest_pid
JOB
check "the guest's work runs to its end" vm_wait guest 580
for name in {rxe-nfsd,rxe-nfsrdmad}-{pool,window,per-io,cache} {siw-nfsd,siw-nfsrdmad}-{pool,per-io} \
	iwarp-nfsd-{window,per-io} {siw-refused-window,{siw,rxe,iwarp}-refused-odp}; do
	[ -s "$T/guest/$name.status" ] || { not_ok "$name: runs"; continue; }
	tap_pass "$name" "$T/guest/$name.tap"
	sed 's/^/# stderr: /' "$T/guest/$name.err"
	check "$name: runs to its end" test "$(cat "$T/guest/$name.status")" = 0
done
# A hostile server on rxe: each row of docs/memory.md's table.
tap_pass hostile-on-rxe "$T/guest/hostile.tap"
sed 's/^/# stderr: /' "$T/guest/hostile.err" | tail -n 20
check "hostile-on-rxe: runs to its end" test "$(cat "$T/guest/hostile.status" 2>/dev/null)" = 0
check "hostile-on-rxe: all of it ran" test "$(grep -c '^ok ' "$T/guest/hostile.tap")" -ge 13
[ ! -s "$T/guest/server.err" ] || tail -n 20 "$T/guest/server.err" | sed 's/^/# nfsrdmad in the guest: /'
finish
