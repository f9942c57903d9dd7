/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fabric_check.c - the verbs fabric against a real device, both roles in this process.
 *
 *     fabric_check ADDRESS [iwarp]
 *
 * ADDRESS is a local one with an RDMA device on it, "iwarp" says that it is one of iWARP's; in the
 * guests they are rxe and siw.  One thread
 * drives a requester's and a responder's cq in turn.  Prints TAP.  What the scripted mock of
 * tests/verbs cannot know is checked here: that the libraries and the kernel agree with it.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "iommu-aware/iommu.h"
#include "transport/fabric/fabric.h"

#define OPS (&verbs_fabric_ops)
#define REGION_LEN ((size_t)1 << 20)
#define MSG_LEN 1024
#define NRECV 8
#define PATIENCE_NS (5 * UTIL_NS_PER_S)

/* One end: its cq, its connection, memory, and the completions that came. */
struct end {
	struct fabric_domain *domain;
	struct fabric_cq *cq;
	struct fabric_conn *conn;
	uint8_t *msgs; /* NRECV receive buffers and one to send */
	struct mr_registration msgs_reg;
	uint8_t *region;
	struct mr_registration region_reg;
	unsigned established, disconnected, flushed;
	struct fabric_wc send, recv; /* the last of each */
	unsigned sends, recvs;
};

struct check {
	struct sockaddr_in addr;
	struct fabric *fabric;
	struct fabric_listener *listener;
	struct end client, server;
	bool iwarp;
	bool refuse; /* reject requests */
	unsigned tap, bad;
};

static void tap(struct check *c, bool good, const char *claim)
{
	printf("%sok %u - %s\n", good ? "" : "not ", ++c->tap, claim);
	c->bad += !good;
}

static void tap_skip(struct check *c, const char *claim, const char *why)
{
	printf("ok %u - %s # SKIP %s\n", ++c->tap, claim, why);
}

static void must(int ret, const char *what, const struct util_err *err)
{
	if (ret >= 0)
		return;
	printf("Bail out! %s: %s (%s)\n", what, strerror(-ret), err ? err->what : "");
	exit(1);
}

static int reg(struct end *end, void *addr, size_t len, unsigned access, struct mr_registration *r,
	       struct util_err *err)
{
	struct mr_provider *p = end->domain->provider;

	return p->ops->register_memory(p, addr, len, 4096, access, r, err);
}

static void dereg(struct end *end, struct mr_registration *r)
{
	end->domain->provider->ops->deregister_memory(end->domain->provider, r);
}

static void *map(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		abort();
	return p;
}

/* A cq, memory to send from and receive into, and a region with all the rights there are. */
static void end_open(struct end *end, struct fabric_domain *domain)
{
	unsigned bind = domain->attr.windows ? MR_ACCESS_WINDOW_BIND : 0;
	struct util_err err = {0};

	end->domain = domain;
	must(OPS->cq_create(domain, 64, &end->cq, &err), "cq_create", &err);
	end->msgs = map((NRECV + 1) * MSG_LEN);
	end->region = map(REGION_LEN);
	must(reg(end, end->msgs, (NRECV + 1) * MSG_LEN, MR_ACCESS_LOCAL_WRITE, &end->msgs_reg,
		 &err),
	     "register messages", &err);
	must(reg(end, end->region, REGION_LEN,
		 MR_ACCESS_LOCAL_WRITE | MR_ACCESS_REMOTE_READ | MR_ACCESS_REMOTE_WRITE |
			 MR_ACCESS_READ_SINK | bind,
		 &end->region_reg, &err),
	     "register region", &err);
}

static void end_close(struct end *end)
{
	if (end->conn)
		OPS->conn_destroy(end->conn);
	if (!end->cq)
		return;
	dereg(end, &end->msgs_reg);
	dereg(end, &end->region_reg);
	munmap(end->msgs, (NRECV + 1) * MSG_LEN);
	munmap(end->region, REGION_LEN);
	OPS->cq_destroy(end->cq);
	memset(end, 0, sizeof(*end));
}

static void end_drop(struct end *end)
{
	OPS->conn_destroy(end->conn);
	end->conn = NULL;
	end->established = end->disconnected = end->flushed = end->sends = end->recvs = 0;
}

