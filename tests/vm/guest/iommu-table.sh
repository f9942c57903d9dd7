# SPDX-License-Identifier: BSD-2-Clause
# iommu-table.sh - what the client's guest of the scenario iommu-table runs; $mode and $records are set before.
# Each run in two lengths: what 64 records more cost has no mounting and opening in it.
. /src/tests/vm/guest/lib.sh
export LD_LIBRARY_PATH=/build/client/.libs:/ctl/lib
few=16 more=64
out=/ctl/runs
mkdir $out
ip addr add 10.91.0.2/24 dev eth0; ip link set eth0 mtu 9000 up
guest_rdma siw eth0
for _ in {1..600}; do [ ! -e /ctl/go ] || break; sleep 0.3; done
guest_mount 10.91.0.1 /mnt/kernel mountport=20048 || guest_die "cannot mount"
nfsrdma-iommu show --device eth0 --json >/ctl/show.json

# Counters that the kernel keeps of its IOMMU's work; the triggers sit in an instance that nobody else has.
trace=/sys/kernel/tracing/instances/table
mkdir $trace
events="iommu/map iommu/unmap intel_iommu/qi_submit"
for e in $events; do echo hist:keys=common_cpu >$trace/events/$e/trigger; done
counts() { # one number per event, then the kernel's client's chunks of each kind
	local e
	for e in $events; do
		gawk '$1 == "Hits:" { hits = $2 } END { print hits + 0 }' $trace/events/$e/hist
	done
	gawk '$1 == "xprt:" && $2 == "rdma" { print $(3 + 10), $(3 + 11), $(3 + 12) }' /proc/self/mountstats
}

where() { # client: how the bench gets there
	case $1 in
	kernel) echo --client posix:/mnt/kernel -I ;;
	*) echo --target 10.91.0.1:/export -o "fabric=verbs,mr=$1,mountport=20048,noresvport" ;;
	esac
}
for record in $records; do
	for client in pool per-io kernel; do
		for way in 0 1; do
			for n in $few $((few + more)); do
				run=$out/$client.$record.$way.$n
				counts >$run.before
				timeout 100 nfsrdma-bench $(where $client) -i$way -+n -w -f given -s$((n * ${record%k}))k -r$record \
					--json $run.json >$run.out 2>$run.err || echo "$run: status $?: $(tail -n 2 $run.err)"
				counts >$run.after
			done
		done
	done
done
for e in $events; do sed -n 's/^ *Dropped: //p' $trace/events/$e/hist; done >/ctl/dropped
umount /mnt/kernel

# The same slab in the same two rhythms, by a device whose maps are ours to make.
[ "$mode" != off ] || exit 0
edu=$(grep -l 0x11e8 /sys/bus/pci/devices/*/device | cut -d/ -f6)
echo vfio-pci >"/sys/bus/pci/devices/$edu/driver_override"
echo "$edu" >/sys/bus/pci/drivers_probe
nfsrdma-iommu cost --vfio "$edu" --ios $more --sizes "${records// /,}" --json >/ctl/rhythm.json
