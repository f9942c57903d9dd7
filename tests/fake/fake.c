/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fake.c - the world, its script and its verdict; fabrics, domains and completion queues.
 *
 * Nothing happens by itself: posted work is carried out when the poster (or the receiver) polls, so
 * that code which looks at data before its completion finds it missing.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tests/fake/internal.h"

struct fake_world fake_world = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- world ------------------------------------------------------------------------------ */

void fake_setup_default(struct fake_setup *setup)
{
	*setup = (struct fake_setup){
		.attr = {.device = "fake0",
			 .max_sge = 4,
			 .max_read_sge = 1,
			 .max_send_wr = 4096,
			 .max_recv_wr = 4096,
			 .max_rd_atomic = 16,
			 .max_msg = UINT64_C(1) << 31,
			 .numa_node = -1},
		.lkeys = true,
	};
}

void fake_reset(const struct fake_setup *setup)
{
	struct fake_setup fallback;

	fake_setup_default(&fallback);
	fake_lock();
	fake_world.setup = setup ? *setup : fallback;
	fake_world.nviolations = 0;
	fake_world.fail_at = fake_world.fail_calls = 0;
	fake_world.hold_sends = fake_world.refuse = fake_world.fail_send = false;
	memset(&fake_world.seen, 0, sizeof(fake_world.seen));
	if (!fake_world.regions.next) {
		util_list_init(&fake_world.regions);
		util_list_init(&fake_world.windows);
		util_list_init(&fake_world.listens);
		util_list_init(&fake_world.fetched);
		util_list_init(&fake_world.cqs);
		fake_world.next_port = 40000;
	}
	fake_unlock();
}

void fake_violate(const char *fmt, ...)
{
	va_list args;

	if (fake_world.nviolations == FAKE_VIOLATIONS)
		return;
	va_start(args, fmt);
	vsnprintf(fake_world.violation[fake_world.nviolations++], 160, fmt, args);
	va_end(args);
}

const char *fake_violation(unsigned i)
{
	return i < fake_world.nviolations ? fake_world.violation[i] : NULL;
}

unsigned fake_objects(void)
{
	return fake_world.objects;
}

void fake_expect_clean(bool all_gone)
{
	for (unsigned i = 0; i < fake_world.nviolations; i++)
		cr_expect(false, "fake: %s", fake_world.violation[i]);
	cr_assert_eq(fake_world.nviolations, 0);
	if (all_gone)
		cr_assert_eq(fake_world.objects, 0, "%u objects live", fake_world.objects);
}

void fake_fail_nth(unsigned n, int err)
{
	fake_lock();
	fake_world.fail_at = n;
	fake_world.fail_calls = 0;
	fake_world.fail_err = err;
	fake_unlock();
}

bool fake_fail_reached(void)
{
	return fake_world.fail_at != 0 && fake_world.fail_calls >= fake_world.fail_at;
}

int fake_may_fail(void)
{
	if (fake_world.fail_at && ++fake_world.fail_calls == fake_world.fail_at)
		return fake_world.fail_err;
	return 0;
}

void fake_fail_next_send(enum fabric_wc_status status)
{
	fake_lock();
	fake_world.fail_send = true;
	fake_world.fail_status = status;
	fake_unlock();
}

void fake_refuse_connections(bool refuse)
{
	fake_lock();
	fake_world.refuse = refuse;
	fake_unlock();
}

void fake_hold_sends(bool hold)
{
	fake_lock();
	fake_world.hold_sends = hold;
	UTIL_LIST_FOR_EACH (node, &fake_world.cqs)
		fake_cq_signal(UTIL_LIST_ENTRY(node, struct fake_cq, node));
	fake_unlock();
}

void fake_seen(struct fake_seen *seen)
{
	fake_lock();
	*seen = fake_world.seen;
	fake_unlock();
}

void fake_signal(int event_fd)
{
	uint64_t one = 1;

	if (write(event_fd, &one, sizeof(one)) < 0)
		fake_violate("eventfd: %s", strerror(errno));
}

