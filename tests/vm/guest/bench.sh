# SPDX-License-Identifier: BSD-2-Clause
# bench.sh - nfsrdma-bench and the kernel's client turn by turn on the guest's own nfsd; read after lib.sh by the jobs
# of the bench scenarios.  Results go into /ctl/bench, where bench_table.py takes them from.

bench_out=/ctl/bench

# bench_serve DEVICE...: rxe at 10.91.0.1 (or rxe:IF, on an interface that is there), siw at 10.92.0.1, nfsd on both,
# /export in memory.
bench_serve() {
	local device
	mkdir -p $bench_out
	for device; do
		case $device in
		rxe) guest_dummy dum0 10.91.0.1; guest_rdma rxe dum0 ;;
		rxe:*)
			ip addr add 10.91.0.1/24 dev "${device#*:}"
			ip link set "${device#*:}" up
			guest_rdma rxe "${device#*:}"
			;;
		siw) guest_dummy dum1 10.92.0.1; guest_rdma siw dum1 ;;
		esac
	done
	mount -t tmpfs -o size=600m none /export
	# A page of the guest's memory costs more when it is first used, whoever uses it: let it be nobody.
	head -c 590m /dev/zero >/export/all 2>/dev/null
	rm /export/all
	chmod 777 /export
	guest_nfsd 8
}

# bench_mount NAME ADDRESS OPTIONS: the kernel's client.
bench_mount() {
	mkdir -p "/mnt/$1"
	timeout 100 mount.nfs "$2:/export" "/mnt/$1" -o "vers=3,nolock,mountport=20048,mountproto=tcp,$3" ||
		guest_die "cannot mount over $1"
}

# bench_where CASE: how the bench gets there.
bench_where() {
	local own=mountport=20048,noresvport
	case $1 in
	bench-rxe) echo "--target 10.91.0.1:/export -o fabric=verbs,$own" ;;
	bench-siw) echo "--target 10.92.0.1:/export -o fabric=verbs,$own" ;;
	bench-iwarp) echo "--target 10.92.0.1:/export -o fabric=iwarp,$own" ;;
	kernel-*) echo "--client posix:/mnt/${1#kernel-} -I" ;;
	esac
}

# Ticks of all but idling and waiting.
bench_busy() {
	local user nice system idle wait irq soft
	read -r _ user nice system idle wait irq soft _ </proc/stat
	echo $((user + nice + system + irq + soft))
}

# bench_rounds ROUNDS SECONDS SIZE RECORD DEPTH CASE...: the first fifth of a second of each test is not counted: a
# process pays 50 us there for each page it looks at first, and a transport has some hundred buffers.
bench_rounds() {
	local rounds=$1 seconds=$2 size=$3 record=$4 depth=$5 round c out before
	shift 5
	for round in $(seq "$rounds"); do
		for c; do
			out=$bench_out/$c.$record.$depth.$round
			before=$(bench_busy)
			# shellcheck disable=SC2046
			timeout 100 /build/nfsrdma-bench $(bench_where "$c") -i0 -i1 -+n "-s$size" "-r$record" --depth "$depth" \
				--warmup 0.2 --duration "$seconds" --json "$out.json" >"$out.out" 2>"$out.err"
			echo $? >"$out.status"
			echo $(($(bench_busy) - before)) >"$out.ticks"
		done
	done
}

# What nfsd says it has read and written, in bytes.
bench_served() {
	sed -n 's/^io //p' /proc/net/rpc/nfsd
}

# bench_calls RECORD DEPTH CASE...: system calls of 64 and of 320 records, so that mounting and opening are not in the
# difference; and the bytes of the 320 as the bench and as the server count them.
bench_calls() {
	local record=$1 depth=$2 c n out
	shift 2
	for c; do
		for n in 64 320; do
			out=$bench_out/$c.$record.$depth.calls$n
			bench_served >"$out.served"
			# shellcheck disable=SC2046
			timeout 200 strace -f -qq -c -U calls,name -o "$out" /build/nfsrdma-bench $(bench_where "$c") -i0 -i1 -+n \
				"-s$((n * ${record%k}))k" "-r$record" --depth "$depth" --json "$out.json" >/dev/null 2>&1
			bench_served >>"$out.served"
		done
	done
}

# bench_price: what a system call costs here, in nanoseconds: dd makes two per block of one byte.  The least of five,
# as others at work only add.
bench_price() {
	local count=${1:-20000} i start
	for i in 1 2 3 4 5; do
		start=$(date +%s%N)
		dd if=/dev/zero of=/dev/null bs=1 count="$count" 2>/dev/null
		echo $((($(date +%s%N) - start) / count / 2))
	done | sort -n | head -n 1 >$bench_out/price_ns
}
