/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * evil.c - the responder of evil.h.
 *
 * The client's connecting blocks, so a thread accepts meanwhile; after that there is one thread.
 *
 * NFSRDMA_TEST_FABRIC (iwarp, verbs) and NFSRDMA_TEST_ADDRESS, an IPv4 address of this machine's,
 * choose another stage than the software RNIC on loopback.
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/rpcrdma/evil.h"

#define INBOX (EVIL_BUFFERS * EVIL_SIZE)
#define OUTBOX (EVIL_BUFFERS * EVIL_SIZE)
#define PATIENCE_NS (5 * UTIL_NS_PER_S)
#define DATA_ID UINT64_C(1000000)

/* ---- life ------------------------------------------------------------------------------- */

static void register_part(struct evil *e, uint8_t *at, size_t len, unsigned access,
			  struct mr_registration *reg)
{
	struct mr_provider *p = e->domain->provider;
	struct util_err err = {0};

	cr_assert_eq(p->ops->register_memory(p, at, len, 4096, access, reg, &err), 0, "%s",
		     err.what);
}

static void memory_open(struct evil *e)
{
	e->memory = mmap(NULL, INBOX + OUTBOX + EVIL_SIZE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	cr_assert_neq(e->memory, MAP_FAILED);
	register_part(e, e->memory, INBOX, MR_ACCESS_LOCAL_WRITE, &e->inbox);
	register_part(e, e->memory + INBOX, OUTBOX, MR_ACCESS_LOCAL_WRITE, &e->outbox);
	register_part(e, e->memory + INBOX + OUTBOX, EVIL_SIZE,
		      MR_ACCESS_LOCAL_WRITE | MR_ACCESS_READ_SINK, &e->data);
}

static const struct fabric_ops *stage_fabric(void)
{
	const char *name = getenv("NFSRDMA_TEST_FABRIC");

	return name && !strcmp(name, "verbs") ? &verbs_fabric_ops : &iwarp_fabric_ops;
}

bool evil_bounds_windows(void)
{
	return stage_fabric() != &verbs_fabric_ops;
}

static struct in_addr stage_address(void)
{
	const char *text = getenv("NFSRDMA_TEST_ADDRESS");
	struct in_addr addr = {htonl(INADDR_LOOPBACK)};

	cr_assert(!text || inet_pton(AF_INET, text, &addr) == 1, "no address: %s", text);
	return addr;
}

static void listen_open(struct evil *e)
{
	struct sockaddr_in sin = {.sin_family = AF_INET, .sin_addr = stage_address()};
	struct fabric_options opts = {0};
	struct sockaddr_storage bound;
	struct util_err err = {0};

	if (e->ops->open(&e->fabric, &opts, &err))
		cr_skip_test("%s", err.what);
	cr_assert_eq(e->ops->listen(e->fabric, (struct sockaddr *)&sin, sizeof(sin), &bound,
				    &e->listener, &err),
		     0, "%s", err.what);
	e->port = ntohs(((struct sockaddr_in *)&bound)->sin_port);
}

/* What lives in the domain the first request comes with. */
static void domain_use(struct evil *e, struct fabric_domain *domain)
{
	struct util_err err = {0};

	if (e->domain)
		return;
	e->domain = domain;
	memory_open(e);
	cr_assert_eq(e->ops->cq_create(domain, 4 * EVIL_BUFFERS, &e->cq, &err), 0, "%s", err.what);
}

static void post_inbox(struct evil *e, uint32_t i)
{
	struct fabric_recv recv = {
		.wr_id = i,
		.sge = {.ptr = e->memory + i * EVIL_SIZE,
			.iova = e->inbox.iova + i * EVIL_SIZE,
			.len = EVIL_SIZE,
			.lkey = e->inbox.lkey},
	};

	e->ops->post_recv(e->conn, &recv);
}

static void accept_one(struct evil *e)
{
	struct fabric_conn_params params = {
		.max_send_wr = EVIL_BUFFERS,
		.max_recv_wr = EVIL_BUFFERS,
		.max_sge = 1,
		.private_len = RPCRDMA_PRIVATE_LEN,
	};
	struct rpcrdma_private private = {4096, 4096, true};
	struct fabric_request *req;
	struct util_err err = {0};

	while (e->ops->listener_poll(e->listener, &req))
		usleep(200);
	domain_use(e, req->domain);
	rpcrdma_private_encode(&private, params.private_data);
	rpcrdma_private_decode(&private, req->peer_private, req->peer_private_len);
	e->may_invalidate = private.remote_invalidation;
	cr_assert_eq(e->ops->conn_accept(e->cq, req, &params, &e->conn, &err), 0, "%s", err.what);
	e->established = e->down = false;
	e->first = e->last = e->sent = e->completed = 0;
	e->status = FABRIC_WC_OK;
	for (uint32_t i = 0; i < EVIL_BUFFERS; i++)
		post_inbox(e, i);
	cr_assert_eq(e->ops->conn_start(e->conn), 0);
	while (!e->established && !e->down) {
		e->ops->cq_wait(e->cq, 20);
		evil_poll(e);
	}
}

static void *accept_main(void *arg)
{
	accept_one(arg);
	return NULL;
}

void evil_open(struct evil_scene *s, const struct evil_options *opts)
{
	struct transport_client_params cp;
	struct util_err err = {0};
	pthread_t thread;

	memset(s, 0, sizeof(*s));
	s->evil.ops = stage_fabric();
	listen_open(&s->evil);
	cr_assert_eq(pthread_create(&thread, NULL, accept_main, &s->evil), 0);
	cr_assert_eq(transport_ctx_create(&s->ctx, NULL), 0);
	client_params(&cp, s->evil.port);
	cp.fabric_ops = s->evil.ops;
	((struct sockaddr_in *)&cp.addr)->sin_addr = stage_address();
	cp.pool.mode = opts->mode;
	cp.pool.poison = false;
	if (opts->max_pinned)
		cp.pool.max_pinned = opts->max_pinned;
	cp.slots = opts->slots ? opts->slots : 32;
	cp.soft = opts->soft;
	cp.timeo_ms = opts->soft ? 200 : 0;
	cp.retrans = opts->soft ? 1 : 0;
	cr_assert_eq(transport_client_create(&s->client, s->ctx, &cp, &err), 0, "%s", err.what);
	pthread_join(thread, NULL);
	cr_assert(s->evil.established);
	s->pool = transport_client_pool(s->client);
}

void evil_reaccept(struct evil_scene *s)
{
	pthread_t thread;

	s->evil.ops->conn_destroy(s->evil.conn);
	cr_assert_eq(pthread_create(&thread, NULL, accept_main, &s->evil), 0);
	for (unsigned i = 0; i < 200; i++) {
		transport_client_process(s->client);
		transport_client_wait(s->client, 5);
	}
	pthread_join(thread, NULL);
	cr_assert(s->evil.established);
}

void evil_close(struct evil_scene *s)
{
	struct evil *e = &s->evil;
	struct mr_provider *p = e->domain->provider;

	transport_client_destroy(s->client);
	transport_ctx_put(s->ctx);
	e->ops->conn_destroy(e->conn);
	e->ops->cq_destroy(e->cq);
	p->ops->deregister_memory(p, &e->inbox);
	p->ops->deregister_memory(p, &e->outbox);
	p->ops->deregister_memory(p, &e->data);
	e->ops->listener_close(e->listener);
	e->ops->close(e->fabric);
	munmap(e->memory, INBOX + OUTBOX + EVIL_SIZE);
}

struct mr_lease *evil_lease(struct evil_scene *s, enum mr_kind kind, size_t len)
{
	struct util_err err = {0};
	struct mr_lease *lease;

	cr_assert_eq(mr_lease_take(s->pool, kind, len, &lease, &err), 0, "%s", err.what);
	memset(lease->addr, 0x11, len);
	return lease;
}

/* ---- events ----------------------------------------------------------------------------- */

static void on_wc(struct evil *e, const struct fabric_wc *wc)
{
	switch (wc->type) {
	case FABRIC_EV_ESTABLISHED:
		e->established = true;
		break;
	case FABRIC_EV_DISCONNECTED:
		e->down = true;
		break;
	case FABRIC_WC_SEND:
		e->completed++;
		if (wc->status != FABRIC_WC_OK)
			e->status = wc->status;
		break;
	case FABRIC_WC_RECV:
		if (wc->status != FABRIC_WC_OK)
			break;
		e->pending[e->last % EVIL_BUFFERS] = (uint32_t)wc->wr_id;
		e->len[e->last++ % EVIL_BUFFERS] = wc->byte_len;
		break;
	}
}

void evil_poll(struct evil *e)
{
	struct fabric_wc wc[16];
	int n;

	do {
		n = e->ops->cq_poll(e->cq, wc, 16);
		for (int i = 0; i < n; i++)
			on_wc(e, &wc[i]);
	} while (n == 16);
}

static void turn(struct evil_scene *s)
{
	transport_client_process(s->client);
	evil_poll(&s->evil);
}

void evil_expect_call(struct evil_scene *s)
{
	uint64_t end_ns = util_clock_ns() + PATIENCE_NS;
	struct evil *e = &s->evil;
	uint32_t i;

	while (e->first == e->last && util_clock_ns() < end_ns)
		turn(s);
	cr_assert_neq(e->first, e->last, "no call came");
	i = e->pending[e->first % EVIL_BUFFERS];
	cr_assert_geq(rpcrdma_header_decode(&e->h, e->memory + i * EVIL_SIZE,
					    e->len[e->first % EVIL_BUFFERS]),
		      28);
	e->first++;
	post_inbox(e, i);
}

void evil_drive(struct evil_scene *s, const struct outcome *o, unsigned n)
{
	uint64_t end_ns = util_clock_ns() + PATIENCE_NS;

	while (o->done < n && util_clock_ns() < end_ns)
		turn(s);
	cr_assert_eq(o->done, n);
}

/* ---- what it does ----------------------------------------------------------------------- */

/* Wait until everything posted is complete; then a little, for what the client says to it. */
static bool settled(struct evil_scene *s)
{
	uint64_t end_ns = util_clock_ns() + PATIENCE_NS, quiet_ns = 0;
	struct evil *e = &s->evil;

	while (!e->down && util_clock_ns() < end_ns) {
		turn(s);
		if (e->completed < e->sent)
			continue;
		if (!quiet_ns)
			quiet_ns = util_clock_ns() + 20 * UTIL_NS_PER_MS;
		else if (util_clock_ns() > quiet_ns)
			break;
	}
	return !e->down && e->status == FABRIC_WC_OK;
}

static bool rdma(struct evil_scene *s, enum fabric_op op, uint32_t rkey, uint64_t offset,
		 uint32_t len)
{
	struct evil *e = &s->evil;
	struct fabric_sge sge = {
		.ptr = e->data.addr, .iova = e->data.iova, .len = len, .lkey = e->data.lkey};
	struct fabric_wr wr = {
		.wr_id = DATA_ID,
		.op = op,
		.flags = FABRIC_WR_SIGNALED,
		.nsge = 1,
		.sge = &sge,
		.u.remote = {.iova = offset, .rkey = rkey},
	};

	if (e->down || e->ops->post_send(e->conn, &wr))
		return false;
	e->sent++;
	return settled(s);
}

bool evil_write(struct evil_scene *s, uint32_t rkey, uint64_t offset, uint8_t byte, uint32_t len)
{
	memset(s->evil.data.addr, byte, len);
	return rdma(s, FABRIC_OP_WRITE, rkey, offset, len);
}

bool evil_read(struct evil_scene *s, uint32_t rkey, uint64_t offset, uint32_t len)
{
	memset(s->evil.data.addr, 0, EVIL_SIZE);
	return rdma(s, FABRIC_OP_READ, rkey, offset, len);
}

const uint8_t *evil_bytes(const struct evil *e)
{
	return e->data.addr;
}

void evil_answer(struct evil_scene *s, const uint32_t *words, unsigned n, uint32_t inv)
{
	struct evil *e = &s->evil;
	size_t at = (size_t)(e->sent % EVIL_BUFFERS) * EVIL_SIZE;
	uint8_t *out = e->memory + INBOX + at;
	struct rpcrdma_header h = e->h;
	struct fabric_sge sge = {.ptr = out, .iova = e->outbox.iova + at, .lkey = e->outbox.lkey};
	struct fabric_wr wr = {
		.op = inv ? FABRIC_OP_SEND_INV : FABRIC_OP_SEND,
		.flags = FABRIC_WR_SIGNALED,
		.nsge = 1,
		.sge = &sge,
		.u.inv_rkey = inv,
	};
	ssize_t len;

	h.proc = RPCRDMA_MSG;
	h.nreads = 0;
	h.credits = 32;
	len = rpcrdma_header_encode(&h, out, EVIL_SIZE);
	cr_assert_gt(len, 0);
	memset(out + len, 0, 24);
	util_put_be32(out + len, h.xid);
	util_put_be32(out + len + 4, 1);
	len += 24;
	for (unsigned i = 0; i < n; i++, len += 4)
		util_put_be32(out + len, words[i]);
	sge.len = (uint32_t)len;
	cr_assert_eq(e->ops->post_send(e->conn, &wr), 0);
	e->sent++;
}