static void post_recvs(struct end *end, unsigned n)
{
	struct fabric_recv recv[NRECV];

	for (unsigned i = 0; i < n; i++)
		recv[i] = (struct fabric_recv){
			.next = i + 1 < n ? &recv[i + 1] : NULL,
			.wr_id = i,
			.sge = {.ptr = end->msgs + i * MSG_LEN,
				.iova = end->msgs_reg.iova + i * MSG_LEN,
				.len = MSG_LEN,
				.lkey = end->msgs_reg.lkey},
		};
	must(OPS->post_recv(end->conn, recv), "post_recv", NULL);
}

static struct fabric_conn_params conn_params(const struct check *c, const char *private_data)
{
	struct fabric_conn_params params = {
		.max_send_wr = 16, .max_recv_wr = NRECV, .max_sge = 1, .max_inline = 64};

	memcpy(&params.peer, &c->addr, sizeof(c->addr));
	params.peer_len = sizeof(c->addr);
	params.private_len = (uint16_t)strlen(private_data);
	memcpy(params.private_data, private_data, params.private_len);
	params.timeout_ms = 3000;
	return params;
}

static void accept_request(struct check *c, struct fabric_request *req)
{
	struct fabric_conn_params params = conn_params(c, "answer");
	struct util_err err = {0};

	if (c->refuse) {
		OPS->request_reject(req);
		return;
	}
	if (!c->server.cq)
		end_open(&c->server, req->domain);
	must(OPS->conn_accept(c->server.cq, req, &params, &c->server.conn, &err), "accept", &err);
	post_recvs(&c->server, NRECV);
	must(OPS->conn_start(c->server.conn), "start", NULL);
}

static void end_poll(struct end *end)
{
	struct fabric_wc wc[16];
	int n = end->cq ? OPS->cq_poll(end->cq, wc, 16) : 0;

	for (int i = 0; i < n; i++) {
		switch (wc[i].type) {
		case FABRIC_WC_SEND:
			end->send = wc[i];
			end->sends++;
			break;
		case FABRIC_WC_RECV:
			end->recv = wc[i];
			end->recvs += wc[i].status == FABRIC_WC_OK;
			end->flushed += wc[i].status == FABRIC_WC_FLUSHED;
			break;
		case FABRIC_EV_ESTABLISHED:
			end->established++;
			break;
		case FABRIC_EV_DISCONNECTED:
			end->disconnected++;
			break;
		}
	}
}

/* Drive both ends until *counter reaches goal, sleeping in between; false: it did not in time. */
static bool drive(struct check *c, const unsigned *counter, unsigned goal)
{
	uint64_t end_ns = util_clock_ns() + PATIENCE_NS;
	struct fabric_request *req;

	while (*counter < goal && util_clock_ns() < end_ns) {
		if (OPS->listener_poll(c->listener, &req) == 0)
			accept_request(c, req);
		end_poll(&c->client);
		end_poll(&c->server);
		if (*counter < goal && c->client.cq)
			OPS->cq_wait(c->client.cq, 1);
	}
	return *counter >= goal;
}

static bool connect_pair(struct check *c)
{
	struct fabric_conn_params params = conn_params(c, "question");
	struct util_err err = {0};

	must(OPS->conn_connect(c->client.cq, &params, &c->client.conn, &err), "connect", &err);
	post_recvs(&c->client, NRECV);
	return drive(c, &c->client.established, 1) && drive(c, &c->server.established, 1);
}

/* Both connections gone; the ends stay. */
static void drop_pair(struct check *c)
{
	end_drop(&c->client);
	if (c->server.conn)
		end_drop(&c->server);
}

static bool renew_pair(struct check *c)
{
	drop_pair(c);
	return connect_pair(c);
}

/* Post one signalled work request at end and drive to its completion; its status, or -1. */
static int run(struct check *c, struct end *end, struct fabric_wr *wr)
{
	unsigned goal = end->sends + 1;

	wr->flags |= FABRIC_WR_SIGNALED;
	if (OPS->post_send(end->conn, wr) || !drive(c, &end->sends, goal))
		return -1;
	return (int)end->send.status;
}

