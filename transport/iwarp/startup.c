/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * startup.c - from an address to an iWARP stream: TCP, then one MPA frame each way.
 *
 * The initiator speaks revision 2 (RFC 6581) with IRD and ORD, as kernel peers demand, and takes
 * replies of revision 2 or 1.  Markers are never asked for and never sent: a peer that insists is
 * refused.  CRC is used if either side wants it (RFC 5044 section 7.1); we want it except on
 * loopback, where no wire can damage anything, or as told.
 *
 * The two Read depths cross over: we may have as many Reads out as the peer's IRD allows, and must
 * take as many as its ORD says, in both cases at most what we offered.
 *
 * The responder's half of the handshake is split: listen.c reads the request, the owner decides,
 * and iwarp_conn_start() sends the reply once receives are posted.
 *
 * Everything here that can go wrong is something a user will meet (a wrong port, a server that is
 * down, a port where HTTP is spoken), so each cause has its own words.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transport/iwarp/internal.h"

#define RESVPORT_FIRST 665 /* below lie well-known services one should not take */
#define RESVPORT_LAST 1023

/* ---- addresses and sockets -------------------------------------------------------------- */

const char *iwarp_addr_text(const struct sockaddr_storage *addr, char *buf, size_t len)
{
	char host[NI_MAXHOST], port[NI_MAXSERV];
	socklen_t size = addr->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
						     : sizeof(struct sockaddr_in);

	if (getnameinfo((const struct sockaddr *)addr, size, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		snprintf(buf, len, "an unknown address");
	else
		snprintf(buf, len, "%s port %s", host, port);
	return buf;
}

bool iwarp_wants_crc(const struct iwarp_fabric *fabric, const struct sockaddr_storage *local,
		     const struct sockaddr_storage *peer)
{
	if (fabric->opts.crc != FABRIC_CRC_AUTO)
		return fabric->opts.crc == FABRIC_CRC_ON;
	return !util_addr_is_loopback(peer) && !util_addr_same_host(local, peer);
}

/* No Nagle: we write whole batches.  Keep-alive and user timeout find peers that are gone. */
void iwarp_socket_tune(int fd)
{
	const int one = 1, idle_s = 60, interval_s = 10, probes = 3, unacked_ms = 60000;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof(interval_s));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacked_ms, sizeof(unacked_ms));
}

static void set_port(struct sockaddr_storage *addr, uint16_t port)
{
	if (addr->ss_family == AF_INET)
		((struct sockaddr_in *)addr)->sin_port = htons(port);
	else
		((struct sockaddr_in6 *)addr)->sin6_port = htons(port);
}

/* Bind a port below 1024, from a random one on. */
static int bind_reserved(int fd, const struct fabric_conn_params *params, struct util_err *err)
{
	const unsigned count = RESVPORT_LAST - RESVPORT_FIRST + 1;
	struct sockaddr_storage local = params->local;
	uint32_t start = 0;

	if (!local.ss_family)
		local.ss_family = params->peer.ss_family;
	util_random_bytes(&start, sizeof(start));
	for (unsigned i = 0; i < count; i++) {
		set_port(&local, (uint16_t)(RESVPORT_FIRST + (start + i) % count));
		if (bind(fd, (struct sockaddr *)&local, params->peer_len) == 0)
			return 0;
		if (errno == EACCES || errno == EPERM) {
			util_err_set(err, -EACCES, "bind a port below 1024: Permission denied");
			util_err_hint(err,
				      "run as root, or use noresvport if the server allows it");
			return -EACCES;
		}
	}
	return util_err_set(err, -EADDRINUSE, "all ports below 1024 are in use");
}

static int bind_local(int fd, const struct fabric_conn_params *params, struct util_err *err)
{
	const int one = 1;
	char text[96];

	if (params->resvport && !params->local_len)
		return bind_reserved(fd, params, err);
	if (!params->local_len || !params->local.ss_family)
		return 0;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (const struct sockaddr *)&params->local, params->local_len) == 0)
		return 0;
	return util_err_set(err, -errno, "bind %s: %s",
			    iwarp_addr_text(&params->local, text, sizeof(text)), strerror(errno));
}