static void drain(int event_fd)
{
	uint64_t count;

	while (read(event_fd, &count, sizeof(count)) > 0)
		;
}

/* ---- fabric and domain ------------------------------------------------------------------ */

static int fake_open(struct fabric **fabricp, const struct fabric_options *opts,
		     struct util_err *err)
{
	struct fabric *fabric;
	int code;

	(void)opts;
	fake_lock();
	code = fake_may_fail();
	if (code == 0)
		fake_world.objects++;
	fake_unlock();
	if (code)
		return util_err_set(err, code, "fake: scripted failure");
	fabric = calloc(1, sizeof(*fabric));
	fabric->ops = &fake_fabric_ops;
	*fabricp = fabric;
	return 0;
}

static void fake_close(struct fabric *fabric)
{
	fake_lock();
	fake_world.objects--;
	fake_unlock();
	free(fabric);
}

struct fake_domain *fake_domain_create(struct fabric *fabric)
{
	struct fake_domain *d = calloc(1, sizeof(*d));

	d->domain.fabric = fabric;
	d->domain.attr = fake_world.setup.attr;
	d->domain.provider = &d->provider;
	fake_provider_init(&d->provider, &fake_world.setup);
	d->refs = 1;
	fake_world.objects++;
	return d;
}

static int fake_domain_open(struct fabric *fabric, const struct sockaddr *peer, socklen_t peer_len,
			    int timeout_ms, struct fabric_domain **domainp, struct util_err *err)
{
	int code;

	(void)peer;
	(void)peer_len;
	(void)timeout_ms;
	fake_lock();
	code = fake_may_fail();
	if (code == 0)
		*domainp = &fake_domain_create(fabric)->domain;
	fake_unlock();
	return code ? util_err_set(err, code, "fake: scripted failure") : 0;
}

void fake_domain_release(struct fake_domain *d)
{
	if (--d->refs > 0)
		return;
	UTIL_LIST_FOR_EACH (node, &fake_world.regions) {
		if (UTIL_LIST_ENTRY(node, struct fake_region, node)->owner == &d->provider)
			fake_violate("a domain went while memory was registered in it");
	}
	fake_world.objects--;
	free(d);
}

static void fake_domain_put(struct fabric_domain *domain)
{
	fake_lock();
	fake_domain_release((struct fake_domain *)domain);
	fake_unlock();
}

/* ---- completion queues ------------------------------------------------------------------ */

static int fake_cq_create(struct fabric_domain *domain, uint32_t depth, struct fabric_cq **cqp,
			  struct util_err *err)
{
	struct fake_cq *cq;
	int code;

	fake_lock();
	code = fake_may_fail();
	if (code) {
		fake_unlock();
		return util_err_set(err, code, "fake: scripted failure");
	}
	cq = calloc(1, sizeof(*cq));
	cq->cq.domain = domain;
	cq->depth = depth;
	cq->event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	util_list_init(&cq->wcs);
	util_list_init(&cq->conns);
	((struct fake_domain *)domain)->refs++;
	util_list_add(&fake_world.cqs, &cq->node);
	fake_world.objects++;
	fake_unlock();
	*cqp = &cq->cq;
	return 0;
}

static void fake_cq_destroy(struct fabric_cq *fcq)
{
	struct fake_cq *cq = (struct fake_cq *)fcq;
	struct util_list *node;

	fake_lock();
	if (!util_list_empty(&cq->conns))
		fake_violate("a queue was destroyed under its connections");
	while ((node = util_list_pop(&cq->wcs)))
		free(UTIL_LIST_ENTRY(node, struct fake_wc, node));
	util_list_del(&cq->node);
	fake_domain_release((struct fake_domain *)fcq->domain);
	fake_world.objects--;
	fake_unlock();
	close(cq->event_fd);
	free(cq);
}

void fake_cq_signal(struct fake_cq *cq)
{
	fake_signal(cq->event_fd);
}

