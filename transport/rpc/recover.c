/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recover.c - the connection's life as the core sees it: made, lost, made again.
 *
 *	DOWN --(a call waits and it is time)--> CONNECTING --link_up--> UP
 *	  ^                                         |                    |
 *	  +------------ recover <---- link_down ----+--------------------+
 *
 * A lost connection is only noted where it is noticed, deep inside the link; the tearing down
 *happens in transport_core_recover(), when no link function is on the stack.  All calls the link
 * had sent go back to the front of the queue in their order, with the XIDs they have, so that the
 * server's duplicate request cache can recognise them; the link binds the next connection to
 * the same local port where it can, for the same reason.
 *
 * The first attempt follows a loss at once, the next ones after pauses that double from 100 ms to
 * 30 s.  Only a reply starts the count anew: a server that accepts and closes is not hammered.
 * With nothing to send there is no attempt at all: a server that closes an idle
 * connection is left alone until the next call.
 */
#include <errno.h>

#include "transport/rpc/internal.h"

void transport_client_link_up(struct transport_client *client)
{
	struct transport_core *core = transport_core_of(client);

	if (core->state != TRANSPORT_CORE_CONNECTING)
		return;
	core->state = TRANSPORT_CORE_UP;
	if (core->was_up) {
		client->counters.reconnects++;
		util_log(client->params.log, UTIL_LOG_WARN, "%s: connected again",
			 client->params.server);
	}
	core->was_up = true;
	util_err_clear(&client->last_err);
}

void transport_client_link_down(struct transport_client *client, const struct util_err *err)
{
	struct transport_core *core = transport_core_of(client);

	if (core->lost || core->state == TRANSPORT_CORE_DOWN ||
	    core->state == TRANSPORT_CORE_CLOSED)
		return;
	core->lost = true;
	if (err)
		client->last_err = *err;
	else
		util_err_set(&client->last_err, -ECONNRESET, "%s closed the connection",
			     client->params.server);
}

static void requeue_sent(struct transport_client *client)
{
	UTIL_LIST_FOR_EACH (node, &client->sent) {
		struct transport_call *call = UTIL_LIST_ENTRY(node, struct transport_call, node);

		call->state = TRANSPORT_CALL_QUEUED;
		call->timeout_ns = 0;
		call->link_priv = NULL;
	}
	client->nsent = 0;
	util_list_splice(&client->sent, &client->queue);
	util_list_splice(&client->queue, &client->sent);
}

static void schedule(struct transport_core *core)
{
	uint32_t pause_ms = transport_backoff_ms(core->attempt);

	core->reconnect_ns = util_clock_ns() + pause_ms * UTIL_NS_PER_MS;
	core->attempt++;
	util_log(core->client.params.log, core->attempt == 1 ? UTIL_LOG_INFO : UTIL_LOG_WARN,
		 "%s; next attempt in %u ms", core->client.last_err.what, pause_ms);
}

void transport_core_recover(struct transport_core *core)
{
	struct transport_client *client = &core->client;

	if (!core->lost)
		return;
	core->lost = false;
	transport_core_ready_forget(core);
	client->link->ops->disconnect(client->link);
	requeue_sent(client);
	core->state = TRANSPORT_CORE_DOWN;
	schedule(core);
}

void transport_core_connect_due(struct transport_core *core, uint64_t now_ns)
{
	struct transport_client *client = &core->client;
	struct util_err err = {0};

	if (core->state != TRANSPORT_CORE_DOWN || util_list_empty(&client->queue) ||
	    now_ns < core->reconnect_ns)
		return;
	core->state = TRANSPORT_CORE_CONNECTING;
	if (client->link->ops->connect(client->link, &err)) {
		transport_client_link_down(client, &err);
		transport_core_recover(core);
	}
}

void transport_core_flush(struct transport_core *core)
{
	struct transport_client *client = &core->client;

	if (core->state != TRANSPORT_CORE_UP || core->lost || util_list_empty(&client->queue))
		return;
	if (client->link->ops->flush(client->link) == 0)
		return;
	transport_client_link_down(client, client->last_err.code ? &client->last_err : NULL);
	transport_core_recover(core);
}

void transport_core_kick(struct transport_core *core)
{
	if (core->processing)
		return;
	if (core->state == TRANSPORT_CORE_DOWN)
		transport_core_connect_due(core, util_clock_ns());
	else
		transport_core_flush(core);
	/* a cancel may have broken the connection */
	transport_core_recover(core);
	transport_core_ready_update(core);
}

void transport_client_break(struct transport_client *client)
{
	struct transport_core *core = transport_core_of(client);
	struct util_err err = {0};

	util_err_set(&err, -ECONNRESET, "connection to %s was cut", client->params.server);
	transport_client_link_down(client, &err);
	if (!core->processing) {
		transport_core_recover(core);
		transport_core_kick(core);
	}
}
