/* SPDX-License-Identifier: BSD-2-Clause */
/* pair.h - two ends of one iWARP connection in one process, and memory registered at each. */
#ifndef TESTS_IWARP_PAIR_H
#define TESTS_IWARP_PAIR_H

#include "transport/fabric/fabric.h"

struct pair_options {
	bool plain;		       /* no io_uring */
	struct iommu_sw_options iommu; /* of both ends */
	enum fabric_crc crc;
	uint32_t depth;	  /* of all queues, default 64 */
	uint32_t max_sge; /* default 4 */
	bool ipv6;
	int mss;		/* clamp the listener's segments, 0: as they come */
	const char *private[2]; /* of the connecting [0] and the accepting [1] end */
};

#define PAIR_LOG 4096

/* One end. */
struct pair_end {
	struct fabric *fabric;
	struct fabric_domain *domain;
	struct fabric_cq *cq;
	struct fabric_conn *conn;
	struct fabric_wc log[PAIR_LOG]; /* what cq_poll said, oldest first, unread from first on */
	unsigned first, last;
	bool established, disconnected;
};

/* end[0] connects, end[1] accepts. */
struct pair {
	const struct fabric_ops *ops;
	struct pair_end end[2];
	struct fabric_listener *listener;
	struct sockaddr_storage addr;
};

/* Everything up to two ESTABLISHED events; asserts. */
void pair_open(struct pair *pair, const struct pair_options *opts);
void pair_close(struct pair *pair);
/* Poll both ends once; true when anything was said. */
bool pair_turn(struct pair *pair);
/* Drive both until end e has said something; fails the test after 5 s. */
struct fabric_wc pair_next(struct pair *pair, int e);
/* The same, leaving out everything but completions of that type. */
struct fabric_wc pair_next_of(struct pair *pair, int e, enum fabric_wc_type type);
/* Drive both until neither says anything for a while (ms). */
void pair_settle(struct pair *pair, int ms);
/* Drive until e is disconnected. */
void pair_until_disconnected(struct pair *pair, int e);

/* Page-aligned memory, registered at end e with access; access 0: plain. */
struct memory {
	uint8_t *ptr;
	size_t len;
	struct mr_registration reg;
	struct mr_provider *provider;
};

void memory_open(struct memory *m, struct pair *pair, int e, size_t len, unsigned access);
void memory_close(struct memory *m);
void memory_fill(struct memory *m, unsigned seed);
bool memory_is_filled(const struct memory *m, size_t off, size_t len, unsigned seed);
struct fabric_sge memory_sge(const struct memory *m, size_t off, size_t len);

/* Post one receive into m. */
void pair_recv(struct pair *pair, int e, const struct memory *m, size_t off, size_t len,
	       uint64_t wr_id);
/* Post one signalled work request of one piece. */
int pair_post(struct pair *pair, int e, enum fabric_op op, const struct fabric_sge *sge,
	      uint64_t remote_iova, uint32_t rkey, unsigned flags, uint64_t wr_id);

#endif
