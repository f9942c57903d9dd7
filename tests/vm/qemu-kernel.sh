#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# qemu-kernel.sh - print the folder of the kernel that QEMU's guests boot (vmlinuz, initrd), making it first if the
# cache has none.  Status 77 as in kernel.sh.
#
# User Mode Linux has neither PCI nor an IOMMU, so what is about those runs Debian's own kernel in QEMU (TCG: no
# KVM is needed).  The package is downloaded and unpacked, never installed.  The initrd holds busybox, the modules
# that scenarios may want, and qemu-init, which mounts the same root folder that the UML guests have, over 9p.
# One module Debian does not build, siw, so it is made here from the source of the same version, out of tree.
set -euo pipefail
. "$(dirname "$0")/common.sh"

modules="virtio_pci virtio_net virtio_rng 9p 9pnet_virtio vfio-pci vfio_iommu_type1 ib_uverbs rdma_ucm rdma_rxe
	e1000e crc32_generic rpcrdma nfs nfsv3 nfsd crc32c_generic siw"

need=$(vm_need_candidate linux-image-amd64)
package=$(apt-cache depends linux-image-amd64 2>/dev/null | sed -n 's/.*Depends: \(linux-image-[^ ]*\)$/\1/p' | head -1)
if [ -z "$need" ] || [ -z "$package" ]; then # no package lists (offline): any one made by this script will do
	entry=$(ls -dt "$VM_CACHE"/qemu-* 2>/dev/null | grep -v lock | head -1)
	[ -n "$entry" ] || vm_lacks "apt knows no linux-image-amd64 and the cache has no kernel for QEMU"
	echo "$entry"
	exit 0
fi
entry=$VM_CACHE/qemu-$package-$(cat "$VM_DIR/qemu-kernel.sh" "$VM_DIR/guest/qemu-init" | vm_hash)
vm_apt_install qemu-system-x86 busybox-static cpio kmod gcc-12 make xz-utils
if [ -d "$entry" ]; then
	echo "$entry"
	exit 0
fi

vm_lock qemu
[ ! -d "$entry" ] || { echo "$entry"; exit 0; } # another run has just made it
work=$VM_CACHE/work-qemu
rm -rf "$work"
mkdir -p "$work/deb" "$work/ird" "$work/out"
trap 'rm -rf "$work"' EXIT
started=$SECONDS

vm_say "fetching $package"
(cd "$work" && apt-get download -qq -o APT::Sandbox::User=root "$package" >&2) ||
	vm_lacks "$package cannot be fetched"
dpkg -x "$work/$package"_*.deb "$work/deb"
release=$(ls "$work/deb/lib/modules")
cp "$work/deb/boot/vmlinuz-$release" "$work/out/vmlinuz"
echo "$package" >"$work/out/package"

# siw: its source, and what modules of this kernel are built with
headers=linux-headers-$release
base=$(cut -d. -f1,2 <<<"$release")
version=$(dpkg-deb -f "$work/$package"_*.deb Version)
build=$work/deb/usr/src/$headers
(cd "$work" && apt-get download -qq -o APT::Sandbox::User=root "$headers" "${headers%-*}-common" "linux-kbuild-$base" >&2) ||
	vm_lacks "$headers cannot be fetched"
for deb in "$work"/linux-headers-*.deb "$work"/linux-kbuild-*.deb; do dpkg -x "$deb" "$work/deb"; done
echo "include $work/deb/usr/src/${headers%-*}-common/Makefile" >"$build/Makefile"
vm_kernel_source "linux-source-$base" "$version" "$work" "linux-source-$base/drivers/infiniband/sw/siw"
siw=$work/linux-source-$base/drivers/infiniband/sw/siw
make -s -C "$build" M="$siw" CONFIG_RDMA_SIW=m modules >"$work/siw.log" 2>&1 || {
	tail -20 "$work/siw.log" >&2
	vm_die "siw did not build"
}
mkdir "$work/deb/lib/modules/$release/extra"
strip --strip-debug -o "$work/deb/lib/modules/$release/extra/siw.ko" "$siw/siw.ko"

/sbin/depmod -b "$work/deb" "$release"
for m in $modules; do
	/sbin/modprobe -d "$work/deb" -S "$release" --show-depends "$m" 2>/dev/null | sed -n 's/^insmod \([^ ]*\).*/\1/p'
done | sort -u | while read -r file; do
	to=$work/ird/lib/modules/$release/${file#"$work/deb/lib/modules/$release/"}
	mkdir -p "$(dirname "$to")"
	cp "$file" "$to"
done
cp "$work/deb/lib/modules/$release"/modules.{order,builtin} "$work/ird/lib/modules/$release/"
/sbin/depmod -b "$work/ird" "$release"
vm_initrd "$work/ird" "$work/out/initrd"
mv "$work/out" "$entry"
vm_say "kernel for QEMU made in $((SECONDS - started)) s: $entry"
echo "$entry"
