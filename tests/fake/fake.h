/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fake.h - a fabric in this process, for tests: it implements fabric.h and mr_provider, checks
 * every request against the rules stated there, and does what a test scripts.
 *
 * Two ways to use it: both ends are the code under test (client and server over fake_fabric_ops),
 * or a test plays one end byte by byte (a *raw peer*).
 *
 * There is one world per process, reset by each test; Criterion runs each test in its own process.
 * It is thread-safe.  What breaks a rule is written down as a *violation*; a test ends with
 * fake_expect_clean().
 */
#ifndef NFSRDMA_TESTS_FAKE_H
#define NFSRDMA_TESTS_FAKE_H

#include "transport/fabric/fabric.h"

extern const struct fabric_ops fake_fabric_ops;

struct fake_setup {
	struct fabric_attr attr; /* of every device opened from now on */
	bool lkeys;		 /* local pieces must be registered, as on verbs */
	uint32_t max_windows;	 /* type-2 memory windows, 0: none */
};

/* What a plain device can; change it and hand it to fake_reset(). */
void fake_setup_default(struct fake_setup *setup);
/* Forget scripts and violations.  NULL: the default setup. */
void fake_reset(const struct fake_setup *setup);

/* ---- verdict ---------------------------------------------------------------------------- */

/* The i-th broken rule in words, NULL past the end. */
const char *fake_violation(unsigned i);
/* Fabrics, domains, queues, connections, listeners, requests and registrations that live. */
unsigned fake_objects(void);
/* Fails the test (cr_assert) when a rule was broken or, with all gone, an object lives. */
void fake_expect_clean(bool all_gone);

/* ---- script ----------------------------------------------------------------------------- */

/* The n-th call (from 1) that can fail does, with err; 0: none. */
void fake_fail_nth(unsigned n, int err);
/* Has that call come? */
bool fake_fail_reached(void);
/* Hold completions of sends back (all connections) until released. */
void fake_hold_sends(bool hold);
/* The next Send on any connection of the code under test completes with this instead. */
void fake_fail_next_send(enum fabric_wc_status status);
/* Cut all connections as a broken link would. */
void fake_cut_all(void);
/* Refuse connections from now on. */
void fake_refuse_connections(bool refuse);

/* ---- what was seen ---------------------------------------------------------------------- */

struct fake_seen {
	unsigned sends, send_invs, writes, reads; /* work requests carried out */
	unsigned doorbells;			  /* post_send calls */
	unsigned recv_chains;			  /* post_recv calls */
	unsigned signalled;
	unsigned reads_out_max; /* RDMA Reads outstanding on one connection at most */
	unsigned registrations;
	unsigned binds, local_invs; /* of windows, carried out */
	unsigned connects; /* conn_connect calls */
};
void fake_seen(struct fake_seen *seen);

/* ---- raw peers -------------------------------------------------------------------------- */

struct fake_peer;
struct fake_listen;

/* A port the test answers at: connections are established at once, with this private data. */
struct fake_listen *fake_raw_listen(uint16_t port, const void *private, size_t len);
void fake_raw_close(struct fake_listen *listen);
/* The next connection that was made to it, NULL: none. */
struct fake_peer *fake_raw_accept(struct fake_listen *listen);
/* Connect to a port of the code under test; established when it has accepted. */
struct fake_peer *fake_raw_connect(uint16_t port, const void *private, size_t len);
bool fake_peer_established(const struct fake_peer *peer);
/* The other side's private data (request or answer). */
size_t fake_peer_private(const struct fake_peer *peer, uint8_t *buf, size_t size);

/* One message that was sent to us: its length, or -EAGAIN, or -ENOTCONN when there will be none. */
ssize_t fake_peer_recv(struct fake_peer *peer, void *buf, size_t size);
/* The rkey the last one invalidated; false: it was a plain Send. */
bool fake_peer_invalidated(const struct fake_peer *peer, uint32_t *rkey);
/* 0, -ENOBUFS: no receive is posted (nothing happens), -EMSGSIZE: longer than the receive (the
 * connection ends, as it must), -ENOTCONN. */
int fake_peer_send(struct fake_peer *peer, const void *buf, size_t len);
int fake_peer_send_inv(struct fake_peer *peer, const void *buf, size_t len, uint32_t rkey);
/* RDMA into the other side's memory: 0, -EACCES (key, bounds or right), -ENOTCONN. */
int fake_peer_write(struct fake_peer *peer, uint32_t rkey, uint64_t iova, const void *buf,
		    size_t len);
int fake_peer_read(struct fake_peer *peer, uint32_t rkey, uint64_t iova, void *buf, size_t len);
/* Memory of ours the other side may reach. */
uint32_t fake_peer_register(struct fake_peer *peer, void *mem, size_t len, unsigned access,
			    uint64_t *iova);
/* Receives the other side has posted. */
unsigned fake_peer_receives(const struct fake_peer *peer);
void fake_peer_disconnect(struct fake_peer *peer);
void fake_peer_destroy(struct fake_peer *peer);

#endif
