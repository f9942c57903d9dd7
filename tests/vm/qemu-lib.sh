# SPDX-License-Identifier: BSD-2-Clause
#
# qemu-lib.sh - QEMU's guests, for scenarios about PCI, NUMA and the IOMMU; read it after lib.sh.
#
#   $VM_QEMU                        from run.sh: vmlinuz and initrd
#   qemu_run NAME SECONDS [OPTION...] <<JOB    boot a guest that runs JOB (bash), wait for it, show its output; its
#                                   status.  Options:
#       iommu=off|pt|lazy|strict    the kernel's words for it; without, there is no IOMMU at all
#       caching                     the emulated IOMMU is in caching mode
#       modules=a,b                 loaded before the job
#       append=WORDS  mem=MB  cpus=N
#       anything that begins with - and the words behind it: QEMU's own options, last
#   qemu_boot NAME ..., vm_wait NAME SECONDS    the same in two steps, for guests side by side
#
# The control folder $T/NAME is /ctl in the guest, the build tree /build, the image's root /.  Emulation is ten
# times slower than the machine: counts are results, times are not.

qemu_boot() {
	local name=$1 ctl=$T/$1 mem=1024 cpus=2 machine=q35 device= append= words=
	shift
	while [ $# -gt 0 ]; do
		case $1 in
		iommu=*)
			machine=q35,kernel-irqchip=off
			device=${device:-"-device intel-iommu,intremap=on,aw-bits=48"}
			case ${1#iommu=} in
			off) words="intel_iommu=off" ;;
			pt) words="intel_iommu=on iommu=pt" ;;
			lazy) words="intel_iommu=on iommu.passthrough=0 iommu.strict=0" ;;
			strict) words="intel_iommu=on iommu.passthrough=0 iommu.strict=1" ;;
			esac
			;;
		caching) device="-device intel-iommu,intremap=on,aw-bits=48,caching-mode=on" ;;
		modules=*) append+=" vm.modules=${1#modules=}" ;;
		append=*) append+=" ${1#append=}" ;;
		mem=*) mem=${1#mem=} ;;
		cpus=*) cpus=${1#cpus=} ;;
		-*) break ;;
		esac
		shift
	done
	rm -rf "${ctl:?}"
	mkdir -p "$ctl"
	{ echo 'export PATH=/build/.libs:/build:$PATH LD_LIBRARY_PATH=/build/client/.libs LC_ALL=C XDG_RUNTIME_DIR=/run'; cat; } >"$ctl/job"
	: >"$ctl/out"
	# no path of the user's goes into QEMU's comma lists
	mkdir -p "$T/qemu.$name"
	ln -sfn "$VM_IMAGE" "$T/qemu.$name/image"
	ln -sfn "$BUILD" "$T/qemu.$name/build"
	ln -sfn "$SRC" "$T/qemu.$name/src"
	local share s
	share=()
	for s in image build src; do
		share+=(-fsdev "local,id=$s,path=$T/qemu.$name/$s/,security_model=none,multidevs=remap,readonly=on"
			-device "virtio-9p-pci,fsdev=$s,mount_tag=$s")
	done
	# shellcheck disable=SC2086
	qemu-system-x86_64 -name "$name" -machine $machine -accel tcg,thread=multi,tb-size=256 -cpu max,la57=off,pku=off \
		-smp "$cpus" -m "$mem" -nodefaults -no-user-config -display none -no-reboot -nic none \
		-serial "file:$ctl/console" -kernel "$VM_QEMU/vmlinuz" -initrd "$VM_QEMU/initrd" \
		-append "console=ttyS0 panic=-1 quiet loglevel=4 mitigations=off nokaslr audit=0 net.ifnames=0 tsc=reliable no_timer_check nowatchdog cryptomgr.notests random.trust_cpu=on $words$append" \
		$device -device virtio-rng-pci \
		-fsdev "local,id=ctl,path=$ctl,security_model=none,multidevs=remap" -device virtio-9p-pci,fsdev=ctl,mount_tag=ctl \
		"${share[@]}" "$@" </dev/null >"$ctl/qemu" 2>&1 &
	VM_PIDS[$name]=$!
}

qemu_run() {
	local name=$1 seconds=$2 status
	shift 2
	qemu_boot "$name" "$@"
	vm_wait "$name" "$seconds"
	status=$?
	[ $status = 0 ] || sed 's/^/# qemu: /' "$T/$name/qemu"
	sed 's/^/# /' "$T/$name/out"
	return $status
}
