/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * server.c - the responder as a whole: its workers, their start, and their orderly end.
 *
 * A server that stops first ceases to accept; then each worker drops new requests and goes on
 * for at most two seconds while the service still holds requests or replies have not left; then
 * the service's worker_stop runs, the connections are closed and the thread ends.
 */
#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "iommu-aware/iommu.h"
#include "transport/rpc/worker.h"

#define DEFAULT_INLINE 4096
#define DEFAULT_CREDITS 128
#define DEFAULT_MAX_DATA (1u << 20)
#define DEFAULT_MAX_CONNECTIONS 4096
#define MAX_THREADS 256
#define DRAIN_NS (2 * UTIL_NS_PER_S)

struct server_pool {
	struct util_list node;
	struct fabric_domain *domain;
	struct mr_pool *pool;
};

/* ---- create ----------------------------------------------------------------------------- */

static unsigned cpu_count(void)
{
	cpu_set_t set;
	long n;

	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		n = CPU_COUNT(&set);
	else
		n = sysconf(_SC_NPROCESSORS_ONLN);
	return n > 0 ? (unsigned)n : 1;
}

static void set_defaults(struct transport_server_params *p)
{
	if (p->threads == 0)
		p->threads = cpu_count();
	if (p->threads > MAX_THREADS)
		p->threads = MAX_THREADS;
	if (p->inline_size == 0)
		p->inline_size = DEFAULT_INLINE;
	if (p->credits == 0)
		p->credits = DEFAULT_CREDITS;
	if (p->max_data == 0)
		p->max_data = DEFAULT_MAX_DATA;
	if (p->max_connections == 0)
		p->max_connections = DEFAULT_MAX_CONNECTIONS;
	if (p->nlisten == 0) {
		struct sockaddr_in *loopback = (struct sockaddr_in *)&p->listen[0];

		loopback->sin_family = AF_INET;
		loopback->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		p->listen_len[0] = sizeof(*loopback);
		p->nlisten = 1;
	}
	if (p->nlisten > UTIL_ARRAY_SIZE(p->listen))
		p->nlisten = UTIL_ARRAY_SIZE(p->listen);
}

static int workers_create(struct transport_server *server)
{
	server->workers = calloc(server->params.threads, sizeof(struct transport_worker));
	if (!server->workers)
		return -ENOMEM;
	for (; server->nworkers < server->params.threads; server->nworkers++) {
		int err = transport_worker_init(&server->workers[server->nworkers], server,
						server->nworkers);

		if (err)
			return err;
	}
	return 0;
}

int transport_server_create(struct transport_server **serverp,
			    const struct transport_server_params *params, struct util_err *err)
{
	struct transport_server *server = calloc(1, sizeof(*server));
	int code;

	if (!server)
		return util_err_set(err, -ENOMEM, "server: out of memory");
	server->params = *params;
	server->service = *params->service;
	server->params.service = &server->service;
	set_defaults(&server->params);
	util_list_init(&server->listeners);
	util_list_init(&server->pools);
	pthread_mutex_init(&server->pool_lock, NULL);
	mr_ledger_init(&server->ledger, server->params.pool.ledger_parent);
	if (!server->params.pool.ledger_parent) /* for those who look on; it works without */
		mr_watch_open(&server->ledger, NULL, NULL);
	code = workers_create(server);
	if (code)
		util_err_set(err, code, "server: %s", strerror(-code));
	else
		code = transport_listen_all(server, err);
	if (code) {
		transport_server_destroy(server);
		return code;
	}
	*serverp = server;
	return 0;
}

void transport_server_destroy(struct transport_server *server)
{
	struct util_list *node;

	if (!server)
		return;
	transport_server_stop(server);
	for (unsigned i = 0; i < server->nworkers; i++)
		transport_worker_fini(&server->workers[i]);
	free(server->workers);
	/* ORDER: a domain that came with a request lives as long as the listener it came from */
	while ((node = util_list_pop(&server->pools))) {
		struct server_pool *sp = UTIL_LIST_ENTRY(node, struct server_pool, node);

		mr_pool_destroy(sp->pool);
		free(sp);
	}
	mr_watch_close(&server->ledger);
	transport_listen_close(server);
	for (unsigned i = 0; i < UTIL_ARRAY_SIZE(server->fabrics); i++)
		if (server->fabrics[i])
			server->fabrics[i]->ops->close(server->fabrics[i]);
	pthread_mutex_destroy(&server->pool_lock);
	free(server);
}

/* ---- threads ---------------------------------------------------------------------------- */

/* Answer what is in hand, for a while. */
static void drain(struct transport_worker *w)
{
	uint64_t end_ns = util_clock_ns() + DRAIN_NS;

	w->stopping = true;
	while (w->inflight > 0 || tcp_responder_busy(w)) {
		int left_ms = util_clock_until_ms(end_ns);

		if (left_ms == 0)
			break;
		transport_worker_round(w, left_ms);
	}
}

