# SPDX-License-Identifier: BSD-2-Clause
# iommu-vfio - nfsrdma-iommu cost --vfio on an emulated VT-d: maps proved by the DMA of QEMU's edu device, pins where
# VFIO books them, and devices that belong to somebody refused.
# needs: qemu
# limit: 400
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../qemu-lib.sh"

qemu_boot strict iommu=strict modules=vfio-pci,vfio_iommu_type1,e1000e -device edu -device e1000e <<'JOB'
edu=$(grep -l 0x11e8 /sys/bus/pci/devices/*/device | cut -d/ -f6)
nic=$(basename "$(readlink /sys/bus/pci/drivers/e1000e/0000:*)")
nfsrdma-iommu cost --vfio "$edu" >/ctl/unbound.out 2>/ctl/unbound.err; echo $? >/ctl/unbound
nfsrdma-iommu cost --vfio "$nic" >/ctl/bound.out 2>/ctl/bound.err; echo $? >/ctl/bound
[ -e "/sys/bus/pci/drivers/e1000e/$nic" ]; echo $? >/ctl/still
echo vfio-pci >"/sys/bus/pci/devices/$edu/driver_override"
echo "$edu" >/sys/bus/pci/drivers_probe
echo 8 >/proc/sys/vm/nr_hugepages
nfsrdma-iommu cost --vfio "$edu" --sizes 4k,256k,2m,8m --json >/ctl/cost.json; echo $? >/ctl/cost
nfsrdma-iommu cost --vfio "$edu" --sizes 4k,64k,2m
nfsrdma-iommu cost --vfio "$edu" --sizes 4k | grep -c emulated >/ctl/label
(ulimit -l 64; setpriv --bounding-set=-all --inh-caps=-all /build/nfsrdma-iommu cost --vfio "$edu" --sizes 2m --json) \
	>/ctl/limited.json 2>/ctl/limited.err
# the ledger's derivation: the software RNIC's registration maps nothing here
nfsrdma-iommu cost --sizes 64k,2m
JOB
qemu_boot off iommu=off modules=vfio-pci,vfio_iommu_type1 -device edu <<'JOB'
edu=$(grep -l 0x11e8 /sys/bus/pci/devices/*/device | cut -d/ -f6)
nfsrdma-iommu cost --vfio "$edu" 2>/ctl/err; echo $? >/ctl/rc
JOB

holds() { python3 -c 'import json,sys; d = json.load(open(sys.argv[1])); rows = d["rows"]; assert eval(sys.argv[2]), d' "$T/$1" "$2"; }
check "off: the guest runs to its end" vm_wait off 150
check "off: without an IOMMU there is no VFIO, and it says so" eval "test \$(cat '$T/off/rc') = 1 && grep -q 'no IOMMU group' '$T/off/err'"
check "strict: the guest runs to its end" vm_wait strict 200
sed 's/^/# strict: /' "$T/strict/out"
check "a device that is bound to nobody is explained" eval "test \$(cat '$T/strict/unbound') = 1 && grep -q driver_override '$T/strict/unbound.err'"
check "a device with a driver is refused by name" eval "test \$(cat '$T/strict/bound') = 1 && grep -q 'driven by e1000e' '$T/strict/bound.err'"
check "and keeps its driver" test "$(cat "$T/strict/still")" = 0
check "a device bound to vfio-pci is measured" test "$(cat "$T/strict/cost")" = 0
check "what the device copies arrives through the mapping" holds strict/cost.json "d['dma_reaches_mapped'] is True"
check "after the unmap it reaches the memory no more" holds strict/cost.json "d['dma_stops_at_unmap'] is True"
check "the kernel saw that access and refused it" grep -q 'DMAR:.*DMA Write.*Request device' "$T/strict/dmesg"
check "type1 books pins in VmLck, exactly, and none in VmPin" holds strict/cost.json \
	"rows and all(r['vm_lck_kb'] == r['size'] // 1024 and r['vm_pin_kb'] == 0 for r in rows)"
check "pins of 4 KiB pages are counted one by one" holds strict/cost.json \
	"all(r['pins'] == r['size'] // 4096 for r in rows if r['page'] == '4k' and r['pins_exact'])"
check "there are rows for 4 KiB and huge pages" holds strict/cost.json "{'4k', 'thp', '2m'} <= {r['page'] for r in rows}"
check "times are labelled emulated" eval "test \$(cat '$T/strict/label') -ge 1"
check "the document says so too" holds strict/cost.json "d['emulated'] is True"
check "the IOMMU's page sizes are told" holds strict/cost.json "int(d['page_sizes'], 16) & 0x201000 == 0x201000"
finish
