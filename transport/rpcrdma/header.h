/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * header.h - the transport header of RPC-over-RDMA version 1 (RFC 8166 section 4), as bytes.
 */
#ifndef NFSRDMA_RPCRDMA_HEADER_H
#define NFSRDMA_RPCRDMA_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define RPCRDMA_VERSION 1
#define RPCRDMA_PORT 20049

/* Segments of one chunk.  The kernel's client never uses more in a list. */
#define RPCRDMA_MAX_SEGS 16
/* Read list entries: one data chunk and one position-zero chunk. */
#define RPCRDMA_MAX_READS (2 * RPCRDMA_MAX_SEGS)
/* One is the most an NFSv3 call may carry (RFC 8267); a second is kept to be refused by name. */
#define RPCRDMA_MAX_WRITES 2

/* xid, version, credits, procedure */
#define RPCRDMA_FIXED_LEN 16
/* RDMA_MSG or RDMA_NOMSG with three empty lists */
#define RPCRDMA_HEADER_MIN 28
#define RPCRDMA_SEGMENT_LEN 16
/* a presence word, a position and a segment */
#define RPCRDMA_READ_LEN 24
/* 28 + 32 * 24 + 2 * (8 + 16 * 16) + 4 + 16 * 16 = 1584 */
#define RPCRDMA_HEADER_MAX                                                                         \
	(RPCRDMA_HEADER_MIN + RPCRDMA_MAX_READS * RPCRDMA_READ_LEN +                               \
	 RPCRDMA_MAX_WRITES * (8 + RPCRDMA_MAX_SEGS * RPCRDMA_SEGMENT_LEN) + 4 +                   \
	 RPCRDMA_MAX_SEGS * RPCRDMA_SEGMENT_LEN)

enum rpcrdma_proc {
	RPCRDMA_MSG,   /* an RPC message follows the header */
	RPCRDMA_NOMSG, /* the RPC message is in a position-zero read chunk or in the reply chunk */
	RPCRDMA_MSGP,  /* obsolete, never sent */
	RPCRDMA_DONE,  /* obsolete, never sent */
	RPCRDMA_ERROR,
};

enum rpcrdma_errcode {
	RPCRDMA_ERR_VERS = 1,
	RPCRDMA_ERR_CHUNK = 2,
};

struct rpcrdma_segment {
	uint32_t handle; /* the peer's key */
	uint32_t length; /* bytes */
	uint64_t offset; /* region address */
};

struct rpcrdma_read {
	uint32_t position; /* in the XDR stream; 0: the message itself */
	struct rpcrdma_segment seg;
};

/* A write chunk or the reply chunk. */
struct rpcrdma_chunk {
	uint32_t nsegs;
	struct rpcrdma_segment seg[RPCRDMA_MAX_SEGS];
};

struct rpcrdma_header {
	uint32_t xid, vers, credits;
	uint32_t proc; /* enum rpcrdma_proc, or what the peer sent */
	/* RDMA_MSG and RDMA_NOMSG */
	uint32_t nreads;
	uint32_t nwrites;
	bool has_reply;
	struct rpcrdma_read read[RPCRDMA_MAX_READS];
	struct rpcrdma_chunk write[RPCRDMA_MAX_WRITES];
	struct rpcrdma_chunk reply;
	/* RDMA_ERROR */
	uint32_t error; /* enum rpcrdma_errcode */
	uint32_t vers_low, vers_high;
};

/* Bytes rpcrdma_header_encode() will write. */
size_t rpcrdma_header_len(const struct rpcrdma_header *h);
/* Returns the bytes written, or -EMSGSIZE when they would not fit into len. */
ssize_t rpcrdma_header_encode(const struct rpcrdma_header *h, uint8_t *buf, size_t len);
/*
 * Returns the header's length: where the RPC message of an RDMA_MSG begins.  Only what the header's
 * kind defines is set.
 * -ENODATA: shorter than the fixed fields, nothing is valid; with all others those are valid:
 * -EPROTONOSUPPORT: not version 1; -EBADMSG: the rest is cut short or no XDR of this protocol;
 * -E2BIG: well formed so far, but more chunks or segments than we hold.
 */
ssize_t rpcrdma_header_decode(struct rpcrdma_header *h, const uint8_t *buf, size_t len);
/* Sum of a chunk's segments.  16 lengths of 32 bits cannot overflow it. */
uint64_t rpcrdma_chunk_len(const struct rpcrdma_chunk *chunk);
/* "RDMA_MSG" ... */
const char *rpcrdma_proc_name(uint32_t proc);

#endif
