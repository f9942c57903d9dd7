# SPDX-License-Identifier: BSD-2-Clause
# kernel-nfsrdmad - the kernel's NFS client (mount -o proto=rdma) against our server: over verbs on rxe and
# siw in one guest, and from siw over a tap against the iwarp fabric of a server outside.
# limit: 800
# peer: iwarp | nfsrdmad, iwarp fabric outside the guest | kernel's client on siw, over a tap
# peer: rxe | nfsrdmad over verbs on rxe | kernel's client on rxe
# peer: siw | nfsrdmad over verbs on siw | kernel's client on siw
# peer: iwarp-small | the same, inline 1024 and the least slots the kernel takes | kernel's client on siw
# peer: rxe-small | the same | kernel's client on rxe
# peer: siw-small | the same | kernel's client on siw
. "$(dirname "$0")/../lib.sh"
entries=100000

vm_tap
# A real tree: this project's own.
tar -C "$SRC" -cf "$T/tree.tar" client transport mr wire util iommu-aware tools docs man README.md
# The server outside: iwarp only, there is no device here.
mkdir -p "$T/export" "$T/state"
head -c 9000001 /dev/urandom >"$T/export/given"
"$BUILD/tests/vm/many" "$T/export/many" $entries
"$BUILD/nfsrdmad" --export "$T/export=/export" --no-root-squash --listen "$HOST" --port 20049 --tcp-port 2049 \
	--no-rpcbind --state "$T/state" -v >"$T/ready" 2>"$T/nfsrdmad.err" &
SERVER_PID=$!
LIB_PIDS+=("$SERVER_PID")
for i in $(seq 300); do [ -s "$T/ready" ] && break; sleep 0.1; done

