#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# libnfs-tools.sh - libnfs's own programs, which know nothing of us, against nfsrdmad over TCP.
. "$(dirname "$0")/../lib.sh"

if ! command -v nfs-ls nfs-cat nfs-cp >/dev/null; then
	skip "libnfs's tools work against nfsrdmad" "nfs-ls, nfs-cat, nfs-cp are missing (libnfs-utils)"
	finish
fi

export_dir=$T/export
mkdir -p "$export_dir/dir/sub"
chmod 777 "$export_dir" "$export_dir/dir"
random_file "$export_dir/file" 3000001
: >"$export_dir/empty"
ln -s file "$export_dir/link"
for i in $(seq 400); do : >"$export_dir/dir/entry-$i"; done

server_start --export "$export_dir=/export" --null || { not_ok "nfsrdmad starts"; finish; }
ports="nfsport=$TCP_PORT&mountport=$TCP_PORT"
url() { echo "nfs://127.0.0.1/export$1?$ports"; }
# -R and friends take the URL's path as the mount point: list folders one at a time
listed() { timeout 30 nfs-ls "$(url "$1")" | awk '{print $NF}' | sort; }
same() { cmp -s "$1" "$2" || { cmp "$1" "$2"; return 1; }; }

check "nfs-ls lists the export" test "$(listed /)" = "$(printf 'dir\nempty\nfile\nlink' | sort)"
check "nfs-ls lists 400 entries, each once" \
	test "$(listed /dir)" = "$( (seq -f 'entry-%.0f' 400; echo sub) | sort)"
timeout 30 nfs-cat "$(url /file)" >"$T/cat" 2>"$T/err"
check "nfs-cat reads a file to the byte" same "$T/cat" "$export_dir/file"
timeout 30 nfs-cat "$(url /empty)" >"$T/cat" 2>"$T/err"
check "nfs-cat reads an empty file" same "$T/cat" /dev/null
random_file "$T/big" 20000003
check "nfs-cp copies a file in" timeout 60 nfs-cp "$T/big" "$(url /copied)"
check "what nfs-cp wrote is what it read" same "$T/big" "$export_dir/copied"
check "nfs-cp copies a file out" timeout 60 nfs-cp "$(url /copied)" "$T/back"
check "what came out is what went in" same "$T/big" "$T/back"
check "nfs-cp copies from the server to itself" timeout 60 nfs-cp "$(url /copied)" "$(url /again)"
check "and that is the same file" same "$T/big" "$export_dir/again"
if [ "$(id -u)" = 0 ]; then
	check "what root made belongs to nobody" test "$(stat -c %u "$export_dir/copied")" = 65534
	chmod 600 "$export_dir/file"
	chown 12345 "$export_dir/file"
	check "squashed root cannot read what nobody may not" \
		eval '! timeout 30 nfs-cat "$(url /file)" >/dev/null 2>&1'
else
	check "what was made belongs to the server's user" test -O "$export_dir/copied"
fi
check "a file that is not there is told" eval '! timeout 30 nfs-cat "$(url /none)" >/dev/null 2>&1'
check "an export that is not there is told" \
	eval '! timeout 30 nfs-ls "nfs://127.0.0.1/other?$ports" >/dev/null 2>&1'
check "the null export takes a file" timeout 60 nfs-cp "$T/big" "nfs://127.0.0.1/null/x?$ports"
timeout 60 nfs-cat "nfs://127.0.0.1/null/x?$ports" >"$T/zeros" 2>"$T/err"
head -c 20000003 /dev/zero >"$T/expect"
check "and gives back as many zeros" same "$T/zeros" "$T/expect"

# Another start with the same state: the server is new, its handles are not (tests/server).
if server_stop; then ok "SIGTERM stops it with 0"; else not_ok "SIGTERM stops it with 0"; fi
finish
