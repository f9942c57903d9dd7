# SPDX-License-Identifier: BSD-2-Clause
# kernel-nfsrdmad - the kernel's NFS client (mount -o proto=rdma) against our server: over verbs on rxe and
# siw in one guest, and from siw over a tap against the iwarp fabric of a server outside.
# limit: 800
. "$(dirname "$0")/../lib.sh"
entries=1000

vm_tap
# The server outside: iwarp only, there is no device here.
mkdir -p "$T/export" "$T/state"
head -c 9000001 /dev/urandom >"$T/export/given"
(mkdir "$T/export/many" && cd "$T/export/many" && seq 0 $((entries - 1)) | xargs touch)
"$BUILD/nfsrdmad" --export "$T/export=/export" --no-root-squash --listen "$HOST" --port 20049 --tcp-port 2049 \
	--no-rpcbind --state "$T/state" -v >"$T/ready" 2>"$T/nfsrdmad.err" &
SERVER_PID=$!
LIB_PIDS+=("$SERVER_PID")
for i in $(seq 300); do [ -s "$T/ready" ] && break; sleep 0.1; done

vm_boot guest tap mem=2000 <<JOB
guest_rdma siw vec0
guest_dummy dum0 10.91.0.1
guest_dummy dum1 10.92.0.1
guest_rdma rxe dum0
guest_rdma siw dum1
mount -t tmpfs -o size=900m none /export
guest_many /export/many $entries
head -c 9000001 /dev/urandom >/export/given
mkdir -p /run/rpcbind /tmp/state
n=0 bad=0
tap() { # claim, status
	n=\$((n + 1))
	[ "\$2" = 0 ] || { printf 'not ' ; bad=1; }
	echo "ok \$n - \$1"
}
# The kernel's client at work on what is mounted at /mnt/\$1.
work() {
	local d=/mnt/\$1 s
	[ "\$(sha256sum <\$d/given)" = "\$2" ]; tap "\$1: reads a file" \$?
	dd if=/ctl/sent of=\$d/sent bs=64k conv=fsync 2>/dev/null; tap "\$1: writes a file" \$?
	echo 3 >/proc/sys/vm/drop_caches
	dd if=\$d/sent of=/tmp/back bs=256k iflag=direct 2>/dev/null
	busybox cmp /tmp/back /ctl/sent; tap "\$1: reads it back, past its cache" \$?
	[ "\$(ls \$d/many | sort -n | uniq | wc -l)" = $entries ]; tap "\$1: lists each name once" \$?
	mkdir \$d/dir && ln -s dir \$d/link && echo x >\$d/link/file && mv \$d/dir/file \$d/dir/renamed &&
		[ "\$(cat \$d/link/renamed)" = x ] && rm -r \$d/dir \$d/link; tap "\$1: works on names" \$?
	echo far | dd of=\$d/far bs=1 seek=5368709120 conv=notrunc 2>/dev/null &&
		[ "\$(dd if=\$d/far bs=1 skip=5368709120 count=3 2>/dev/null)" = far ]; tap "\$1: goes beyond 5 GiB" \$?
	rm -f \$d/far
	chmod 1777 \$d && setpriv --reuid=1000 --regid=1000 --groups=1000,50 dd if=/ctl/sent of=\$d/mine bs=64k 2>/dev/null &&
		[ "\$(stat -c %u \$d/mine)" = 1000 ] && chmod 600 \$d/mine &&
		! setpriv --reuid=1001 --regid=1001 --clear-groups cat \$d/mine >/dev/null 2>&1; tap "\$1: works for several users" \$?
	grep -A12 " \$d " /proc/self/mountstats | grep -o 'xprt:.*' | sed "s/^/# \$1: /"
	umount \$d; tap "\$1: unmounts" \$?
}
mnt() { # name address
	mkdir -p "/mnt/\$1"
	timeout 60 mount.nfs "\$2:/export" "/mnt/\$1" \
		-o vers=3,proto=rdma,port=20049,mountport=2049,mountproto=tcp,nolock,\${3:-sync}
	tap "\$1: mounts" \$?
}
{
	mnt iwarp $HOST && mountpoint -q /mnt/iwarp && work iwarp "\$(cat /ctl/given.sha)"
	/build/nfsrdmad --export /export --no-root-squash --listen 0.0.0.0 --port 20049 --tcp-port 2049 \
		--iwarp-port 20050 --no-rpcbind --state /tmp/state -v >/tmp/ready 2>/ctl/inner.err &
	for i in {1..300}; do [ -s /tmp/ready ] && break; sleep 0.1; done
	sha=\$(sha256sum </export/given)
	mnt rxe 10.91.0.1 && mountpoint -q /mnt/rxe && work rxe "\$sha"
	mnt siw 10.92.0.1 && mountpoint -q /mnt/siw && work siw "\$sha"
	kill -TERM %1; wait %1; tap "the server in the guest ends in order" \$?
} >/ctl/tap
exit \$bad
JOB
head -c 9000001 /dev/urandom >"$T/guest/sent"
sha256sum <"$T/export/given" >"$T/guest/given.sha"
vm_wait guest 780
status=$?
tap_pass kernel "$T/guest/tap"
check "the guest's work runs to its end" test $status = 0
check "what the kernel wrote is what our server has" cmp "$T/guest/sent" "$T/export/sent"
server_stop
check "the server outside ends in order" test $? = 0
sed 's/^/# nfsrdmad: /' "$T/nfsrdmad.err" | tail -n 20
[ ! -s "$T/guest/inner.err" ] || tail -n 20 "$T/guest/inner.err" | sed 's/^/# nfsrdmad in the guest: /'
[ $status = 0 ] || tail -n 20 "$T/guest/out" | sed 's/^/# out: /'
finish
