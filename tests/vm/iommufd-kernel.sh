#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# iommufd-kernel.sh - print the folder of a kernel with iommufd (vmlinuz, initrd), making it first if the cache has
# none.  Status 77 as in kernel.sh.
#
# No kernel that Debian 12 packages sets CONFIG_IOMMUFD, but the source it packages has it: linux-source-6.12, built
# small (iommufd.config), everything built in.  That takes a quarter of an hour on two slow processors, so it is done
# only where NFSRDMA_VM_IOMMUFD says so.
set -euo pipefail
. "$(dirname "$0")/common.sh"

source_package=linux-source-6.12
version=$(vm_need_candidate "$source_package")
key=$({ grep -E '^CONFIG_' "$VM_DIR/iommufd.config"; cat "$VM_DIR/guest/qemu-init"; } | vm_hash)
if [ -z "$version" ]; then # no package lists (offline)
	newest=$(ls -dt "$VM_CACHE"/iommufd-*-"$key" 2>/dev/null | head -1)
	[ -n "$newest" ] || vm_lacks "apt knows no $source_package and the cache has no kernel with iommufd"
	echo "$newest"
	exit 0
fi
entry=$VM_CACHE/iommufd-$version-$key
vm_apt_install qemu-system-x86 busybox-static cpio
if [ -d "$entry" ]; then
	echo "$entry"
	exit 0
fi
[ "${NFSRDMA_VM_IOMMUFD:-0}" = 1 ] ||
	vm_lacks "the kernel with iommufd is not built (NFSRDMA_VM_IOMMUFD=1 builds it, a quarter of an hour)"

vm_lock iommufd
[ ! -d "$entry" ] || { echo "$entry"; exit 0; } # another run has just made it
vm_apt_install gcc make flex bison bc xz-utils libelf-dev libc6-dev
work=$VM_CACHE/work-iommufd
rm -rf "$work"
mkdir -p "$work/build" "$work/out"
trap 'rm -rf "$work"' EXIT
started=$SECONDS
vm_kernel_source "$source_package" "$version" "$work"

kmake() { make -s -C "$work/$source_package" O="$work/build" "$@"; }
kmake KCONFIG_ALLCONFIG="$VM_DIR/iommufd.config" allnoconfig >"$work/config.log" 2>&1 || { tail -20 "$work/config.log" >&2; exit 1; }
vm_kernel_kept "$VM_DIR/iommufd.config" "$work/build/.config"
vm_say "building the kernel with iommufd with make -j$VM_JOBS (minutes)"
kmake -j"$VM_JOBS" bzImage >"$VM_CACHE/iommufd-build.log" 2>&1 || {
	tail -30 "$VM_CACHE/iommufd-build.log" >&2
	vm_die "the kernel did not build: see $VM_CACHE/iommufd-build.log"
}
cp "$work/build/arch/x86/boot/bzImage" "$work/out/vmlinuz"
cp "$work/build/.config" "$work/out/config"
vm_initrd "$work/ird" "$work/out/initrd"
mv "$work/out" "$entry"
vm_say "kernel with iommufd built in $((SECONDS - started)) s: $entry"
echo "$entry"
