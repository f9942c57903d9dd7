/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * listen.c - take TCP connections, read their MPA request, hand up those that are complete.
 *
 * A connection is half open from accept until its request frame is whole.  Those are bounded in
 * number and in time: the oldest makes room for a new one when the limit is reached, so that silent
 * connections cannot keep honest ones out.  What is not MPA, or asks for what we do not do, is
 * closed or rejected here; the owner sees only requests he can accept.
 *
 * One epoll descriptor covers the listening socket and all half-open ones.
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transport/iwarp/internal.h"

#define HALF_OPEN_MAX 256u
#define HALF_OPEN_NS (5 * UTIL_NS_PER_S)
#define BACKLOG 512
#define ACCEPTS_PER_POLL 32
#define PAUSE_NS (100 * UTIL_NS_PER_MS)

struct listener {
	struct fabric_listener base;
	struct iwarp_fabric *fabric;
	struct iwarp_domain *domain; /* what requests refer to */
	int fd, epoll;
	uint64_t paused_ns;	    /* out of descriptors: do not accept before; 0: accepting */
	struct util_list half_open; /* struct iwarp_request, oldest first */
	unsigned nhalf_open;
};

static struct listener *listener_of(struct fabric_listener *base)
{
	return UTIL_CONTAINER_OF(base, struct listener, base);
}

/* ---- requests --------------------------------------------------------------------------- */

static void free_request(struct iwarp_request *req)
{
	if (req->fd >= 0)
		close(req->fd);
	if (req->base.domain)
		iwarp_domain_put(iwarp_domain_of(req->base.domain));
	free(req);
}

static void drop_half_open(struct listener *l, struct iwarp_request *req)
{
	util_list_del(&req->node);
	l->nhalf_open--;
	free_request(req);
}

/* Tell the peer no (unless the socket went to a connection already) and release the request. */
void iwarp_request_reject(struct fabric_request *base)
{
	struct iwarp_request *req = UTIL_CONTAINER_OF(base, struct iwarp_request, base);
	uint8_t buf[IWARP_MPA_FRAME_MAX];
	const struct iwarp_mpa_frame frame = {
		.kind = IWARP_MPA_REPLY,
		.reject = true,
		.revision = req->revision,
		.enhanced = req->enhanced,
		.crc = req->crc,
	};

	if (req->fd >= 0) {
		send(req->fd, buf, iwarp_mpa_encode(&frame, buf), MSG_DONTWAIT | MSG_NOSIGNAL);
		shutdown(req->fd, SHUT_WR);
	}
	free_request(req);
}

/* The frame is whole.  True when the owner should see it. */
static bool judge(struct iwarp_request *req, const struct iwarp_mpa_frame *frame)
{
	if (frame->revision < 1 || frame->revision > 2) {
		free_request(req); /* RFC 5044 section 7.1: nothing to say in a tongue unknown */
		return false;
	}
	req->revision = frame->revision;
	req->enhanced = frame->enhanced;
	req->crc = frame->crc;
	req->ird = frame->ird;
	req->ord = frame->ord;
	req->peer_to_peer = frame->peer_to_peer;
	req->rtr_write = frame->rtr_write;
	req->rtr_read = frame->rtr_read;
	if (frame->markers || frame->reject ||
	    (frame->peer_to_peer && !frame->rtr_write && !frame->rtr_read)) {
		iwarp_request_reject(&req->base);
		return false;
	}
	req->mark = iwarp_mark_find(frame->private_data, frame->private_len);
	req->base.peer_private_len =
		(uint16_t)(frame->private_len - (req->mark ? IWARP_MARK_LEN : 0));
	if (req->base.peer_private_len > sizeof(req->base.peer_private))
		req->base.peer_private_len = sizeof(req->base.peer_private);
	memcpy(req->base.peer_private, frame->private_data, req->base.peer_private_len);
	return true;
}

/*
 * Read what has come of a request frame, and not a byte more: what follows belongs to the
 * connection. Returns 1 when it is whole, 0 when not yet, -errno when the connection is of no use.
 */
