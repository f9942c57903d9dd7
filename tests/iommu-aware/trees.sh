#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# trees.sh - builds the trees that stand in for / in the tests of iommu-aware/.
#
#   trees.sh SOURCE DEST    SOURCE is tests/data/sysfs, DEST is made anew
#
# A folder of SOURCE is a tree of files; its symbolic links are lines of SOURCE/links: a link would not outlive a
# tarball, since "make dist" packs what a link leads to, and fails at those that lead nowhere.
# A file NAME.tree of SOURCE is a whole tree, one line each:
#     /path = text                  a file of one line; \n, \t and \ooo in the text
#     /path *COUNT = text           the same text COUNT times, without a newline
#     /path -> target               a symbolic link
#     /path !                       make that path unreadable
#     device PCI ...                see below: what every PCI device has
# "device 0000:03:00.0 class=net/eth0 group=1 node=0 driver=mlx5_core unit=dmar0" makes the device's folder below
# /sys/devices/pci, its class link, iommu_group, iommu and driver links and numa_node; each word may be left out.
set -eu
source=$1 dest=$2
rm -rf "$dest"
mkdir -p "$dest"
# a release's source may be read-only: what is built from it must be removable
cp -R --no-preserve=mode "$source/." "$dest"
while read -r link target; do
	case $link in '#'* | '') continue ;; esac
	mkdir -p "$dest/${link%/*}"
	ln -s "$target" "$dest/$link"
done <"$source/links"

# Lines of a .tree file to lines "kind path rest".
expand() {
	awk '
	function up(path,  n, i, s) { n = gsub("/", "/", path); for (i = 1; i < n; i++) s = s "../"; return s }
	function link(path, to) { print "link", path, up(path) substr(to, 2) }
	/^#/ || NF == 0 { next }
	$1 == "device" {
		dev = "/sys/devices/pci/" $2
		print "file", dev "/vendor", "= 0x15b3"
		for (i = 3; i <= NF; i++) {
			eq = index($i, "="); key = substr($i, 1, eq - 1); value = substr($i, eq + 1)
			if (key == "class") link("/sys/class/" value "/device", dev)
			else if (key == "group") link(dev "/iommu_group", "/sys/kernel/iommu_groups/" value)
			else if (key == "unit") link(dev "/iommu", "/sys/class/iommu/" value)
			else if (key == "driver") link(dev "/driver", "/sys/bus/pci/drivers/" value)
			else if (key == "node") print "file", dev "/numa_node", "= " value
		}
		next
	}
	$2 == "->" { print "link", $1, $3; next }
	$2 == "!" { print "hide", $1; next }
	{ path = $1; sub(/^[^ ]+ /, ""); print "file", path, $0 }' "$1"
}

for tree in "$source"/*.tree; do
	root=$dest/$(basename "$tree" .tree)
	rm -f "$dest/$(basename "$tree")"
	mkdir -p "$root"
	expand "$tree" >"$root.lines"
	sed -n "s|^[a-z]* \(/[^ ]*\)/[^ /]*.*|$root\1|p" "$root.lines" | sort -u | xargs -d '\n' mkdir -p
	awk -v root="$root" '
	$1 == "file" {
		path = root $2; count = 0
		if (sub(/^file [^ ]+ \*/, "")) { count = $1; sub(/^[0-9]+ = ?/, "") }
		else sub(/^file [^ ]+ = ?/, "")
		gsub(/\\n/, "\n"); gsub(/\\t/, "\t"); gsub(/\\033/, "\033"); gsub(/\\377/, "\377")
		if (count) { for (i = 0; i < count; i++) printf "%s", $0 >path } else print >path
		close(path)
	}' "$root.lines"
	while read -r kind path rest; do
		case $kind in
		link) ln -s "$rest" "$root$path" ;;
		hide) chmod 0 "$root$path" ;;
		esac
	done <"$root.lines"
	rm -f "$root.lines"
done
