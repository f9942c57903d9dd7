#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# install.sh - what "make install" puts where, whether programs can be built on it, and that "make uninstall" takes
# it all away again.
. "$(dirname "$0")/../lib.sh"

D=$T/dest
prefix=$(sed -n 's/^prefix=//p' "$BUILD/client/nfsrdma.pc")
check "make install DESTDIR=... works" make -s -C "$BUILD" install DESTDIR="$D"
for f in bin/nfsrdma bin/nfsrdma-bench bin/nfsrdma-iommu sbin/nfsrdmad include/nfsrdma.h lib/libnfsrdma.so lib/pkgconfig/nfsrdma.pc \
	share/man/man1/nfsrdma.1 share/man/man1/nfsrdma-bench.1 share/man/man1/nfsrdma-iommu.1 share/man/man3/libnfsrdma.3 share/man/man8/nfsrdmad.8 \
	share/bash-completion/completions/nfsrdma-iommu share/nfsrdma/NOTES.md share/nfsrdma/other-iommu-figures.csv share/nfsrdma/cx3-mend-2021.csv; do
	check "it installs $f" test -s "$D$prefix/$f"
done
check "the model reads the figures that are installed" eval "'$D$prefix/bin/nfsrdma-iommu' model --figures '$D$prefix/share/nfsrdma/cx3-iozone-2021.csv' --json | cmp - <('$D$prefix/bin/nfsrdma-iommu' model --json)"
check "of headers, one" test "$(find "$D" -name '*.h' | wc -l)" = 1
check "nothing outside the prefix" test -z "$(find "$D" ! -type d ! -path "$D$prefix/*")"
check "no library for the linker but ours" test -z "$(find "$D" -name '*.so*' ! -name 'libnfsrdma.so*')"

pc() { PKG_CONFIG_LIBDIR=$D$prefix/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$D pkg-config "$@" nfsrdma; }
check "pkg-config knows the version" test "$(pc --modversion)" = "$("$D$prefix/bin/nfsrdma" --version 2>/dev/null | awk '{print $2}' | grep . || "$NFSRDMA" --version | awk '{print $2}')"
check "an application needs no library but ours" test "$(pc --libs | tr ' ' '\n' | grep '^-l')" = -lnfsrdma

build() { cc -std=c11 -Wall -Wextra -Werror -o "$T/$1" "$2" $(pc --cflags --libs); }
for source in "$SRC"/examples/*.c; do
	name=$(basename "$source" .c)
	check "examples/$name.c is built on what is installed" build "$name" "$source"
done
mkdir -m 777 "$T/export" "$T/export/dir"
random_file "$T/export/dir/file" 700001
server_start --export "$T/export=/export" || { not_ok "nfsrdmad starts"; finish; }
url="nfs://127.0.0.1:$RDMA_PORT/export?mountproto=rdma"
export LD_LIBRARY_PATH=$D$prefix/lib
check "examples/read.c reads a file" eval "timeout 20 '$T/read' '$url' /dir/file >'$T/got' && cmp '$T/got' '$T/export/dir/file'"
check "and says what it cannot read" eval "! timeout 20 '$T/read' '$url' /dir/none 2>'$T/err' && grep -q 'No such file' '$T/err'"

sed -n '/^```c$/,/^```$/p' "$SRC/README.md" | sed '/^```/d' >"$T/readme.c"
check "the README's program is built as it stands" build readme "$T/readme.c"
sed "s|nfs://server/export|$url|" "$T/readme.c" >"$T/readme2.c"
check "and reads from a server" eval "build readme2 '$T/readme2.c' && test \"\$(timeout 20 '$T/readme2')\" = '700001 bytes'"
check "the installed command works" eval "timeout 20 '$D$prefix/bin/nfsrdma' ls '$url' | grep -qx dir"
unset LD_LIBRARY_PATH
server_stop

check "make uninstall works" make -s -C "$BUILD" uninstall DESTDIR="$D"
check "and leaves nothing" test -z "$(find "$D" ! -type d)"
finish
