/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * worker.c - one thread's event loop on the responder's side.
 *
 * A round: run the before_sleep hooks (batched replies and file I/O leave now), sleep in
 * epoll_wait until the earliest timer, handle what is ready, fire timers.  Everything a worker
 * owns, its connections and the requests the service holds for them, is touched by its thread only;
 * transport_worker_post() is the one door for others.
 *
 * Watches are a table indexed by descriptor, so that adding and removing costs no allocation and
 * no search.  A watch may be removed while a batch of events is being handled: the batch is
 * cleared of it, so a closed and reused descriptor number gets no event that is not its own.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "transport/rpc/worker.h"

struct worker_timer {
	struct util_list node;
	uint64_t (*deadline)(void *arg);
	void (*fire)(void *arg);
	void *arg;
};

struct worker_hook {
	struct util_list node;
	void (*fn)(void *arg);
	void *arg;
};

struct worker_post {
	struct util_list node;
	void (*fn)(struct transport_worker *w, void *arg);
	void *arg;
};

/* ---- watches ---------------------------------------------------------------------------- */

static int table_grow(struct transport_worker *w, size_t need)
{
	size_t n = w->nwatches ? w->nwatches : 64;
	struct transport_watch *watches;

	if (need <= w->nwatches)
		return 0;
	while (n < need)
		n *= 2;
	watches = realloc(w->watches, n * sizeof(*watches));
	if (!watches)
		return -ENOMEM;
	memset(watches + w->nwatches, 0, (n - w->nwatches) * sizeof(*watches));
	w->watches = watches;
	w->nwatches = n;
	return 0;
}

static int watch_set(struct transport_worker *w, int fd, const struct transport_watch *watch)
{
	struct epoll_event event = {.events = watch->events, .data.fd = fd};
	int err = table_grow(w, (size_t)fd + 1);
	int op;

	if (err)
		return err;
	op = w->watches[fd].events ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
	if ((op == EPOLL_CTL_ADD || w->watches[fd].events != watch->events) &&
	    epoll_ctl(w->epoll_fd, op, fd, &event))
		return -errno;
	w->watches[fd] = *watch;
	return 0;
}

int transport_worker_watch_events(struct transport_worker *w, int fd, uint32_t events,
				  void (*ready)(void *arg, uint32_t events), void *arg)
{
	/* EPOLLERR and EPOLLHUP are always told: a mask of nothing else still counts as a watch */
	struct transport_watch watch = {.events = events | EPOLLERR, .ready = ready, .arg = arg};

	return watch_set(w, fd, &watch);
}

int transport_worker_watch(struct transport_worker *w, int fd, void (*ready)(void *arg), void *arg)
{
	struct transport_watch watch = {
		.events = EPOLLIN | EPOLLERR, .ready_plain = ready, .arg = arg};

	return watch_set(w, fd, &watch);
}

