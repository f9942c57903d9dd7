# SPDX-License-Identifier: BSD-2-Clause
# iommu-cost - nfsrdma-iommu cost on the kernel's own RDMA devices: what ibv_reg_mr on rxe and siw pins, and where the
# kernel books it.
. "$(dirname "$0")/../lib.sh"

vm_boot guest mem=1000 <<'JOB'
guest_dummy dum0 10.91.0.1
guest_dummy dum1 10.92.0.1
guest_rdma rxe dum0
guest_rdma siw dum1
cost() { timeout 100 /build/nfsrdma-iommu cost --fabric verbs "$@"; }
cost --address 10.91.0.1 --sizes 4k,256k,4m --json >/ctl/rxe.json; echo $? >/ctl/rxe.rc
cost --address 10.92.0.1 --sizes 4k,256k,4m --json >/ctl/siw.json; echo $? >/ctl/siw.rc
cost --address 10.91.0.1 --sizes 4k,64k,256k,1m,4m
cost --address 10.92.0.1 --sizes 4k,64k,256k,1m,4m
cost --address 10.93.0.1 >/ctl/none.out 2>/ctl/none.err; echo $? >/ctl/none.rc
(ulimit -l 64; setpriv --bounding-set=-all --inh-caps=-all /build/nfsrdma-iommu cost --fabric verbs --address 10.91.0.1 \
	--sizes 16k,1m --json >/ctl/limited.json 2>/ctl/limited.err)
JOB
check "the guest runs to its end" vm_wait guest 150
sed 's/^/# /' "$T/guest/out"
holds() { python3 -c 'import json,sys; d = json.load(open(sys.argv[1])); rows = d["rows"]; assert eval(sys.argv[2]), d' "$T/guest/$1" "$2"; }
for device in rxe siw; do
	check "$device: registration is measured" test "$(cat "$T/guest/$device.rc")" = 0
	check "$device: the device that was measured is named" holds $device.json "d['fabric'] == 'verbs' and d['device'].startswith('$device')"
	check "$device: each size of 4 KiB pages has its row" holds $device.json \
		"[r['size'] for r in rows if r['page'] == '4k'] == [4096, 262144, 4194304] and all(r['register_us'] > 0 and r['release_us'] > 0 for r in rows)"
	check "$device: ibv_reg_mr books pins in VmPin, exactly, and none in VmLck" holds $device.json \
		"all(r['vm_pin_kb'] == r['size'] // 1024 and r['vm_lck_kb'] == 0 for r in rows)"
	check "$device: pins are counted one by one" holds $device.json \
		"all(r['pins'] == r['size'] // 4096 for r in rows if r['page'] == '4k')"
done
check "an address of nobody's is one line" eval "test \$(cat '$T/guest/none.rc') = 1 && test \$(wc -l <'$T/guest/none.err') = 1"
check "what a limit refuses is its row's error, the rest is measured" holds limited.json \
	"[('error' in r) for r in rows if r['page'] == '4k'] == [False, True]"
finish
