/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_iwarp_stream.c - an established connection whose peer says anything.
 *
 * The receiver runs on a socket made of the input: its first byte chooses CRC and the size of the
 * pieces the rest comes in.  Four bytes "KEY1" stand for the key of a region the peer may write,
 * "KEY2" for one he may read, "KEY3" for a window, eight bytes "IOV1...." and so on for their
 * region addresses, and "IV1+" with four bytes for an address that far into the first, so that the input
 * can get past the key table.  The first 12 KiB of that region are expected (scatter.c).
 *
 * What must hold: memory around what was granted stays as it was, and every receive and the end of
 * the connection are reported exactly once.
 */
#include <errno.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "transport/iwarp/internal.h"

#define AREA 32768u
#define GRANTED 16384u /* of each region, in the middle of its area */
#define RECVS 4u
#define EXPECTED 12288u

struct scene {
	struct fabric *fabric;
	struct fabric_domain *domain;
	struct fabric_cq *cq;
	struct iwarp_conn *conn;
	struct mr_registration writable, readable, below;
	struct mr_window window;
	uint8_t memory[3][AREA];
	uint8_t inbox[RECVS][64];
	/* the socket */
	const uint8_t *input;
	size_t left, piece;
	bool over;
};

/* ---- a socket made of the input ---- */

static ssize_t input_recv(struct iwarp_conn *conn, struct msghdr *msg)
{
	struct scene *s = conn->base.context;
	size_t n = 0, budget = s->piece;

	if (!s->left)
		return 0;
	for (size_t i = 0; i < msg->msg_iovlen && s->left && budget; i++) {
		size_t take = msg->msg_iov[i].iov_len;

		take = take < s->left ? take : s->left;
		take = take < budget ? take : budget;
		memcpy(msg->msg_iov[i].iov_base, s->input, take);
		s->input += take;
		s->left -= take;
		budget -= take;
		n += take;
		if (take < msg->msg_iov[i].iov_len)
			break;
	}
	return (ssize_t)n;
}

static ssize_t input_send(struct iwarp_conn *conn, struct msghdr *msg)
{
	volatile uint8_t sum = 0;
	size_t n = 0;

	/* read everything, as a kernel would */
	for (size_t i = 0; i < msg->msg_iovlen; i++) {
		const uint8_t *p = msg->msg_iov[i].iov_base;

		for (size_t k = 0; k < msg->msg_iov[i].iov_len; k++)
			sum = (uint8_t)(sum + p[k]);
		n += msg->msg_iov[i].iov_len;
	}
	return (ssize_t)n;
}

static void input_want(struct iwarp_conn *conn)
{
}

static void input_detach(struct iwarp_conn *conn)
{
	conn->sock.attached = false;
}

static const struct iwarp_sock_ops input_ops = {
	.name = "input",
	.send = input_send,
	.recv = input_recv,
	.want_rx = input_want,
	.want_tx = input_want,
	.detach = input_detach,
};

/* ---- the scene ---- */

static void must(int rc)
{
	FUZZ_CHECK(rc == 0);
}

static void add_region(struct scene *s, unsigned i, unsigned access, struct mr_registration *reg)
{
	struct mr_provider *p = s->domain->provider;

	memset(s->memory[i], 0x5a, AREA);
	must(p->ops->register_memory(p, s->memory[i] + AREA / 2 - GRANTED / 2, GRANTED, 4096,
				     access, reg, NULL));
}

static void add_window(struct scene *s)
{
	struct mr_provider *p = s->domain->provider;
	struct fabric_wr wr = {
		.op = FABRIC_OP_BIND,
		.u.bind = {.window = &s->window,
			   .reg = &s->below,
			   .iova = s->below.iova,
			   .len = GRANTED,
			   .access = MR_ACCESS_REMOTE_READ | MR_ACCESS_REMOTE_WRITE},
	};

	must(p->ops->window_alloc(p, &s->window));
	must(iwarp_post_send(&s->conn->base, &wr));
}

