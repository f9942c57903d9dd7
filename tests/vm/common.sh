# SPDX-License-Identifier: BSD-2-Clause
# common.sh - what the scripts of tests/vm share: the cache folder, words on stderr, apt.
#
# The cache holds what takes minutes to make, outside the clone, each entry keyed by what it was
# made from, so that a changed configuration or a newer package makes a new entry and never reuses
# a stale one:
#     kernel-VERSION-HASH/linux       the User Mode Linux kernel
#     image-HASH/root.cpio            the guest's user land
# An entry is built under a temporary name and renamed when it is whole.

VM_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
VM_CACHE=${NFSRDMA_VM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/nfsrdma-vm}
VM_JOBS=${NFSRDMA_VM_JOBS:-$(nproc)}

vm_say() { echo "# $*" >&2; }

vm_die() {
	echo "tests/vm: $*" >&2
	exit 1
}

# Something this machine cannot give: the caller skips, with this reason.
vm_lacks() {
	echo "$*"
	exit 77
}

# First 12 hex digits of the SHA-256 of standard input.
vm_hash() { sha256sum | cut -c1-12; }

# vm_candidate PACKAGE: the version apt would fetch, empty if it knows none.
vm_candidate() {
	apt-cache policy "$1" 2>/dev/null | sed -n 's/^  Candidate: //p' | grep -v '^(none)$' || true
}

# vm_need_candidate PACKAGE: the same, refreshing apt's lists once when it knows none.
vm_need_candidate() {
	local version

	version=$(vm_candidate "$1")
	if [ -z "$version" ]; then
		vm_say "apt-get update (apt does not know $1)"
		apt-get update -qq >&2 || true
		version=$(vm_candidate "$1")
	fi
	echo "$version"
}

# vm_apt_install PACKAGE...: on the host, only those that are missing.
vm_apt_install() {
	local missing=() package

	for package; do
		dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q ' installed$' ||
			missing+=("$package")
	done
	[ ${#missing[@]} -eq 0 ] && return 0
	[ "$(id -u)" = 0 ] || vm_lacks "packages are missing: apt-get install ${missing[*]}"
	vm_say "apt-get install ${missing[*]}"
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
		-o DPkg::Lock::Timeout=300 "${missing[@]}" >&2 ||
		vm_lacks "packages are missing and cannot be fetched: ${missing[*]}"
}

# vm_lock NAME: one builder at a time; released when the script ends.
vm_lock() {
	mkdir -p "$VM_CACHE"
	exec 8>"$VM_CACHE/$1.lock"
	flock 8
}

# vm_kernel_source PACKAGE VERSION DIR: its tree in DIR/PACKAGE.
vm_kernel_source() {
	vm_say "fetching $1 $2"
	(mkdir -p "$3/source" && cd "$3/source" && apt-get download -qq -o APT::Sandbox::User=root "$1=$2" >&2) ||
		vm_lacks "$1 $2 cannot be fetched"
	dpkg -x "$3/source/$1"_*.deb "$3/source"
	tar -C "$3" -xJf "$3/source/usr/src/$1.tar.xz" "${@:4}"
	rm -rf "$3/source"
}

# vm_kernel_kept FRAGMENT CONFIG: every line of it holds, or the end.
vm_kernel_kept() {
	local line symbol lost=

	while IFS= read -r line; do
		symbol=$(grep -oE 'CONFIG_[A-Za-z0-9_]+' <<<"$line" | head -1)
		case $line in
		*' is not set') ! grep -q "^$symbol=" "$2" ;;
		*) grep -qxF "$line" "$2" ;;
		esac || lost+=" $line;"
	done < <(grep -E '^(CONFIG_|# CONFIG_)' "$1")
	[ -z "$lost" ] || vm_die "the kernel's configuration did not keep:$lost"
}

# vm_initrd DIR FILE: an initrd of DIR, where modules may lie already, with busybox and qemu-init added.
vm_initrd() {
	mkdir -p "$1"/{bin,dev,proc,sys,tmp,root}
	cp "$(command -v busybox)" "$1/bin/busybox"
	cp "$VM_DIR/guest/qemu-init" "$1/init"
	chmod 755 "$1/init"
	(cd "$1" && find . -print0 | cpio --null -o -H newc --quiet) >"$2"
}
