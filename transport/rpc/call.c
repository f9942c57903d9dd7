/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * call.c - calls: taken from a free list, submitted, found by XID, finished exactly once.
 *
 * Normal operation.  transport_call_get() encodes the RPC header; the caller adds arguments and
 * submits.  A submitted call is on exactly one list of its client: queue (QUEUED), sent (SENT,
 * FINISHING) or finished (DONE, CANCELED; done() is due), and in the XID table while it is on one
 * of the first two.  done() runs from transport_client_process() only: either at once, out of the
 * link's receive path (transport_client_reply), or from the finished list.
 *
 * The table has a fixed number of buckets and chains through the calls: nothing here allocates
 * once the free list holds as many calls as are ever outstanding.  XIDs count up from a random
 * start (a restarted client must not hit the server's duplicate request cache with somebody else's
 * numbers), so that neighbours in time are neighbours in the table.
 */
#include <errno.h>
#include <stdlib.h>

#include "transport/rpc/internal.h"

/* Buckets: twice the calls in flight, but not fewer than this. */
#define TABLE_MIN 2048

/* ---- XID table -------------------------------------------------------------------------- */

int transport_core_table_init(struct transport_core *core)
{
	size_t size = TABLE_MIN;
	int err;

	while (size < 2 * (size_t)core->client.params.slots)
		size *= 2;
	err = util_random_bytes(&core->next_xid, sizeof(core->next_xid));
	if (err)
		return err;
	core->table = calloc(size, sizeof(struct transport_call *));
	if (!core->table)
		return -ENOMEM;
	core->table_mask = (uint32_t)size - 1;
	return 0;
}

void transport_core_table_free(struct transport_core *core)
{
	free(core->table);
	core->table = NULL;
}

static struct transport_call *table_find(const struct transport_core *core, uint32_t xid)
{
	struct transport_call *call = core->table[xid & core->table_mask];

	while (call && call->xid != xid)
		call = call->hash_next;
	return call;
}

static void table_add(struct transport_core *core, struct transport_call *call)
{
	struct transport_call **head = &core->table[call->xid & core->table_mask];

	call->hash_next = *head;
	*head = call;
}

static void table_del(struct transport_core *core, struct transport_call *call)
{
	struct transport_call **p = &core->table[call->xid & core->table_mask];

	while (*p && *p != call)
		p = &(*p)->hash_next;
	if (*p)
		*p = call->hash_next;
	call->hash_next = NULL;
}

struct transport_call *transport_client_find(struct transport_client *client, uint32_t xid)
{
	struct transport_call *call = table_find(transport_core_of(client), xid);

	return call && call->state == TRANSPORT_CALL_SENT ? call : NULL;
}

/* ---- get, put --------------------------------------------------------------------------- */

/* Everything but the bulk arrays and the message itself, which the counts beside them rule. */
static void call_reset(struct transport_call *call, struct transport_client *client)
{
	call->data_nsegs = call->sink_nsegs = 0;
	call->data_len = call->data_pos = call->sink_len = 0;
	call->find_data = NULL;
	call->reply_max = 0;
	call->idempotent = false;
	call->deadline_ns = 0;
	call->done = NULL;
	call->arg = NULL;
	call->status = 0;
	call->data_received = 0;
	call->data_sunk = call->replayed = false;
	util_err_clear(&call->err);
	call->client = client;
	util_list_init(&call->node);
	call->hash_next = NULL;
	call->sent_ns = call->timeout_ns = call->end_ns = 0;
	call->sends = call->timeouts = 0;
	call->state = TRANSPORT_CALL_IDLE;
	call->msg_lease = call->reply_lease = NULL;
	call->link_priv = NULL;
	call->msg_len = 0;
}

static uint32_t next_xid(struct transport_core *core)
{
	/* A call that has been waiting for four billion others still owns its number. */
	while (table_find(core, core->next_xid))
		core->next_xid++;
	return core->next_xid++;
}

int transport_call_get(struct transport_client *client, uint32_t prog, uint32_t vers, uint32_t proc,
		       const struct wire_cred *cred, struct transport_call **callp)
{
	struct transport_core *core = transport_core_of(client);
	struct util_list *node = util_list_pop(&core->idle);
	struct transport_call *call;

	if (node)
		call = UTIL_LIST_ENTRY(node, struct transport_call, node);
	else
		call = malloc(sizeof(*call));
	if (!call)
		return -ENOMEM;
	call_reset(call, client);
	call->xid = next_xid(core);
	call->prog = prog;
	call->vers = vers;
	call->proc = proc;
	wire_enc_init(&call->args, call->msg, sizeof(call->msg));
	wire_rpc_call_encode(&call->args, call->xid, prog, vers, proc, cred);
	*callp = call;
	return 0;
}

void transport_call_put(struct transport_call *call)
{
	/* The last one in is the first one out: its memory is warm. */
	util_list_push(&transport_core_of(call->client)->idle, &call->node);
}

void transport_call_data_here(struct transport_call *call, const struct transport_seg *segs,
			      unsigned nsegs, size_t len)
{
	if (nsegs > TRANSPORT_MAX_SEGS) {
		call->args.overflow = true; /* submit says -EMSGSIZE */
		return;
	}
	memcpy(call->data, segs, nsegs * sizeof(*segs));
	call->data_nsegs = nsegs;
	call->data_len = len;
	call->data_pos = wire_enc_len(&call->args);
}

/* ---- submit ----------------------------------------------------------------------------- */

static size_t segs_len(const struct transport_seg *segs, unsigned nsegs)
{
	size_t len = 0;

	for (unsigned i = 0; i < nsegs; i++)
		len += segs[i].len;
	return len;
}