static int send_msg(struct check *c, struct end *end, unsigned flags, uint32_t inv_rkey)
{
	struct fabric_sge sge = {.ptr = end->msgs + NRECV * MSG_LEN,
				 .iova = end->msgs_reg.iova + NRECV * MSG_LEN,
				 .len = 40,
				 .lkey = end->msgs_reg.lkey};
	struct fabric_wr wr = {.op = inv_rkey ? FABRIC_OP_SEND_INV : FABRIC_OP_SEND,
			       .flags = flags,
			       .nsge = 1,
			       .sge = &sge,
			       .u.inv_rkey = inv_rkey};

	snprintf(sge.ptr, MSG_LEN, "message %u", c->tap);
	return run(c, end, &wr);
}

/* The server moves len bytes between its region and what (iova, rkey) names at the client. */
static int move(struct check *c, enum fabric_op op, uint64_t iova, uint32_t rkey, uint32_t len)
{
	struct end *s = &c->server;
	struct fabric_sge sge = {.ptr = s->region,
				 .iova = s->region_reg.iova,
				 .len = len,
				 .lkey = s->region_reg.lkey};
	struct fabric_wr wr = {
		.op = op, .nsge = 1, .sge = &sge, .u.remote = {.iova = iova, .rkey = rkey}};

	return run(c, s, &wr);
}

/*
 * The server's write of 8 bytes to where it may not.  On InfiniBand and RoCE the writer is told; an
 * iWARP write is complete when it has left, and what the writer sees is the connection's end.
 */
static bool refused(struct check *c, uint64_t iova, uint32_t rkey)
{
	int status = move(c, FABRIC_OP_WRITE, iova, rkey, 8);

	if (status == FABRIC_WC_REMOTE_ACCESS)
		return c->server.conn->err.code == -EACCES;
	return c->iwarp && drive(c, &c->server.disconnected, 1);
}

/* ---- the checks -------------------------------------------------------------------------- */

static void check_set_up(struct check *c)
{
	bool up = connect_pair(c);

	tap(c, up, "connects");
	if (!up) {
		printf("# %s\nBail out!\n", c->client.conn->err.what);
		exit(1);
	}
	tap(c,
	    c->server.conn->peer_private_len >= 8 &&
		    !memcmp(c->server.conn->peer_private, "question", 8),
	    "the request's private data arrives");
	tap(c,
	    c->client.conn->peer_private_len >= 6 &&
		    !memcmp(c->client.conn->peer_private, "answer", 6),
	    "the reply's private data arrives");
}

static void check_messages(struct check *c)
{
	bool good = send_msg(c, &c->client, 0, 0) == FABRIC_WC_OK && drive(c, &c->server.recvs, 1);

	tap(c, good && c->server.recv.byte_len == 40 && !memcmp(c->server.msgs, "message", 7),
	    "a message arrives whole");
	if (c->client.domain->attr.max_inline >= 40)
		tap(c,
		    send_msg(c, &c->client, FABRIC_WR_INLINE, 0) == FABRIC_WC_OK &&
			    drive(c, &c->server.recvs, 2),
		    "an inline message arrives");
	else
		tap_skip(c, "an inline message arrives", "the device has no inline sends");
	tap(c,
	    send_msg(c, &c->server, 0, 0) == FABRIC_WC_OK && drive(c, &c->client.recvs, 1) &&
		    !c->client.recv.invalidated,
	    "a plain answer arrives and invalidates nothing");
}