static void fill_addresses(struct iwarp_conn *conn)
{
	socklen_t len = sizeof(conn->base.local);

	getsockname(conn->sock.fd, (struct sockaddr *)&conn->base.local, &len);
	len = sizeof(conn->base.peer);
	if (getpeername(conn->sock.fd, (struct sockaddr *)&conn->base.peer, &len) != 0)
		conn->base.peer = conn->params.peer;
}

/* ---- what both roles settle ------------------------------------------------------------- */

static uint32_t smaller(uint32_t ours, uint32_t theirs)
{
	return theirs == IWARP_MPA_RD_ANY || theirs > ours ? ours : theirs;
}

static void settle_depths(struct iwarp_conn *conn, uint8_t revision, bool enhanced, uint16_t ird,
			  uint16_t ord)
{
	conn->revision = revision;
	conn->ord = enhanced ? smaller(IWARP_RD_MAX, ird) : IWARP_RD_REVISION_1;
	conn->ird = enhanced ? smaller(IWARP_RD_MAX, ord) : IWARP_RD_REVISION_1;
	if (!conn->ird)
		conn->ird =
			1; /* costs nothing, and a peer may count from its own idea of a default */
}

/* The longest ULPDU we may send: mark is what a peer of our kind said, 0 for others. */
static void settle_ulpdu(struct iwarp_conn *conn, uint16_t mark)
{
	int mss = 0;
	socklen_t len = sizeof(mss);

	conn->ours = mark != 0;
	if (getsockopt(conn->sock.fd, IPPROTO_TCP, TCP_MAXSEG, &mss, &len) != 0 || mss <= 0)
		mss = 536;
	conn->tx.max_ulpdu = (uint32_t)iwarp_mpa_max_ulpdu((size_t)mss);
	if (conn->ours && conn->tx.max_ulpdu < mark)
		conn->tx.max_ulpdu = mark < IWARP_ULPDU_OURS ? mark : IWARP_ULPDU_OURS;
	else if (conn->params.large_fpdu && conn->tx.max_ulpdu < IWARP_ULPDU_LARGE)
		conn->tx.max_ulpdu = IWARP_ULPDU_LARGE;
}

static void take_private(uint8_t *to, uint16_t *lenp, const uint8_t *data, size_t len)
{
	if (iwarp_mark_find(data, len))
		len -= IWARP_MARK_LEN;
	if (len > sizeof(((struct fabric_conn *)0)->peer_private))
		len = sizeof(((struct fabric_conn *)0)->peer_private);
	if (len)
		memcpy(to, data, len);
	*lenp = (uint16_t)len;
}

/* ---- initiator -------------------------------------------------------------------------- */

static int connect_words(int code, const struct sockaddr_storage *peer, struct util_err *err)
{
	char text[96];

	util_err_set(err, code, "connect to %s: %s", iwarp_addr_text(peer, text, sizeof(text)),
		     strerror(-code));
	if (code == -EADDRNOTAVAIL)
		util_err_hint(err, "the local port is still taken by the last connection");
	else if (code == -ECONNREFUSED)
		util_err_hint(
			err,
			"is the server running, and is this its RDMA port (20049 by default)?");
	else if (code == -EHOSTUNREACH || code == -ENETUNREACH)
		util_err_hint(err, "check the address and the route to it");
	else if (code == -EINVAL)
		util_err_hint(err, "the route to it is a blackhole");
	return code;
}

