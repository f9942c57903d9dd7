/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mock.h - libibverbs and librdmacm as a script, linked in their place.
 *
 * The verbs fabric calls ibv_* and rdma_*; in this test binary these are ours.  A test says what
 * the device and the CM will answer, drives the fabric, and looks at what it asked for.  The mock
 * enforces what the real libraries demand: nothing destroyed while something else stands on it,
 * every event acknowledged, nothing posted beyond a queue's depth.  A breach is a *violation*, with
 * words.  Any call can be made to fail.
 *
 * Each Criterion test runs in its own process, so the mock's state is global and starts empty.
 */
#ifndef NFSRDMA_TESTS_VERBS_MOCK_H
#define NFSRDMA_TESTS_VERBS_MOCK_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#define MOCK_MAX_WR 64

/* A queue pair and what was posted to it. */
struct mock_qp {
	struct ibv_qp qp;
	struct ibv_qp_cap cap;
	struct rdma_cm_id *id;
	bool error; /* moved to the error state */
	struct ibv_send_wr sends[MOCK_MAX_WR];
	struct ibv_sge send_sges[MOCK_MAX_WR][4];
	unsigned nsends, sends_done; /* posted, completed */
	struct ibv_recv_wr recvs[MOCK_MAX_WR];
	struct ibv_sge recv_sges[MOCK_MAX_WR];
	unsigned nrecvs, recvs_done;
	unsigned doorbells, recv_doorbells;
};

/* What the CM answers to a step; type -1: nothing, ever. */
struct mock_answer {
	int type;
	int status;
	uint8_t private_data[64];
	uint8_t private_len;
};

struct mock {
	/* ---- the script */
	bool no_device, no_cm;
	struct ibv_device_attr dev;
	struct ibv_port_attr port;
	enum ibv_transport_type transport;
	uint32_t max_inline; /* above: no queue pair */
	bool iova_refused;
	struct mock_answer address, route, connect, accept;
	const char *fail_call; /* this function fails ... */
	int fail_after;	       /* ... after so many successes */
	int fail_errno;
	int post_send_takes;	      /* a chain is cut after so many; -1: all of it */
	int fail_bind_ports;	      /* EADDRINUSE so many times */
	bool other_device;	      /* addresses resolve to another device from now on */
	bool async_lost;	      /* asynchronous events can not be read any more */
	struct ibv_async_event async; /* the newest */
	/* ---- what happened */
	unsigned async_taken; /* and not acknowledged */
	unsigned live;	      /* objects of all kinds */
	unsigned windows,
		windows_under_qp; /* windows, and those a queue pair was destroyed under */
	unsigned calls;		  /* that can fail */
	unsigned violations;
	char violation[160];   /* the first */
	struct mock_qp *qp;    /* the newest */
	struct rdma_cm_id *id; /* the newest */
	struct rdma_event_channel *listen_channel;
	struct rdma_cm_id *listen_id;
	struct rdma_conn_param connect_param, accept_param;
	uint8_t connect_private[256];
	struct sockaddr_storage bound;
	unsigned disconnects, rejects, notifies;
	int last_access;
	uint64_t last_iova;
	struct ibv_context *context;
};

extern struct mock mock;

/* Sensible answers: an InfiniBand device with windows that connects. */
void mock_init(void);
void mock_violate(const char *words);
/* Should this call fail now?  Sets errno. */
bool mock_fails(const char *call);

/* Script the device: complete the oldest posted send or receive. */
void mock_complete_send(struct mock_qp *qp, enum ibv_wc_status status);
/* Complete sends up to and including the oldest signalled one, as a device does. */
void mock_complete_to_signaled(struct mock_qp *qp);
void mock_complete_recv(struct mock_qp *qp, enum ibv_wc_status status, uint32_t byte_len,
			unsigned wc_flags, uint32_t inv_rkey);
/* The device says something out of turn. */
void mock_async(enum ibv_event_type type, int port);
/* Script the CM. */
void mock_event(struct rdma_cm_id *id, enum rdma_cm_event_type type, int status);
/* A connection request from 10.0.0.9 with private data. */
void mock_request(const void *private_data, uint8_t len);

#endif