static void check_rdma(struct check *c)
{
	struct end *cl = &c->client, *s = &c->server;
	uint64_t iova = cl->region_reg.iova;
	uint32_t rkey = cl->region_reg.rkey;

	memset(s->region, 0x5a, REGION_LEN);
	tap(c,
	    move(c, FABRIC_OP_WRITE, iova, rkey, REGION_LEN) == FABRIC_WC_OK &&
		    !memcmp(cl->region, s->region, REGION_LEN),
	    "the peer writes 1 MiB into a region");
	memset(cl->region, 0xa5, REGION_LEN);
	tap(c,
	    move(c, FABRIC_OP_READ, iova, rkey, REGION_LEN) == FABRIC_WC_OK &&
		    !memcmp(cl->region, s->region, REGION_LEN),
	    "the peer reads 1 MiB out of a region");
	tap(c, refused(c, iova + REGION_LEN - 4, rkey), "a write past the region's end is refused");
	tap(c, drive(c, &s->disconnected, 1), "and ends the connection");
	printf("# %s (%s)\n", s->conn->err.what, s->conn->err.hint);
	tap(c, drive(c, &cl->disconnected, 1) && cl->flushed == NRECV - cl->recvs,
	    "every receive of the other end completes as flushed");
	printf("# %s\n", cl->conn->err.code ? cl->conn->err.what : "(orderly)");
}

/* Bind a window over the client's region from off on. */
static int bind_window(struct check *c, struct mr_window *window, uint64_t off)
{
	struct fabric_wr wr = {
		.op = FABRIC_OP_BIND,
		.u.bind = {.window = window,
			   .reg = &c->client.region_reg,
			   .iova = c->client.region_reg.iova + off,
			   .len = 8192,
			   .access = MR_ACCESS_REMOTE_READ | MR_ACCESS_REMOTE_WRITE},
	};

	return run(c, &c->client, &wr);
}

static void check_windows(struct check *c)
{
	struct mr_provider *p = c->client.domain->provider;
	struct mr_window window = {0};
	uint64_t iova = c->client.region_reg.iova + 4096;
	struct fabric_wr inv = {.op = FABRIC_OP_LOCAL_INV};
	bool good = true;

	if (!c->client.domain->attr.windows) {
		tap(c, p->ops->window_alloc(p, &window) == -EOPNOTSUPP,
		    "a device without windows says so");
		return;
	}
	must(p->ops->window_alloc(p, &window), "window_alloc", NULL);
	for (int i = 0; i < 3 && good; i++) {
		good = bind_window(c, &window, 4096) == FABRIC_WC_OK &&
		       move(c, FABRIC_OP_WRITE, iova, window.rkey, 8192) == FABRIC_WC_OK;
		inv.u.inv_rkey = window.rkey;
		good = good && run(c, &c->client, &inv) == FABRIC_WC_OK;
	}
	tap(c, good, "a window is bound, written through and invalidated, three times over");
	good = bind_window(c, &window, 4096) == FABRIC_WC_OK &&
	       send_msg(c, &c->server, 0, window.rkey) == FABRIC_WC_OK &&
	       drive(c, &c->client.recvs, 1);
	tap(c, good && c->client.recv.invalidated && c->client.recv.invalidated_rkey == window.rkey,
	    "the peer's Send with Invalidate is told with its key");
	tap(c, move(c, FABRIC_OP_WRITE, iova, window.rkey, 64) == FABRIC_WC_REMOTE_ACCESS,
	    "an invalidated window is closed to the peer");
	/* Windows of type 2B hang on their queue pair: that goes first. */
	good = renew_pair(c);
	p->ops->window_free(p, &window);
	tap(c, good, "and the next connection stands");
}

static void check_dereg(struct check *c)
{
	uint8_t *more = map(REGION_LEN);
	struct mr_registration r;
	struct iommu_pins before, with, after;
	struct util_err err = {0};
	uint64_t iova;
	uint32_t rkey;

	iommu_pins_read(&before, 0, NULL);
	must(reg(&c->client, more + 100, 8192, MR_ACCESS_REMOTE_WRITE, &r, &err), "register", &err);
	iommu_pins_read(&with, 0, NULL);
	iova = r.iova;
	rkey = r.rkey;
	tap(c, with.vm_pin_kb - before.vm_pin_kb == r.pages_charged * 4 && r.pages_charged == 3,
	    "the pages charged are those the kernel pins");
	dereg(&c->client, &r);
	iommu_pins_read(&after, 0, NULL);
	tap(c, after.vm_pin_kb == before.vm_pin_kb, "and unpins");
	memset(c->server.region, 0x11, 64);
	tap(c, refused(c, iova, rkey) && more[100] == 0,
	    "a deregistered region is closed to the peer");
	munmap(more, REGION_LEN);
}

