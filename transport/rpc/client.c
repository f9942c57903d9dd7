/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * client.c - one connection to one server, and the loop that drives it.
 *
 * Everything moves inside transport_client_process(), in this order: the link receives (replies
 * run their done()), a lost connection is cleaned up, time-outs are acted on, a connection is
 * begun if one is due, calls that ended otherwise run their done(), and at last everything that
 * callbacks submitted meanwhile leaves in one flush: one doorbell for the whole round.  A call
 * submitted from outside goes out at once.
 *
 * Recovery is recover.c's, time timer.c's, the calls themselves call.c's.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "transport/rpc/internal.h"

#define DEFAULT_SLOTS 128
#define MAX_SLOTS 16384
#define DEFAULT_INLINE 4096
#define DEFAULT_TIMEO_MS 60000
#define DEFAULT_RETRANS 2
#define DEFAULT_CONNECT_MS 10000

/* ---- create ----------------------------------------------------------------------------- */

static void set_defaults(struct transport_client_params *params)
{
	if (params->slots == 0)
		params->slots = DEFAULT_SLOTS;
	if (params->slots > MAX_SLOTS)
		params->slots = MAX_SLOTS;
	if (params->inline_size == 0)
		params->inline_size = DEFAULT_INLINE;
	if (params->timeo_ms == 0)
		params->timeo_ms = DEFAULT_TIMEO_MS;
	if (params->retrans == 0)
		params->retrans = DEFAULT_RETRANS;
	if (params->connect_timeout_ms <= 0)
		params->connect_timeout_ms = DEFAULT_CONNECT_MS;
	params->server[sizeof(params->server) - 1] = '\0';
}

static int core_create(struct transport_core **corep, struct transport_ctx *ctx,
		       const struct transport_client_params *params)
{
	struct transport_core *core = calloc(1, sizeof(*core));
	int err;

	if (!core)
		return -ENOMEM;
	core->client.params = *params;
	set_defaults(&core->client.params);
	util_list_init(&core->client.queue);
	util_list_init(&core->client.sent);
	util_list_init(&core->client.finished);
	util_list_init(&core->idle);
	util_ticker_init(&core->ticker, UTIL_TICKER_AUTO);
	transport_core_ready_init(core);
	err = transport_core_table_init(core);
	if (err)
		goto err_free;
	transport_ctx_get(ctx);
	core->client.ctx = ctx;
	*corep = core;
	return 0;

err_free:
	free(core);
	return err;
}

static void core_destroy(struct transport_core *core)
{
	struct util_list *node;

	while ((node = util_list_pop(&core->idle)))
		free(UTIL_LIST_ENTRY(node, struct transport_call, node));
	transport_core_ready_free(core);
	transport_core_table_free(core);
	transport_ctx_put(core->client.ctx);
	free(core);
}

/* Drive the first connection attempt to its end; the link bounds it. */
static int connect_first(struct transport_core *core, struct util_err *err)
{
	struct transport_client *client = &core->client;
	struct transport_link *link = client->link;
	uint64_t end_ns =
		util_clock_ns() + (uint64_t)client->params.connect_timeout_ms * UTIL_NS_PER_MS +
		UTIL_NS_PER_S; /* the link's own bound should come first and has better words */
	int code;

	core->state = TRANSPORT_CORE_CONNECTING;
	code = link->ops->connect(link, err);
	if (code)
		return code;
	while (core->state == TRANSPORT_CORE_CONNECTING && !core->lost) {
		if (util_clock_ns() >= end_ns)
			return util_err_set(err, -ETIMEDOUT, "connect to %s: %s",
					    client->params.server, strerror(ETIMEDOUT));
		link->ops->wait(link, util_clock_until_ms(transport_core_next_ns(core)));
		link->ops->process(link);
	}
	if (!core->lost)
		return 0;
	if (err)
		*err = client->last_err;
	return client->last_err.code;
}

