/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * peer.h - one end of ours against a peer made of bytes: a plain TCP socket on which the test says
 * exactly what it likes, and reads what comes.
 */
#ifndef TESTS_IWARP_PEER_H
#define TESTS_IWARP_PEER_H

#include "tests/iwarp/pair.h"
#include "transport/iwarp/ddp.h"
#include "transport/iwarp/mpa.h"
#include "transport/iwarp/terminate.h"

struct peer_options {
	bool plain;
	struct iommu_sw_options iommu;			  /* our end's */
	enum fabric_crc crc;				  /* of our end; the peer goes along */
	bool responder;					  /* our end accepts, the peer connects */
	uint8_t revision;				  /* the peer's, default 2 */
	uint16_t ird, ord;				  /* the peer's, default 16 */
	bool peer_to_peer, rtr_write, rtr_read, rtr_send; /* the peer's request */
	uint32_t depth;					  /* of our queues, default 64 */
	int timeout_ms;					  /* of our connect */
};

struct peer {
	struct pair pair; /* end[0] is ours, end[1] unused */
	int fd;		  /* the peer's socket, -1 none */
	int listen_fd;
	bool crc; /* the peer sends and checks CRCs */
	uint32_t msn[IWARP_QN_COUNT];
	struct iwarp_mpa_frame frame; /* what our end said in the handshake */
	uint8_t frame_bytes[IWARP_MPA_FRAME_MAX];
};

/* Set up our end only; nothing is connected. */
void peer_open(struct peer *peer, const struct peer_options *opts);
/* Our end's conn_connect towards the peer's listening socket, and the peer's accept. */
void peer_await_connect(struct peer *peer, const struct peer_options *opts);
/* The peer's connect towards our listener. */
void peer_connect(struct peer *peer);
/* Drive our listener until a request is there; accept it with conn_start. */
void peer_accept(struct peer *peer, const struct peer_options *opts);
/* Read our end's MPA frame into peer->frame. */
void peer_read_frame(struct peer *peer, enum iwarp_mpa_kind kind);
/* Everything up to ESTABLISHED. */
void peer_establish(struct peer *peer, const struct peer_options *opts);
void peer_close(struct peer *peer);

/* Write bytes; our end is driven while the socket is full. */
void peer_write(struct peer *peer, const void *buf, size_t len);
/* Read exactly len bytes; false at end of file. */
bool peer_read(struct peer *peer, void *buf, size_t len);
/* True when our end has closed its side and nothing is left to read. */
bool peer_sees_end(struct peer *peer);

/* An FPDU around a ULPDU, CRC included where in use. */
void peer_write_fpdu(struct peer *peer, const void *ulpdu, size_t len);
/* The same into buf; returns its length. */
size_t peer_build_fpdu(const struct peer *peer, const void *ulpdu, size_t len, uint8_t *buf);
/* Header and payload. */
void peer_write_segment(struct peer *peer, const struct iwarp_ddp *ddp, const void *payload,
			size_t len);
/* One whole Send of the next MSN. */
void peer_send(struct peer *peer, const void *payload, size_t len);
/* One whole tagged segment. */
void peer_tagged(struct peer *peer, uint8_t opcode, uint32_t stag, uint64_t to, const void *payload,
		 size_t len);
void peer_read_request(struct peer *peer, const struct iwarp_read_request *req);
/* The next FPDU: header decoded, payload into buf (65536 bytes); false at end of file. */
bool peer_read_segment(struct peer *peer, struct iwarp_ddp *ddp, uint8_t *buf, size_t *lenp);
/* Skip to the Terminate; its fault, or IWARP_OK when the stream ends without. */
enum iwarp_fault peer_read_terminate(struct peer *peer, struct iwarp_terminate *term);

#endif
