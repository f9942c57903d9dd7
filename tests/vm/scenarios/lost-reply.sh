# SPDX-License-Identifier: BSD-2-Clause
# lost-reply - an operation that must not be done twice is done, its answer is lost in the proxy and the link is cut: our
# client against nfsd, and the kernel's client against nfsrdmad.  Who answers the second time is seen in the
# servers' counts: nfsd's "rc" line, nfsrdmad's log.
# limit: 400
# peer: nfsd-iwarp | client, iwarp fabric | nfsd on siw, over a tap and the proxy
# peer: nfsd-tcp | client, proto=tcp | nfsd, over a tap and the proxy
# peer: nfsd-tcp-moved | the same, from another port each time: the cache does not know it | nfsd
# peer: nfsrdmad | nfsrdmad, iwarp fabric | kernel's client on siw, over a tap and the proxy
. "$(dirname "$0")/../lib.sh"
. "$SRC/tests/faults/lost.sh"

vm_tap
mkdir -m 777 "$T/export"
"$BUILD/nfsrdmad" --export "$T/export=/export" --no-root-squash --listen "$HOST" --port 20049 --tcp-port 2049 \
	--no-rpcbind --state "$T/state" -v >"$T/ready" 2>"$T/nfsrdmad.err" &
SERVER_PID=$!
LIB_PIDS+=("$SERVER_PID")
for i in $(seq 300); do [ -s "$T/ready" ] && break; sleep 0.1; done

vm_start server tap mem=1000 <<JOB || { not_ok "the kernel's server starts"; finish; }
guest_rdma siw vec0
mount -t tmpfs -o size=100m none /export
guest_nfsd 8
guest_serve
JOB

server_has() { # VERB A [B], in the guest's export
	local test
	case $1 in
	mkdir) test="-d /export$2" ;;
	create) test="-f /export$2" ;;
	symlink) test="-L /export$3" ;;
	link) test="-f /export$3" ;;
	rename) test="! -e /export$2 -a -e /export$3" ;;
	unlink | rmdir) test="! -e /export$2" ;;
	esac
	[ "$(vm_do server "[ $test ] && echo yes")" = yes ]
}
cache_hits() { vm_do server "sed -n 's/^rc \([0-9]*\) .*/\1/p' /proc/net/rpc/nfsd"; }

# against_nfsd NAME OPTIONS HITS PROXY-OPTION...: the cache answers HITS of the seven; the client finds out about the rest
against_nfsd() {
	local name=$1 options=$2 want=$3 before hits
	shift 3
	proxy_start "$GUEST:${options##*=}" --rst "$@"
	before=$(cache_hits)
	ops_start "127.0.0.1:/export" "${options%,*},port=$PROXY_PORT,mounthost=$GUEST,mountport=20048,noresvport" ||
		{ not_ok "$name: mounts" "$(cat "$T/ops.out" "$T/ops.err")"; return; }
	lost_replies "$name"
	check "$name: the file was made and written once" test "$(vm_do server 'cat /export/f')" = once
	ops_end
	hits=$(($(cache_hits) - before))
	echo "# $name: nfsd's duplicate-request cache answered $hits times"
	check "$name: $want of them by nfsd's duplicate-request cache" test "$hits" = "$want"
	proxy_stop
	vm_do server 'rm -rf /export/*'
}
# RDMA: nfsd leaves the client's port out of account.  TCP: it does not, and a client that keeps its port is known again.
against_nfsd nfsd-iwarp proto=rdma,fabric=iwarp,port=20049 7
against_nfsd nfsd-tcp proto=tcp,port=2049 7 --from-port 30111
against_nfsd nfsd-tcp-moved proto=tcp,port=2049 0

# The kernel's client: its operations go on in the background while the link is cut.
proxy_start "$HOST:20049" --listen "$HOST"
said=$(vm_do server "mkdir -p /mnt/x; timeout 50 mount.nfs $HOST:/export /mnt/x \
	-o vers=3,proto=rdma,port=$PROXY_PORT,mountproto=tcp,mountport=2049,nolock 2>&1 && echo mounted")
check "nfsrdmad: the kernel mounts it through the proxy" test "$said" = mounted
: >"$T/nfsrdmad.err"

# kernel_op CLAIM PROCEDURE COMMAND TEST...: the test holds on the server's side once the command has been carried out
kernel_op() {
	local claim=$1 procedure=$2 command=$3 end=$((SECONDS + 20))
	shift 3
	vm_do server 'ls /mnt/x >/dev/null' >/dev/null
	proxy_say "mute $procedure"
	sleep 0.1
	vm_do server "$command & op=\$!" >/dev/null
	until "$@"; do
		[ $SECONDS -lt $end ] || { not_ok "$claim" "our server did not carry it out"; break; }
		sleep 0.05
	done
	proxy_say cut
	check "$claim" test "$(vm_do server 'wait $op; echo $?')" = 0
}
gone() { [ ! -e "$1" ]; }
kernel_op "nfsrdmad: the kernel's MKDIR" 9 'mkdir /mnt/x/d' test -d "$T/export/d"
kernel_op "nfsrdmad: the kernel's SYMLINK" 10 'ln -s target /mnt/x/s' test -L "$T/export/s"
kernel_op "nfsrdmad: the kernel's RENAME" 14 'mv /mnt/x/s /mnt/x/r' test -L "$T/export/r"
kernel_op "nfsrdmad: the kernel's REMOVE" 12 'rm /mnt/x/r' gone "$T/export/r"
kernel_op "nfsrdmad: the kernel's RMDIR" 13 'rmdir /mnt/x/d' gone "$T/export/d"
hits=$(grep -c 'answered from the duplicate-request cache' "$T/nfsrdmad.err")
check "nfsrdmad: its duplicate-request cache answered all five" test "$hits" = 5
vm_do server 'umount /mnt/x'
proxy_stop
check "the guest ends in order" vm_stop server
server_stop
check "the server outside ends in order" test $? = 0
finish
