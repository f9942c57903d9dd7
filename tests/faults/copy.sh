#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# copy.sh - a copy goes on through cut links, killed servers, corrupted bytes and silence; and ends in time and in
# words when it was told not to wait.
. "$(dirname "$0")/../lib.sh"

mkdir -m 777 "$T/export"
random_file "$T/f" $((64 << 20))
server_start --export "$T/export=/e" || { not_ok "the server starts"; finish; }
fixed=(--port "$RDMA_PORT" --tcp-port "$TCP_PORT" --export "$T/export=/e")

opts() { # proto port
	[ "$1" = tcp ] && echo "proto=tcp,port=$2" || echo "proto=rdma,fabric=iwarp,port=$2"
}
port_of() { [ "$1" = tcp ] && echo "$TCP_PORT" || echo "$RDMA_PORT"; }

# both OPTIONS CLAIM: there and back, compared
both() {
	local out
	if ! out=$(timeout 120 "$NFSRDMA" -q -o "$1" cp "$T/f" 127.0.0.1:/e/f 2>&1 &&
		timeout 120 "$NFSRDMA" -q -o "$1" cp 127.0.0.1:/e/f "$T/back" 2>&1); then
		not_ok "$2" "$out"
	elif cmp "$T/f" "$T/export/f" >"$T/cmp" 2>&1 && cmp "$T/f" "$T/back" >>"$T/cmp" 2>&1; then
		ok "$2"
	else
		not_ok "$2" "$(cat "$T/cmp")"
	fi
	rm -f "$T/back" "$T/export/f"
}

for proto in rdma tcp; do
	proxy_start "$(port_of $proto)" --cut-after $((16 << 20)) --times 6
	both "$(opts $proto "$PROXY_PORT")" "$proto: a copy goes on when the link is cut after each 16 MiB"
	proxy_stop
	proxy_start "$(port_of $proto)" --cut-after $((10 << 20)) --times 4 --rst
	both "$(opts $proto "$PROXY_PORT")" "$proto: a copy goes on when the link is reset"
	proxy_stop
	proxy_start "$(port_of $proto)" --slice 1 --cut-after 4000 --times 2
	check "$proto: one byte at a time, cut twice: a directory is still listed" \
		timeout 60 "$NFSRDMA" -o "$(opts $proto "$PROXY_PORT")" ls 127.0.0.1:/e
	proxy_stop

	# At every place of a short conversation: mount, look up, create, write, commit.
	bad=
	for at in $(seq 1 97 2200); do
		proxy_start "$(port_of $proto)" --cut-after "$at"
		echo "hello $at" | timeout 60 "$NFSRDMA" -q -o "$(opts $proto "$PROXY_PORT"),retry=1" write 127.0.0.1:/e/small >"$T/out" 2>&1 &&
			[ "$(cat "$T/export/small")" = "hello $at" ] || bad="$bad $at: $(cat "$T/out")"
		proxy_stop
		rm -f "$T/export/small"
	done
	[ -z "$bad" ] && ok "$proto: a small file is written whole wherever the link is cut" ||
		not_ok "$proto: a small file is written whole wherever the link is cut" "$bad"
done

proxy_start "$RDMA_PORT" --corrupt-at $((5 << 20)) --times 3
both "$(opts rdma "$PROXY_PORT"),crc=on" "rdma: a corrupted byte is caught by the CRC and the copy goes on"
proxy_stop

for sig in KILL TERM; do
	for proto in rdma tcp; do
		proxy_start "$(port_of $proto)" --delay-us 2000 # slow enough to be in the middle
		timeout 120 "$NFSRDMA" -q -o "$(opts $proto "$PROXY_PORT")" cp "$T/f" 127.0.0.1:/e/f >"$T/out" 2>&1 &
		copy=$!
		until_in_the_middle "$T/export"
		kill -$sig "$SERVER_PID" && wait "$SERVER_PID" 2>/dev/null
		sleep 0.3
		server_start "${fixed[@]}" || { not_ok "the server starts again on the same ports"; break; }
		if wait $copy && cmp "$T/f" "$T/export/f" >>"$T/out" 2>&1; then
			ok "$proto: the server is ended by SIG$sig and started again in a copy: it completes and compares"
		else
			not_ok "$proto: the server is ended by SIG$sig and started again in a copy: it completes and compares" "$(cat "$T/out")"
		fi
		rm -f "$T/export/f"
		proxy_stop
	done
done

for proto in rdma tcp; do
	proxy_start "$(port_of $proto)" --delay-us 2000
	timeout 60 "$NFSRDMA" -q -o "$(opts $proto "$PROXY_PORT"),soft,timeo=10,retrans=1" cp "$T/f" 127.0.0.1:/e/f >"$T/out" 2>&1 &
	copy=$!
	until_in_the_middle "$T/export"
	proxy_say stall
	start=$SECONDS
	wait $copy
	status=$?
	took=$((SECONDS - start))
	check "$proto: it says that the temporary file may be left" grep -q '127.0.0.1:/e/.nfsrdma-.*part may be left' "$T/out"
	[ $status = 1 ] && [ $took -lt 30 ] && ok "$proto: soft gives up on a silent server" ||
		not_ok "$proto: soft gives up on a silent server" "status $status after $took s" "$(cat "$T/out")"
	[ "$(wc -l <"$T/out")" = 1 ] && grep -q "^nfsrdma: cp: .*: .*" "$T/out" && ok "$proto: in one line that says so" ||
		not_ok "$proto: in one line that says so" "$(cat "$T/out")"
	[ ! -e "$T/export/f" ] &&
		ok "$proto: nothing half-written looks complete" || not_ok "$proto: nothing half-written looks complete"
	proxy_stop
	rm -f "$T"/export/* "$T"/export/.nfsrdma*
done
check "the server stops cleanly" server_stop
finish
