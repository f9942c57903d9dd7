/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stream.c - how fast the software RNIC moves bytes between two processes on loopback.
 *
 *   stream write|read|ping [-p] [-c] [-r RECORD_KIB] [-d DEPTH] [-t SECONDS]
 *
 * write: RDMA Writes of one record each, DEPTH outstanding; read: RDMA Reads; ping: Sends of one
 * record, each answered by one.  -p plain sockets, -c CRC on.  One line on stdout:
 * MB/s, records, system calls per record and CPU time per GB of both ends.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "transport/fabric/fabric.h"

#define MAX_DEPTH 64

struct setup {
	const char *what;
	struct fabric_options fabric;
	size_t record;
	unsigned depth;
	unsigned seconds;
};

/* What the serving end tells the other, out of band. */
struct offer {
	struct sockaddr_in addr;
	uint64_t iova;
	uint32_t rkey;
};

struct end {
	const struct setup *setup;
	struct fabric *fabric;
	struct fabric_domain *domain;
	struct fabric_cq *cq;
	struct fabric_conn *conn;
	struct mr_registration reg;
	uint8_t *memory;
};

static void die(const char *what, const struct util_err *err)
{
	fprintf(stderr, "stream: %s: %s\n", what, err ? err->what : strerror(errno));
	exit(1);
}

static void open_end(struct end *end, const struct setup *setup)
{
	const unsigned access = MR_ACCESS_REMOTE_READ | MR_ACCESS_REMOTE_WRITE |
				MR_ACCESS_READ_SINK | MR_ACCESS_LOCAL_WRITE;
	const struct sockaddr_in any = {.sin_family = AF_INET};
	size_t len = setup->record * setup->depth;
	struct mr_provider *p;
	struct util_err err;

	end->setup = setup;
	if (iwarp_fabric_ops.open(&end->fabric, &setup->fabric, &err) != 0 ||
	    iwarp_fabric_ops.domain_open(end->fabric, (const struct sockaddr *)&any, sizeof(any),
					 1000, &end->domain, &err) != 0 ||
	    iwarp_fabric_ops.cq_create(end->domain, 256, &end->cq, &err) != 0)
		die("open", &err);
	p = end->domain->provider;
	end->memory = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(end->memory, 1, len);
	if (p->ops->register_memory(p, end->memory, len, 4096, access, &end->reg, &err) != 0)
		die("register", &err);
}

static struct fabric_conn_params conn_params(void)
{
	return (struct fabric_conn_params){
		.max_send_wr = 2 * MAX_DEPTH,
		.max_recv_wr = 2 * MAX_DEPTH,
		.max_sge = 1,
	};
}

/* Completions into wc; sleeps until there is one. */
static int next(struct end *end, struct fabric_wc *wc, int max)
{
	int n;

	while ((n = iwarp_fabric_ops.cq_poll(end->cq, wc, max)) == 0)
		iwarp_fabric_ops.cq_wait(end->cq, -1);
	return n;
}

static struct fabric_sge record_sge(const struct end *end, unsigned i)
{
	size_t off = (i % end->setup->depth) * end->setup->record;

	return (struct fabric_sge){
		.ptr = end->memory + off,
		.iova = end->reg.iova + off,
		.len = (uint32_t)end->setup->record,
		.lkey = end->reg.lkey,
	};
}

static void post_recv(struct end *end, unsigned i)
{
	struct fabric_recv recv = {.wr_id = i, .sge = record_sge(end, i)};

	if (iwarp_fabric_ops.post_recv(end->conn, &recv) != 0)
		die("receive", NULL);
}

static void post(struct end *end, enum fabric_op op, unsigned i, const struct offer *offer)
{
	struct fabric_sge sge = record_sge(end, i);
	struct fabric_wr wr = {.op = op, .flags = FABRIC_WR_SIGNALED, .nsge = 1, .sge = &sge};

	wr.u.remote.iova = offer->iova + (i % end->setup->depth) * end->setup->record;
	wr.u.remote.rkey = offer->rkey;
	if (iwarp_fabric_ops.post_send(end->conn, &wr) != 0)
		die("post", &end->conn->err);
}

static void print_calls(const struct end *end, const char *who, double records)
{
	struct fabric_counters c;

	iwarp_fabric_ops.cq_counters(end->cq, &c);
	printf(" %s: %.2f sends %.2f receives", who, (double)c.doorbells / records,
	       (double)c.receive_calls / records);
}

/* Accept one connection and do what the other end wants until it goes. */
static void serve(const struct setup *setup, int out, int report)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct fabric_conn_params params = conn_params();
	struct fabric_listener *listener;
	struct sockaddr_storage bound;
	struct fabric_request *req;
	struct fabric_counters c;
	struct fabric_wc wc[32];
	struct offer offer = {0};
	struct util_err err;
	struct end end;
	int n;

	open_end(&end, setup);
	if (iwarp_fabric_ops.listen(end.fabric, (struct sockaddr *)&in, sizeof(in), &bound,
				    &listener, &err) != 0)
		die("listen", &err);
	memcpy(&offer.addr, &bound, sizeof(offer.addr));
	offer.iova = end.reg.iova;
	offer.rkey = end.reg.rkey;
	if (write(out, &offer, sizeof(offer)) != sizeof(offer))
		die("write", NULL);
	while (iwarp_fabric_ops.listener_poll(listener, &req) != 0)
		usleep(1000);
	if (iwarp_fabric_ops.conn_accept(end.cq, req, &params, &end.conn, &err) != 0)
		die("accept", &err);
	for (unsigned i = 0; i < setup->depth; i++)
		post_recv(&end, i);
	iwarp_fabric_ops.conn_start(end.conn);
	for (;;) {
		n = next(&end, wc, 32);
		for (int i = 0; i < n; i++) {
			if (wc[i].type == FABRIC_EV_DISCONNECTED)
				goto over;
			if (wc[i].type != FABRIC_WC_RECV || wc[i].status)
				continue;
			post_recv(&end, (unsigned)wc[i].wr_id);
			post(&end, FABRIC_OP_SEND, (unsigned)wc[i].wr_id, &offer);
		}
	}