void transport_worker_unwatch(struct transport_worker *w, int fd)
{
	if (fd < 0 || (size_t)fd >= w->nwatches || !w->watches[fd].events)
		return;
	epoll_ctl(w->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
	memset(&w->watches[fd], 0, sizeof(w->watches[fd]));
	for (int i = 0; i < w->nevents; i++)
		if (w->events[i].data.fd == fd)
			w->events[i].data.fd = -1;
}

/* ---- hooks, timers, posts ---------------------------------------------------------------- */

int transport_worker_before_sleep(struct transport_worker *w, void (*fn)(void *arg), void *arg)
{
	struct worker_hook *hook = calloc(1, sizeof(*hook));

	if (!hook)
		return -ENOMEM;
	hook->fn = fn;
	hook->arg = arg;
	util_list_add(&w->hooks, &hook->node);
	return 0;
}

int transport_worker_timer(struct transport_worker *w, uint64_t (*deadline)(void *arg),
			   void (*fire)(void *arg), void *arg)
{
	struct worker_timer *timer = calloc(1, sizeof(*timer));

	if (!timer)
		return -ENOMEM;
	timer->deadline = deadline;
	timer->fire = fire;
	timer->arg = arg;
	util_list_add(&w->timers, &timer->node);
	return 0;
}

static void wake(struct transport_worker *w)
{
	const uint64_t one = 1;

	/* Only a full counter could fail, and then it is readable already. */
	if (write(w->wake_fd, &one, sizeof(one)) < 0)
		return;
}

int transport_worker_post(struct transport_worker *w,
			  void (*fn)(struct transport_worker *w, void *arg), void *arg)
{
	struct worker_post *post = calloc(1, sizeof(*post));

	if (!post)
		return -ENOMEM;
	post->fn = fn;
	post->arg = arg;
	pthread_mutex_lock(&w->post_lock);
	util_list_add(&w->posts, &post->node);
	pthread_mutex_unlock(&w->post_lock);
	wake(w);
	return 0;
}

static void run_posts(struct transport_worker *w)
{
	struct util_list posts, *node;

	util_list_init(&posts);
	pthread_mutex_lock(&w->post_lock);
	util_list_splice(&posts, &w->posts);
	pthread_mutex_unlock(&w->post_lock);
	while ((node = util_list_pop(&posts))) {
		struct worker_post *post = UTIL_LIST_ENTRY(node, struct worker_post, node);

		post->fn(w, post->arg);
		free(post);
	}
}

static void woken(void *arg)
{
	struct transport_worker *w = arg;
	uint64_t count;

	if (read(w->wake_fd, &count, sizeof(count)) < 0)
		return;
	run_posts(w);
}

/* ---- the round -------------------------------------------------------------------------- */

static int sleep_ms(struct transport_worker *w, int max_ms)
{
	int ms = max_ms;

	if (w->again)
		return 0;
	UTIL_LIST_FOR_EACH (node, &w->timers) {
		struct worker_timer *timer = UTIL_LIST_ENTRY(node, struct worker_timer, node);
		int until_ms = util_clock_until_ms(timer->deadline(timer->arg));

		if (until_ms >= 0 && (ms < 0 || until_ms < ms))
			ms = until_ms;
	}
	return ms;
}

static void fire_timers(struct transport_worker *w)
{
	UTIL_LIST_FOR_EACH (node, &w->timers) {
		struct worker_timer *timer = UTIL_LIST_ENTRY(node, struct worker_timer, node);
		uint64_t at_ns = timer->deadline(timer->arg);

		if (at_ns && util_clock_ns() >= at_ns)
			timer->fire(timer->arg);
	}
}

static void handle(struct transport_worker *w, const struct epoll_event *event)
{
	const struct transport_watch *watch;

	if (event->data.fd < 0)
		return; /* unwatched meanwhile */
	watch = &w->watches[event->data.fd];
	if (watch->ready)
		watch->ready(watch->arg, event->events);
	else
		watch->ready_plain(watch->arg);
}

void transport_worker_round(struct transport_worker *w, int max_ms)
{
	int n, ms;

	UTIL_LIST_FOR_EACH (node, &w->hooks) {
		struct worker_hook *hook = UTIL_LIST_ENTRY(node, struct worker_hook, node);

		hook->fn(hook->arg);
	}
	ms = sleep_ms(w, max_ms);
	w->again = false;
	n = epoll_wait(w->epoll_fd, w->events, TRANSPORT_WORKER_EVENTS, ms);
	w->nevents = n > 0 ? n : 0;
	for (int i = 0; i < w->nevents; i++)
		handle(w, &w->events[i]);
	w->nevents = 0;
	fire_timers(w);
}

/* ---- life ------------------------------------------------------------------------------- */

int transport_worker_init(struct transport_worker *w, struct transport_server *server,
			  unsigned index)
{
	int err;

	memset(w, 0, sizeof(*w));
	w->server = server;
	w->index = index;
	util_list_init(&w->timers);
	util_list_init(&w->hooks);
	util_list_init(&w->posts);
	pthread_mutex_init(&w->post_lock, NULL);
	w->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	w->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	err = w->wake_fd < 0 || w->epoll_fd < 0 ? -errno : 0;
	if (!err)
		err = transport_worker_watch(w, w->wake_fd, woken, w);
	if (err)
		transport_worker_fini(w);
	return err;
}

void transport_worker_fini(struct transport_worker *w)
{
	struct util_list *node;

	run_posts(w);
	while ((node = util_list_pop(&w->timers)))
		free(UTIL_LIST_ENTRY(node, struct worker_timer, node));
	while ((node = util_list_pop(&w->hooks)))
		free(UTIL_LIST_ENTRY(node, struct worker_hook, node));
	if (w->wake_fd >= 0)
		close(w->wake_fd);
	if (w->epoll_fd >= 0)
		close(w->epoll_fd);
	pthread_mutex_destroy(&w->post_lock);
	free(w->watches);
}

/* ---- facts ------------------------------------------------------------------------------ */

void transport_worker_again(struct transport_worker *w)
{
	w->again = true;
}

unsigned transport_worker_index(const struct transport_worker *w)
{
	return w->index;
}

void *transport_worker_priv(const struct transport_worker *w)
{
	return w->priv;
}

void transport_worker_set_priv(struct transport_worker *w, void *priv)
{
	w->priv = priv;
}

const struct transport_server_params *transport_worker_params(const struct transport_worker *w)
{
	return &w->server->params;
}

struct transport_server *transport_worker_server(const struct transport_worker *w)
{
	return w->server;
}

void **transport_worker_link_slot(struct transport_worker *w, unsigned which)
{
	return &w->link_slot[which];
}

void transport_worker_conn_closed(struct transport_worker *w)
{
	atomic_fetch_sub_explicit(&w->server->nconns, 1, memory_order_relaxed);
}
