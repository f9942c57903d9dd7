# SPDX-License-Identifier: BSD-2-Clause
# lib.sh - shell functions for jobs inside the guest.

guest_die() {
	echo "guest: $*" >&2
	exit 1
}

# guest_share NAME DIR: mount the host folder that /ctl/NAME.path names, if it does.
guest_share() {
	[ -s "/ctl/$1.path" ] || return 0
	mount -t hostfs -o "$(cat "/ctl/$1.path")" none "$2"
}

# guest_dummy NAME ADDRESS: an interface to talk to oneself on.
guest_dummy() {
	ip link add "$1" type dummy && ip addr add "$2/24" dev "$1" && ip link set "$1" mtu 9000 up
}

# guest_rdma TYPE NETDEV: put a software RDMA device (siw, rxe) on an interface.
guest_rdma() {
	rdma link add "$1-$2" type "$1" netdev "$2" || guest_die "no $1 on $2"
}

# guest_nfsd [THREADS]: export /export to everybody over TCP (2049) and RDMA (20049), mountd on 20048.
# rpcbind comes first: without it rpc.nfsd fails.  fsid: a tmpfs has none of its own.
guest_nfsd() {
	mkdir -p /run/rpcbind /run/sendsigs.omit.d /var/lib/nfs/v4recovery /var/lib/nfs/sm
	: >/var/lib/nfs/etab
	: >/var/lib/nfs/rmtab
	mount -t nfsd nfsd /proc/fs/nfsd 2>/dev/null
	rpcbind -w || guest_die "no rpcbind"
	exportfs -o rw,no_root_squash,insecure,no_subtree_check,fsid=77,async '*:/export' ||
		guest_die "exportfs failed"
	rpc.nfsd -V 3 "${1:-8}" || guest_die "rpc.nfsd failed"
	rpc.mountd -V 3 -p 20048 || guest_die "rpc.mountd failed"
	guest_nfsd_listen
}

# nfsd with no threads drops its listeners; this brings RDMA's back.
guest_nfsd_listen() {
	echo 'rdma 20049' >/proc/fs/nfsd/portlist || guest_die "nfsd does not listen on RDMA"
}

# guest_mount ADDRESS DIR [OPTIONS]: mount with the kernel's client over RDMA.
guest_mount() {
	mkdir -p "$2"
	mount.nfs "$1:/export" "$2" -o "vers=3,proto=rdma,port=20049,nolock,mountproto=tcp${3:+,$3}"
}

# guest_many DIR COUNT: a folder of that many empty files named 0, 1, ...
guest_many() {
	/build/tests/vm/many "$1" "$2" || guest_die "no $1"
}

# nfsd stops and comes back, as in a restart of the service; the seconds in between.
guest_nfsd_restart() {
	rpc.nfsd 0
	sleep "${1:-1}"
	rpc.nfsd -V 3 8 || guest_die "rpc.nfsd failed"
	guest_nfsd_listen
}

# tap CLAIM STATUS: a TAP line of the job's own; redirect them together into a file of /ctl.
tap_n=0 tap_bad=0
tap() {
	tap_n=$((tap_n + 1))
	[ "$2" = 0 ] || { printf 'not '; tap_bad=1; }
	echo "ok $tap_n - $1"
}

# guest_until SECONDS COMMAND...: repeat it until it succeeds.
guest_until() {
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.1
	done
}

# guest_nfsrdmad NAME ARGS...: our server; its ready line in /tmp/NAME.ready, its words in /ctl/NAME.err.
# Sets guest_pid.
guest_nfsrdmad() {
	local name=$1
	shift
	rm -f "/tmp/$name.ready"
	/build/nfsrdmad --no-rpcbind --no-root-squash -v "$@" >"/tmp/$name.ready" 2>>"/ctl/$name.err" &
	guest_pid=$!
	guest_until 30 test -s "/tmp/$name.ready"
}

# Say that the guest is ready, then stay until told to stop.  Meanwhile what the host's vm_do puts into
# /ctl/do is run, its output in /ctl/did.
guest_serve() {
	: >/ctl/ready
	while [ ! -e /ctl/stop ]; do
		if [ -e /ctl/do ]; then
			. /ctl/do >/ctl/did.new 2>&1
			rm /ctl/do
			mv /ctl/did.new /ctl/did
		fi
		sleep 0.1
	done
}
