# SPDX-License-Identifier: BSD-2-Clause
# iommu-numa - two nodes, the device on the second: who is told what, and where the pool's slabs really lie.
# needs: qemu
# limit: 300
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../qemu-lib.sh"

qemu_boot numa iommu=lazy mem=1024 modules=e1000e \
	-object memory-backend-ram,id=m0,size=512M -object memory-backend-ram,id=m1,size=512M \
	-numa node,nodeid=0,cpus=0,memdev=m0 -numa node,nodeid=1,cpus=1,memdev=m1 -numa dist,src=0,dst=1,val=21 \
	-device pxb-pcie,id=far,bus_nr=64,numa_node=1,bus=pcie.0 -device pcie-root-port,id=far0,bus=far,chassis=1 \
	-device e1000e,bus=far0 <<'JOB'
taskset 1 nfsrdma-iommu show --device eth0 --json >/ctl/other.json
taskset 2 nfsrdma-iommu show --device eth0 --json >/ctl/same.json
nfsrdma-iommu show --device eth0 --json >/ctl/both.json
nfsrdma-iommu show --device eth0 | sed -n '/^numa/,$p'
echo 8 >/proc/sys/vm/nr_hugepages
for hugepages in off auto 2m; do
	for node in 0 1; do /build/tests/vm/numa_check eth0 $hugepages $node; done
	/build/tests/vm/numa_check eth0 $hugepages device
done >/ctl/tap
JOB
holds() {
	python3 -c 'import json,sys
d = json.load(open(sys.argv[1])); v = d["devices"][0]
said = {a["id"]: a["level"] for a in v["advice"]}
assert eval(sys.argv[2]), (v, d["numa"])' "$T/numa/$1" "$2"
}
check "the guest runs to its end" vm_wait numa 150
sed 's/^/# /' "$T/numa/out"
check "two nodes and their distance are found" holds both.json \
	"d['numa']['nodes'] == 2 and [n['distances'] for n in d['numa']['node']] == ['10 21', '21 10']"
check "the device is on the second" holds both.json "v['node'] == 1"
check "the pool's policy follows the device" holds both.json "v['policy']['node'] == 1"
check "a process bound to the other node is warned" holds other.json "said.get('device-on-other-node') == 'warn'"
check "one that may run there too gets a note" holds both.json "said.get('device-on-other-node') == 'note'"
check "one that is bound there hears nothing" holds same.json "'device-on-other-node' not in said"
tap_pass "" "$T/numa/tap"
finish
