/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * open.c - the verbs fabric opened and closed, and its table of operations.
 *
 * Opening costs nothing and needs no device: what this machine has is found out when a peer or an
 * address to listen on is known, because only then is there something useful to say about it.
 */
#include <errno.h>
#include <stdlib.h>

#include "transport/verbs/internal.h"

static int verbs_open(struct fabric **fabricp, const struct fabric_options *opts,
		      struct util_err *err)
{
	struct verbs_fabric *fabric;
	int ret;

	fabric = calloc(1, sizeof(*fabric));
	if (!fabric)
		return util_err_set(err, -ENOMEM, "opening the verbs fabric: out of memory");
	ret = pthread_mutex_init(&fabric->lock, NULL);
	if (ret) {
		free(fabric);
		return util_err_set(err, -ret, "opening the verbs fabric: no mutex");
	}
	fabric->base.ops = &verbs_fabric_ops;
	fabric->log = opts ? opts->log : NULL;
	util_list_init(&fabric->served);
	*fabricp = &fabric->base;
	return 0;
}

/* All domains and listeners are gone by now. */
static void verbs_close(struct fabric *base)
{
	struct verbs_fabric *fabric = verbs_fabric(base);

	pthread_mutex_destroy(&fabric->lock);
	free(fabric);
}

const struct fabric_ops verbs_fabric_ops = {
	.name = "verbs",
	.open = verbs_open,
	.close = verbs_close,
	.domain_open = verbs_domain_open,
	.domain_put = verbs_domain_put,
	.cq_create = verbs_cq_create,
	.cq_destroy = verbs_cq_destroy,
	.cq_poll = verbs_cq_poll,
	.cq_fd = verbs_cq_fd,
	.cq_arm = verbs_cq_arm,
	.cq_wait = verbs_cq_wait,
	.cq_deadline = verbs_cq_deadline,
	.cq_counters = verbs_cq_counters,
	.conn_connect = verbs_conn_connect,
	.conn_accept = verbs_conn_accept,
	.conn_start = verbs_conn_start,
	.request_reject = verbs_request_reject,
	.conn_disconnect = verbs_conn_disconnect,
	.conn_destroy = verbs_conn_destroy,
	.post_send = verbs_post_send,
	.post_recv = verbs_post_recv,
	.listen = verbs_listen,
	.listener_fd = verbs_listener_fd,
	.listener_poll = verbs_listener_poll,
	.listener_deadline = verbs_listener_deadline,
	.listener_close = verbs_listener_close,
};
