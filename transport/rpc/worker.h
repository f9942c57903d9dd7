/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * worker.h - what the files of transport/rpc share about the responder.
 */
#ifndef NFSRDMA_TRANSPORT_RPC_WORKER_H
#define NFSRDMA_TRANSPORT_RPC_WORKER_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/epoll.h>

#include "transport/rpc/link.h"

#define TRANSPORT_WORKER_EVENTS 64

/* Who wants to know about a descriptor; the table is indexed by it. */
struct transport_watch {
	uint32_t events; /* 0: nobody */
	void (*ready)(void *arg, uint32_t events);
	void (*ready_plain)(void *arg); /* instead of ready, for transport_worker_watch() */
	void *arg;
};

struct transport_worker {
	struct transport_server *server;
	unsigned index;
	pthread_t thread;
	bool started;
	int epoll_fd, wake_fd;
	struct transport_watch *watches;
	size_t nwatches;
	struct epoll_event events[TRANSPORT_WORKER_EVENTS]; /* being handled: events[0..nevents) */
	int nevents;
	struct util_list timers, hooks;
	bool again;	   /* do not sleep this round */
	bool stopping;	   /* requests are dropped, what is in hand is answered */
	unsigned inflight; /* requests the service holds */
	void *link_slot[2];
	void *priv;
	/* from any thread */
	pthread_mutex_t post_lock; /* protects posts, nests inside nothing */
	struct util_list posts;
};

/* All but the thread. */
int transport_worker_init(struct transport_worker *w, struct transport_server *server,
			  unsigned index);
void transport_worker_fini(struct transport_worker *w);
/* One round: hooks, sleep (at most max_ms, -1: as timers say), events, timers. */
void transport_worker_round(struct transport_worker *w, int max_ms);

/* ---- listen.c */
struct transport_listener {
	struct util_list node;
	struct transport_server *server;
	int fd;			      /* tcp */
	const struct fabric_ops *ops; /* rdma, else NULL */
	struct fabric_listener *listener;
	bool paused; /* out of descriptors: not watched until the timer fires */
};

struct transport_server {
	struct transport_server_params params;
	struct transport_service service;
	struct mr_ledger ledger;
	struct transport_worker *workers;
	unsigned nworkers;
	bool running;
	atomic_bool stop;
	/* worker 0's */
	struct util_list listeners;
	unsigned next_worker;
	uint64_t resume_ns; /* when paused listeners are tried again */
	uint16_t tcp_port, rdma_port;
	struct fabric *fabrics[3]; /* opened, in the order verbs, iwarp, the tests' */
	atomic_uint nconns;
	pthread_mutex_t pool_lock; /* protects pools, nests inside nothing */
	struct util_list pools;
};

int transport_listen_all(struct transport_server *server, struct util_err *err);
/* On worker 0's thread: begin to and cease to accept. */
int transport_listen_watch(struct transport_server *server);
void transport_listen_unwatch(struct transport_server *server);
void transport_listen_close(struct transport_server *server);

#endif
