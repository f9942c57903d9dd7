/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wire_rpcbind.h - asking and telling port 111 who serves what (included by wire.h).
 *
 * The port mapper, version 2 (RFC 1833 section 3), knows tcp and udp by protocol number; rpcbind,
 * versions 3 and 4 (section 2), knows transports by name, so that RDMA services can be found: netid
 * "rdma" or "rdma6" (RFC 8166 section 8), addresses as text with the port as two decimal bytes at
 * the end.
 */
#ifndef NFSRDMA_WIRE_RPCBIND_H
#define NFSRDMA_WIRE_RPCBIND_H

#define WIRE_RPCBIND_PORT 111
#define WIRE_RPCBIND_PMAP_VERS 2
#define WIRE_RPCBIND_VERS 4

/* Both versions number these alike; 3 is GETPORT in version 2 and GETADDR in 3 and 4. */
enum wire_rpcbind_proc {
	WIRE_RPCBIND_NULL,
	WIRE_RPCBIND_SET,
	WIRE_RPCBIND_UNSET,
	WIRE_RPCBIND_GETPORT,
	WIRE_RPCBIND_GETADDR = WIRE_RPCBIND_GETPORT
};

/* Version 2: SET, UNSET and GETPORT (port ignored there; 0). */
struct wire_rpcbind_map {
	uint32_t prog, vers;
	uint32_t prot; /* IPPROTO_TCP, IPPROTO_UDP */
	uint32_t port;
};
void wire_rpcbind_map_encode(struct wire_enc *e, const struct wire_rpcbind_map *map);
int wire_rpcbind_map_decode(struct wire_dec *d, struct wire_rpcbind_map *map);

#define WIRE_RPCBIND_NETID_MAX 15
#define WIRE_RPCBIND_UADDR_MAX 63
#define WIRE_RPCBIND_OWNER_MAX 63

/* Versions 3 and 4: SET, UNSET and GETADDR. */
struct wire_rpcbind_rpcb {
	uint32_t prog, vers;
	char netid[WIRE_RPCBIND_NETID_MAX + 1]; /* "tcp", "tcp6", "rdma", "rdma6" */
	char uaddr[WIRE_RPCBIND_UADDR_MAX +
		   1]; /* "192.0.2.1.8.1"; may be empty in UNSET and GETADDR */
	char owner[WIRE_RPCBIND_OWNER_MAX + 1];
};
void wire_rpcbind_rpcb_encode(struct wire_enc *e, const struct wire_rpcbind_rpcb *rpcb);
/* -EBADMSG: cut short, a text too long or with a NUL inside. */
int wire_rpcbind_rpcb_decode(struct wire_dec *d, struct wire_rpcbind_rpcb *rpcb);

/* Results: SET and UNSET a bool; GETPORT a port, 0 when not registered (above 65535: -EBADMSG);
 * GETADDR a universal address, "" when not registered. */
int wire_rpcbind_bool_decode(struct wire_dec *d, bool *okp);
int wire_rpcbind_port_decode(struct wire_dec *d, uint16_t *portp);
int wire_rpcbind_uaddr_decode(struct wire_dec *d, char uaddr[WIRE_RPCBIND_UADDR_MAX + 1]);

/* host: numeric, v4 or v6.  False when it does not fit. */
bool wire_rpcbind_uaddr_format(const char *host, uint16_t port,
			       char uaddr[WIRE_RPCBIND_UADDR_MAX + 1]);
/* The port at the end of a universal address; -EINVAL. */
int wire_rpcbind_uaddr_port(const char *uaddr, uint16_t *portp);

#endif