static void *worker_main(void *arg)
{
	struct transport_worker *w = arg;
	struct transport_server *server = w->server;

	while (!atomic_load_explicit(&server->stop, memory_order_acquire))
		transport_worker_round(w, -1);
	if (w->index == 0)
		transport_listen_unwatch(server);
	drain(w);
	if (server->service.worker_stop)
		server->service.worker_stop(server->service.arg, w);
	tcp_responder_stop(w);
	rpcrdma_responder_stop(w);
	return NULL;
}

/* Runs on the worker's own thread, before its loop: tells start() how it went. */
struct start {
	struct transport_worker *worker;
	pthread_barrier_t *barrier;
	int err;
};

static void *worker_start(void *arg)
{
	struct start *start = arg;
	struct transport_worker *w = start->worker;
	struct transport_server *server = w->server;
	int err = w->index == 0 ? transport_listen_watch(server) : 0;

	if (err == 0 && server->service.worker_start)
		err = server->service.worker_start(server->service.arg, w);
	start->err = err;
	pthread_barrier_wait(start->barrier); /* start is gone after this */
	return err ? NULL : worker_main(w);
}

static int start_one(struct transport_worker *w)
{
	struct start start = {.worker = w};
	pthread_barrier_t barrier;
	sigset_t all, old;
	int err;

	pthread_barrier_init(&barrier, NULL, 2);
	start.barrier = &barrier;
	/* signals are the program's, not the workers' */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = -pthread_create(&w->thread, NULL, worker_start, &start);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err == 0) {
		pthread_barrier_wait(&barrier);
		err = start.err;
		w->started = err == 0;
		if (err)
			pthread_join(w->thread, NULL);
	}
	pthread_barrier_destroy(&barrier);
	return err;
}

int transport_server_start(struct transport_server *server)
{
	int err;

	/* Worker 0 accepts and hands over to the others: it comes last. */
	server->running = true;
	for (unsigned i = server->nworkers; i-- > 0;) {
		err = start_one(&server->workers[i]);
		if (err) {
			transport_server_stop(server);
			return err;
		}
	}
	return 0;
}

static void nothing(struct transport_worker *w, void *arg)
{
}

void transport_server_stop(struct transport_server *server)
{
	if (!server->running)
		return;
	server->running = false;
	atomic_store_explicit(&server->stop, true, memory_order_release);
	for (unsigned i = 0; i < server->nworkers; i++)
		if (server->workers[i].started)
			transport_worker_post(&server->workers[i], nothing, NULL);
	for (unsigned i = 0; i < server->nworkers; i++) {
		if (server->workers[i].started)
			pthread_join(server->workers[i].thread, NULL);
		server->workers[i].started = false;
		server->workers[i].stopping = true; /* handovers still under way are refused */
	}
}

/* ---- facts ------------------------------------------------------------------------------ */

uint16_t transport_server_tcp_port(const struct transport_server *server)
{
	return server->tcp_port;
}

uint16_t transport_server_rdma_port(const struct transport_server *server)
{
	return server->rdma_port;
}

struct mr_ledger *transport_server_ledger(struct transport_server *server)
{
	return &server->ledger;
}

/* For -v: what the policy made of this device. */
static void pool_log(const struct util_log *log, const struct fabric_domain *domain,
		     const struct mr_pool *pool)
{
	char words[256];

	if (!log || !log->fn || log->level < UTIL_LOG_INFO)
		return;
	util_log(log, UTIL_LOG_INFO, "pool for %s: %s", domain->attr.device,
		 mr_pool_describe(pool, words, sizeof(words)));
	iommu_warnings_log_device(log, domain->attr.device);
}

static int pool_create(struct transport_server *server, struct fabric_domain *domain,
		       struct server_pool **spp, struct util_err *err)
{
	struct mr_pool_params params = server->params.pool;
	struct server_pool *sp = calloc(1, sizeof(*sp));
	int code;

	if (!sp)
		return util_err_set(err, -ENOMEM, "server: out of memory");
	params.ledger_parent = &server->ledger;
	if (!params.log)
		params.log = server->params.log;
	code = mr_pool_create(&sp->pool, domain->provider, &params, err);
	if (code) {
		free(sp);
		return code;
	}
	sp->domain = domain;
	*spp = sp;
	pool_log(params.log, domain, sp->pool);
	return 0;
}

int transport_server_pool(struct transport_server *server, struct fabric_domain *domain,
			  struct mr_pool **poolp, struct util_err *err)
{
	struct server_pool *found = NULL;
	int code = 0;

	pthread_mutex_lock(&server->pool_lock);
	UTIL_LIST_FOR_EACH (node, &server->pools) {
		struct server_pool *sp = UTIL_LIST_ENTRY(node, struct server_pool, node);

		if (sp->domain == domain)
			found = sp;
	}
	if (!found) {
		code = pool_create(server, domain, &found, err);
		if (code == 0)
			util_list_add(&server->pools, &found->node);
	}
	if (code == 0)
		*poolp = found->pool;
	pthread_mutex_unlock(&server->pool_lock);
	return code;
}
