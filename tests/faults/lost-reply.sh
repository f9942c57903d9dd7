#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# lost-reply.sh - an operation that must not be done twice is done, its answer is lost and the link is cut: the right
# result comes, out of nfsrdmad's duplicate-request cache.  (Against nfsd: tests/vm.)
. "$(dirname "$0")/../lib.sh"
. "$SRC/tests/faults/lost.sh"

mkdir -m 777 "$T/export"
server_start --export "$T/export=/e" -v || { not_ok "the server starts"; finish; }

server_has() { # VERB A [B]
	case $1 in
	mkdir) [ -d "$T/export$2" ] ;;
	create) [ -f "$T/export$2" ] ;;
	symlink) [ -L "$T/export$3" ] ;;
	link) [ -f "$T/export$3" ] ;;
	rename) [ ! -e "$T/export$2" ] && [ -e "$T/export$3" ] ;;
	unlink | rmdir) [ ! -e "$T/export$2" ] ;;
	esac
}

for proto in "rdma proto=rdma,fabric=iwarp,port=" "tcp proto=tcp,port="; do
	name=${proto%% *}
	port=$RDMA_PORT
	[ $name = rdma ] || port=$TCP_PORT
	proxy_start "$port"
	: >"$T/nfsrdmad.err"
	ops_start 127.0.0.1:/e "${proto#* }$PROXY_PORT" || { not_ok "$name: mounts" "$(cat "$T/ops.out" "$T/ops.err")"; continue; }
	lost_replies "$name"
	check "$name: the file was made and written once" test "$(cat "$T/export/f")" = once
	ops_end
	hits=$(grep -c 'answered from the duplicate-request cache' "$T/nfsrdmad.err")
	check "$name: seven replies came out of the server's duplicate-request cache" test "$hits" = 7
	proxy_stop
	rm -rf "$T/export"/*
done
check "the server stops cleanly" server_stop
finish
