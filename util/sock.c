/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sock.c - TCP connections that do not leave the host.
 *
 * Congestion control that paces (BBR, the default of many systems) spreads what is sent over time.
 * On loopback there is no queue to keep short, and each pause costs a timer and a wake-up: with
 * records of 256 KiB they took a third of the sender's time here.  So connections within the host
 * use Reno, which every Linux has and lets everyone choose.  What goes over a network keeps what
 * the system's administrator chose.
 *
 * A socket that BBR has once initialised stays paced whatever it is given later, and an accepted
 * one is initialised before accept() returns it.  Hence the choice is made before connect(), and on
 * the listener, whose connections inherit it; those from the network are given the system's back.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/util.h"

#define NAME_MAX_LEN 16 /* TCP_CA_NAME_MAX */

bool util_addr_is_loopback(const struct sockaddr_storage *addr)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)addr;
	const struct sockaddr_in *in = (const struct sockaddr_in *)addr;

	if (addr->ss_family == AF_INET)
		return ntohl(in->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	if (addr->ss_family != AF_INET6)
		return false;
	return IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr) ||
	       (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr) &&
		in6->sin6_addr.s6_addr[12] == IN_LOOPBACKNET);
}

bool util_addr_same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	const struct sockaddr_in *a4 = (const void *)a, *b4 = (const void *)b;
	const struct sockaddr_in6 *a6 = (const void *)a, *b6 = (const void *)b;

	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET)
		return a4->sin_addr.s_addr == b4->sin_addr.s_addr;
	if (a->ss_family == AF_INET6)
		return a6->sin6_scope_id == b6->sin6_scope_id &&
		       memcmp(&a6->sin6_addr, &b6->sin6_addr, sizeof(a6->sin6_addr)) == 0;
	return false;
}

void util_sock_unpaced(int fd)
{
	static const char reno[] = "reno";

	setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, reno, sizeof(reno) - 1);
}

/* Ends of a connection on this very host. */
static bool stays_here(int fd)
{
	struct sockaddr_storage local = {0}, peer = {0};
	socklen_t local_len = sizeof(local), peer_len = sizeof(peer);

	if (getsockname(fd, (struct sockaddr *)&local, &local_len) != 0 ||
	    getpeername(fd, (struct sockaddr *)&peer, &peer_len) != 0)
		return false;
	return util_addr_is_loopback(&peer) || util_addr_same_host(&local, &peer);
}

void util_sock_accepted(int fd)
{
	char name[NAME_MAX_LEN];
	socklen_t len = sizeof(name);
	int fresh;

	if (stays_here(fd))
		return;
	fresh = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fresh < 0)
		return;
	if (getsockopt(fresh, IPPROTO_TCP, TCP_CONGESTION, name, &len) == 0)
		setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, len);
	close(fresh);
}
