# SPDX-License-Identifier: BSD-2-Clause
# bench-kernel - nfsrdma-bench over rxe, siw and iwarp, and the kernel's client over rxe, siw and tcp, turn by turn
# on the same server in the same guest: 256 KiB and 4 KiB records, one and eight outstanding.
# What is asserted is that all of it runs and that the library registers nothing meanwhile; figures are printed
# as a table (and kept with NFSRDMA_VM_KEEP), because a guest on a shared machine proves no speed.
# limit: 900
# alone
# peer: bench | nfsrdma-bench over rxe, siw, iwarp; kernel client over rxe, siw, tcp | nfsd in the guest
. "$(dirname "$0")/../lib.sh"
rounds=${NFSRDMA_BENCH_ROUNDS:-2} seconds=${NFSRDMA_BENCH_SECONDS:-0.5}

vm_boot guest mem=2000 <<JOB
# libnfs, which the bench is linked with, is not in the image.
export LD_LIBRARY_PATH=/build/client/.libs:/ctl/lib
guest_until 60 test -d /ctl/lib
guest_dummy dum0 10.91.0.1
guest_dummy dum1 10.92.0.1
guest_rdma rxe dum0
guest_rdma siw dum1
mount -t tmpfs -o size=600m none /export
chmod 777 /export
guest_nfsd 8
mnt() { # name address options
	mkdir -p /mnt/\$1
	timeout 60 mount.nfs \$2:/export /mnt/\$1 -o vers=3,nolock,mountport=20048,mountproto=tcp,\$3
}
mnt rxe 10.91.0.1 proto=rdma,port=20049 && mnt siw 10.92.0.1 proto=rdma,port=20049 && mnt tcp 10.92.0.1 proto=tcp,port=2049 ||
	guest_die "cannot mount"
where() { # case: how the bench gets there
	local own=mountport=20048,noresvport
	case \$1 in
	bench-rxe) echo --target 10.91.0.1:/export -o fabric=verbs,\$own ;;
	bench-siw) echo --target 10.92.0.1:/export -o fabric=verbs,\$own ;;
	bench-iwarp) echo --target 10.92.0.1:/export -o fabric=iwarp,\$own ;;
	kernel-*) echo --client posix:/mnt/\${1#kernel-} -I ;;
	esac
}
busy() { # ticks: all but idle and waiting
	local user nice system idle wait irq soft
	read -r _ user nice system idle wait irq soft _ </proc/stat
	echo \$((user + nice + system + irq + soft))
}
mkdir /ctl/bench
for round in \$(seq $rounds); do
	for record in 256k 4k; do
		for depth in 1 8; do
			for c in bench-rxe kernel-rxe bench-siw kernel-siw bench-iwarp kernel-tcp; do
				out=/ctl/bench/\$c.\$record.\$depth.\$round
				before=\$(busy)
				size=16m
				[ \$record = 256k ] || size=2m
				timeout 60 /build/nfsrdma-bench \$(where \$c) -i0 -i1 -+n -s\$size -r\$record --depth \$depth \
					--duration $seconds --json \$out.json >\$out.out 2>\$out.err
				echo \$? >\$out.status
				echo \$((\$(busy) - before)) >\$out.ticks
			done
		done
	done
done
# System calls per I/O: what 64 records more cost, so that mounting and opening are not in it.
for record in 256k 4k; do
	for depth in 1 8; do
		for c in bench-rxe kernel-rxe bench-siw kernel-siw bench-iwarp kernel-tcp; do
			for n in 16 80; do
				timeout 100 strace -f -qq -c -U calls,name -o /ctl/bench/\$c.\$record.\$depth.calls\$n /build/nfsrdma-bench \$(where \$c) \
					-i0 -i1 -+n -s\$((n * \${record%k}))k -r\$record --depth \$depth >/dev/null 2>&1
			done
		done
	done
done
getconf CLK_TCK >/ctl/bench/hz
umount /mnt/rxe /mnt/siw /mnt/tcp
JOB
mkdir "$T/guest/lib.new"
ldd "$BUILD/nfsrdma-bench" | awk '/libnfs/ { print $3 }' | xargs -r -I{} cp {} "$T/guest/lib.new/"
mv "$T/guest/lib.new" "$T/guest/lib"
vm_wait guest 880 || not_ok "the guest ends in order"
python3 "$VM_DIR/bench_table.py" "$T/guest/bench" --rounds "$rounds" >"$T/table" 2>"$T/table.err"
check "every client runs at every record and depth" test $? = 0
sed 's/^/# /' "$T/table" "$T/table.err"
[ -z "${NFSRDMA_BENCH_TABLE:-}" ] || cp "$T/table" "$NFSRDMA_BENCH_TABLE"
finish
