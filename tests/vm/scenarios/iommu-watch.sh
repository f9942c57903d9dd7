# SPDX-License-Identifier: BSD-2-Clause
# iommu-watch - two guests, the client's network card behind an emulated IOMMU: nfsrdma-iommu watch shows the IOMMU's
# work under a mount that registers nothing per I/O, and none of it in passthrough.
# needs: qemu
# limit: 500
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../qemu-lib.sh"

net() { # name, address options of one end of the wire
	echo "-netdev stream,id=n0,$2,addr.type=unix,addr.path=$T/wire.$1 -device virtio-net-pci,netdev=n0"
}

pair() { # name iommu-mode
	# shellcheck disable=SC2046
	qemu_boot "server-$1" modules=virtio_net cpus=1 $(net "$1" server=on) <<'JOB'
ip addr add 10.91.0.1/24 dev eth0; ip link set eth0 up
mkdir /tmp/state
head -c 24m /dev/zero >/export/given
nfsrdmad --export /export --listen 10.91.0.1 --port 20049 --tcp-port 2049 --no-rpcbind --state /tmp/state >/ctl/ready 2>/ctl/err &
for i in {1..600}; do [ ! -e /ctl/stop ] || break; sleep 0.5; done
kill -TERM %1
wait %1
JOB
	sleep 1 # the listening end first
	# shellcheck disable=SC2046
	qemu_boot "client-$1" "iommu=$2" modules=virtio_net cpus=2 $(net "$1" server=off),iommu_platform=on,disable-legacy=on <<'JOB'
ip addr add 10.91.0.2/24 dev eth0; ip link set eth0 up
for i in {1..300}; do [ ! -e /ctl/go ] || break; sleep 0.3; done
nfsrdma-iommu show --device eth0 --json >/ctl/show.json
nfsrdma-iommu watch --interval 1 --count 3 --json >/ctl/idle.json 2>/ctl/watch.err; echo $? >/ctl/rc
{
	until [ -e /tmp/enough ]; do
		nfsrdma -q -o port=20049,mountport=2049,fabric=iwarp,noresvport cp 10.91.0.1:/export/given /tmp/got || sleep 1
		[ ! -s /tmp/got ] || echo copied
		rm -f /tmp/got
	done
} >/ctl/copies 2>&1 &
sleep 3
nfsrdma-iommu watch --interval 1 --count 6 --json >/ctl/busy.json 2>>/ctl/watch.err
nfsrdma-iommu watch --interval 1 --count 3 | tee /ctl/busy.txt
touch /tmp/enough
wait
nfsrdma-iommu watch --interval 0.3 >/ctl/cut.txt 2>&1 & sleep 2; kill -TERM $!; wait $!; echo $? >/ctl/cut
ls /sys/kernel/tracing/instances | wc -l >/ctl/left
JOB
}

run_pair() { # name
	for _ in $(seq 400); do
		[ ! -s "$T/server-$1/ready" ] || break
		sleep 0.2
	done
	: >"$T/client-$1/go"
	check "$1: the client's guest runs to its end" vm_wait "client-$1" 180
	: >"$T/server-$1/stop"
	check "$1: the server's guest runs to its end" vm_wait "server-$1" 40
	sed "s/^/# $1: /" "$T/client-$1/out"
	grep -c copied "$T/client-$1/copies" | sed "s/^/# $1: copies of 24 MiB: /"
}

# holds NAME EXPRESSION: over the samples idle and busy
holds() {
	python3 -c 'import json,sys
read = lambda name: [json.loads(line) for line in open(sys.argv[1] + "/" + name)]
idle, busy = read("idle.json"), read("busy.json")
assert eval(sys.argv[2]), (idle, busy)' "$T/client-$1" "$2"
}

pair strict strict
run_pair strict
check "strict: files were copied meanwhile" grep -q copied "$T/client-strict/copies"
check "strict: the mount's ledger is found while it works" holds strict "any(d['ledgers'] for d in busy)"
check "strict: the driver's maps and unmaps are counted under it" holds strict \
	"max(d['iommu_maps_per_s'] for d in busy) > 50 and max(d['iommu_unmaps_per_s'] for d in busy) > 50"
check "strict: while the mount itself registers nothing" holds strict \
	"any(d['ledgers'] and d['iommu_maps_per_s'] > 50 and d['registrations_per_s'] == 0 for d in busy)"
check "strict: at rest there is far less" holds strict \
	"min(d['iommu_maps_per_s'] for d in idle) * 5 < max(d['iommu_maps_per_s'] for d in busy)"
check "strict: an interrupt ends watch" test "$(cat "$T/client-strict/cut")" = 130
check "strict: no tracing instance is left behind" test "$(cat "$T/client-strict/left")" = 0
check "strict: nothing was missing" test ! -s "$T/client-strict/watch.err"
pair pt pt
run_pair pt
check "pt: files were copied meanwhile" grep -q copied "$T/client-pt/copies"
check "pt: the kernel maps nothing at all" holds pt "all(d['iommu_maps_per_s'] == 0 for d in idle + busy)"
finish
