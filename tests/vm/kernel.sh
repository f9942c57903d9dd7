#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# kernel.sh - print the path of the guest kernel, building it first if the cache has none.  Status 77: a package it
# is made from cannot be had, and the reason is printed instead.
#
# The kernel is User Mode Linux from Debian's linux-source-6.1 with nfsd, svcrdma, the NFS/RDMA
# client, siw and rxe built in (uml.config).  It runs as an ordinary process at native speed and
# boots in about a second; building takes about four minutes on two free cores and 2 GB of disk,
# most of which is given back at the end.
#
#     NFSRDMA_VM_CACHE   where it is kept (default ~/.cache/nfsrdma-vm)
#     NFSRDMA_VM_JOBS    make -j (default: all processors)
set -euo pipefail
. "$(dirname "$0")/common.sh"

source_package=linux-source-6.1

version=$(vm_need_candidate "$source_package")
key=$(grep -E '^(CONFIG_|# CONFIG_)' "$VM_DIR/uml.config" | vm_hash)
if [ -z "$version" ]; then
	# No package lists (offline): any version built from this configuration will do.
	newest=$(ls -dt "$VM_CACHE"/kernel-*-"$key"/linux 2>/dev/null | head -1)
	[ -n "$newest" ] || vm_lacks "apt knows no $source_package and the cache has no kernel"
	echo "$newest"
	exit 0
fi
entry=$VM_CACHE/kernel-$version-$key
if [ -x "$entry/linux" ]; then
	echo "$entry/linux"
	exit 0
fi

vm_lock kernel
if [ -x "$entry/linux" ]; then # another run has just made it
	echo "$entry/linux"
	exit 0
fi
vm_apt_install gcc make flex bison bc xz-utils libelf-dev libc6-dev
work=$VM_CACHE/work-kernel
rm -rf "$work"
mkdir -p "$work/build"
trap 'rm -rf "$work"' EXIT
started=$SECONDS

vm_kernel_source "$source_package" "$version" "$work"

kmake() { make -s ARCH=um -C "$work/$source_package" O="$work/build" "$@"; }
kmake x86_64_defconfig >&2
# Of two lines for one symbol the later counts.
cat "$VM_DIR/uml.config" >> "$work/build/.config"
kmake olddefconfig >"$work/config.log" 2>&1 || { tail -20 "$work/config.log" >&2; exit 1; }
vm_kernel_kept "$VM_DIR/uml.config" "$work/build/.config"

vm_say "building the guest kernel with make -j$VM_JOBS (minutes)"
kmake -j"$VM_JOBS" linux >"$VM_CACHE/kernel-build.log" 2>&1 || {
	tail -30 "$VM_CACHE/kernel-build.log" >&2
	vm_die "the kernel did not build: see $VM_CACHE/kernel-build.log"
}
mkdir -p "$entry.new"
strip -o "$entry.new/linux" "$work/build/linux"
cp "$work/build/.config" "$entry.new/config"
echo "$version" > "$entry.new/version"
rm -rf "$entry"
mv "$entry.new" "$entry"
vm_say "guest kernel built in $((SECONDS - started)) s: $entry/linux"
echo "$entry/linux"
