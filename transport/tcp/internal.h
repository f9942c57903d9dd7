/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * internal.h - what the files of transport/tcp share about the requester's link.
 */
#ifndef NFSRDMA_TCP_INTERNAL_H
#define NFSRDMA_TCP_INTERNAL_H

#include "transport/rpc/link.h"
#include "transport/tcp/stream.h"

/* Where the bytes of the record that is coming in go. */
enum tcp_mode {
	TCP_MODE_HEAD,	/* to the message, until it is known what this is */
	TCP_MODE_WHOLE, /* to the message, to the record's end */
	TCP_MODE_SINK,	/* to the call's sink: sink_left bytes */
	TCP_MODE_PAD,	/* nowhere: the data's XDR padding, pad_left bytes */
	TCP_MODE_TAIL,	/* to the message, which has lost its bulk data */
	TCP_MODE_SKIP,	/* nowhere: nobody waits for it */
};

struct tcp_counts {
	uint64_t doorbells, receive_calls, bytes_sent, bytes_received;
};

struct tcp_link {
	struct transport_link link; /* first */
	struct mr_pool *pool;
	int fd; /* -1: none */
	bool connecting;
	uint64_t connect_end_ns;
	/* sending */
	struct transport_call
		*partial; /* SENT, but only partial_off bytes of its record left yet */
	size_t partial_off;
	bool blocked; /* the socket takes no more: wait for EPOLLOUT */
	/* receiving */
	struct tcp_stream in;
	enum tcp_mode mode;
	struct transport_call *call; /* whose reply it is, once known */
	uint8_t *msg;		     /* a message that does not lie in the stage in one piece */
	size_t msg_len, msg_size;
	size_t sink_done, sink_left, pad_left;
	struct tcp_counts counts;
};

static inline struct tcp_link *tcp_link_of(struct transport_link *link)
{
	return UTIL_CONTAINER_OF(link, struct tcp_link, link);
}

/* ---- link.c: what the links over sockets, this and datagram.c's, answer alike */
void tcp_counts_add(const struct tcp_counts *counts, struct transport_counters *counters);
const struct fabric_attr *tcp_no_attr(const struct transport_link *l);
int tcp_nothing_agreed(const struct transport_link *l, struct transport_agreed *agreed);

/* ---- send.c */
int tcp_link_flush(struct transport_link *link);

/* ---- receive.c */
/* Receive until the socket is empty or a fair share was taken.  0, or -errno: the connection is
 * gone, *err has words. */
int tcp_link_receive(struct tcp_link *link, struct util_err *err);
/* Nothing is being received. */
void tcp_link_receive_reset(struct tcp_link *link);
/* The call that a record may be coming in for is not to be touched any more. */
void tcp_link_receive_abandon(struct tcp_link *link, const struct transport_call *call);

/* ---- socket.c */
/* "127.0.0.1 port 2049" into buf; returns buf. */
const char *tcp_addr_text(const struct sockaddr_storage *addr, char *buf, size_t len);
#define TCP_ADDR_TEXT 96
/* A non-blocking socket on its way to params->addr.  local: bind to this address if it can be
 * had, ss_family 0: any (or below 1024, if params ask for that). */
int tcp_socket_connect(const struct transport_client_params *params,
		       const struct sockaddr_storage *local, socklen_t local_len, int *fdp,
		       struct util_err *err);
/* Words and a hint for an attempt that failed; returns code. */
int tcp_socket_refused(int code, const struct transport_client_params *params,
		       struct util_err *err);
/* What became of the attempt: 0, -EINPROGRESS, or -errno with words. */
int tcp_socket_connected(int fd, const struct transport_client_params *params,
			 struct util_err *err);
/* Words and a hint for an established connection that broke. */
int tcp_socket_error(int code, const struct transport_client_params *params, struct util_err *err);
/* Close so that the local port is free again at once: nothing that is under way matters. */
void tcp_socket_abort(int fd);

#endif
