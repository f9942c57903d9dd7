/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/iwarp/pair.h"
#include "transport/iwarp/internal.h"

#define PATIENCE_NS (5 * UTIL_NS_PER_S)

static void open_end(struct pair *pair, struct pair_end *end, const struct pair_options *opts,
		     const struct sockaddr_storage *peer)
{
	const struct fabric_options fopts = {
		.crc = opts->crc, .no_io_uring = opts->plain, .iommu = opts->iommu};
	struct util_err err = {0};

	cr_assert_eq(pair->ops->open(&end->fabric, &fopts, &err), 0, "%s", err.what);
	cr_assert_eq(pair->ops->domain_open(end->fabric, (const struct sockaddr *)peer,
					    sizeof(*peer), 1000, &end->domain, &err),
		     0, "%s", err.what);
	cr_assert_eq(pair->ops->cq_create(end->domain, 256, &end->cq, &err), 0, "%s", err.what);
}

static void start_listening(struct pair *pair, const struct pair_options *opts)
{
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct util_err err = {0};
	int rc;

	if (opts->ipv6)
		rc = pair->ops->listen(pair->end[1].fabric, (struct sockaddr *)&in6, sizeof(in6),
				       &pair->addr, &pair->listener, &err);
	else
		rc = pair->ops->listen(pair->end[1].fabric, (struct sockaddr *)&in, sizeof(in),
				       &pair->addr, &pair->listener, &err);
	cr_assert_eq(rc, 0, "%s", err.what);
}

static struct fabric_conn_params params_of(const struct pair_options *opts, int e)
{
	struct fabric_conn_params params = {
		.max_send_wr = opts->depth ? opts->depth : 64,
		.max_recv_wr = opts->depth ? opts->depth : 64,
		.max_sge = opts->max_sge ? opts->max_sge : 4,
		.max_inline = 128,
	};

	if (opts->private[e]) {
		params.private_len = (uint16_t)strlen(opts->private[e]);
		memcpy(params.private_data, opts->private[e], params.private_len);
	}
	return params;
}

static struct fabric_request *await_request(struct pair *pair)
{
	struct fabric_request *req = NULL;
	uint64_t deadline = util_clock_ns() + PATIENCE_NS;

	while (pair->ops->listener_poll(pair->listener, &req) == -EAGAIN) {
		pair_turn(pair);
		cr_assert(util_clock_ns() < deadline, "no connection request");
	}
	return req;
}

void pair_open(struct pair *pair, const struct pair_options *opts)
{
	struct fabric_conn_params params;
	struct fabric_request *req;
	struct util_err err = {0};

	memset(pair, 0, sizeof(*pair));
	pair->ops = &iwarp_fabric_ops;
	open_end(pair, &pair->end[0], opts, &pair->addr);
	open_end(pair, &pair->end[1], opts, &pair->addr);
	start_listening(pair, opts);
	params = params_of(opts, 0);
	params.peer = pair->addr;
	params.peer_len = sizeof(struct sockaddr_in6);
	if (pair->addr.ss_family == AF_INET)
		params.peer_len = sizeof(struct sockaddr_in);
	cr_assert_eq(pair->ops->conn_connect(pair->end[0].cq, &params, &pair->end[0].conn, &err), 0,
		     "%s", err.what);
	req = await_request(pair);
	params = params_of(opts, 1);
	cr_assert_eq(
		pair->ops->conn_accept(pair->end[1].cq, req, &params, &pair->end[1].conn, &err), 0,
		"%s", err.what);
	cr_assert_eq(pair->ops->conn_start(pair->end[1].conn), 0);
	for (int e = 0; e < 2; e++) {
		struct fabric_wc wc = pair_next(pair, e);

		cr_assert_eq(wc.type, FABRIC_EV_ESTABLISHED, "end %d: %d %s", e, wc.type,
			     pair->end[e].conn->err.what);
	}
	if (opts->mss) { /* as towards a peer that is not one of us */
		for (int e = 0; e < 2; e++)
			iwarp_conn_of(pair->end[e].conn)->tx.max_ulpdu =
				(uint32_t)iwarp_mpa_max_ulpdu((size_t)opts->mss);
	}
}

void pair_close(struct pair *pair)
{
	for (int e = 0; e < 2; e++) {
		struct pair_end *end = &pair->end[e];

		if (!end->fabric)
			continue;
		if (end->conn)
			pair->ops->conn_destroy(end->conn);
		pair->ops->cq_destroy(end->cq);
		pair->ops->domain_put(end->domain);
	}
	if (pair->listener)
		pair->ops->listener_close(pair->listener);
	for (int e = 0; e < 2; e++)
		if (pair->end[e].fabric)
			pair->ops->close(pair->end[e].fabric);
}