over:
	iwarp_fabric_ops.cq_counters(end.cq, &c);
	if (write(report, &c, sizeof(c)) != sizeof(c))
		die("write", NULL);
	exit(0);
}

static uint64_t drive(struct end *end, const struct offer *offer)
{
	const struct setup *setup = end->setup;
	bool ping = !strcmp(setup->what, "ping");
	enum fabric_op op = ping			   ? FABRIC_OP_SEND
			    : !strcmp(setup->what, "read") ? FABRIC_OP_READ
							   : FABRIC_OP_WRITE;
	uint64_t stop = util_clock_ns() + setup->seconds * UTIL_NS_PER_S, done = 0;
	unsigned posted = 0;
	struct fabric_wc wc[32];
	int n;

	for (; posted < setup->depth; posted++) {
		if (ping)
			post_recv(end, posted);
		post(end, op, posted, offer);
	}
	while (util_clock_ns() < stop) {
		n = next(end, wc, 32);
		for (int i = 0; i < n; i++) {
			if (wc[i].status)
				die("completion", &end->conn->err);
			if (ping && wc[i].type == FABRIC_WC_SEND)
				continue;
			if (ping)
				post_recv(end, (unsigned)wc[i].wr_id);
			post(end, op, posted++, offer);
			done++;
		}
	}
	return done;
}

static double cpu_ms(int who)
{
	struct rusage usage;

	getrusage(who, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e3 +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e3;
}

static void run(const struct setup *setup, int in, int report)
{
	struct fabric_conn_params params = conn_params();
	struct fabric_counters c;
	struct offer offer;
	struct fabric_wc wc;
	struct util_err err;
	struct end end;
	uint64_t begin, done;
	double seconds;

	open_end(&end, setup);
	if (read(in, &offer, sizeof(offer)) != sizeof(offer))
		die("read", NULL);
	memcpy(&params.peer, &offer.addr, sizeof(offer.addr));
	params.peer_len = sizeof(offer.addr);
	if (iwarp_fabric_ops.conn_connect(end.cq, &params, &end.conn, &err) != 0)
		die("connect", &err);
	next(&end, &wc, 1);
	if (wc.type != FABRIC_EV_ESTABLISHED)
		die("connect", &end.conn->err);
	begin = util_clock_ns();
	done = drive(&end, &offer);
	seconds = (double)(util_clock_ns() - begin) / (double)UTIL_NS_PER_S;
	printf("%s %zu KiB depth %u%s%s: %.0f MB/s, %.0f records/s;", setup->what,
	       setup->record >> 10, setup->depth, setup->fabric.no_io_uring ? " plain" : "",
	       setup->fabric.crc == FABRIC_CRC_ON ? " crc" : "",
	       (double)done * (double)setup->record / seconds / 1e6, (double)done / seconds);
	print_calls(&end, "client", (double)done);
	iwarp_fabric_ops.conn_destroy(end.conn);
	if (read(report, &c, sizeof(c)) != sizeof(c))
		die("read", NULL);
	printf(" server: %.2f sends %.2f receives;", (double)c.doorbells / (double)done,
	       (double)c.receive_calls / (double)done);
	wait(NULL);
	printf(" cpu of both %.0f ms/GB\n", (cpu_ms(RUSAGE_SELF) + cpu_ms(RUSAGE_CHILDREN)) /
						    ((double)done * (double)setup->record / 1e9));
}

int main(int argc, char **argv)
{
	struct setup setup = {.what = "write",
			      .record = 256 << 10,
			      .depth = 8,
			      .seconds = 3,
			      .fabric = {.crc = FABRIC_CRC_OFF}};
	int out[2], back[2], c;

	if (argc > 1 && argv[1][0] != '-')
		setup.what = argv[1];
	while ((c = getopt(argc, argv, "pcr:d:t:")) != -1) {
		if (c == 'p')
			setup.fabric.no_io_uring = true;
		else if (c == 'c')
			setup.fabric.crc = FABRIC_CRC_ON;
		else if (c == 'r')
			setup.record = strtoul(optarg, NULL, 10) << 10;
		else if (c == 'd')
			setup.depth = (unsigned)strtoul(optarg, NULL, 10);
		else if (c == 't')
			setup.seconds = (unsigned)strtoul(optarg, NULL, 10);
		else
			return 2;
	}
	if (!setup.record || !setup.depth || setup.depth > MAX_DEPTH)
		return 2;
	if (pipe(out) != 0 || pipe(back) != 0)
		die("pipe", NULL);
	if (fork() == 0)
		serve(&setup, out[1], back[1]);
	run(&setup, out[0], back[0]);
	return 0;
}
