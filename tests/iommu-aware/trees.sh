#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# trees.sh - builds the trees that stand in for / in the tests of iommu-aware/.
#
#   trees.sh SOURCE DEST    SOURCE is tests/data/sysfs, DEST is made anew
#
# Files are kept as files, symbolic links as lines of SOURCE/links: a link would not outlive a tarball, since
# "make dist" packs what a link leads to, and fails at those that lead nowhere.
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
