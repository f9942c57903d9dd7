/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * socket.c - getting a TCP connection (or a UDP socket), and words for not getting it.
 *
 * A connection that is re-made is bound to the local address and port of the one before it: some
 * servers' duplicate request caches know a client by them.  That works only if nothing of the
 * old one lingers here, so a dropped connection is aborted (reset) rather than closed; should the
 * port be gone all the same, any other will do.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "transport/tcp/internal.h"

/* The range the kernel's NFS client uses: below it are well-known services. */
#define RESVPORT_MIN 665
#define RESVPORT_MAX 1023

const char *tcp_addr_text(const struct sockaddr_storage *addr, char *buf, size_t len)
{
	const struct sockaddr_in *in4 = (const void *)addr;
	const struct sockaddr_in6 *in6 = (const void *)addr;
	char host[INET6_ADDRSTRLEN] = "?";

	if (addr->ss_family == AF_INET) {
		inet_ntop(AF_INET, &in4->sin_addr, host, sizeof(host));
		snprintf(buf, len, "%s port %u", host, ntohs(in4->sin_port));
	} else if (addr->ss_family == AF_INET6) {
		inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof(host));
		snprintf(buf, len, "%s port %u", host, ntohs(in6->sin6_port));
	} else {
		snprintf(buf, len, "address family %u", addr->ss_family);
	}
	return buf;
}

static void connect_hint(int code, struct util_err *err)
{
	switch (code) {
	case -ECONNREFUSED:
		util_err_hint(err,
			      "nothing listens there: is the server running, and is it this port "
			      "('port=')?");
		break;
	case -ETIMEDOUT:
	case -EHOSTUNREACH:
	case -ENETUNREACH:
		util_err_hint(err,
			      "is the address right, the host up, and no firewall in between?");
		break;
	case -EINVAL:
		util_err_hint(err, "the route to it is a blackhole");
		break;
	case -EACCES:
	case -EPERM:
		util_err_hint(err, "a port below 1024 needs root or CAP_NET_BIND_SERVICE; try "
				   "'noresvport'");
		break;
	default:
		break;
	}
}

int tcp_socket_refused(int code, const struct transport_client_params *params, struct util_err *err)
{
	char addr[TCP_ADDR_TEXT];

	util_err_set(err, code, "connect to %s: %s",
		     tcp_addr_text(&params->addr, addr, sizeof(addr)), strerror(-code));
	connect_hint(code, err);
	return code;
}

int tcp_socket_error(int code, const struct transport_client_params *params, struct util_err *err)
{
	util_err_set(err, code, "connection to %s lost: %s", params->server, strerror(-code));
	if (code == -ETIMEDOUT)
		util_err_hint(err,
			      "the host did not acknowledge what was sent: is the network up?");
	return code;
}

/* ---- making a socket -------------------------------------------------------------------- */

/*
 * Dead peers are found by keep-alives while nothing is under way and by TCP_USER_TIMEOUT while
 * something is; both in proportion to timeo, as the kernel's client sets them.  Failing to set an
 * option costs only promptness.
 */
static void set_options(int fd, const struct transport_client_params *params)
{
	const unsigned sends = params->retrans + 1;
	const unsigned user_ms =
		params->timeo_ms > 600000 / sends ? 600000 : params->timeo_ms * sends;
	const int idle_s = params->timeo_ms < 1000 ? 1 : (int)(params->timeo_ms / 1000);
	const int probes = sends > 100 ? 100 : (int)sends;
	const int on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &idle_s, sizeof(idle_s));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &user_ms, sizeof(user_ms));
}

static int socket_create(const struct transport_client_params *params, int *fdp)
{
	const bool datagrams = params->proto == TRANSPORT_UDP;
	int fd = socket(params->addr.ss_family,
			(datagrams ? SOCK_DGRAM : SOCK_STREAM) | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	if (datagrams) {
		*fdp = fd;
		return 0;
	}
	set_options(fd, params);
	if (util_addr_is_loopback(&params->addr))
		util_sock_unpaced(fd);
	*fdp = fd;
	return 0;
}

static void set_port(struct sockaddr_storage *addr, uint16_t port)
{
	if (addr->ss_family == AF_INET6)
		((struct sockaddr_in6 *)addr)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)addr)->sin_port = htons(port);
}

/* One socket, bound to local (unless NULL) and on its way. */
static int try_connect(const struct transport_client_params *params, const struct sockaddr *local,
		       socklen_t local_len, int *fdp)
{
	const int on = 1;
	int fd = -1;
	int err;

	err = socket_create(params, &fd);
	if (err)
		return err;
	if (local) {
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		if (bind(fd, local, local_len))
			goto err_close;
	}
	if (connect(fd, (const struct sockaddr *)&params->addr, params->addr_len) &&
	    errno != EINPROGRESS)
		goto err_close;
	*fdp = fd;
	return 0;

err_close:
	err = -errno;
	close(fd);
	return err;
}

/* From a random port downwards, so that mounts do not all try the same ones. */
static int try_reserved(const struct transport_client_params *params, int *fdp)
{
	const unsigned count = RESVPORT_MAX - RESVPORT_MIN + 1;
	struct sockaddr_storage local = {.ss_family = params->addr.ss_family};
	uint16_t start = 0;
	int err = -EADDRINUSE;

	util_random_bytes(&start, sizeof(start));
	for (unsigned i = 0; i < count; i++) {
		set_port(&local, (uint16_t)(RESVPORT_MIN + (start + i) % count));
		err = try_connect(params, (struct sockaddr *)&local, params->addr_len, fdp);
		if (err != -EADDRINUSE && err != -EADDRNOTAVAIL)
			return err;
	}
	return err;
}

int tcp_socket_connect(const struct transport_client_params *params,
		       const struct sockaddr_storage *local, socklen_t local_len, int *fdp,
		       struct util_err *err)
{
	int code = -EADDRINUSE;

	if (local->ss_family != 0)
		code = try_connect(params, (const struct sockaddr *)local, local_len, fdp);
	if (code == -EADDRINUSE || code == -EADDRNOTAVAIL) {
		if (params->resvport)
			code = try_reserved(params, fdp);
		else
			code = try_connect(params, NULL, 0, fdp);
	}
	return code ? tcp_socket_refused(code, params, err) : 0;
}

/*
 * Nobody listens on a port of the ephemeral range, and the kernel happened to choose that very port
 * for our end: TCP then connects the socket to itself.
 */
static bool connected_to_itself(int fd)
{
	struct sockaddr_storage local = {0}, peer = {0};
	socklen_t local_len = sizeof(local), peer_len = sizeof(peer);

	return getsockname(fd, (struct sockaddr *)&local, &local_len) == 0 &&
	       getpeername(fd, (struct sockaddr *)&peer, &peer_len) == 0 && local_len == peer_len &&
	       memcmp(&local, &peer, local_len) == 0;
}

int tcp_socket_connected(int fd, const struct transport_client_params *params, struct util_err *err)
{
	struct pollfd pfd = {.fd = fd, .events = POLLOUT};
	socklen_t len = sizeof(int);
	int code = 0;

	if (poll(&pfd, 1, 0) <= 0)
		return -EINPROGRESS;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &len))
		code = errno;
	if (code == 0 && connected_to_itself(fd))
		code = ECONNREFUSED;
	return code ? tcp_socket_refused(-code, params, err) : 0;
}

void tcp_socket_abort(int fd)
{
	const struct linger reset = {.l_onoff = 1, .l_linger = 0};

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	close(fd);
}
