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
	mkdir -p "$1" && cd "$1" || guest_die "no $1"
	for ((i = 0; i < $2; i++)); do : >"$i"; done
	cd / || return
}

# Say that the guest is ready, then stay until told to stop.
guest_serve() {
	: >/ctl/ready
	while [ ! -e /ctl/stop ]; do sleep 0.2; done
}
