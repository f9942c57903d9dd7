/* SPDX-License-Identifier: BSD-2-Clause */
/* wrap.c - see wrap.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <netdb.h>
#include <string.h>

#include "transport/transport.h"
#include "tests/client/wrap.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
int __real_mr_lease_take(struct mr_pool *pool, enum mr_kind kind, size_t len,
			 struct mr_lease **leasep, struct util_err *err);
void __real_mr_lease_give(struct mr_lease *lease);

_Thread_local struct wrap wrap = {.leases_left = -1};

static int refuse(void)
{
	return ++wrap.allocs == wrap.fail_at;
}

void *__wrap_malloc(size_t size)
{
	return refuse() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return refuse() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	return refuse() ? NULL : __real_realloc(old, size);
}

int __wrap_mr_lease_take(struct mr_pool *pool, enum mr_kind kind, size_t len,
			 struct mr_lease **leasep, struct util_err *err)
{
	int ret;

	if (!wrap.leases_left) {
		wrap.lease_refusals++;
		return util_err_set(err, -ENOMEM, "the tests' limit");
	}
	ret = __real_mr_lease_take(pool, kind, len, leasep, err);
	if (ret)
		return ret;
	wrap.leases++;
	if (wrap.leases_left > 0)
		wrap.leases_left--;
	return 0;
}

void __wrap_mr_lease_give(struct mr_lease *lease)
{
	__real_mr_lease_give(lease);
	if (lease && wrap.leases_left >= 0)
		wrap.leases_left++;
}

/* ---- look-ups ----------------------------------------------------------------------------- */

int __real_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
		       struct addrinfo **list);
int __real_transport_rpcbind_getport(struct transport_ctx *ctx, const struct sockaddr *addr,
				     socklen_t len, uint32_t prog, uint32_t vers, const char *netid,
				     int timeout_ms, uint16_t *portp, struct util_err *err);

int __wrap_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
		       struct addrinfo **list)
{
	int ret;

	if (strcmp(node, "two.test") != 0)
		return __real_getaddrinfo(node, service, hints, list);
	ret = __real_getaddrinfo("127.0.0.2", service, hints, list);
	return ret ? ret : __real_getaddrinfo("127.0.0.1", service, hints, &(*list)->ai_next);
}

int __wrap_transport_rpcbind_getport(struct transport_ctx *ctx, const struct sockaddr *addr,
				     socklen_t len, uint32_t prog, uint32_t vers, const char *netid,
				     int timeout_ms, uint16_t *portp, struct util_err *err)
{
	wrap.rpcbind_asked++;
	wrap.rpcbind_timeout_ms = timeout_ms;
	snprintf(wrap.rpcbind_netid, sizeof(wrap.rpcbind_netid), "%s", netid);
	if (!wrap.rpcbind_port && !wrap.rpcbind_err)
		return __real_transport_rpcbind_getport(ctx, addr, len, prog, vers, netid,
							timeout_ms, portp, err);
	*portp = wrap.rpcbind_port;
	return wrap.rpcbind_err ? util_err_set(err, wrap.rpcbind_err, "rpcbind: a test's word") : 0;
}
