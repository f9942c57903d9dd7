# SPDX-License-Identifier: BSD-2-Clause
# bench-kernel-qemu - the pair of bench-kernel again where a system call costs what it costs beside other code: an
# emulated machine, nfsrdma-bench and the kernel's client turn by turn over rxe at 256 KiB, depth 1 and 8.
# Times are emulated: only the ratio is a result.  What is asserted is that all runs and nothing is registered per I/O.
# needs: qemu
# limit: 600
# alone
# peer: bench | nfsrdma-bench and kernel client over rxe, emulated | nfsd in the guest
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../qemu-lib.sh"
rounds=${NFSRDMA_BENCH_ROUNDS:-3} seconds=${NFSRDMA_BENCH_SECONDS:-1}

qemu_boot guest mem=1500 cpus="${NFSRDMA_BENCH_CPUS:-2}" modules=virtio_net,crc32_generic,rdma_rxe,ib_uverbs,rdma_ucm,rpcrdma,nfsv3,nfsd \
	-netdev hubport,id=n0,hubid=0 -device virtio-net-pci,netdev=n0 <<JOB
export LD_LIBRARY_PATH=/build/client/.libs:/ctl/lib
. /src/tests/vm/guest/lib.sh
. /src/tests/vm/guest/bench.sh
guest_until 100 test -d /ctl/lib
bench_serve rxe:eth0
bench_mount rxe 10.91.0.1 proto=rdma,port=20049
for depth in 1 8; do
	bench_rounds $rounds $seconds 16m 256k \$depth bench-rxe kernel-rxe
done
bench_price 2000
for depth in 1 8; do
	bench_calls 256k \$depth bench-rxe kernel-rxe
done
getconf CLK_TCK >/ctl/bench/hz
umount /mnt/rxe
JOB
vm_lend_libnfs guest
vm_wait guest 580 || not_ok "the guest ends in order"
python3 "$VM_DIR/bench_table.py" "$T/guest/bench" --rounds "$rounds" --records 256k --cases bench-rxe kernel-rxe --emulated \
	>"$T/table" 2>"$T/table.err"
check "both clients run at both depths" test $? = 0
sed 's/^/# /' "$T/table" "$T/table.err"
[ -z "${NFSRDMA_BENCH_TABLE:-}" ] || cp "$T/table" "$NFSRDMA_BENCH_TABLE"
finish