static int read_request(struct iwarp_request *req, struct iwarp_mpa_frame *frame)
{
	for (;;) {
		size_t want = IWARP_MPA_HEADER_LEN;
		ssize_t n, len;

		if (req->frame_len >= IWARP_MPA_HEADER_LEN)
			want += util_get_be16(req->frame + IWARP_MPA_HEADER_LEN - 2);
		n = recv(req->fd, req->frame + req->frame_len, want - req->frame_len, MSG_DONTWAIT);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		if (n == 0)
			return -ECONNRESET;
		req->frame_len += (size_t)n;
		len = iwarp_mpa_decode(frame, IWARP_MPA_REQUEST, req->frame, req->frame_len);
		if (len > 0)
			return 1;
		if (len != -EAGAIN)
			return (int)len;
	}
}

/* ---- the listener ----------------------------------------------------------------------- */

static int bind_and_listen(int fd, const struct sockaddr *addr, socklen_t len)
{
	const int one = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (addr->sa_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	util_sock_unpaced(fd);
	if (bind(fd, addr, len) != 0 || listen(fd, BACKLOG) != 0)
		return -errno;
	return 0;
}

static int watch(int epoll, int fd, void *ptr)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = ptr};

	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

static int explain(const struct sockaddr *addr, socklen_t len, int code, struct util_err *err)
{
	struct sockaddr_storage copy = {0};
	char text[96];

	memcpy(&copy, addr, len < sizeof(copy) ? len : sizeof(copy));
	util_err_set(err, code, "listen on %s: %s", iwarp_addr_text(&copy, text, sizeof(text)),
		     strerror(-code));
	if (code == -EADDRINUSE)
		util_err_hint(
			err,
			"another server has the port (the kernel's siw takes real TCP ports too)");
	else if (code == -EACCES)
		util_err_hint(err, "ports below 1024 need root: choose another");
	return code;
}

int iwarp_listen(struct fabric *base, const struct sockaddr *addr, socklen_t len,
		 struct sockaddr_storage *bound, struct fabric_listener **listenerp,
		 struct util_err *err)
{
	struct listener *l = calloc(1, sizeof(*l));
	socklen_t bound_len = sizeof(*bound);
	int code;