static bool turn_end(struct pair *pair, struct pair_end *end)
{
	struct fabric_wc wc[16];
	int n = end->cq ? pair->ops->cq_poll(end->cq, wc, 16) : 0;

	for (int i = 0; i < n; i++) {
		cr_assert(!end->disconnected, "something came after the last word");
		end->established |= wc[i].type == FABRIC_EV_ESTABLISHED;
		end->disconnected |= wc[i].type == FABRIC_EV_DISCONNECTED;
		end->log[end->last++ % PAIR_LOG] = wc[i];
		cr_assert(end->last - end->first <= PAIR_LOG);
	}
	return n > 0;
}

bool pair_turn(struct pair *pair)
{
	bool any = turn_end(pair, &pair->end[0]);

	return turn_end(pair, &pair->end[1]) || any;
}

struct fabric_wc pair_next(struct pair *pair, int e)
{
	struct pair_end *end = &pair->end[e];
	uint64_t deadline = util_clock_ns() + PATIENCE_NS;

	while (end->first == end->last) {
		if (!pair_turn(pair))
			usleep(50);
		cr_assert(util_clock_ns() < deadline, "end %d says nothing", e);
	}
	return end->log[end->first++ % PAIR_LOG];
}

struct fabric_wc pair_next_of(struct pair *pair, int e, enum fabric_wc_type type)
{
	struct fabric_wc wc;

	do
		wc = pair_next(pair, e);
	while (wc.type != type);
	return wc;
}

void pair_settle(struct pair *pair, int ms)
{
	uint64_t deadline = util_clock_ns() + (uint64_t)ms * UTIL_NS_PER_MS;

	while (util_clock_ns() < deadline)
		if (!pair_turn(pair))
			usleep(200);
}

void pair_until_disconnected(struct pair *pair, int e)
{
	uint64_t deadline = util_clock_ns() + PATIENCE_NS;

	while (!pair->end[e].disconnected) {
		if (!pair_turn(pair))
			usleep(200);
		cr_assert(util_clock_ns() < deadline, "end %d does not end", e);
	}
}

void memory_open(struct memory *m, struct pair *pair, int e, size_t len, unsigned access)
{
	struct util_err err = {0};
	struct mr_provider *p = pair->end[e].domain->provider;

	m->len = len;
	m->ptr = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cr_assert(m->ptr != MAP_FAILED);
	m->provider = p;
	cr_assert_eq(p->ops->register_memory(p, m->ptr, len, 4096, access, &m->reg, &err), 0, "%s",
		     err.what);
}

void memory_close(struct memory *m)
{
	m->provider->ops->deregister_memory(m->provider, &m->reg);
	munmap(m->ptr, m->len);
}

static uint8_t pattern(size_t i, unsigned seed)
{
	return (uint8_t)((i * 2654435761u >> 7) + seed * 131 + (i >> 8));
}

void memory_fill(struct memory *m, unsigned seed)
{
	for (size_t i = 0; i < m->len; i++)
		m->ptr[i] = pattern(i, seed);
}

bool memory_is_filled(const struct memory *m, size_t off, size_t len, unsigned seed)
{
	for (size_t i = 0; i < len; i++)
		if (m->ptr[off + i] != pattern(i, seed))
			return false;
	return true;
}

struct fabric_sge memory_sge(const struct memory *m, size_t off, size_t len)
{
	return (struct fabric_sge){
		.ptr = m->ptr + off,
		.iova = m->reg.iova + off,
		.len = (uint32_t)len,
		.lkey = m->reg.lkey,
	};
}

void pair_recv(struct pair *pair, int e, const struct memory *m, size_t off, size_t len,
	       uint64_t wr_id)
{
	struct fabric_recv recv = {.wr_id = wr_id, .sge = memory_sge(m, off, len)};

	cr_assert_eq(pair->ops->post_recv(pair->end[e].conn, &recv), 0);
}

int pair_post(struct pair *pair, int e, enum fabric_op op, const struct fabric_sge *sge,
	      uint64_t remote_iova, uint32_t rkey, unsigned flags, uint64_t wr_id)
{
	struct fabric_wr wr = {
		.wr_id = wr_id,
		.op = op,
		.flags = flags | FABRIC_WR_SIGNALED,
		.nsge = sge ? 1 : 0,
		.sge = sge,
	};

	if (op == FABRIC_OP_SEND_INV || op == FABRIC_OP_LOCAL_INV) {
		wr.u.inv_rkey = rkey;
	} else {
		wr.u.remote.iova = remote_iova;
		wr.u.remote.rkey = rkey;
	}
	return pair->ops->post_send(pair->end[e].conn, &wr);
}
