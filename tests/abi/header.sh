#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# header.sh - the public face: nfsrdma.h alone compiles, declares what the library exports, and the
# README's program builds against it.  TAP on stdout.
set -u
src=$(cd "$(dirname "$0")/../.." && pwd)
build=${BUILD:-$src/build}
work=$(mktemp -d "${TMPDIR:-/tmp}/nfsrdma-abi.XXXXXX")
trap 'rm -rf "$work"' EXIT
n=0 bad=0

ok() { # claim, then a command that must succeed
	local claim=$1
	shift
	n=$((n + 1))
	if "$@" >"$work/out" 2>&1; then
		echo "ok $n - $claim"
	else
		echo "not ok $n - $claim"
		sed 's/^/# /' "$work/out"
		bad=1
	fi
}

# Away from the tree, so that nothing but the header itself is found.
mkdir "$work/include" "$work/empty"
cp "$src/client/nfsrdma.h" "$work/include"
echo '#include <nfsrdma.h>' >"$work/c.c"
printf '#include <nfsrdma.h>\nint main(void)\n{\n\tstruct nfsrdma_options o = NFSRDMA_OPTIONS_INIT;\n\treturn o.size == 0;\n}\n' \
	>"$work/use.c"
cp "$work/c.c" "$work/c.cc"
cp "$work/use.c" "$work/use.cc"
strict="-Wall -Wextra -Wpedantic -Wundef -Wstrict-prototypes -Werror -fsyntax-only -I$work/include"
strict_cxx="-Wall -Wextra -Wpedantic -Wundef -Werror -fsyntax-only -I$work/include"

ok "the header alone compiles as strict C11" gcc -std=c11 $strict "$work/c.c"
ok "options are initialised in C11" gcc -std=c11 $strict "$work/use.c"
ok "the header alone compiles as GNU C11" gcc -std=gnu11 $strict "$work/c.c"
ok "the header alone compiles as C++11" g++ -std=c++11 $strict_cxx "$work/c.cc"
ok "options are initialised in C++11" g++ -std=c++11 $strict_cxx "$work/use.cc"

# What is declared, in the compiler's own words; what the map lists; what the library exports.
gcc -std=c11 -D_GNU_SOURCE -I"$work/include" -aux-info "$work/proto" -fsyntax-only "$work/c.c"
sed -n '/nfsrdma\.h/s/^[^(]*[ *]\(nfsrdma_[a-z0-9_]*\) (.*/\1/p' "$work/proto" | sort -u >"$work/declared"
sed -n 's/^\t*\(nfsrdma_[a-z0-9_]*\);$/\1/p' "$src/client/libnfsrdma.map" | sort >"$work/mapped"
nm -D --defined-only "$build/client/.libs/libnfsrdma.so" | awk '$2 != "A" { print $3 }' |
	sed 's/@@*NFSRDMA_.*//' | sort >"$work/exported"

ok "functions were found in the header" test "$(wc -l <"$work/declared")" -gt 50
ok "the map lists what the header declares" diff "$work/declared" "$work/mapped"
ok "the library exports what the map lists, and nothing else" diff "$work/mapped" "$work/exported"
ok "the map has no duplicates" sh -c "test -z \"\$(uniq -d '$work/mapped')\""

version=$(sed -n 's/^#define NFSRDMA_VERSION "\(.*\)"$/\1/p' "$src/client/nfsrdma.h")
ok "the header's version is the package's" grep -q "AC_INIT(\[nfsrdma\], \[$version\]" "$src/configure.ac"

# The example, against the library as it was built; sanitized libraries want their runtime.
san=$(sed -n 's/^SAN_CFLAGS = //p' "$build/Makefile")
ok "the README's program builds against the header and the library" \
	gcc -std=c11 -Wall -Wextra -Werror $san -I"$work/include" "$src/examples/read.c" \
	-o "$work/read" "$build/client/.libs/libnfsrdma.so" -Wl,-rpath,"$build/client/.libs"
ok "it fails with words, not with a crash, where there is no server" \
	sh -c "'$work/read' nfs://127.0.0.1:1/export?tcp /file 2>'$work/err'; test \$? = 1 && grep -q refused '$work/err'"

echo "1..$n"
exit $bad
