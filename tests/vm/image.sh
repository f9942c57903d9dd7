#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# image.sh - print the path of the guest's root folder, making it first if the cache has none.  Status 77 as in
# kernel.sh.
#
# The guest's user land is the dependency closure of a few Debian packages, downloaded and unpacked
# into a folder, never installed: no service starts on the host, no script of a package runs.  The
# guest mounts that folder as its root, read-only, through UML's host file system.
set -euo pipefail
. "$(dirname "$0")/common.sh"

# What the guest runs, and the libraries our own programs are linked with.
packages=(libc6 libc-bin libgcc-s1 bash coreutils grep sed gawk procps util-linux mount busybox-static iproute2
	netbase iputils-ping strace fio tar diffutils nfs-kernel-server nfs-common rpcbind ibverbs-providers ibverbs-utils
	rdmacm-utils libtirpc3 liburing2 libisal2 libjansson4 libnuma1 libfuse3-3)

# The key: which packages in which version, and how they are put together.
policy=$(apt-cache policy "${packages[@]}" 2>/dev/null | grep -E '^[^ ]|Candidate' || true)
if ! grep -q '^nfs-kernel-server:' <<<"$policy" && vm_need_candidate nfs-kernel-server >/dev/null; then
	policy=$(apt-cache policy "${packages[@]}" 2>/dev/null | grep -E '^[^ ]|Candidate' || true)
fi
entry=$VM_CACHE/image-$({ echo "$policy"; cat "$VM_DIR/image.sh" "$VM_DIR/guest/first"; } | vm_hash)
if ! grep -q '^nfs-kernel-server:' <<<"$policy"; then # no package lists (offline): any image will do
	entry=$(ls -dt "$VM_CACHE"/image-* 2>/dev/null | grep -v lock | head -1)
	[ -n "$entry" ] || vm_lacks "apt knows no nfs-kernel-server and the cache has no guest image"
fi
if [ -d "$entry" ]; then
	echo "$entry"
	exit 0
fi

vm_lock image
[ ! -d "$entry" ] || { echo "$entry"; exit 0; } # another run has just made it
work=$VM_CACHE/work-image
rm -rf "$work"
mkdir -p "$work/archives/partial" "$work/state" "$work/root"
trap 'rm -rf "$work"' EXIT
started=$SECONDS

vm_say "fetching the guest's packages"
: >"$work/state/status" # as if on an empty system
apt-get -y -qq --no-install-recommends --download-only \
	-o Dir::State::status="$work/state/status" -o Dir::Cache::archives="$work/archives" \
	-o APT::Sandbox::User=root -o Debug::NoLocking=1 install "${packages[@]}" >/dev/null || vm_lacks "the guest's packages cannot be fetched"

# Merged /usr, as an installed system has it.
root=$work/root
mkdir -p "$root"/usr/{bin,sbin,lib,lib64}
for d in bin sbin lib lib64; do ln -s "usr/$d" "$root/$d"; done
for deb in "$work"/archives/*.deb; do
	dpkg-deb --fsys-tarfile "$deb" | tar -C "$root" -xf - --keep-directory-symlink \
		--exclude='./usr/share/doc*' --exclude='./usr/share/man*' --exclude='./usr/share/locale*' \
		--exclude='./usr/lib/*/perl*' --exclude='./usr/share/perl*'
done

# Mount points and the little that installation scripts would have written.
mkdir -p "$root"/{ctl,src,build,host,export,mnt,proc,sys,dev,run,tmp,root,etc,var/lib/nfs}
cat >"$root/etc/passwd" <<-'EOF'
	root:x:0:0:root:/root:/bin/bash
	_rpc:x:110:65534::/run/rpcbind:/usr/sbin/nologin
	statd:x:111:65534::/var/lib/nfs:/usr/sbin/nologin
	nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
EOF
printf 'root:x:0:\nnogroup:x:65534:\n' >"$root/etc/group"
printf '127.0.0.1 localhost guest\n' >"$root/etc/hosts"
printf 'hosts: files\npasswd: files\ngroup: files\n' >"$root/etc/nsswitch.conf"
: >"$root/etc/exports"
ln -sf /proc/self/mounts "$root/etc/mtab"
ln -sf bash "$root/usr/bin/sh"
cp "$VM_DIR/guest/first" "$root/first"
chmod 755 "$root/first"
mkdir -p "$VM_CACHE"
mv "$root" "$entry"
vm_say "guest image made in $((SECONDS - started)) s: $entry ($(du -sm "$entry" | cut -f1) MB)"
echo "$entry"
