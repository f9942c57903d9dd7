# SPDX-License-Identifier: BSD-2-Clause
# iommu-iommufd - nfsrdma-iommu cost --vfio through iommufd and through type1, on one device and one kernel (6.12): the
# same maps, each proved by DMA, the pins booked elsewhere.
# needs: iommufd
# limit: 400
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../qemu-lib.sh"
VM_QEMU=$VM_IOMMUFD

qemu_boot strict iommu=strict -device edu <<'JOB'
edu=$(grep -l 0x11e8 /sys/bus/pci/devices/*/device | cut -d/ -f6)
echo vfio-pci >"/sys/bus/pci/devices/$edu/driver_override"
echo "$edu" >/sys/bus/pci/drivers_probe
echo 8 >/proc/sys/vm/nr_hugepages
for api in iommufd type1; do
	nfsrdma-iommu cost --vfio "$edu" --api $api --sizes 4k,256k,2m,8m --json >/ctl/$api.json; echo $? >/ctl/$api.rc
	nfsrdma-iommu cost --vfio "$edu" --api $api --sizes 4k,256k,2m
	nfsrdma-iommu cost --vfio "$edu" --api $api --sizes 256k --ios 32 --json >/ctl/rhythm.$api.json
done
nfsrdma-iommu cost --vfio "$edu" --sizes 4k --json >/ctl/auto.json
(ulimit -l 64; setpriv --bounding-set=-all --inh-caps=-all /build/nfsrdma-iommu cost --vfio "$edu" --sizes 2m --json) \
	>/ctl/limited.json 2>/ctl/limited.err
JOB
holds() { python3 -c 'import json,sys; d = json.load(open(sys.argv[1])); rows = d.get("rows"); y = {r["rhythm"]: r for r in d.get("rhythms", [])}; assert eval(sys.argv[2]), d' "$T/strict/$1" "$2"; }
check "the guest runs to its end" vm_wait strict 250
sed 's/^/# /' "$T/strict/out"
for api in iommufd type1; do
	check "$api: the device is measured" test "$(cat "$T/strict/$api.rc")" = 0
	check "$api: the report says which way it was" holds $api.json "d['api'] == '$api'"
	check "$api: what the device copies arrives through the mapping" holds $api.json "d['dma_reaches_mapped'] is True"
	check "$api: after the unmap it reaches the memory no more" holds $api.json "d['dma_stops_at_unmap'] is True"
	check "$api: there are rows for 4 KiB and huge pages" holds $api.json "{'4k', 'thp', '2m'} <= {r['page'] for r in rows}"
	check "$api: a slab mapped once serves every I/O, and the device reaches each" holds rhythm.$api.json \
		"y['pool']['maps'] == y['pool']['unmaps'] == 1 and 0 < y['pool']['used_by_device'] == y['pool']['arrived']"
	check "$api: a record mapped per I/O is mapped as often" holds rhythm.$api.json \
		"y['per-io']['maps'] == y['per-io']['unmaps'] == 32 and 0 < y['per-io']['used_by_device'] == y['per-io']['arrived']"
done
check "iommufd books pins in VmPin, exactly, and none in VmLck" holds iommufd.json \
	"rows and all(r['vm_pin_kb'] == r['size'] // 1024 and r['vm_lck_kb'] == 0 for r in rows)"
check "type1 books them in VmLck" holds type1.json \
	"rows and all(r['vm_lck_kb'] == r['size'] // 1024 and r['vm_pin_kb'] == 0 for r in rows)"
check "without being told, iommufd is taken where it is there" holds auto.json "d['api'] == 'iommufd'"
check "a limit that refuses is a row's error" holds limited.json "all('error' in r for r in rows if r['size'] > 65536)"
finish
