# SPDX-License-Identifier: BSD-2-Clause
# bench-kernel - nfsrdma-bench over rxe, siw and iwarp, and the kernel's client over rxe, siw and tcp, turn by turn
# on the same server in the same guest: 256 KiB and 4 KiB records, one and eight outstanding.
# What is asserted is that all of it runs, that the library registers nothing meanwhile and makes no more system calls
# per I/O than it should; throughput is printed as a table (and kept with NFSRDMA_BENCH_TABLE), because a guest on a
# shared machine proves no speed.
# limit: 900
# alone
# peer: bench | nfsrdma-bench over rxe, siw, iwarp; kernel client over rxe, siw, tcp | nfsd in the guest
. "$(dirname "$0")/../lib.sh"
rounds=${NFSRDMA_BENCH_ROUNDS:-2} seconds=${NFSRDMA_BENCH_SECONDS:-0.5} records=${NFSRDMA_BENCH_RECORDS:-256k 4k}

vm_boot guest mem=2000 <<JOB
# libnfs, which the bench is linked with, is not in the image.
export LD_LIBRARY_PATH=/build/client/.libs:/ctl/lib
guest_until 60 test -d /ctl/lib
. /ctl/guest/bench.sh
bench_serve rxe siw
bench_mount rxe 10.91.0.1 proto=rdma,port=20049
bench_mount siw 10.92.0.1 proto=rdma,port=20049
bench_mount tcp 10.92.0.1 proto=tcp,port=2049
cases="bench-rxe kernel-rxe bench-siw kernel-siw bench-iwarp kernel-tcp"
for depth in 1 8; do
	for record in $records; do
		size=16m
		[ \$record = 256k ] || size=2m
		bench_rounds $rounds $seconds \$size \$record \$depth \$cases
	done
done
bench_price
for depth in 1 8; do
	for record in $records; do bench_calls \$record \$depth \$cases; done
done
getconf CLK_TCK >/ctl/bench/hz
umount /mnt/rxe /mnt/siw /mnt/tcp
JOB
vm_lend_libnfs guest
vm_wait guest 880 || not_ok "the guest ends in order"
# shellcheck disable=SC2086
python3 "$VM_DIR/bench_table.py" "$T/guest/bench" --rounds "$rounds" --records $records >"$T/table" 2>"$T/table.err"
check "every client runs at every record and depth" test $? = 0
sed 's/^/# /' "$T/table" "$T/table.err"
check "the bytes of each test are what nfsd counted" python3 "$VM_DIR/bench_table.py" "$T/guest/bench" --served --records $records
# Sends, sleeps and events: six at depth 1 without any luck; the clock apart.
check "over verbs an I/O takes at most six system calls at depth 1 and four at depth 8" \
	python3 "$VM_DIR/bench_table.py" "$T/guest/bench" --at-most 6 4
[ -z "${NFSRDMA_BENCH_TABLE:-}" ] || cp "$T/table" "$NFSRDMA_BENCH_TABLE"
finish
