/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cq.c - what drives connections: three channels behind one epoll descriptor, and the hot list.
 *
 * Polling a hot connection's ibv_cq enters no kernel.  Looking at the channels does; so they are
 * looked at when the cq was armed since the last look (the caller may have slept, and the event
 * that woke it lies there), and otherwise once in a millisecond, so that a busy caller hears of
 * new, broken and cold connections too.  Reading the clock enters the kernel on some machines
 * (guests, those whose time stamp counter is not trusted): every eighth poll is enough.
 *
 * Waking up costs two calls: the epoll_wait that slept, and reading the event.  What epoll_wait
 * returned is acted on at once, and no event is looked for that nobody owes.
 *
 * Arming asks each hot connection's ibv_cq for an event and looks into it once more, because a
 * completion may have come just before; if so the connection stays hot and arm returns 1.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "transport/verbs/internal.h"

#define VERBS_LOOK_NS UTIL_NS_PER_MS
#define VERBS_LOOK_POLLS 8
/* Completions, CM events, the device's own. */
#define VERBS_CHANNELS 3

static int watch(int epoll_fd, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static int open_completions(struct verbs_cq *cq, struct ibv_context *verbs)
{
	int flags;

	cq->completions = ibv_create_comp_channel(verbs);
	if (!cq->completions)
		return errno ? -errno : -ENOMEM;
	flags = fcntl(cq->completions->fd, F_GETFL);
	if (flags < 0 || fcntl(cq->completions->fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -errno;
	return 0;
}

static void cq_free(struct verbs_cq *cq)
{
	if (cq->events)
		rdma_destroy_event_channel(cq->events);
	if (cq->completions)
		ibv_destroy_comp_channel(cq->completions);
	if (cq->epoll_fd >= 0)
		close(cq->epoll_fd);
	free(cq->send_wrs);
	free(cq->recv_wrs);
	free(cq->send_sges);
	free(cq->recv_sges);
	free(cq);
}

static int cq_open(struct verbs_cq *cq, struct verbs_domain *domain, struct util_err *err)
{
	int ret;

	cq->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (cq->epoll_fd < 0)
		return util_err_set(err, -errno, "an epoll descriptor: %s", strerror(errno));
	ret = open_completions(cq, domain->verbs);
	if (ret)
		return util_err_set(err, ret, "a completion channel on %s: %s",
				    domain->base.attr.device, strerror(-ret));
	ret = verbs_channel_open(&cq->events, err);
	if (ret)
		return ret;
	ret = watch(cq->epoll_fd, cq->completions->fd);
	if (!ret)
		ret = watch(cq->epoll_fd, cq->events->fd);
	if (!ret)
		ret = watch(cq->epoll_fd, domain->verbs->async_fd);
	if (ret)
		util_err_set(err, ret, "watching RDMA channels: %s", strerror(-ret));
	return ret;
}

/* depth is not needed: each connection brings the completion queue it needs. */
int verbs_cq_create(struct fabric_domain *base, uint32_t depth, struct fabric_cq **cqp,
		    struct util_err *err)
{
	struct verbs_domain *domain = verbs_domain(base);
	struct verbs_cq *cq = calloc(1, sizeof(*cq));
	int ret;

	if (!cq)
		return util_err_set(err, -ENOMEM, "an RDMA completion queue: out of memory");
	cq->base.domain = base;
	util_ticker_init(&cq->ticker, UTIL_TICKER_AUTO);
	cq->epoll_fd = -1;
	cq->slept = true;
	util_list_init(&cq->conns);
	util_list_init(&cq->hot);
	util_list_init(&cq->waiting);
	ret = cq_open(cq, domain, err);
	if (ret) {
		cq_free(cq);
		return ret;
	}
	pthread_mutex_lock(&domain->fabric->lock);
	domain->refs++;
	pthread_mutex_unlock(&domain->fabric->lock);
	*cqp = &cq->base;
	return 0;
}

void verbs_cq_destroy(struct fabric_cq *base)
{
	struct fabric_domain *domain = base->domain;

	cq_free(verbs_cq(base));
	verbs_domain_put(domain);
}

/* Arrays of the scratch, made anew (their contents mean nothing between calls). */
static int renew(void **array, size_t count, size_t size)
{
	void *fresh = calloc(count, size);

	if (!fresh)
		return -ENOMEM;
	free(*array);
	*array = fresh;
	return 0;
}

int verbs_cq_reserve(struct verbs_cq *cq, uint32_t sends, uint32_t recvs, uint32_t sges)
{
	uint32_t nsend = sends > cq->send_room ? sends : cq->send_room;
	uint32_t nrecv = recvs > cq->recv_room ? recvs : cq->recv_room;
	uint32_t nsge = sges > cq->sge_room ? sges : cq->sge_room;

	if (nsend == cq->send_room && nrecv == cq->recv_room && nsge == cq->sge_room)
		return 0;
	if (renew((void **)&cq->send_wrs, nsend, sizeof(*cq->send_wrs)) ||
	    renew((void **)&cq->send_sges, (size_t)nsend * nsge, sizeof(*cq->send_sges)) ||
	    renew((void **)&cq->recv_wrs, nrecv, sizeof(*cq->recv_wrs)) ||
	    renew((void **)&cq->recv_sges, nrecv, sizeof(*cq->recv_sges)))
		return -ENOMEM;
	cq->send_room = nsend;
	cq->recv_room = nrecv;
	cq->sge_room = nsge;
	return 0;
}

/* ---- progress ---------------------------------------------------------------------------- */

/*
 * Connections whose ibv_cq has something become hot.  Each was armed for one event: when none is
 * armed any more there is nothing left to read, and no call is spent on hearing so.
 */
static void completion_events(struct verbs_cq *cq)
{
	struct ibv_cq *ibcq;
	void *context;

	do {
		struct verbs_conn *conn;

		cq->counters.receive_calls++;
		if (ibv_get_cq_event(cq->completions, &ibcq, &context))
			return;
		ibv_ack_cq_events(ibcq, 1);
		conn = context;
		verbs_conn_disarm(conn);
		verbs_conn_heat(conn);
	} while (cq->narmed);
}

/* Set-ups that took too long. */
static void expire(struct verbs_cq *cq, uint64_t now_ns)
{
	UTIL_LIST_FOR_EACH_SAFE (pos, &cq->waiting) {
		struct verbs_conn *conn = UTIL_LIST_ENTRY(pos, struct verbs_conn, waiting);
		struct util_err err;

		if (conn->deadline_ns > now_ns)
			continue;
		verbs_cm_event_err(&err, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT,
				   verbs_conn_domain(conn)->iwarp,
				   (struct sockaddr *)&conn->base.peer);
		verbs_conn_end(conn, &err);
	}
}

/* What can no longer be read would keep the cq awake for ever. */
static void device_events(struct verbs_cq *cq)
{
	struct verbs_domain *domain = verbs_domain(cq->base.domain);

	if (verbs_events_take(domain))
		epoll_ctl(cq->epoll_fd, EPOLL_CTL_DEL, domain->verbs->async_fd, NULL);
}

static void look_at_channels(struct verbs_cq *cq)
{
	struct epoll_event events[VERBS_CHANNELS];
	uint64_t now_ns;
	int n;

	if (!cq->slept && !util_list_empty(&cq->hot) && ++cq->polls < VERBS_LOOK_POLLS)
		return;
	cq->polls = 0;
	now_ns = util_ticker_ns(&cq->ticker);
	if (!cq->slept && now_ns < cq->look_ns)
		return;
	cq->slept = false;
	cq->look_ns = now_ns + VERBS_LOOK_NS;
	cq->counters.receive_calls++;
	n = epoll_wait(cq->epoll_fd, events, VERBS_CHANNELS, 0);
	for (int i = 0; i < n; i++) {
		if (events[i].data.fd == cq->events->fd)
			verbs_connect_events(cq);
		else if (events[i].data.fd == cq->completions->fd)
			completion_events(cq);
		else
			device_events(cq);
	}
	expire(cq, now_ns);
}

int verbs_cq_poll(struct fabric_cq *base, struct fabric_wc *wc, int max)
{
	struct verbs_cq *cq = verbs_cq(base);
	struct util_list round;
	int n = 0;

	look_at_channels(cq);
	/* One turn for each that is hot now; those with something go to the end of the line. */
	util_list_init(&round);
	util_list_splice(&round, &cq->hot);
	while (n < max && !util_list_empty(&round)) {
		struct verbs_conn *conn = UTIL_LIST_ENTRY(round.next, struct verbs_conn, hot);

		util_list_del(&conn->hot);
		n += verbs_conn_collect(conn, &wc[n], max - n);
		if (conn->stage != VERBS_ENDED)
			verbs_conn_heat(conn);
	}
	util_list_splice(&round, &cq->hot);
	util_list_splice(&cq->hot, &round);
	return n;
}

int verbs_cq_fd(struct fabric_cq *cq)
{
	return verbs_cq(cq)->epoll_fd;
}

int verbs_cq_arm(struct fabric_cq *base)
{
	struct verbs_cq *cq = verbs_cq(base);

	UTIL_LIST_FOR_EACH_SAFE (pos, &cq->hot) {
		struct verbs_conn *conn = UTIL_LIST_ENTRY(pos, struct verbs_conn, hot);

		if (conn->ibcq && !conn->armed) {
			if (ibv_req_notify_cq(conn->ibcq, 0))
				return 1;
			conn->armed = true;
			cq->narmed++;
		}
		if (verbs_conn_peek(conn))
			return 1;
		util_list_del(&conn->hot);
	}
	cq->slept = true;
	return 0;
}

uint64_t verbs_cq_deadline(struct fabric_cq *base)
{
	struct verbs_cq *cq = verbs_cq(base);
	uint64_t first_ns = 0;

	UTIL_LIST_FOR_EACH (pos, &cq->waiting) {
		struct verbs_conn *conn = UTIL_LIST_ENTRY(pos, struct verbs_conn, waiting);

		if (!first_ns || conn->deadline_ns < first_ns)
			first_ns = conn->deadline_ns;
	}
	return first_ns;
}

int verbs_cq_wait(struct fabric_cq *base, int timeout_ms)
{
	struct verbs_cq *cq = verbs_cq(base);
	struct epoll_event events[VERBS_CHANNELS];
	int deadline_ms, n;

	if (verbs_cq_arm(base))
		return 0;
	deadline_ms = util_clock_until_ms(verbs_cq_deadline(base));
	if (deadline_ms >= 0 && (timeout_ms < 0 || deadline_ms < timeout_ms))
		timeout_ms = deadline_ms;
	else
		deadline_ms = -1;
	cq->counters.receive_calls++;
	n = epoll_wait(cq->epoll_fd, events, VERBS_CHANNELS, timeout_ms);
	if (n < 0)
		return -errno;
	/* The common case: a completion, and nothing else.  The rest is the next poll's. */
	if (n == 1 && events[0].data.fd == cq->completions->fd) {
		cq->slept = false;
		completion_events(cq);
	}
	/* At a deadline there is something to do, though no event came. */
	return n > 0 || deadline_ms >= 0 ? 0 : -ETIME;
}

void verbs_cq_counters(const struct fabric_cq *cq, struct fabric_counters *counters)
{
	*counters = UTIL_CONTAINER_OF(cq, struct verbs_cq, base)->counters;
}