static void scene_open(struct scene *s, bool crc)
{
	const struct fabric_options opts = {.no_io_uring = true};
	const struct fabric_conn_params params = {
		.context = s, .max_send_wr = 4, .max_recv_wr = RECVS};
	struct sockaddr sa = {0};
	struct util_err err;

	must(iwarp_fabric_ops.open(&s->fabric, &opts, &err));
	must(iwarp_fabric_ops.domain_open(s->fabric, &sa, sizeof(sa), 0, &s->domain, &err));
	must(iwarp_cq_create(s->domain, 16, &s->cq, &err));
	must(iwarp_conn_create(iwarp_cq_of(s->cq), &params, &s->conn, &err));
	s->conn->crc = crc;
	s->conn->initiator = true;
	s->conn->ird = 2;
	s->conn->ord = 2;
	s->conn->tx.max_ulpdu = 256;
	s->conn->sock.attached = true;
	s->conn->phase = IWARP_RUNNING;
	s->conn->base.state = FABRIC_CONN_ESTABLISHED;
	iwarp_cq_of(s->cq)->sock = &input_ops;
	add_region(s, 0, MR_ACCESS_REMOTE_WRITE | MR_ACCESS_READ_SINK, &s->writable);
	add_region(s, 1, MR_ACCESS_REMOTE_READ, &s->readable);
	add_region(s, 2, MR_ACCESS_WINDOW_BIND, &s->below);
	add_window(s);
	iwarp_expect(&s->conn->base, s->writable.iova, EXPECTED);
	for (unsigned i = 0; i < RECVS; i++) {
		struct fabric_recv recv = {.wr_id = i, .sge = {.ptr = s->inbox[i], .len = 32}};

		memset(s->inbox[i], 0x5a, sizeof(s->inbox[i]));
		must(iwarp_post_recv(&s->conn->base, &recv));
	}
}

static void scene_close(struct scene *s)
{
	struct mr_provider *p = s->domain->provider;

	iwarp_conn_destroy(&s->conn->base);
	p->ops->window_free(p, &s->window);
	p->ops->deregister_memory(p, &s->writable);
	p->ops->deregister_memory(p, &s->readable);
	p->ops->deregister_memory(p, &s->below);
	iwarp_cq_of(s->cq)->sock = &iwarp_sock_plain;
	iwarp_cq_destroy(s->cq);
	iwarp_fabric_ops.domain_put(s->domain);
	iwarp_fabric_ops.close(s->fabric);
}

static void put_keys(struct scene *s, uint8_t *p, size_t len)
{
	for (size_t i = 0; i + 4 <= len; i++) {
		if (memcmp(p + i, "KEY1", 4) == 0)
			util_put_be32(p + i, s->writable.rkey);
		else if (memcmp(p + i, "KEY2", 4) == 0)
			util_put_be32(p + i, s->readable.rkey);
		else if (memcmp(p + i, "KEY3", 4) == 0)
			util_put_be32(p + i, s->window.rkey);
		else if (i + 8 <= len && memcmp(p + i, "IOV1....", 8) == 0)
			util_put_be64(p + i, s->writable.iova);
		else if (i + 8 <= len && memcmp(p + i, "IV1+", 4) == 0)
			util_put_be64(p + i, s->writable.iova + util_get_be32(p + i + 4));
		else if (i + 8 <= len && memcmp(p + i, "IOV2....", 8) == 0)
			util_put_be64(p + i, s->readable.iova);
		else if (i + 8 <= len && memcmp(p + i, "IOV3....", 8) == 0)
			util_put_be64(p + i, s->below.iova);
	}
}

static void check_untouched(const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		FUZZ_CHECK(p[i] == 0x5a);
}

static void check_memory(const struct scene *s)
{
	for (unsigned i = 0; i < 3; i++) {
		check_untouched(s->memory[i], AREA / 2 - GRANTED / 2);
		check_untouched(s->memory[i] + AREA / 2 + GRANTED / 2, AREA / 2 - GRANTED / 2);
	}
	check_untouched(s->memory[1], AREA);
	for (unsigned i = 0; i < RECVS; i++)
		check_untouched(s->inbox[i] + 32, 32);
}

static void run(struct scene *s)
{
	unsigned recvs = 0;
	struct fabric_wc wc;

	while (!s->over) {
		s->conn->sock.rx_ready = true;
		if (s->conn->phase != IWARP_ENDED)
			iwarp_conn_progress(s->conn);
		while (iwarp_conn_harvest(s->conn, &wc, 1)) {
			FUZZ_CHECK(!s->over);
			s->over = wc.type == FABRIC_EV_DISCONNECTED;
			if (wc.type == FABRIC_WC_RECV)
				FUZZ_CHECK(wc.wr_id == recvs++ && wc.byte_len <= 32);
		}
		util_list_del(&s->conn->done_node);
	}
	FUZZ_CHECK(recvs == RECVS);
}

FUZZ_TARGET(iwarp_stream)
{
	struct scene *s;
	uint8_t *copy;

	if (size < 2)
		return 0;
	s = calloc(1, sizeof(*s));
	copy = malloc(size);
	FUZZ_CHECK(s && copy);
	memcpy(copy, data, size);
	scene_open(s, data[0] & 0x80);
	put_keys(s, copy + 1, size - 1);
	s->input = copy + 1;
	s->left = size - 1;
	s->piece = data[0] & 0x7f ? data[0] & 0x7f : 65536;
	run(s);
	check_memory(s);
	scene_close(s);
	free(copy);
	free(s);
	return 0;
}
