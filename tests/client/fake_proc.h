/* SPDX-License-Identifier: BSD-2-Clause */
/* fake_proc.h - the fake server's state and procedures; private to fake_*.c. */
#ifndef TESTS_CLIENT_FAKE_PROC_H
#define TESTS_CLIENT_FAKE_PROC_H

#include <pthread.h>

#include "tests/client/fake_tree.h"
#include "util/util.h"

#define FAKE_RULES 64
#define FAKE_CONNS 32
#define FAKE_HELD 4096

struct fake_rule {
	uint32_t prog, proc;
	unsigned skip, count;
	enum fake_action action;
	uint64_t arg;
};

struct fake_conn {
	int fd;
	uint8_t *in;
	size_t in_len, in_room;
};

struct fake_held {
	int fd;
	uint8_t *bytes;
	size_t len;
};

struct fake_nfs {
	pthread_mutex_t lock;
	pthread_t thread;
	int listen_fd, wake[2];
	uint16_t port;
	struct fake_tree tree;
	struct fake_rule rules[FAKE_RULES];
	unsigned nrules;
	struct fake_conn conns[FAKE_CONNS];
	struct fake_held held[FAKE_HELD];
	unsigned nheld, peak, randoms;
	unsigned calls[WIRE_NFS3_PROC_COUNT];
	uint64_t verf;
	uint64_t last_offset;
	uint32_t last_count, last_stable;
	uint32_t rtmax, wtmax, dtpref;
	bool hide_exports, release;
	struct wire_cred cred;
};

/* One call being answered. */
struct fake_call {
	struct fake_nfs *f;
	struct wire_dec *args;
	struct wire_enc *out;
	const struct fake_rule *rule; /* NULL: behave */
};

static inline bool fake_is(const struct fake_call *c, enum fake_action action)
{
	return c->rule && c->rule->action == action;
}

void fake_nfs_proc(struct fake_call *c, uint32_t proc);
void fake_mount_proc(struct fake_call *c, uint32_t proc);
/* wcc or attributes where an error leaves them out */
void fake_fail(struct fake_call *c, uint32_t proc, uint32_t status);

#endif