static int try_link(struct transport_core *core, const struct transport_link_ops *ops,
		    const struct fabric_ops *fabric_ops, struct util_err *err)
{
	struct transport_client *client = &core->client;
	int code;

	core->state = TRANSPORT_CORE_DOWN;
	core->lost = core->was_up = false;
	client->local.ss_family = 0;
	client->fabric_ops = fabric_ops;
	code = ops->create(client, &client->link, err);
	if (code)
		return code;
	code = connect_first(core, err);
	if (code == 0)
		return 0;
	client->link->ops->disconnect(client->link);
	client->link->ops->destroy(client->link);
	client->link = NULL;
	return code;
}

/*
 * Both attempts failed: the user sees both, and the second one's remedy.  The line has room for two
 * halves; the device's half is the longer one, the server being named in the other.
 */
static int both_failed(struct util_err *err, const struct util_err *first,
		       const struct util_err *second)
{
	int room = (int)sizeof(err->what) - (int)sizeof("verbs: ; iwarp: ");
	int second_len = (int)strnlen(second->what, (size_t)room);

	if (second_len > room / 2 && strlen(first->what) > (size_t)room / 2)
		second_len = room / 2;
	util_err_set(err, second->code, "verbs: %.*s; iwarp: %.*s", room - second_len, first->what,
		     second_len, second->what);
	util_err_hint(err, "%s", second->hint[0] ? second->hint : first->hint);
	return second->code;
}

/* For -v: which fabric it became, and why. */
static void say_fabric(const struct transport_client *client, const char *why)
{
	const struct fabric_attr *attr = transport_client_attr(client);

	util_log(client->params.log, UTIL_LOG_INFO, "fabric: %s%s%s: %s",
		 transport_client_fabric(client), attr ? " on " : "", attr ? attr->device : "",
		 why);
}

static int try_forced(struct transport_core *core, const struct fabric_ops *ops,
		      struct util_err *err)
{
	int code = try_link(core, &rpcrdma_link_ops, ops, err);

	if (code == 0)
		say_fabric(&core->client, "asked for");
	return code;
}

static int try_rdma(struct transport_core *core, struct util_err *err)
{
	const struct transport_client_params *params = &core->client.params;
	struct util_err first = {0}, second = {0};

	if (params->fabric_ops)
		return try_link(core, &rpcrdma_link_ops, params->fabric_ops, err);
	if (params->fabric == TRANSPORT_FABRIC_VERBS)
		return try_forced(core, &verbs_fabric_ops, err);
	if (params->fabric == TRANSPORT_FABRIC_IWARP)
		return try_forced(core, &iwarp_fabric_ops, err);
	if (try_link(core, &rpcrdma_link_ops, &verbs_fabric_ops, &first) == 0) {
		say_fabric(&core->client, "an RDMA device leads to the server");
		return 0;
	}
	util_log(params->log, UTIL_LOG_INFO, "fabric: not verbs: %s", first.what);
	if (try_link(core, &rpcrdma_link_ops, &iwarp_fabric_ops, &second) == 0) {
		say_fabric(&core->client, "in software, since no RDMA device got through");
		return 0;
	}
	return both_failed(err, &first, &second);
}

int transport_client_create(struct transport_client **clientp, struct transport_ctx *ctx,
			    const struct transport_client_params *params, struct util_err *err)
{
	struct util_err local_err = {0};
	struct transport_core *core;
	int code;

	/* links may fill err in steps; the caller's may be NULL */
	if (!err)
		err = &local_err;
	code = core_create(&core, ctx, params);
	if (code)
		return util_err_set(err, code, "connect to %s: %s", params->server,
				    strerror(-code));
	if (params->proto == TRANSPORT_TCP)
		code = try_link(core, &tcp_link_ops, NULL, err);
	else if (params->proto == TRANSPORT_UDP)
		code = try_link(core, &tcp_datagram_link_ops, NULL, err);
	else
		code = try_rdma(core, err);
	if (code) {
		core_destroy(core);
		return code;
	}
	*clientp = &core->client;
	return 0;
}