void fake_cq_add(struct fake_cq *cq, const struct fabric_wc *wc)
{
	struct fake_wc *w = calloc(1, sizeof(*w));

	w->wc = *wc;
	util_list_add(&cq->wcs, &w->node);
	if (wc->type == FABRIC_WC_SEND || wc->type == FABRIC_WC_RECV) {
		if (++cq->held > cq->depth)
			fake_violate("completion queue overrun: %u of %u", cq->held, cq->depth);
	}
	fake_cq_signal(cq);
}

static int fake_cq_poll(struct fabric_cq *fcq, struct fabric_wc *wc, int max)
{
	struct fake_cq *cq = (struct fake_cq *)fcq;
	struct util_list *node;
	int n = 0;

	fake_lock();
	cq->counters.receive_calls++;
	UTIL_LIST_FOR_EACH_SAFE (pos, &cq->conns)
		fake_conn_advance(UTIL_LIST_ENTRY(pos, struct fake_conn, node));
	while (n < max && (node = util_list_pop(&cq->wcs))) {
		struct fake_wc *w = UTIL_LIST_ENTRY(node, struct fake_wc, node);

		wc[n] = w->wc;
		free(w);
		if (wc[n].type == FABRIC_WC_SEND || wc[n].type == FABRIC_WC_RECV)
			cq->held--;
		if (wc[n].type == FABRIC_WC_SEND)
			fake_retire_sends((struct fake_conn *)wc[n].conn, wc[n].wr_id);
		n++;
	}
	if (util_list_empty(&cq->wcs))
		drain(cq->event_fd);
	fake_unlock();
	return n;
}

static int fake_cq_fd(struct fabric_cq *cq)
{
	return ((struct fake_cq *)cq)->event_fd;
}

static bool has_work(const struct fake_cq *cq)
{
	if (!util_list_empty(&cq->wcs))
		return true;
	UTIL_LIST_FOR_EACH (pos, &cq->conns) {
		const struct fake_conn *c = UTIL_LIST_ENTRY(pos, struct fake_conn, node);

		if (c->reads_out > 0 && !fake_world.hold_sends)
			return true;
	}
	return false;
}

static int fake_cq_arm(struct fabric_cq *cq)
{
	int pending;

	fake_lock();
	pending = has_work((struct fake_cq *)cq);
	fake_unlock();
	return pending;
}

static int fake_cq_wait(struct fabric_cq *cq, int timeout_ms)
{
	struct pollfd pfd = {.fd = fake_cq_fd(cq), .events = POLLIN};
	int n;

	if (fake_cq_arm(cq))
		return 0;
	n = poll(&pfd, 1, timeout_ms);
	if (n < 0)
		return -errno;
	return n == 0 ? -ETIME : 0;
}

static uint64_t fake_cq_deadline(struct fabric_cq *cq)
{
	(void)cq;
	return 0;
}

static void fake_cq_counters(const struct fabric_cq *cq, struct fabric_counters *counters)
{
	fake_lock();
	*counters = ((const struct fake_cq *)cq)->counters;
	fake_unlock();
}

const struct fabric_ops fake_fabric_ops = {
	.name = "fake",
	.open = fake_open,
	.close = fake_close,
	.domain_open = fake_domain_open,
	.domain_put = fake_domain_put,
	.cq_create = fake_cq_create,
	.cq_destroy = fake_cq_destroy,
	.cq_poll = fake_cq_poll,
	.cq_fd = fake_cq_fd,
	.cq_arm = fake_cq_arm,
	.cq_wait = fake_cq_wait,
	.cq_deadline = fake_cq_deadline,
	.cq_counters = fake_cq_counters,
	.conn_connect = fake_conn_connect,
	.conn_accept = fake_conn_accept,
	.conn_start = fake_conn_start,
	.request_reject = fake_request_reject,
	.conn_disconnect = fake_conn_disconnect,
	.conn_destroy = fake_conn_destroy,
	.post_send = fake_post_send,
	.post_recv = fake_post_recv,
	.listen = fake_listen_open,
	.listener_fd = fake_listener_fd,
	.listener_poll = fake_listener_poll,
	.listener_deadline = fake_listener_deadline,
	.listener_close = fake_listener_close,
};