static int open_socket(struct iwarp_conn *conn, struct util_err *err)
{
	const struct fabric_conn_params *params = &conn->params;
	int fd, code;

	fd = socket(params->peer.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return util_err_set(err, -errno, "socket: %s", strerror(errno));
	conn->sock.fd = fd;
	iwarp_socket_tune(fd);
	if (util_addr_is_loopback(&params->peer))
		util_sock_unpaced(fd);
	code = bind_local(fd, params, err);
	if (code)
		return code;
	if (connect(fd, (const struct sockaddr *)&params->peer, params->peer_len) == 0 ||
	    errno == EINPROGRESS)
		return 0;
	return connect_words(-errno, &params->peer, err);
}

/* -EINVAL, and what socket, bind and connect say at once; the rest comes as an event. */
int iwarp_conn_connect(struct fabric_cq *base, const struct fabric_conn_params *params,
		       struct fabric_conn **connp, struct util_err *err)
{
	int timeout_ms = params->timeout_ms ? params->timeout_ms : IWARP_CONNECT_TIMEOUT_MS;
	struct iwarp_cq *cq = iwarp_cq_of(base);
	struct iwarp_conn *conn;
	int code = iwarp_conn_create(cq, params, &conn, err);

	if (code)
		return code;
	conn->initiator = true;
	conn->phase = IWARP_CONNECTING;
	conn->base.peer = params->peer;
	code = open_socket(conn, err);
	if (code)
		goto err_destroy;
	code = cq->sock->attach(conn);
	if (code) {
		util_err_set(err, code, "watch a socket: %s", strerror(-code));
		goto err_destroy;
	}
	conn->deadline_ns = util_clock_ns() + (uint64_t)timeout_ms * UTIL_NS_PER_MS;
	iwarp_cq_retime(conn);
	conn->tx.blocked = true;
	cq->sock->want_tx(conn); /* writable once connected */
	*connp = &conn->base;
	return 0;

err_destroy:
	iwarp_conn_destroy(&conn->base);
	return code;
}

static void connect_failed(struct iwarp_conn *conn, int code)
{
	connect_words(code, &conn->base.peer, &conn->base.err);
	iwarp_conn_end(conn);
}

static ssize_t send_frame(struct iwarp_conn *conn, const struct iwarp_mpa_frame *frame)
{
	uint8_t buf[IWARP_MPA_FRAME_MAX];
	struct iovec iov = {.iov_base = buf, .iov_len = iwarp_mpa_encode(frame, buf)};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t n = conn->cq->sock->send(conn, &msg);

	if (n < 0)
		return n;
	return (size_t)n == iov.iov_len ? 0 : -EAGAIN; /* an empty socket buffer takes a frame */
}

/* Private data and mark, in that order. */
static size_t build_private(const struct iwarp_conn *conn, uint8_t *buf, bool mark)
{
	size_t len = conn->params.private_len;

	memcpy(buf, conn->params.private_data, len);
	if (mark) {
		iwarp_mark_put(buf + len, IWARP_ULPDU_OURS);
		len += IWARP_MARK_LEN;
	}
	return len;
}

static void send_request(struct iwarp_conn *conn)
{
	uint8_t private[FABRIC_PRIVATE_MAX + IWARP_MARK_LEN];
	struct iwarp_mpa_frame frame = {
		.kind = IWARP_MPA_REQUEST,
		.revision = 2,
		.enhanced = true,
		.ird = IWARP_RD_MAX,
		.ord = IWARP_RD_MAX,
		.private_data = private,
		.private_len = build_private(conn, private, true),
	};
	ssize_t err;

	fill_addresses(conn);
	conn->crc = iwarp_wants_crc(conn->fabric, &conn->base.local, &conn->base.peer);
	frame.crc = conn->crc;
	err = send_frame(conn, &frame);
	if (err)
		connect_failed(conn, (int)err);
	else
		conn->phase = IWARP_HANDSHAKE;
}

/* TCP is up, or has failed. */
static void tcp_connected(struct iwarp_conn *conn)
{
	int so_error = 0;
	socklen_t len = sizeof(so_error);

	getsockopt(conn->sock.fd, SOL_SOCKET, SO_ERROR, &so_error, &len);
	if (so_error)
		connect_failed(conn, -so_error);
	else
		send_request(conn);
}

static void not_iwarp(struct iwarp_conn *conn)
{
	const struct iwarp_rx *rx = &conn->rx;
	char text[96], seen[80];

	util_text_escape((const char *)rx->stage, rx->tail < 16 ? rx->tail : 16, seen,
			 sizeof(seen));
	util_err_set(&conn->base.err, -EPROTO,
		     "connect to %s: the peer does not speak iWARP (it says \"%s\")",
		     iwarp_addr_text(&conn->base.peer, text, sizeof(text)), seen);
	util_err_hint(
		&conn->base.err,
		"is this the server's RDMA port (20049 by default)? proto=tcp is for the NFS port");
	iwarp_conn_end(conn);
}

static void refuse(struct iwarp_conn *conn, int code, const char *what, const char *hint)
{
	char text[96];

	util_err_set(&conn->base.err, code, "connect to %s: %s",
		     iwarp_addr_text(&conn->base.peer, text, sizeof(text)), what);
	util_err_hint(&conn->base.err, "%s", hint);
	iwarp_conn_end(conn);
}

/* True when the reply is one we can work with; else the connection is ended. */
static bool reply_is_good(struct iwarp_conn *conn, const struct iwarp_mpa_frame *reply)
{
	if (reply->revision < 1 || reply->revision > 2)
		refuse(conn, -EPROTONOSUPPORT, "the peer answers with an unknown MPA revision",
		       "revisions 1 and 2 are spoken here");
	else if (reply->reject)
		refuse(conn, -ECONNREFUSED, "the peer rejects the connection",
		       "the server may be out of resources, or not serve NFS over RDMA to this "
		       "host");
	else if (reply->markers)
		refuse(conn, -EPROTONOSUPPORT, "the peer insists on MPA markers",
		       "switch markers off at the peer: they are not supported here");
	else
		return true;
	return false;
}

static void take_reply(struct iwarp_conn *conn, const struct iwarp_mpa_frame *reply, size_t len)
{
	if (!reply_is_good(conn, reply))
		return;
	conn->crc = conn->crc || reply->crc;
	settle_depths(conn, reply->revision, reply->enhanced, reply->ird, reply->ord);
	settle_ulpdu(conn, iwarp_mark_find(reply->private_data, reply->private_len));
	take_private(conn->base.peer_private, &conn->base.peer_private_len, reply->private_data,
		     reply->private_len);
	conn->rx.head += (uint32_t)len;
	conn->rx.any = conn->rx.head != conn->rx.tail;
	iwarp_conn_established(conn);
}

static void read_reply(struct iwarp_conn *conn)
{
	struct iwarp_mpa_frame reply;
	ssize_t n = 1, len;

	/* A driver may have put bytes into the stage already. */
	len = iwarp_mpa_decode(&reply, IWARP_MPA_REPLY, conn->rx.stage, conn->rx.tail);
	while (len == -EAGAIN && conn->sock.rx_ready) {
		n = iwarp_rx_fill_stage(conn);
		if (n <= 0)
			break;
		len = iwarp_mpa_decode(&reply, IWARP_MPA_REPLY, conn->rx.stage, conn->rx.tail);
	}
	if (len > 0)
		take_reply(conn, &reply, (size_t)len);
	else if (len == -EBADMSG || len == -EMSGSIZE)
		not_iwarp(conn);
	else if (n == 0 || n == -ECONNRESET || n == -EPIPE)
		refuse(conn, -ECONNRESET, "the peer closed the connection instead of answering",
		       "is this the server's RDMA port (20049 by default), and does it speak "
		       "iWARP?");
	else if (n < 0 && n != -EAGAIN)
		connect_failed(conn, (int)n);
}

void iwarp_startup_progress(struct iwarp_conn *conn)
{
	if (conn->phase == IWARP_CONNECTING && !conn->tx.blocked)
		tcp_connected(conn);
	if (conn->phase == IWARP_HANDSHAKE)
		read_reply(conn);
}

void iwarp_startup_timeout(struct iwarp_conn *conn)
{
	if (conn->phase == IWARP_CONNECTING)
		refuse(conn, -ETIMEDOUT, "no answer in time",
		       "check the address, and that no firewall drops the port");
	else
		refuse(conn, -ETIMEDOUT,
		       "the peer took the TCP connection but does not answer as iWARP",
		       "is this the server's RDMA port (20049 by default)?");
}

/* ---- responder -------------------------------------------------------------------------- */

static int check_request(struct iwarp_cq *cq, const struct iwarp_request *req, struct util_err *err)
{
	return cq->domain->fabric == req->fabric
		       ? 0
		       : util_err_set(err, -EINVAL,
				      "accept a connection: request of another fabric");
}

int iwarp_conn_accept(struct fabric_cq *base, struct fabric_request *fabric_req,
		      const struct fabric_conn_params *params, struct fabric_conn **connp,
		      struct util_err *err)
{
	struct iwarp_request *req = UTIL_CONTAINER_OF(fabric_req, struct iwarp_request, base);
	struct iwarp_cq *cq = iwarp_cq_of(base);
	struct iwarp_conn *conn;
	int code = check_request(cq, req, err);

	if (!code)
		code = iwarp_conn_create(cq, params, &conn, err);
	if (code)
		return code;
	conn->sock.fd = req->fd;
	conn->phase = IWARP_ACCEPTED;
	code = cq->sock->attach(conn);
	if (code) {
		conn->sock.fd = -1; /* still the request's */
		iwarp_conn_destroy(&conn->base);
		return util_err_set(err, code, "watch a socket: %s", strerror(-code));
	}
	fill_addresses(conn);
	conn->crc = req->crc || iwarp_wants_crc(conn->fabric, &conn->base.local, &conn->base.peer);
	settle_depths(conn, req->revision, req->enhanced, req->ird, req->ord);
	settle_ulpdu(conn, req->mark);
	conn->reply_enhanced = req->enhanced;
	conn->reply_mark = req->mark != 0;
	conn->reply_p2p = req->peer_to_peer;
	conn->reply_rtr_write = req->rtr_write;
	conn->reply_rtr_read = req->rtr_read && !req->rtr_write;
	take_private(conn->base.peer_private, &conn->base.peer_private_len, req->base.peer_private,
		     req->base.peer_private_len);
	req->fd = -1;
	iwarp_request_reject(fabric_req); /* releases it: there is nobody left to tell */
	*connp = &conn->base;
	return 0;
}

/* -EINVAL started already; or what sending the reply said. */
int iwarp_conn_start(struct fabric_conn *base)
{
	struct iwarp_conn *conn = iwarp_conn_of(base);
	uint8_t private[FABRIC_PRIVATE_MAX + IWARP_MARK_LEN];
	struct iwarp_mpa_frame frame = {
		.kind = IWARP_MPA_REPLY,
		.revision = conn->revision,
		.crc = conn->crc,
		.enhanced = conn->reply_enhanced,
		.ird = (uint16_t)conn->ird,
		.ord = (uint16_t)conn->ord,
		.peer_to_peer = conn->reply_p2p,
		.rtr_write = conn->reply_p2p && conn->reply_rtr_write,
		.rtr_read = conn->reply_p2p && conn->reply_rtr_read,
		.private_data = private,
		.private_len = build_private(conn, private, conn->reply_mark),
	};
	ssize_t err;

	if (conn->phase != IWARP_ACCEPTED)
		return -EINVAL;
	err = send_frame(conn, &frame);
	if (err) {
		iwarp_conn_fail(conn, (int)err, "answer a connection request: %s",
				strerror((int)-err));
		return (int)err;
	}
	iwarp_conn_established(conn);
	return 0;
}