static void cancel_all(struct transport_client *client)
{
	struct util_list *lists[] = {&client->sent, &client->queue};

	for (unsigned i = 0; i < UTIL_ARRAY_SIZE(lists); i++) {
		UTIL_LIST_FOR_EACH_SAFE (node, lists[i]) {
			struct transport_call *call =
				UTIL_LIST_ENTRY(node, struct transport_call, node);

			util_err_set(&call->err, -ECANCELED, "the mount is being closed");
			transport_core_finish(call, -ECANCELED);
		}
	}
}

void transport_client_destroy(struct transport_client *client)
{
	struct transport_core *core;

	if (!client)
		return;
	core = transport_core_of(client);
	core->state = TRANSPORT_CORE_CLOSED;
	core->processing = true;
	transport_core_ready_forget(core);
	client->link->ops->disconnect(client->link);
	cancel_all(client);
	transport_core_run_finished(core);
	client->link->ops->destroy(client->link);
	core_destroy(core);
}

/* ---- drive ------------------------------------------------------------------------------ */

static bool connected(const struct transport_core *core)
{
	return core->state == TRANSPORT_CORE_UP || core->state == TRANSPORT_CORE_CONNECTING;
}

uint64_t transport_core_now(struct transport_core *core)
{
	if (!core->processing)
		return util_ticker_ns(&core->ticker);
	if (!core->now_ns)
		core->now_ns = util_ticker_ns(&core->ticker);
	return core->now_ns;
}

int transport_client_process(struct transport_client *client)
{
	struct transport_core *core = transport_core_of(client);

	if (core->processing)
		return -EDEADLK;
	core->processing = true;
	core->completed = 0;
	core->now_ns = 0;
	if (connected(core) && !core->lost)
		client->link->ops->process(client->link);
	transport_core_recover(core);
	transport_core_expire(core, transport_core_now(core));
	transport_core_run_finished(core);
	transport_core_connect_due(core, transport_core_now(core));
	transport_core_flush(core);
	transport_core_recover(core);
	core->processing = false;
	transport_core_ready_update(core);
	return (int)core->completed;
}

/* Does the caller's time surely run out before at_ns?  What process() last read of the clock will
 * do, if it is not older than a second. */
static bool comes_first(const struct transport_core *core, int timeout_ms, uint64_t at_ns)
{
	return timeout_ms >= 0 && core->now_ns &&
	       core->now_ns + (uint64_t)timeout_ms * UTIL_NS_PER_MS + UTIL_NS_PER_S < at_ns;
}

int transport_client_wait(struct transport_client *client, int timeout_ms)
{
	struct transport_core *core = transport_core_of(client);
	uint64_t next_ns = transport_core_next_ns(core);
	int wait_ms = timeout_ms;
	int err;

	core->fd_asked = false;
	if (next_ns && !comes_first(core, timeout_ms, next_ns)) {
		int until_ms = util_clock_until_ms(next_ns);

		if (until_ms == 0)
			return 0;
		if (timeout_ms < 0 || until_ms < timeout_ms)
			wait_ms = until_ms;
	}
	if (connected(core))
		err = client->link->ops->wait(client->link, wait_ms);
	else
		err = poll(NULL, 0, wait_ms) == 0 ? -ETIME : -errno;
	/* our own moment came before the caller's */
	if (err == -ETIME && wait_ms != timeout_ms)
		return 0;
	return err;
}

/* ---- facts ------------------------------------------------------------------------------ */

struct mr_pool *transport_client_pool(struct transport_client *client)
{
	return client->link->ops->pool(client->link);
}

const char *transport_client_fabric(const struct transport_client *client)
{
	return client->link->ops->fabric_name(client->link);
}

const struct fabric_attr *transport_client_attr(const struct transport_client *client)
{
	return client->link->ops->attr(client->link);
}

int transport_client_agreed(const struct transport_client *client, struct transport_agreed *agreed)
{
	return client->link->ops->agreed(client->link, agreed);
}

const struct sockaddr_storage *transport_client_local(const struct transport_client *client)
{
	return &client->local;
}

void transport_client_counters(const struct transport_client *client,
			       struct transport_counters *counters)
{
	*counters = client->counters;
	client->link->ops->counters(client->link, counters);
}