/* The client connects to where nobody takes it; the end's code. */
static int failing_connect(struct check *c, const struct fabric_conn_params *params)
{
	struct util_err err = {0};
	int code;

	must(OPS->conn_connect(c->client.cq, params, &c->client.conn, &err), "connect", &err);
	post_recvs(&c->client, NRECV);
	code = drive(c, &c->client.disconnected, 1) ? c->client.conn->err.code : 0;
	printf("# %s (%s)\n", c->client.conn->err.what, c->client.conn->err.hint);
	if (c->client.flushed != NRECV)
		code = 0;
	end_drop(&c->client);
	return code;
}

static void check_refusals(struct check *c)
{
	struct fabric_conn_params params = conn_params(c, "");
	struct sockaddr_in nobody = c->addr;

	drop_pair(c);
	c->refuse = true;
	tap(c, failing_connect(c, &params) == -ECONNREFUSED, "a rejected request is refused");
	c->refuse = false;
	nobody.sin_port = htons(9);
	memcpy(&params.peer, &nobody, sizeof(nobody));
	tap(c, failing_connect(c, &params) == -ECONNREFUSED, "a port without listener is refused");
}

static unsigned open_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

static void check_many(struct check *c)
{
	unsigned fds = open_fds(), good = 0, total = 50;
	uint64_t start_ns = util_clock_ns();

	for (unsigned i = 0; i < total; i++) {
		good += connect_pair(c) && send_msg(c, &c->client, 0, 0) == FABRIC_WC_OK &&
			drive(c, &c->server.recvs, 1);
		/* Goodbyes by turns. */
		OPS->conn_disconnect((i & 1 ? &c->client : &c->server)->conn);
		good -= !drive(c, &c->client.disconnected, 1) ||
			!drive(c, &c->server.disconnected, 1);
		drop_pair(c);
	}
	printf("# %u connections of %.1f ms each\n", total,
	       (double)(util_clock_ns() - start_ns) / 1e6 / total);
	tap(c, good == total, "50 connections in a row stand, carry a message and end");
	tap(c, open_fds() == fds, "and leave no descriptor behind");
}

static void describe(const struct fabric_attr *attr)
{
	printf("# %s: sge %u, read sge %u, inline %u, send wr %u, rd_atomic %u, max_msg %llu, "
	       "windows %d, link %.1f Gbit/s\n",
	       attr->device, attr->max_sge, attr->max_read_sge, attr->max_inline, attr->max_send_wr,
	       attr->max_rd_atomic, (unsigned long long)attr->max_msg, attr->windows,
	       (double)attr->link_bps / 1e9);
}

int main(int argc, char **argv)
{
	struct check c = {.addr = {.sin_family = AF_INET}};
	struct sockaddr_storage bound;
	struct fabric_domain *domain;
	struct util_err err = {0};

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc < 2 || argc > 3 || inet_pton(AF_INET, argv[1], &c.addr.sin_addr) != 1) {
		fprintf(stderr, "usage: fabric_check ADDRESS [iwarp]\n");
		return 2;
	}
	must(OPS->open(&c.fabric, NULL, &err), "open", &err);
	must(OPS->listen(c.fabric, (struct sockaddr *)&c.addr, sizeof(c.addr), &bound, &c.listener,
			 &err),
	     "listen", &err);
	c.addr.sin_port = ((struct sockaddr_in *)&bound)->sin_port;
	must(OPS->domain_open(c.fabric, (struct sockaddr *)&c.addr, sizeof(c.addr), 3000, &domain,
			      &err),
	     "domain_open", &err);
	describe(&domain->attr);
	c.iwarp = argc == 3;
	end_open(&c.client, domain);
	check_set_up(&c);
	check_messages(&c);
	check_rdma(&c);
	tap(&c, renew_pair(&c), "reconnects");
	check_windows(&c);
	check_dereg(&c);
	check_refusals(&c);
	check_many(&c);
	end_close(&c.client);
	end_close(&c.server);
	OPS->domain_put(domain);
	OPS->listener_close(c.listener);
	OPS->close(c.fabric);
	printf("1..%u\n", c.tap);
	return c.bad != 0;
}
