/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timer.c - when calls time out and connections are tried again.
 *
 * There is no timer per call.  core->timer_ns is a lower bound of every moment at which a call
 * could run out of time; submitting and sending only lower it.  Nearly all calls are answered
 * long before, so the bound goes stale and is reached about once per timeo; then, and only then,
 * all outstanding calls are looked at and the bound is made exact.
 *
 * Two clocks run for a call.  timeout_ns is about one sending: when it passes without a reply,
 * the connection is dropped and everything unanswered is sent again on a new one, with the
 * same XIDs; nothing is ever sent twice on a live connection.  end_ns is about the call: the
 * caller's deadline or a soft mount's patience; when it passes the call fails, sent or not.  A
 * call that is in the peer's hands when its end comes also drops the connection first, because
 * only then is it certain that nobody writes to its memory any more.
 */
#include <errno.h>

#include "transport/rpc/internal.h"

#define BACKOFF_FIRST_MS 100
#define BACKOFF_MAX_MS 30000
#define TIMEOUT_MAX_MS UINT64_C(600000)

uint32_t transport_backoff_ms(unsigned attempt)
{
	if (attempt == 0)
		return 0;
	/* 100 << 9 is beyond 30 s already */
	if (attempt > 9)
		return BACKOFF_MAX_MS;
	if (BACKOFF_FIRST_MS << (attempt - 1) > BACKOFF_MAX_MS)
		return BACKOFF_MAX_MS;
	return BACKOFF_FIRST_MS << (attempt - 1);
}

uint64_t transport_timeout_ms(uint32_t timeo_ms, unsigned timeouts)
{
	uint64_t ms = timeo_ms;

	for (; timeouts > 0 && ms < TIMEOUT_MAX_MS; timeouts--)
		ms *= 2;
	if (ms > TIMEOUT_MAX_MS && timeo_ms <= TIMEOUT_MAX_MS)
		ms = TIMEOUT_MAX_MS;
	return ms;
}

uint64_t transport_patience_ms(uint32_t timeo_ms, uint32_t retrans)
{
	uint64_t ms = 0;

	/* beyond the cap every sending has the same time-out: no need to loop to 2^32 */
	for (unsigned i = 0; i <= retrans; i++) {
		uint64_t one = transport_timeout_ms(timeo_ms, i);

		if (i > 0 && one == transport_timeout_ms(timeo_ms, i - 1))
			return ms + (uint64_t)(retrans - i + 1) * one;
		ms += one;
	}
	return ms;
}

static uint64_t earlier(uint64_t a_ns, uint64_t b_ns)
{
	if (a_ns == 0)
		return b_ns;
	if (b_ns == 0)
		return a_ns;
	return a_ns < b_ns ? a_ns : b_ns;
}

void transport_core_bound(struct transport_core *core, uint64_t at_ns)
{
	core->timer_ns = earlier(core->timer_ns, at_ns);
}

static bool passed(uint64_t at_ns, uint64_t now_ns)
{
	return at_ns != 0 && now_ns >= at_ns;
}

/* Sendings that timed out, or calls that end while the peer has them: is there any? */
static bool sent_expired(struct transport_core *core, uint64_t now_ns)
{
	struct transport_client *client = &core->client;
	bool any = false;

	UTIL_LIST_FOR_EACH (node, &client->sent) {
		struct transport_call *call = UTIL_LIST_ENTRY(node, struct transport_call, node);

		if (passed(call->timeout_ns, now_ns)) {
			call->timeouts++;
			any = true;
		}
		any |= passed(call->end_ns, now_ns);
	}
	return any;
}

static void fail_ended(struct transport_core *core, uint64_t now_ns)
{
	struct transport_client *client = &core->client;

	UTIL_LIST_FOR_EACH_SAFE (node, &client->queue) {
		struct transport_call *call = UTIL_LIST_ENTRY(node, struct transport_call, node);

		if (!passed(call->end_ns, now_ns))
			continue;
		if (call->sends > 0)
			util_err_set(&call->err, -ETIMEDOUT, "no answer from %s after %u %s",
				     client->params.server, call->sends,
				     call->sends == 1 ? "try" : "tries");
		else
			util_err_set(&call->err, -ETIMEDOUT, "no connection to %s%s%s",
				     client->params.server, client->last_err.code ? ": " : "",
				     client->last_err.code ? client->last_err.what : "");
		util_err_hint(&call->err,
			      "is the server up and reachable? 'hard' mounts wait for it, "
			      "'timeo=' and 'retrans=' change a soft mount's patience");
		transport_core_finish(call, -ETIMEDOUT);
	}
}

static uint64_t exact_bound(const struct transport_core *core)
{
	const struct transport_client *client = &core->client;
	uint64_t at_ns = 0;

	UTIL_LIST_FOR_EACH (node, &client->queue)
		at_ns = earlier(at_ns, UTIL_LIST_ENTRY(node, struct transport_call, node)->end_ns);
	UTIL_LIST_FOR_EACH (node, &client->sent) {
		const struct transport_call *call =
			UTIL_LIST_ENTRY(node, struct transport_call, node);

		at_ns = earlier(at_ns, earlier(call->end_ns, call->timeout_ns));
	}
	return at_ns;
}

/* Act on what ran out of time.  Called by process(), outside the link. */
void transport_core_expire(struct transport_core *core, uint64_t now_ns)
{
	struct transport_client *client = &core->client;

	if (!passed(core->timer_ns, now_ns))
		return;
	if (sent_expired(core, now_ns)) {
		struct util_err err = {0};

		util_err_set(&err, -ETIMEDOUT, "%s did not answer in time", client->params.server);
		transport_client_link_down(client, &err);
		transport_core_recover(core);
	}
	fail_ended(core, now_ns);
	core->timer_ns = exact_bound(core);
}

uint64_t transport_core_next_ns(const struct transport_core *core)
{
	const struct transport_client *client = &core->client;
	uint64_t at_ns = core->timer_ns;

	if (core->lost || !util_list_empty(&client->finished))
		return 1; /* long ago: now */
	if (core->state == TRANSPORT_CORE_DOWN && !util_list_empty(&client->queue))
		at_ns = earlier(at_ns, core->reconnect_ns ? core->reconnect_ns : 1);
	if (core->state == TRANSPORT_CORE_CONNECTING || core->state == TRANSPORT_CORE_UP)
		at_ns = earlier(at_ns, client->link->ops->deadline(client->link));
	return at_ns;
}
