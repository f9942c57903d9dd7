# SPDX-License-Identifier: BSD-2-Clause
# iommu-show - nfsrdma-iommu show on real sysfs: Debian's kernel booted with the IOMMU off, in passthrough, lazy,
# strict, and lazy with caching mode, where the log and the command line lie.
# needs: qemu
# limit: 400
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../qemu-lib.sh"

# A network card behind the IOMMU stands for the device that routes.
nic=(-netdev hubport,id=n0,hubid=0 -device virtio-net-pci,netdev=n0,iommu_platform=on,disable-legacy=on)

boot() { # name words...
	local name=$1
	shift
	qemu_boot "$name" "$@" cpus=1 modules=virtio_net "${nic[@]}" <<'JOB'
nfsrdma-iommu show --device eth0 --json >/ctl/show.json; echo $? >/ctl/rc
nfsrdma-iommu show --device eth0 >/ctl/show.txt
setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all --inh-caps=-all \
	/build/nfsrdma-iommu show --device eth0 --json >/ctl/nobody.json; echo $? >/ctl/nobody.rc
# the remedy that the advice names, while the driver is bound
group=$(basename "$(readlink /sys/class/net/eth0/device/../iommu_group 2>/dev/null)" 2>/dev/null)
[ -z "$group" ] || { echo DMA-FQ >/sys/kernel/iommu_groups/$group/type; cat /sys/kernel/iommu_groups/$group/type; } >/ctl/switched 2>&1
nfsrdma-iommu show --device eth0 --json >/ctl/after.json
JOB
}

# holds NAME FILE EXPRESSION: for the document d, its first device v, and the advice's names
holds() {
	python3 -c 'import json,sys
d = json.load(open(sys.argv[1])); v = d["devices"][0]
said = [a["id"] for a in v["advice"]] + [a["id"] for a in d["advice"]]
assert eval(sys.argv[2]), (v, said)' "$T/$1/$2" "$3"
}

judge() { # name domain expression
	local name=$1
	vm_wait "$name" 120 || { not_ok "$name: the guest runs to its end" "$(tail -n 5 "$T/$name/console")"; return; }
	check "$name: show succeeds" test "$(cat "$T/$name/rc" "$T/$name/nobody.rc" | tr '\n' ' ')" = "0 0 "
	check "$name: the effective domain is $2" holds "$name" show.json "v['domain'] == '$2'"
	check "$name: the advice fits" holds "$name" show.json "$3"
	check "$name: an unprivileged user sees the same of it" holds "$name" nobody.json "v['domain'] == '$2' and ($3)"
	sed -n '/warn\|note\|fact/p' "$T/$name/show.txt" | sed "s/^/# $name: /"
	grep -hE '\] (DMAR: IOMMU batching|iommu: D)' "$T/$name/dmesg" | sed "s/^.*\] /# $name: dmesg: /"
}

boot off iommu=off
boot pt iommu=pt
judge off none "'not-translated' in said and 'strict-invalidation' not in said and not d['iommu']['present']"
judge pt identity "'not-translated' in said and 'passthrough-not-effective' not in said"
boot lazy iommu=lazy
boot strict iommu=strict
judge lazy DMA-FQ "'lazy-invalidation' in said and 'strict-invalidation' not in said"
judge strict DMA "'strict-invalidation' in said and 'incoherent-page-walk' in said"
check "strict: DMA-FQ written to the group's type takes effect under a bound driver" holds strict after.json \
	"v['domain'] == 'DMA-FQ' and 'strict-invalidation' not in said"
check "strict: VT-d's registers are decoded" holds strict show.json \
	"d['iommu']['units'][0]['name'] == 'dmar0' and d['iommu']['units'][0]['address_bits'] == 48 and d['iommu']['units'][0]['superpages_2m'] and not d['iommu']['units'][0]['caching_mode']"
check "off: the kernel's log speaks of translation all the same" grep -qE 'Translated|lazy' "$T/off/dmesg"
boot caching iommu=lazy caching
judge caching DMA "'caching-mode' in said and 'strict-invalidation' in said"
check "caching: lazy was asked for, and refused" holds caching show.json "'iommu.strict=0' in d['iommu']['command_line']"
sed 's/^/# caching: DMA-FQ written to the type: /' "$T/caching/switched"
finish