	if (!l)
		return util_err_set(err, -ENOMEM, "listen: out of memory");
	l->fabric = UTIL_CONTAINER_OF(base, struct iwarp_fabric, base);
	l->base.fabric = base;
	util_list_init(&l->half_open);
	l->epoll = -1;
	code = iwarp_domain_create(l->fabric, &l->domain, err);
	if (code)
		goto err_free;
	l->fd = socket(addr->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (l->fd < 0) {
		code = explain(addr, len, -errno, err);
		goto err_domain;
	}
	code = bind_and_listen(l->fd, addr, len);
	if (!code) {
		l->epoll = epoll_create1(EPOLL_CLOEXEC);
		code = l->epoll < 0 ? -errno : watch(l->epoll, l->fd, NULL);
	}
	if (code) {
		explain(addr, len, code, err);
		goto err_close;
	}
	if (bound)
		getsockname(l->fd, (struct sockaddr *)bound, &bound_len);
	*listenerp = &l->base;
	return 0;

err_close:
	if (l->epoll >= 0)
		close(l->epoll);
	close(l->fd);
err_domain:
	iwarp_domain_put(l->domain);
err_free:
	free(l);
	return code;
}

int iwarp_listener_fd(struct fabric_listener *base)
{
	return listener_of(base)->epoll;
}

static void admit(struct listener *l, int fd, const struct sockaddr_storage *peer)
{
	struct iwarp_request *req = calloc(1, sizeof(*req));
	socklen_t len = sizeof(req->base.local);

	if (!req || watch(l->epoll, fd, req) != 0) {
		free(req);
		close(fd);
		return;
	}
	iwarp_socket_tune(fd);
	util_sock_accepted(fd);
	req->fd = fd;
	req->fabric = l->fabric;
	req->base.peer = *peer;
	getsockname(fd, (struct sockaddr *)&req->base.local, &len);
	iwarp_domain_get(l->domain);
	req->base.domain = &l->domain->base;
	req->deadline_ns = util_clock_ns() + HALF_OPEN_NS;
	if (l->nhalf_open == HALF_OPEN_MAX)
		drop_half_open(l, UTIL_LIST_ENTRY(l->half_open.next, struct iwarp_request, node));
	util_list_add(&l->half_open, &req->node);
	l->nhalf_open++;
}

/* A waiting connection that cannot be accepted would keep the descriptor readable: look away. */
static void pause_accepting(struct listener *l)
{
	epoll_ctl(l->epoll, EPOLL_CTL_DEL, l->fd, NULL);
	l->paused_ns = util_clock_ns() + PAUSE_NS;
}

static void resume_accepting(struct listener *l)
{
	if (l->paused_ns && l->paused_ns <= util_clock_ns() && watch(l->epoll, l->fd, NULL) == 0)
		l->paused_ns = 0;
}

static void accept_some(struct listener *l)
{
	for (int i = 0; i < ACCEPTS_PER_POLL; i++) {
		struct sockaddr_storage peer;
		socklen_t len = sizeof(peer);
		int fd = accept4(l->fd, (struct sockaddr *)&peer, &len,
				 SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0 &&
		    (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM))
			pause_accepting(l);
		if (fd < 0)
			return;
		admit(l, fd, &peer);
	}
}

static void expire(struct listener *l)
{
	uint64_t now = util_clock_ns();

	while (!util_list_empty(&l->half_open)) {
		struct iwarp_request *req =
			UTIL_LIST_ENTRY(l->half_open.next, struct iwarp_request, node);

		if (req->deadline_ns > now)
			return;
		drop_half_open(l, req);
	}
}

/* A half-open connection has bytes: the request if that makes it whole and good. */
static struct iwarp_request *advance(struct listener *l, struct iwarp_request *req)
{
	struct iwarp_mpa_frame frame;
	int state = read_request(req, &frame);

	if (state == 0)
		return NULL;
	if (state < 0) {
		drop_half_open(l, req);
		return NULL;
	}
	util_list_del(&req->node);
	l->nhalf_open--;
	epoll_ctl(l->epoll, EPOLL_CTL_DEL, req->fd, NULL);
	return judge(req, &frame) ? req : NULL;
}

int iwarp_listener_poll(struct fabric_listener *base, struct fabric_request **reqp)
{
	struct listener *l = listener_of(base);
	struct iwarp_request *req;
	struct epoll_event event;

	expire(l);
	resume_accepting(l);
	/* One event at a time: dropping a connection must not leave a stale event behind. */
	for (unsigned i = 0; i < HALF_OPEN_MAX; i++) {
		if (epoll_wait(l->epoll, &event, 1, 0) != 1)
			return -EAGAIN;
		if (!event.data.ptr) {
			accept_some(l);
			continue;
		}
		req = advance(l, event.data.ptr);
		if (req) {
			*reqp = &req->base;
			return 0;
		}
	}
	return -EAGAIN;
}

uint64_t iwarp_listener_deadline(struct fabric_listener *base)
{
	struct listener *l = listener_of(base);
	uint64_t expiry;

	if (util_list_empty(&l->half_open))
		return l->paused_ns;
	expiry = UTIL_LIST_ENTRY(l->half_open.next, struct iwarp_request, node)->deadline_ns;
	return l->paused_ns && l->paused_ns < expiry ? l->paused_ns : expiry;
}

void iwarp_listener_close(struct fabric_listener *base)
{
	struct listener *l = listener_of(base);

	while (!util_list_empty(&l->half_open))
		drop_half_open(l, UTIL_LIST_ENTRY(l->half_open.next, struct iwarp_request, node));
	close(l->epoll);
	close(l->fd);
	iwarp_domain_put(l->domain);
	free(l);
}
