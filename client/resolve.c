/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * resolve.c - a server's name to its addresses.
 *
 * A name may have several; the mount tries them in the resolver's order.  Numeric addresses never
 * ask a name server.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "client/internal.h"

void client_addr_set_port(struct sockaddr_storage *addr, uint16_t port)
{
	if (addr->ss_family == AF_INET6)
		((struct sockaddr_in6 *)addr)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)addr)->sin_port = htons(port);
}

uint16_t client_addr_port(const struct sockaddr_storage *addr)
{
	if (addr->ss_family == AF_INET6)
		return ntohs(((const struct sockaddr_in6 *)addr)->sin6_port);
	return ntohs(((const struct sockaddr_in *)addr)->sin_port);
}

const char *client_addr_format(const struct sockaddr_storage *addr, char *out, size_t len)
{
	char host[INET6_ADDRSTRLEN + 32];
	socklen_t addr_len = addr->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
							 : sizeof(struct sockaddr_in);

	if (getnameinfo((const struct sockaddr *)addr, addr_len, host, sizeof(host), NULL, 0,
			NI_NUMERICHOST))
		snprintf(host, sizeof(host), "?");
	snprintf(out, len, addr->ss_family == AF_INET6 ? "[%s]:%u" : "%s:%u", host,
		 client_addr_port(addr));
	return out;
}

static int resolve_errno(int code)
{
	if (code == EAI_AGAIN)
		return -EAGAIN;
	if (code == EAI_MEMORY)
		return -ENOMEM;
	if (code == EAI_SYSTEM && errno)
		return -errno;
	return -EHOSTUNREACH;
}

int client_resolve(struct client_addrs *addrs, const char *host, int family, uint16_t port,
		   struct util_err *err)
{
	struct addrinfo hints = {
		.ai_family = family ? family : AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_NUMERICHOST,
	};
	struct addrinfo *list = NULL;
	int code;

	addrs->n = 0;
	code = getaddrinfo(host, NULL, &hints, &list);
	if (code == EAI_NONAME) {
		hints.ai_flags = 0;
		code = getaddrinfo(host, NULL, &hints, &list);
	}
	if (code) {
		code = util_err_set(err, resolve_errno(code), "cannot resolve %s: %s", host,
				    gai_strerror(code));
		util_err_hint(err, "check the name, or give the address");
		return code;
	}
	for (struct addrinfo *ai = list; ai && addrs->n < CLIENT_MAX_ADDRS; ai = ai->ai_next) {
		if (ai->ai_addrlen > sizeof(addrs->addr[0]) ||
		    (ai->ai_family != AF_INET && ai->ai_family != AF_INET6))
			continue;
		memset(&addrs->addr[addrs->n], 0, sizeof(addrs->addr[0]));
		memcpy(&addrs->addr[addrs->n], ai->ai_addr, ai->ai_addrlen);
		client_addr_set_port(&addrs->addr[addrs->n], port);
		addrs->len[addrs->n++] = ai->ai_addrlen;
	}
	freeaddrinfo(list);
	if (!addrs->n)
		return util_err_set(err, -EHOSTUNREACH, "%s has no usable address", host);
	return 0;
}