vm_boot guest tap mem=3000 <<JOB
guest_rdma siw vec0
guest_dummy dum0 10.91.0.1
guest_dummy dum1 10.92.0.1
guest_rdma rxe dum0
guest_rdma siw dum1
mount -t tmpfs -o size=1500m,nr_inodes=0 none /export
guest_many /export/many $entries
head -c 9000001 /dev/urandom >/export/given
mkdir -p /tmp/state
drop() { echo 3 >/proc/sys/vm/drop_caches; }
# What both sizes of messages must do.
basics() { # directory, its given's checksum, name
	local d=\$1 name=\$3
	[ "\$(sha256sum <\$d/given)" = "\$2" ]; tap "\$name: reads a file" \$?
	dd if=/ctl/sent of=\$d/sent bs=64k conv=fsync 2>/dev/null; tap "\$name: writes a file" \$?
	drop
	dd if=\$d/sent of=/tmp/back bs=256k iflag=direct 2>/dev/null
	cmp /tmp/back /ctl/sent; tap "\$name: reads it back, past its cache" \$?
	[ "\$(ls -f \$d/many | grep -v '^\\.' | sort -n | uniq | wc -l)" = $entries ]; tap "\$name: lists $entries names, each once" \$?
	echo far | dd of=\$d/far bs=1 seek=5368709120 conv=notrunc 2>/dev/null &&
		[ "\$(dd if=\$d/far bs=1 skip=5368709120 count=3 2>/dev/null)" = far ]; tap "\$name: goes beyond 5 GiB" \$?
	rm -f \$d/far
}
names() { # directory, name
	local d=\$1 name=\$2
	mkdir \$d/dir && ln -s dir \$d/link && echo x >\$d/link/file && mv \$d/dir/file \$d/dir/renamed &&
		[ "\$(cat \$d/link/renamed)" = x ] && rm -r \$d/dir \$d/link; tap "\$name: works on names" \$?
	chmod 1777 \$d && setpriv --reuid=1000 --regid=1000 --groups=1000,50 dd if=/ctl/sent of=\$d/mine bs=64k 2>/dev/null &&
		[ "\$(stat -c %u \$d/mine)" = 1000 ] && chmod 600 \$d/mine &&
		! setpriv --reuid=1001 --regid=1001 --clear-groups cat \$d/mine >/dev/null 2>&1; tap "\$name: works for several users" \$?
}
tree() { # directory, name
	local d=\$1/tree name=\$2
	mkdir \$d && tar -C \$d -xf /ctl/tree.tar; tap "\$name: unpacks a tree" \$?
	sync; drop
	tar -C \$d -df /ctl/tree.tar; tap "\$name: and finds it whole, contents, modes, times and links" \$?
	echo "# \$name: \$(tar -tf /ctl/tree.tar | wc -l) names in it"
	rm -r \$d; tap "\$name: and removes it" \$?
}
verify() { # directory, name
	timeout 120 fio --name=v --filename=\$1/fio --size=16m --rw=randrw --bsrange=4k-256k --direct=1 --ioengine=psync \\
		--verify=crc32c --verify_fatal=1 --do_verify=1 --minimal --randseed=7 >/tmp/fio 2>&1
	tap "\$2: fio verifies random writes and reads" \$?
	[ \$tap_bad = 0 ] || tail -n 5 /tmp/fio
	rm -f \$1/fio
}
work() { # name, checksum of given
	local d=/mnt/\$1
	basics \$d "\$2" \$1
	case \$1 in *-small) ;; *) names \$d \$1; tree \$d \$1; verify \$d \$1 ;; esac
	grep -A12 " \$d " /proc/self/mountstats | grep -o 'xprt:.*' | sed "s/^/# \$1: /"
	umount \$d; tap "\$1: unmounts" \$?
}
mnt() { # name address
	mkdir -p "/mnt/\$1"
	timeout 60 mount.nfs "\$2:/export" "/mnt/\$1" \
		-o vers=3,proto=rdma,port=20049,mountport=2049,mountproto=tcp,nolock,async
	tap "\$1: mounts" \$?
	mountpoint -q "/mnt/\$1"
}
{
	guest_nfsrdmad inner --export /export --listen 0.0.0.0 --port 20049 --tcp-port 2049 --iwarp-port 20050 --state /tmp/state
	inner=\$guest_pid
	sha=\$(sha256sum </export/given)
	given=\$(cat /ctl/given.sha)
	mnt iwarp $HOST && work iwarp "\$given"
	mnt rxe 10.91.0.1 && work rxe "\$sha"
	mnt siw 10.92.0.1 && work siw "\$sha"
	echo 4 >/proc/sys/sunrpc/rdma_slot_table_entries
	echo 1024 >/proc/sys/sunrpc/rdma_max_inline_read
	echo 1024 >/proc/sys/sunrpc/rdma_max_inline_write
	mnt iwarp-small $HOST && work iwarp-small "\$given"
	mnt rxe-small 10.91.0.1 && work rxe-small "\$sha"
	mnt siw-small 10.92.0.1 && work siw-small "\$sha"
	kill -TERM \$inner; wait \$inner; tap "the server in the guest ends in order" \$?
} >/ctl/tap 2>/ctl/tap.err
exit \$tap_bad
JOB
cp "$T/tree.tar" "$T/guest/tree.tar"
head -c 9000001 /dev/urandom >"$T/guest/sent"
sha256sum <"$T/export/given" >"$T/guest/given.sha"
vm_wait guest 780
status=$?
tap_pass "" "$T/guest/tap"
check "the guest's work runs to its end" test $status = 0
check "iwarp: what the kernel wrote is what our server has" cmp "$T/guest/sent" "$T/export/sent"
server_stop
check "the server outside ends in order" test $? = 0
sed 's/^/# nfsrdmad: /' "$T/nfsrdmad.err" | tail -n 20
[ ! -s "$T/guest/inner.err" ] || tail -n 20 "$T/guest/inner.err" | sed 's/^/# nfsrdmad in the guest: /'
[ $status = 0 ] || tail -n 20 "$T/guest/out" "$T/guest/tap.err" | sed 's/^/# out: /'
finish
