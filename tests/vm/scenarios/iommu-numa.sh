# SPDX-License-Identifier: BSD-2-Clause
# iommu-numa - two nodes, the device on the second: who is told what, where the pool's slabs really lie, and the bench
# with its buffers near the device and far from it, told apart.
# needs: qemu
# limit: 300
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../qemu-lib.sh"

qemu_boot numa iommu=lazy mem=1024 modules=e1000e,crc32c_generic,siw,rdma_ucm,ib_uverbs \
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
# the bench over a device that rides on that card
export LD_LIBRARY_PATH=$LD_LIBRARY_PATH:/ctl/lib
for _ in {1..100}; do [ ! -d /ctl/lib ] || break; sleep 0.3; done
ip addr add 10.91.0.1/24 dev eth0; ip link set eth0 up
rdma link add siw0 type siw netdev eth0
mkdir /tmp/state
nfsrdmad --null --fabric verbs --listen 10.91.0.1 --port 20049 --tcp-port 2049 --no-rpcbind --state /tmp/state >/tmp/ready 2>/ctl/server.err &
for _ in {1..100}; do [ ! -s /tmp/ready ] || break; sleep 0.3; done
taskset 1 nfsrdma-bench --target 10.91.0.1:/null -o fabric=verbs,port=20049,mountport=2049,noresvport -i0 -i1 -+n -s4m -r256k \
	--sweep numa=0,1 --rounds 1 --json /ctl/bench.json >/ctl/bench.out 2>/ctl/bench.err; echo $? >/ctl/bench.rc
kill -TERM %1; wait %1
JOB
vm_lend_libnfs numa
holds() {
	python3 -c 'import json,sys
d = json.load(open(sys.argv[1])); v = d["devices"][0]
said = {a["id"]: a["level"] for a in v["advice"]}
assert eval(sys.argv[2]), (v, d["numa"])' "$T/numa/$1" "$2"
}
check "the guest runs to its end" vm_wait numa 250
sed 's/^/# /' "$T/numa/out"
check "two nodes and their distance are found" holds both.json \
	"d['numa']['nodes'] == 2 and [n['distances'] for n in d['numa']['node']] == ['10 21', '21 10']"
check "the device is on the second" holds both.json "v['node'] == 1"
check "the pool's policy follows the device" holds both.json "v['policy']['node'] == 1"
check "a process bound to the other node is warned" holds other.json "said.get('device-on-other-node') == 'warn'"
check "one that may run there too gets a note" holds both.json "said.get('device-on-other-node') == 'note'"
check "one that is bound there hears nothing" holds same.json "'device-on-other-node' not in said"
tap_pass "" "$T/numa/tap"

# apart EXPRESSION: over the sweep's runs, far with numa=0 and near with numa=1; numa is a list of each test's
apart() {
	python3 -c 'import json,sys
runs = {r["set"]["numa"]: r for r in json.load(open(sys.argv[1]))["runs"]}
far, near = (runs[n] for n in "01")
numa = lambda run: [t["numa"] for t in run["tests"]]
assert len(numa(far)) == len(numa(near)) == 2 and eval(sys.argv[2]), (numa(far), numa(near))' "$T/numa/bench.json" "$1"
}
check "the bench runs with its buffers on either node" test "$(cat "$T/numa/bench.rc")" = 0
check "it finds the device on the second" apart "all(n['device'] == 1 for n in numa(far) + numa(near))"
check "buffers on the device's node are local" apart "all(n['buffers'] == 1 and n['placement'] == 'local' for n in numa(near))"
check "buffers on the other are remote" apart "all(n['buffers'] == 0 and n['placement'] == 'remote' for n in numa(far))"
check "threads are found where they were bound" apart "all(n['threads'] == 0 for n in numa(far) + numa(near))"
check "the table tells them apart" eval "grep -q 'numa=0 .* remote' '$T/numa/bench.out' && grep -q 'numa=1 .* local' '$T/numa/bench.out'"
grep -E 'NUMA:|numa=[01] .*MB/s' "$T/numa/bench.out" | sed 's/^# */# /'
sed 's/^/# stderr: /' "$T/numa/bench.err"
finish
