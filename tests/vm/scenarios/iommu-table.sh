# SPDX-License-Identifier: BSD-2-Clause
# iommu-table - with and without the IOMMU, on real kernel code: two guests, siw over virtio-net, the client's card
# behind VT-d; the bench with mr=pool and mr=per-io and the kernel's client on the same server, IOVA maps, unmaps and
# invalidations counted by tracepoints; and the registrations an RDMA NIC would map, made with VFIO beside them.
#
# Beforehand: the card's driver maps every packet, for both clients, since siw rides on an Ethernet driver.  That the
# three do not differ there is the expected result; what differs are registrations per I/O, and what each of those
# costs the IOMMU is what the VFIO part counts.  Times are emulated.
#
#   NFSRDMA_IOMMU_MODES     default "off strict"; the table of the documents has "off pt lazy strict"
#   NFSRDMA_IOMMU_RECORDS   default 256k; the table has "256k 4k"
#   NFSRDMA_IOMMU_TABLE     a file to keep the table in
# needs: qemu
# limit: 1500
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../qemu-lib.sh"
read -ra modes <<<"${NFSRDMA_IOMMU_MODES:-off strict}"
records=${NFSRDMA_IOMMU_RECORDS:-256k}

net() { # name, address options of one end of the wire
	echo "-netdev stream,id=n0,$2,addr.type=unix,addr.path=$T/wire.$1 -device virtio-net-pci,netdev=n0,host_mtu=9000"
}

pair() { # iommu-mode
	# nfsd takes calls of at most a 4096th of its memory
	# shellcheck disable=SC2046
	qemu_boot "server-$1" modules=virtio_net,crc32c_generic,siw,nfsd,rpcrdma cpus=1 mem=1400 $(net "$1" server=on) <<'JOB'
. /src/tests/vm/guest/lib.sh
ip addr add 10.91.0.1/24 dev eth0; ip link set eth0 mtu 9000 up
guest_rdma siw eth0
mount -t tmpfs -o size=200m none /export
chmod 777 /export
guest_nfsd 8
: >/ctl/ready
for i in {1..1800}; do [ ! -e /ctl/stop ] || break; sleep 0.5; done
JOB
	sleep 1 # the listening end first
	# shellcheck disable=SC2046
	qemu_boot "client-$1" "iommu=$1" modules=virtio_net,crc32c_generic,siw,rdma_ucm,ib_uverbs,nfsv3,rpcrdma,vfio-pci,vfio_iommu_type1 \
		cpus=1 -device edu $(net "$1" server=off),iommu_platform=on,disable-legacy=on \
		< <(echo "records='$records' mode=$1"; cat "$VM_DIR/guest/iommu-table.sh")
	vm_lend_libnfs "client-$1"
	vm_until "server-$1" 150 ready || vm_complain "server-$1" "did not get ready"
	: >"$T/client-$1/go"
	check "$1: the client's guest runs to its end" vm_wait "client-$1" 400
	: >"$T/server-$1/stop"
	check "$1: the server's guest runs to its end" vm_wait "server-$1" 40
	sed "s/^/# $1: /" "$T/client-$1/out"
}

holds() { python3 "$VM_DIR/iommu_table.py" "$T" "${modes[@]}" --records "$records" --assert "$1"; }

for mode in "${modes[@]}"; do
	ip link set lo up
	pair "$mode"
done
check "every client ran in every mode" holds "True"
check "the domain is what was booted" holds "all(m.domain == {'off': 'none', 'pt': 'identity', 'lazy': 'DMA-FQ', 'strict': 'DMA'}[m.name] for m in modes)"
check "the pool registers nothing per I/O" holds "all(c.registrations == 0 for c in cells if c.client == 'bench, pool')"
check "per-io registers once per call" holds "all(c.registrations == c.calls >= 1 for c in cells if c.client == 'bench, per-io' and c.record == '256k')"
check "the kernel's client registers for each I/O that takes chunks" holds "all(c.registrations >= 1 for c in cells if c.client == 'kernel' and c.record == '256k')"
check "without translation nothing is mapped" holds "all(c.maps == c.unmaps == 0 for c in cells if c.mode in ('off', 'pt'))"
if [[ " ${modes[*]} " = *" strict "* ]]; then
	check "strict: the card's driver maps packets for all three" holds "all(c.maps > 1 for c in cells if c.mode == 'strict' and c.record == '256k')"
	check "strict: VFIO maps once for the slab and never per I/O" holds "all(r['kernel_maps_per_io'] == 0 for r in rhythm('strict') if r['rhythm'] == 'pool')"
	check "strict: registering per I/O maps and unmaps per I/O" holds "all(r['kernel_maps_per_io'] >= 1 and r['kernel_unmaps_per_io'] >= 1 for r in rhythm('strict') if r['rhythm'] == 'per-io')"
fi
python3 "$VM_DIR/iommu_table.py" "$T" "${modes[@]}" --records "$records" >"$T/table"
sed 's/^/# /' "$T/table"
[ -z "${NFSRDMA_IOMMU_TABLE:-}" ] || cp "$T/table" "$NFSRDMA_IOMMU_TABLE"
finish