static int submit_check(struct transport_core *core, struct transport_call *call)
{
	struct transport_link *link = core->client.link;

	if (core->state == TRANSPORT_CORE_CLOSED)
		return -ESHUTDOWN;
	if (call->args.overflow)
		return -EMSGSIZE;
	if (call->data_nsegs > TRANSPORT_MAX_SEGS || call->sink_nsegs > TRANSPORT_MAX_SEGS ||
	    segs_len(call->data, call->data_nsegs) < call->data_len ||
	    segs_len(call->sink, call->sink_nsegs) < call->sink_len ||
	    (call->sink_nsegs > 0 && !call->find_data))
		return -EINVAL;
	call->msg_len = wire_enc_len(&call->args);
	if (call->data_nsegs > 0 && call->data_pos == 0)
		call->data_pos = call->msg_len;
	if (call->data_pos > call->msg_len)
		return -EINVAL;
	return link->ops->check_call(link, call);
}

static uint64_t call_end_ns(struct transport_core *core, const struct transport_call *call)
{
	const struct transport_client_params *params = &core->client.params;
	uint64_t end_ns;

	if (!params->soft)
		return call->deadline_ns;
	end_ns = transport_core_now(core) +
		 transport_patience_ms(params->timeo_ms, params->retrans) * UTIL_NS_PER_MS;
	if (call->deadline_ns && call->deadline_ns < end_ns)
		return call->deadline_ns;
	return end_ns;
}

int transport_call_submit(struct transport_call *call)
{
	struct transport_client *client = call->client;
	struct transport_core *core = transport_core_of(client);
	int err = submit_check(core, call);

	if (err)
		return err;
	call->end_ns = call_end_ns(core, call);
	call->state = TRANSPORT_CALL_QUEUED;
	util_list_add(&client->queue, &call->node);
	table_add(core, call);
	client->outstanding++;
	client->counters.rpcs++;
	transport_core_bound(core, call->end_ns);
	transport_core_kick(core);
	return 0;
}

void transport_client_sent(struct transport_call *call)
{
	struct transport_client *client = call->client;
	uint64_t now_ns = transport_core_now(transport_core_of(client));

	util_list_del(&call->node);
	util_list_add(&client->sent, &call->node);
	client->nsent++;
	call->state = TRANSPORT_CALL_SENT;
	if (call->sends++ == 0) {
		call->sent_ns = now_ns;
	} else {
		call->replayed = true;
		client->counters.retransmits++;
	}
	call->timeout_ns = now_ns + transport_timeout_ms(client->params.timeo_ms, call->timeouts) *
					    UTIL_NS_PER_MS;
	transport_core_bound(transport_core_of(client), call->timeout_ns);
}

/* ---- the end of a call ------------------------------------------------------------------ */

static void leave(struct transport_call *call)
{
	if (call->state != TRANSPORT_CALL_QUEUED)
		call->client->nsent--;
	util_list_del(&call->node);
	table_del(transport_core_of(call->client), call);
	call->link_priv = NULL;
}

static void run_done(struct transport_core *core, struct transport_call *call)
{
	core->client.outstanding--;
	core->completed++;
	call->state = TRANSPORT_CALL_DONE;
	call->done(call);
	core->now_ns = 0; /* that may have taken a while */
}

void transport_core_finish(struct transport_call *call, int status)
{
	leave(call);
	call->status = status;
	call->state = TRANSPORT_CALL_DONE;
	wire_dec_init(&call->results, call->msg, 0);
	util_list_add(&call->client->finished, &call->node);
}

void transport_core_run_finished(struct transport_core *core)
{
	struct util_list *node;

	while ((node = util_list_pop(&core->client.finished)))
		run_done(core, UTIL_LIST_ENTRY(node, struct transport_call, node));
}

/* An accepted or denied reply that is not SUCCESS. */
static int reply_error(struct transport_call *call, const struct wire_rpc_error *error)
{
	const char *server = call->client->params.server;
	int status = wire_rpc_error_errno(error);

	util_err_set(&call->err, status, "%s answered: %s", server, wire_rpc_error_text(error));
	if (status == -EACCES || status == -EPERM)
		util_err_hint(&call->err,
			      "the server may want a port below 1024 ('resvport', needs root) "
			      "or another user");
	return status;
}

void transport_client_reply(struct transport_call *call, const uint8_t *msg, size_t len)
{
	struct transport_core *core = transport_core_of(call->client);
	struct wire_rpc_error error;
	uint32_t xid;
	int err;

	leave(call);
	core->attempt = 0;
	wire_dec_init(&call->results, msg, len);
	err = wire_rpc_reply_decode(&call->results, &xid, &error);
	if (err == -EPROTO)
		call->status = reply_error(call, &error);
	else if (err)
		call->status = util_err_set(&call->err, -EIO, "%s sent a malformed RPC reply",
					    call->client->params.server);
	else
		call->status = 0;
	run_done(core, call);
}

void transport_client_fail(struct transport_call *call, const struct util_err *err)
{
	transport_core_of(call->client)->attempt = 0;
	call->err = *err;
	transport_core_finish(call, err->code);
}

void transport_call_cancel(struct transport_call *call)
{
	struct transport_client *client = call->client;
	struct transport_link *link = client->link;

	switch (call->state) {
	case TRANSPORT_CALL_SENT:
	case TRANSPORT_CALL_FINISHING:
		link->ops->abandon(link, call);
		break;
	case TRANSPORT_CALL_QUEUED:
		break;
	default:
		return; /* not submitted, or done() is due anyway */
	}
	util_err_set(&call->err, -ECANCELED, "canceled");
	transport_core_finish(call, -ECANCELED);
	call->state = TRANSPORT_CALL_CANCELED;
	transport_core_kick(transport_core_of(client));
}

unsigned transport_client_outstanding(const struct transport_client *client)
{
	return client->outstanding;
}
