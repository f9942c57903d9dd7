#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# ganesha.sh - our client against nfs-ganesha, a server that knows nothing of us, over TCP.
#
# Installing the package would start services on the host, so its files are only unpacked, into a cache outside
# the clone, and run from there in network, mount and process namespaces of this test's own: the server and rpcbind
# listen on a loopback that nobody else has, and their /run, /var/lib and /etc are this test's. Which
# packages: "tools/packages.sh list peer".
#
# ganesha.sh starts itself again inside the namespaces, with the folder of the unpacked packages as argument.
. "$(dirname "$0")/../lib.sh"

CLAIM="the client works against nfs-ganesha"
CACHE=${NFSRDMA_PEER_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/nfsrdma-peer}

give_up() { # REASON
	skip "$CLAIM" "$1"
	finish
}

# peer_get: sets PEER to the unpacked packages. An entry is named for its packages' versions.
peer_get() {
	local packages key package
	packages=$("$SRC/tools/packages.sh" list peer)
	key=$(apt-cache policy $packages 2>/dev/null | grep -E '^[a-z]|Candidate' | sha256sum | cut -c1-12)
	PEER=$CACHE/ganesha-$key
	[ ! -d "$PEER" ] || return 0
	# a first entry made with other lists serves as well when there is no network
	mkdir -p "$CACHE" "$T/debs" "$T/root"
	if ! (cd "$T/debs" && { apt-get download $packages || { apt-get update && apt-get download $packages; }; }) >"$T/apt" 2>&1; then
		PEER=$(ls -d "$CACHE"/ganesha-* 2>/dev/null | tail -n 1)
		[ -n "$PEER" ]
		return
	fi
	for package in "$T"/debs/*.deb; do dpkg -x "$package" "$T/root" || return 1; done
	mv "$T/root" "$PEER.$$" && { mv -T "$PEER.$$" "$PEER" 2>/dev/null || rm -rf "$PEER.$$"; }
}

if [ $# = 0 ]; then
	[ "$(id -u)" = 0 ] || give_up "needs root: the server opens files by handle"
	command -v apt-get >/dev/null || give_up "the package is Debian's, and this is none"
	peer_get || give_up "apt-get download did not get the packages: $(tail -n 1 "$T/apt")"
	own=(unshare --net --mount --pid --fork --kill-child --mount-proc)
	"${own[@]}" true 2>"$T/apt" || give_up "no namespaces here: $(cat "$T/apt")"
	"${own[@]}" "$0" "$PEER"
	exit
fi

# ---- inside the namespaces
PEER=$1
GAN=$T/ganesha
E=$T/export
NFS_PORT=2049 MOUNT_PORT=20048
libs=$PEER/usr/lib/x86_64-linux-gnu
# To be run in the background: $! is then the server's own process. A proxy is told by the end of its input to
# go, so nobody else may hold that open.
PROXY_IN=
peer_exec() {
	[ -z "$PROXY_IN" ] || exec {PROXY_IN}>&-
	LD_LIBRARY_PATH=$libs:$PEER/usr/lib/ganesha:$PEER/lib/x86_64-linux-gnu:$libs/libnfsidmap exec "$@"
}
listens() { ss -ltnH "( sport = :$1 )" | grep -q .; }
wait_for() { # SECONDS COMMAND...
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.05
	done
}

host_hide() {
	mount --make-rprivate / && mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /var/lib &&
		mkdir -p /run/rpcbind /run/ganesha /var/lib/nfs/ganesha && ip link set lo up || return 1
	# An /etc of our own: rpcbind wants its user, and ganesha looks for file systems in mtab, which a minimal
	# Debian does not have.
	mkdir "$T/etc" && cp -a /etc/. "$T/etc/" && mount --bind "$T/etc" /etc || return 1
	echo "_rpc:x:998:65534::/run/rpcbind:/usr/sbin/nologin" >>/etc/passwd
	ln -sfn /proc/self/mounts /etc/mtab
}

ganesha_start() {
	peer_exec "$PEER/usr/bin/ganesha.nfsd" -F -f "$GAN.conf" -L "$GAN.log" -p /run/ganesha/pid >>"$GAN.out" 2>&1 &
	GANESHA=$!
	LIB_PIDS+=("$GANESHA")
	wait_for 30 listens $NFS_PORT && wait_for 10 listens $MOUNT_PORT
}
ganesha_kill() {
	kill -9 "$GANESHA" && { wait "$GANESHA" 2>/dev/null; true; }
}

mkdir -m 777 "$E"
cat >"$GAN.conf" <<EOC
NFS_CORE_PARAM {
	NFS_Port = $NFS_PORT; MNT_Port = $MOUNT_PORT; Protocols = 3; Plugins_Dir = "$libs/ganesha";
	Enable_NLM = false; Enable_RQUOTA = false;
}
NFSV4 { Grace_Period = 2; Lease_Lifetime = 1; }
EXPORT {
	Export_Id = 1; Path = "$E"; Pseudo = "/e"; Access_Type = RW; Squash = No_Root_Squash;
	Protocols = 3; Transports = TCP; SecType = sys; FSAL { Name = VFS; }
}
EXPORT {
	Export_Id = 2; Path = "$E/read-only"; Pseudo = "/ro"; Access_Type = RO; Squash = No_Root_Squash;
	Protocols = 3; Transports = TCP; SecType = sys; FSAL { Name = VFS; }
}
EOC
mkdir "$E/read-only"
host_hide || give_up "the namespace could not be furnished"
peer_exec "$PEER/sbin/rpcbind" -w -f >"$T/rpcbind.out" 2>&1 &
LIB_PIDS+=($!)
wait_for 10 listens 111 || { not_ok "rpcbind runs in the namespace" "$(cat "$T/rpcbind.out")"; finish; }
ganesha_start || { not_ok "nfs-ganesha runs in the namespace" "$(tail -n 5 "$GAN.out" "$GAN.log")"; finish; }

S=127.0.0.1:$E
FIXED=proto=tcp,port=$NFS_PORT,mountport=$MOUNT_PORT
n() { timeout 60 "$NFSRDMA" -q -o "$FIXED" "$@"; }
asks() { timeout 60 "$NFSRDMA" -q -o proto=tcp "$@"; } # rpcbind for both ports
says() { # CLAIM TEXT COMMAND...
	local claim=$1 text=$2
	shift 2
	"$@" >"$T/says" 2>&1
	[ "$(cat "$T/says")" = "$text" ] && ok "$claim" || not_ok "$claim" "wanted: $text" "got:" "$(head -n 20 "$T/says")"
}
refuses() { # CLAIM PATTERN COMMAND...
	local claim=$1 pattern=$2 status
	shift 2
	"$@" >"$T/out" 2>"$T/err"
	status=$?
	[ $status = 1 ] && [ "$(wc -l <"$T/err")" = 1 ] && grep -Eq "$pattern" "$T/err" && ok "$claim" ||
		not_ok "$claim" "status $status" "$(cat "$T/err")"
}

# ---- finding it
says "exports: rpcbind tells where MOUNT is" "$(printf '%s\n' "$E" "$E/read-only")" eval "asks exports 127.0.0.1 | awk '{print \$1}' | sort"
echo hello >"$E/hello"
says "exports and MOUNT go over UDP when asked, too" "$(printf '%s\n' "$E" "$E/read-only" hello)" eval "
	asks -o mountproto=udp exports 127.0.0.1 | awk '{print \$1}' | sort; timeout 60 '$NFSRDMA' -q -o '$FIXED,mountproto=udp' cat $S/hello"
says "ls: rpcbind tells where NFS is" "hello
read-only" asks ls $S
says "vers=3 and both ports given" hello n -o vers=3 cat $S/hello
refuses "an export that is not there is told" 'No such|denied|not exported|no export' n ls 127.0.0.1:/nowhere

# ---- looking
check "chmod sets a mode" n chmod 640 $S/hello
check "ln -s makes a symbolic link" n ln -s hello $S/link
n stat $S/hello >"$T/out"
check "stat shows size and type" grep -q 'Size: 6 .*regular file' "$T/out"
check "ls -l shows mode, size and where a link leads" eval "n ls -l $S >'$T/out' && grep -Eq '^-rw-r----- .* 6 .* hello$' '$T/out' && grep -q 'link -> hello$' '$T/out'"
says "readlink reads a link" hello n readlink $S/link
n df $S >"$T/out"
check "df shows the size of the server's file system" eval "awk 'NR==2 && \$1>0 {ok=1} END {exit !ok}' '$T/out'"

# ---- data
for size in 0 1 4097 1048577; do
	random_file "$T/src" $size
	check "$size bytes go in and out by cp, cat and write" eval "n cp '$T/src' $S/f && n cp $S/f '$T/back' && n cat $S/f >'$T/cat' &&
		n write $S/w <'$T/src' && cmp '$T/src' '$E/f' && cmp '$T/src' '$T/back' && cmp '$T/src' '$T/cat' && cmp '$T/src' '$E/w'"
done
random_file "$T/big" $((64 << 20))
check "64 MiB of random data are copied in" n cp "$T/big" $S/big
says "with the same checksum" "$(sha "$T/big")" sha "$E/big"
check "and out" n cp $S/big "$T/back"
says "with the same checksum again" "$(sha "$T/big")" sha "$T/back"
check "with small records too" n -o rsize=8k,wsize=12k cp "$T/src" $S/small
check "which compare" cmp "$T/src" "$E/small"
check "cp copies within the server" n cp $S/big $S/again
check "which compares" cmp "$T/big" "$E/again"
rm -f "$E/again" "$T/back"

# ---- names
check "mkdir -p makes a path" n mkdir -p $S/a/b/c
check "mv renames across directories" n mv $S/small $S/a/b/moved
says "and nothing else" "b
b/c
b/moved" eval "find '$E/a' -mindepth 1 -printf '%P\\n' | sort"
refuses "rmdir refuses a full directory" 'not empty' n rmdir $S/a
refuses "mkdir says when it is there" 'File exists' n mkdir $S/a
check "ln makes a hard link" n ln $S/hello $S/a/hard
says "of the same file" 2 stat -c %h "$E/hello"
check "chmod and truncate change attributes" eval "n chmod 604 $S/a/hard && n truncate -s 3 $S/a/hard"
says "as they were told" "604 3" stat -c '%a %s' "$E/hello"
long=$(printf 'n%.0s' {1..255})
check "a name of 255 bytes is written" eval "echo long | n write $S/a/$long"
says "listed" "$long" eval "n ls $S/a | grep nnn"
says "and read" long n cat "$S/a/$long"
refuses "one of 256 bytes is refused" '255' n touch "$S/a/${long}n"
check "names that are UTF-8, blanks and a line's end are copied in and out" eval "
	mkdir '$T/odd' && touch '$T/odd/zwölf — 十二' '$T/odd/ a b ' \"$T/odd/\$(printf 'x\\ny')\" &&
	n cp -r '$T/odd' $S/odd && n cp -r $S/odd '$T/odd-back' && diff -r '$T/odd' '$T/odd-back' && diff -r '$T/odd' '$E/odd'"
mkdir -p "$E/deep/real/er"
ln -s real "$E/deep/one"; ln -s ../deep/one/er "$E/deep/two"; ln -s loop "$E/deep/loop"
echo found >"$E/deep/real/er/file"
says "symbolic links in the middle of a path are followed" found n cat $S/deep/two/../er/file
refuses "a loop of links is told" 'symbolic links' n cat $S/deep/loop/x
rm -rf "$E/odd"
check "rm -r removes a tree" n rm -r $S/a
check "and all of it" test ! -e "$E/a"

# ---- many, and deep
mkdir "$T/tree"
(cd "$T/tree" && mkdir -p d/e/f g && for i in $(seq 40); do echo "$i" >"d/$i"; head -c $((i * 3000)) /dev/urandom >"d/e/f/$i"; done && ln -s ../d/1 g/l && chmod 500 g)
check "cp -r copies a tree in" n cp -r "$T/tree" $S/tree
check "and out" n cp -r $S/tree "$T/tree-back"
check "both are the same" eval "diff -r --no-dereference '$T/tree' '$E/tree' && diff -r --no-dereference '$T/tree' '$T/tree-back'"
mkdir "$E/many"
(cd "$E/many" && seq -f 'entry-%05.0f-with-a-name-that-takes-some-room' 5000 | xargs touch)
(cd "$E/many" && ls) >"$T/want"
n ls $S/many >"$T/got"
check "a directory of 5000 entries is listed, each once" cmp "$T/want" "$T/got"
check "rm -r removes 5000 entries" n rm -r $S/many
check "all of them" test ! -e "$E/many"

# ---- refusals
refuses "a read-only export is told" 'Read-only' n touch "127.0.0.1:$E/read-only/x"
echo secret >"$E/secret"; chmod 600 "$E/secret"
refuses "another user's file is refused" 'Permission denied' n -o uid=12345,gid=12345 cat $S/secret

# ---- it dies in the middle: its grace period (JUKEBOX), the new write verifier, the same handles
# in_the_middle FOLDER PID: a copy's temporary file there has some of its bytes, and the copy goes on
in_the_middle() {
	local size
	size=$(cat "$1"/.nfsrdma-*.part 2>/dev/null | wc -c)
	[ "$size" -gt 1000000 ] && [ "$size" -lt 60000000 ] && kill -0 "$2"
}
for way in in out; do
	proxy_start $NFS_PORT --delay-us 5000
	slow=proto=tcp,port=$PROXY_PORT,mountport=$MOUNT_PORT
	to=$E from=$T/big target=$S/slow
	[ $way = in ] || { to=$T/out.d from=$S/big target=$T/out.d/slow; mkdir "$to"; }
	timeout 120 "$NFSRDMA" -q -o "$slow" cp "$from" "$target" >"$T/out" 2>&1 &
	copy=$!
	check "a copy $way is on its way when the server is killed" wait_for 20 in_the_middle "$to" $copy
	check "the server starts again" eval "ganesha_kill && ganesha_start"
	if wait $copy && cmp "$T/big" "$to/slow" >"$T/out" 2>&1; then
		ok "the copy $way completes and compares"
	else
		not_ok "the copy $way completes and compares" "$(cat "$T/out")"
	fi
	proxy_stop
done
check "nothing is left of temporary names" test -z "$(find "$E" "$T/out.d" -name '.nfsrdma-*')"
ganesha_kill
finish
