/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/iwarp/peer.h"
#include "transport/iwarp/crc.h"

#define PATIENCE_NS (5 * UTIL_NS_PER_S)

static struct sockaddr_in loopback(void)
{
	return (struct sockaddr_in){.sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

void peer_open(struct peer *peer, const struct peer_options *opts)
{
	const struct fabric_options fopts = {
		.crc = opts->crc, .no_io_uring = opts->plain, .iommu = opts->iommu};
	struct pair_end *end = &peer->pair.end[0];
	struct sockaddr_in in = loopback();
	struct util_err err = {0};

	memset(peer, 0, sizeof(*peer));
	peer->fd = peer->listen_fd = -1;
	peer->msn[0] = peer->msn[1] = peer->msn[2] = 1;
	peer->pair.ops = &iwarp_fabric_ops;
	cr_assert_eq(peer->pair.ops->open(&end->fabric, &fopts, &err), 0, "%s", err.what);
	cr_assert_eq(peer->pair.ops->domain_open(end->fabric, (struct sockaddr *)&in, sizeof(in), 0,
						 &end->domain, &err),
		     0);
	cr_assert_eq(peer->pair.ops->cq_create(end->domain, 64, &end->cq, &err), 0, "%s", err.what);
}

static struct fabric_conn_params params_of(const struct peer_options *opts)
{
	return (struct fabric_conn_params){
		.max_send_wr = opts->depth ? opts->depth : 64,
		.max_recv_wr = opts->depth ? opts->depth : 64,
		.max_sge = 4,
		.timeout_ms = opts->timeout_ms,
	};
}

void peer_await_connect(struct peer *peer, const struct peer_options *opts)
{
	struct fabric_conn_params params = params_of(opts);
	struct sockaddr_in in = loopback();
	socklen_t len = sizeof(in);
	struct util_err err = {0};
	const int one = 1;

	peer->listen_fd = socket(AF_INET, SOCK_STREAM, 0);
	cr_assert_eq(bind(peer->listen_fd, (struct sockaddr *)&in, sizeof(in)), 0);
	cr_assert_eq(listen(peer->listen_fd, 4), 0);
	getsockname(peer->listen_fd, (struct sockaddr *)&in, &len);
	memcpy(&params.peer, &in, sizeof(in));
	params.peer_len = sizeof(in);
	cr_assert_eq(peer->pair.ops->conn_connect(peer->pair.end[0].cq, &params,
						  &peer->pair.end[0].conn, &err),
		     0, "%s", err.what);
	peer->fd = accept(peer->listen_fd, NULL, NULL);
	cr_assert_geq(peer->fd, 0);
	setsockopt(peer->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

void peer_connect(struct peer *peer)
{
	struct sockaddr_in in = loopback();
	struct util_err err = {0};
	const int one = 1;

	if (!peer->pair.listener)
		cr_assert_eq(peer->pair.ops->listen(peer->pair.end[0].fabric,
						    (struct sockaddr *)&in, sizeof(in),
						    &peer->pair.addr, &peer->pair.listener, &err),
			     0, "%s", err.what);
	peer->fd = socket(AF_INET, SOCK_STREAM, 0);
	cr_assert_eq(connect(peer->fd, (struct sockaddr *)&peer->pair.addr, sizeof(in)), 0);
	setsockopt(peer->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

void peer_accept(struct peer *peer, const struct peer_options *opts)
{
	struct fabric_conn_params params = params_of(opts);
	uint64_t deadline = util_clock_ns() + PATIENCE_NS;
	struct fabric_request *req;
	struct util_err err = {0};

	while (peer->pair.ops->listener_poll(peer->pair.listener, &req) != 0) {
		cr_assert(util_clock_ns() < deadline, "no connection request");
		usleep(100);
	}
	cr_assert_eq(peer->pair.ops->conn_accept(peer->pair.end[0].cq, req, &params,
						 &peer->pair.end[0].conn, &err),
		     0, "%s", err.what);
	cr_assert_eq(peer->pair.ops->conn_start(peer->pair.end[0].conn), 0);
}

void peer_read_frame(struct peer *peer, enum iwarp_mpa_kind kind)
{
	size_t len = IWARP_MPA_HEADER_LEN;

	cr_assert(peer_read(peer, peer->frame_bytes, len));
	len += util_get_be16(peer->frame_bytes + 18);
	cr_assert_leq(len, sizeof(peer->frame_bytes));
	cr_assert(peer_read(peer, peer->frame_bytes + IWARP_MPA_HEADER_LEN,
			    len - IWARP_MPA_HEADER_LEN));
	cr_assert_eq(iwarp_mpa_decode(&peer->frame, kind, peer->frame_bytes, len), (ssize_t)len);
}

static void write_frame(struct peer *peer, const struct peer_options *opts,
			enum iwarp_mpa_kind kind)
{
	struct iwarp_mpa_frame frame = {
		.kind = kind,
		.crc = peer->crc,
		.revision = opts->revision ? opts->revision : 2,
		.enhanced = opts->revision != 1,
		.ird = opts->ird ? opts->ird : 16,
		.ord = opts->ord ? opts->ord : 16,
		.peer_to_peer = opts->peer_to_peer,
		.rtr_send = opts->rtr_send,
		.rtr_write = opts->rtr_write,
		.rtr_read = opts->rtr_read,
	};
	uint8_t buf[IWARP_MPA_FRAME_MAX];

	peer_write(peer, buf, iwarp_mpa_encode(&frame, buf));
}

void peer_establish(struct peer *peer, const struct peer_options *opts)
{
	peer_open(peer, opts);
	if (opts->responder) {
		peer_connect(peer);
		peer->crc = opts->crc == FABRIC_CRC_ON;
		write_frame(peer, opts, IWARP_MPA_REQUEST);
		peer_accept(peer, opts);
		peer_read_frame(peer, IWARP_MPA_REPLY);
	} else {
		peer_await_connect(peer, opts);
		peer_read_frame(peer, IWARP_MPA_REQUEST);
		peer->crc = peer->frame.crc;
		write_frame(peer, opts, IWARP_MPA_REPLY);
	}
	cr_assert_eq(pair_next(&peer->pair, 0).type, FABRIC_EV_ESTABLISHED, "%s",
		     peer->pair.end[0].conn->err.what);
}

void peer_close(struct peer *peer)
{
	if (peer->fd >= 0)
		close(peer->fd);
	if (peer->listen_fd >= 0)
		close(peer->listen_fd);
	pair_close(&peer->pair);
}

/* ---- bytes ------------------------------------------------------------------------------- */

void peer_write(struct peer *peer, const void *buf, size_t len)
{
	uint64_t deadline = util_clock_ns() + PATIENCE_NS;
	const uint8_t *p = buf;

	while (len) {
		ssize_t n = send(peer->fd, p, len, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && (errno == EPIPE || errno == ECONNRESET))
			return; /* our end has gone: the test will see why */
		if (n < 0) {
			cr_assert_eq(errno, EAGAIN);
			pair_turn(&peer->pair);
			cr_assert(util_clock_ns() < deadline, "our end does not read");
			continue;
		}
		p += n;
		len -= (size_t)n;
	}
}

bool peer_read(struct peer *peer, void *buf, size_t len)
{
	uint64_t deadline = util_clock_ns() + PATIENCE_NS;
	uint8_t *p = buf;

	while (len) {
		ssize_t n = recv(peer->fd, p, len, MSG_DONTWAIT);

		if (n == 0 || (n < 0 && errno == ECONNRESET))
			return false;
		if (n < 0) {
			cr_assert_eq(errno, EAGAIN);
			if (!pair_turn(&peer->pair))
				usleep(50);
			cr_assert(util_clock_ns() < deadline, "our end does not write");
			continue;
		}
		p += n;
		len -= (size_t)n;
	}
	return true;
}

bool peer_sees_end(struct peer *peer)
{
	uint8_t byte;

	return !peer_read(peer, &byte, 1);
}

/* ---- segments ---------------------------------------------------------------------------- */

size_t peer_build_fpdu(const struct peer *peer, const void *ulpdu, size_t len, uint8_t *buf)
{
	unsigned pad = iwarp_mpa_pad(len);
	size_t at = 2 + len + pad;

	util_put_be16(buf, (uint16_t)len);
	memcpy(buf + 2, ulpdu, len);
	memset(buf + 2 + len, 0, pad + 4);
	if (peer->crc)
		iwarp_crc_put(buf + at, iwarp_crc_finish(iwarp_crc_add(IWARP_CRC_INIT, buf, at)));
	return at + 4;
}

void peer_write_fpdu(struct peer *peer, const void *ulpdu, size_t len)
{
	static uint8_t buf[70000];

	peer_write(peer, buf, peer_build_fpdu(peer, ulpdu, len, buf));
}

void peer_write_segment(struct peer *peer, const struct iwarp_ddp *ddp, const void *payload,
			size_t len)
{
	static uint8_t ulpdu[65536];
	size_t header_len = iwarp_ddp_encode(ddp, ulpdu);

	if (len)
		memcpy(ulpdu + header_len, payload, len);
	peer_write_fpdu(peer, ulpdu, header_len + len);
}

void peer_send(struct peer *peer, const void *payload, size_t len)
{
	const struct iwarp_ddp ddp = {
		.last = true,
		.opcode = IWARP_OPCODE_SEND,
		.msn = peer->msn[IWARP_QN_SEND]++,
	};

	peer_write_segment(peer, &ddp, payload, len);
}

void peer_tagged(struct peer *peer, uint8_t opcode, uint32_t stag, uint64_t to, const void *payload,
		 size_t len)
{
	const struct iwarp_ddp ddp = {
		.tagged = true,
		.last = true,
		.opcode = opcode,
		.stag = stag,
		.to = to,
	};

	peer_write_segment(peer, &ddp, payload, len);
}

void peer_read_request(struct peer *peer, const struct iwarp_read_request *req)
{
	const struct iwarp_ddp ddp = {
		.last = true,
		.opcode = IWARP_OPCODE_READ_REQUEST,
		.qn = IWARP_QN_READ_REQUEST,
		.msn = peer->msn[IWARP_QN_READ_REQUEST]++,
	};
	uint8_t payload[IWARP_READ_REQUEST_LEN];

	iwarp_read_request_encode(req, payload);
	peer_write_segment(peer, &ddp, payload, sizeof(payload));
}

bool peer_read_segment(struct peer *peer, struct iwarp_ddp *ddp, uint8_t *buf, size_t *lenp)
{
	static uint8_t fpdu[70000];
	size_t len, header_len, whole;

	if (!peer_read(peer, fpdu, 2))
		return false;
	len = util_get_be16(fpdu);
	whole = iwarp_mpa_fpdu_len(len);
	if (!peer_read(peer, fpdu + 2, whole - 2))
		return false;
	if (peer->crc)
		cr_assert_eq(iwarp_crc_get(fpdu + whole - 4),
			     iwarp_crc_finish(iwarp_crc_add(IWARP_CRC_INIT, fpdu, whole - 4)),
			     "our end's CRC is wrong");
	header_len = iwarp_ddp_header_len(fpdu[2], len);
	cr_assert(header_len);
	cr_assert_eq(iwarp_ddp_decode(ddp, fpdu + 2), IWARP_OK);
	*lenp = len - header_len;
	memcpy(buf, fpdu + 2 + header_len, *lenp);
	return true;
}

enum iwarp_fault peer_read_terminate(struct peer *peer, struct iwarp_terminate *term)
{
	static uint8_t buf[65536];
	struct iwarp_ddp ddp;
	size_t len;

	while (peer_read_segment(peer, &ddp, buf, &len)) {
		if (ddp.tagged || ddp.qn != IWARP_QN_TERMINATE)
			continue;
		cr_assert(ddp.last);
		cr_assert_eq(ddp.msn, 1);
		cr_assert_eq(iwarp_terminate_decode(term, buf, len), 0);
		return iwarp_terminate_fault(term);
	}
	return IWARP_OK;
}
