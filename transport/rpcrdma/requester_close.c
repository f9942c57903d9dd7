/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * requester_close.c - a call's memory leaves the peer's reach before the caller hears of the reply.
 *
 * Normal operation.  Every piece of memory a call offered has a grant.  When the reply is there,
 * most modes have nothing to do about it.  In window mode the peer may have invalidated one key
 * with its Send (RFC 8797 section 4.2); that one is checked off.  What remains takes a local
 * invalidation each.  The call is then *closing*: its reply stays in the receive buffer until the
 * last of them has completed, and only then is it parsed and handed over.
 *
 * Invalidations of all calls whose replies came in the same round of completions go out in one
 * chain behind one doorbell, of which only the last request is signalled.  Under load, when a round
 * was full and the next is there already, they wait for those of that one too: until the chain
 * might not hold another round's, or for a bounded while, whichever comes first.  How long a chain
 * and how long a while is the policy's word (iommu_policy_batching()): it knows what a doorbell
 * costs on this device.  A reply that comes alone waits for nothing.
 *
 * Trust.  A peer that invalidates a key which is not of the call it answers breaks its word: the
 * key may have been another call's.  requester.c drops the connection then (link->uninvited).
 *
 * Recovery.  A call that is closing when its connection ends goes back to the core like any other
 * that was sent, and is sent again: the server's duplicate request cache answers it.
 */
#include "iommu-aware/iommu.h"
#include "transport/rpcrdma/requester.h"

void rpcrdma_link_batching(struct rpcrdma_link *link, const struct iommu_batching *batching)
{
	link->hold_ns = batching->hold_ns;
	link->chain_most = batching->most < RPCRDMA_CHAIN ? batching->most : RPCRDMA_CHAIN;
}

static void note_closing(struct rpcrdma_link *link, struct rpcrdma_req *req)
{
	req->closing = true;
	util_list_add(&link->closing, &req->close_node);
	link->closing_wr += req->ninv;
	if (req->call)
		req->call->state = TRANSPORT_CALL_FINISHING;
}

bool rpcrdma_req_close(struct rpcrdma_link *link, struct rpcrdma_req *req,
		       const struct fabric_wc *wc)
{
	struct mr_grant *grant = req->grants, *next;

	req->grants = NULL;
	req->ninv = 0;
	for (; grant; grant = next) {
		next = grant->next;
		if (link->uninvited && grant->rkey == wc->invalidated_rkey &&
		    mr_binder_all_windows(link->binder)) {
			link->uninvited = false;
			mr_grant_invalidated(link->binder, grant);
		} else if (mr_grant_close(link->binder, grant)) {
			grant->next = req->grants;
			req->grants = grant;
			req->ninv++;
		}
	}
	if (!req->ninv)
		return false;
	note_closing(link, req);
	return true;
}

/* The next call whose invalidations find room in the chain, NULL: none. */
static struct rpcrdma_req *next_closing(struct rpcrdma_link *link)
{
	struct rpcrdma_req *req;

	if (util_list_empty(&link->closing))
		return NULL;
	req = UTIL_LIST_ENTRY(link->closing.next, struct rpcrdma_req, close_node);
	if (rpcrdma_sendq_room(&link->sendq) < req->ninv)
		return NULL;
	/* One call's always fit: RPCRDMA_PIECES is less than RPCRDMA_CHAIN. */
	if (link->nwr && link->nwr + req->ninv > link->chain_most)
		return NULL;
	return req;
}

/* One entry of the send queue.  Its last request has the entry's number. */
static void chain_closing(struct rpcrdma_link *link, struct rpcrdma_req *req)
{
	bool signal;

	util_list_del(&req->close_node);
	link->closing_wr -= req->ninv;
	for (struct mr_grant *grant = req->grants; grant; grant = grant->next)
		rpcrdma_chain_op(link, &grant->op);
	link->wr[link->nwr - 1].wr_id = rpcrdma_sendq_push(
		&link->sendq, rpcrdma_owner_req(link, req), req->ninv, false, &signal);
	if (signal)
		link->wr[link->nwr - 1].flags = FABRIC_WR_SIGNALED;
}

/* More completions are there.  Is it worth while to see their invalidations first? */
static bool hold(struct rpcrdma_link *link)
{
	uint64_t now_ns = link->clock_ns();

	if (!link->held_since_ns)
		link->held_since_ns = now_ns;
	return now_ns - link->held_since_ns < link->hold_ns &&
	       link->closing_wr + RPCRDMA_POLL <= link->chain_most;
}

int rpcrdma_link_invalidate(struct rpcrdma_link *link, bool more)
{
	struct rpcrdma_req *req;
	int code;

	if (util_list_empty(&link->closing) || !link->up || (more && hold(link)))
		return 0;
	link->held_since_ns = 0;
	link->nwr = 0;
	while ((req = next_closing(link)))
		chain_closing(link, req);
	if (!link->nwr) /* no room: a completion is on its way */
		return 0;
	link->wr[link->nwr - 1].flags = FABRIC_WR_SIGNALED;
	code = link->ops->post_send(link->conn, link->wr);
	if (code)
		return code;
	mr_ledger_batch(mr_pool_ledger(link->site->pool), link->nwr);
	return (int)link->nwr;
}

void rpcrdma_req_closed(struct rpcrdma_link *link, struct rpcrdma_req *req)
{
	uint32_t buffer = req->reply.buffer;

	rpcrdma_link_conclude(link, req);
	rpcrdma_recvq_give(&link->recvq, buffer);
}
