/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * internal.h - what the files of transport/rpc share about the requester's core.
 *
 * One transport_core per client.  It is driven by one thread at a time; nothing here locks.
 */
#ifndef NFSRDMA_TRANSPORT_RPC_INTERNAL_H
#define NFSRDMA_TRANSPORT_RPC_INTERNAL_H

#include "transport/rpc/link.h"

enum transport_core_state {
	TRANSPORT_CORE_DOWN, /* no connection; one is made when a call wants it and it is time */
	TRANSPORT_CORE_CONNECTING, /* the link works on it */
	TRANSPORT_CORE_UP,
	TRANSPORT_CORE_CLOSED, /* being destroyed */
};

struct transport_core {
	struct transport_client client; /* first */
	enum transport_core_state state;
	bool processing;       /* inside transport_client_process(): gather, do not flush */
	bool lost;	       /* link_down() was reported; transport_core_recover() is due */
	bool was_up;	       /* there was a connection once */
	unsigned completed;    /* done() callbacks run in this process() */
	unsigned attempt;      /* connections lost or refused since the last reply */
	uint64_t reconnect_ns; /* DOWN: not before */
	/* calls: the XID table is sized at create, its chains run through the calls */
	uint32_t next_xid;
	uint32_t table_mask;
	struct transport_call **table;
	struct util_list idle; /* calls to be reused */
	/* timers and readiness */
	uint64_t timer_ns;	/* no call's time runs out before this; 0: none */
	struct util_ticker ticker;
	uint64_t now_ns;	/* the clock, as the last process() read it last; 0: not yet */
	int epoll_fd, timer_fd; /* -1 until transport_client_fd() asks */
	bool fd_asked;		/* since the last wait(): somebody may sleep on epoll_fd */
	uint64_t armed_ns;	/* what timer_fd is set to, 0: disarmed */
	int watched_fd;		/* the link's, in epoll_fd; -1 */
	uint32_t watched_events;
};

static inline struct transport_core *transport_core_of(const struct transport_client *client)
{
	return UTIL_CONTAINER_OF(client, struct transport_core, client);
}

/* ---- call.c */
int transport_core_table_init(struct transport_core *core);
void transport_core_table_free(struct transport_core *core);
/* The call leaves queue or sent, with status and words, for the finished list. */
void transport_core_finish(struct transport_call *call, int status);
/* Run done() of everything on the finished list. */
void transport_core_run_finished(struct transport_core *core);

/* ---- recover.c */
/* Start connecting if calls wait and it is time. */
void transport_core_connect_due(struct transport_core *core, uint64_t now_ns);
/* Clean up after link_down(): disconnect, take the SENT calls back, schedule the next attempt. */
void transport_core_recover(struct transport_core *core);
/* Hand queued calls to the link. */
void transport_core_flush(struct transport_core *core);
/* The clock, read once in each pass of process(), again after callbacks. */
uint64_t transport_core_now(struct transport_core *core);
/* What is to be done when a call was queued or cancelled from outside process(). */
void transport_core_kick(struct transport_core *core);

/* ---- timer.c: schedules are pure */
/* Pause before attempt number n (0: the first after a connection that worked): 0, 100 ms,
 * doubling, at most 30 s. */
uint32_t transport_backoff_ms(unsigned attempt);
/* The time-out of a sending after n that timed out: timeo_ms doubled n times, at most 10 min. */
uint64_t transport_timeout_ms(uint32_t timeo_ms, unsigned timeouts);
/* How long a soft mount is patient in all: the first sending and retrans more. */
uint64_t transport_patience_ms(uint32_t timeo_ms, uint32_t retrans);
/* A moment at which something may expire came into being. */
void transport_core_bound(struct transport_core *core, uint64_t at_ns);
void transport_core_expire(struct transport_core *core, uint64_t now_ns);
/* Next moment process() is needed without an event; 0: none. */
uint64_t transport_core_next_ns(const struct transport_core *core);

/* ---- ready.c: the epoll descriptor */
void transport_core_ready_init(struct transport_core *core);
void transport_core_ready_free(struct transport_core *core);
/* Bring the epoll descriptor in line with link and timers; nothing if nobody asked for it. */
void transport_core_ready_update(struct transport_core *core);
/* The link's descriptor is about to be closed. */
void transport_core_ready_forget(struct transport_core *core);

#endif
