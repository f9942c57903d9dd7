/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * watch.h - the file in which a process keeps its ledger, so that another can look on.
 *
 * $XDG_RUNTIME_DIR/nfsrdma/PID.N, mode 0600, N counting the ledgers of the process from 0.  The
 * counters are not copied there: they live there, mapped, so keeping them costs nothing and what is
 * read is true at every moment, also while the process sleeps.
 *
 *	offset 0	struct mr_watch_head; magic is written last, when all else is in place
 *	head.names_at	head.fields names of head.name_size bytes, each ended by a zero byte
 *	head.values_at	as many 64-bit words, in the order of the names
 *	head.lanes_at	head.lanes times struct mr_lane: leases, as each thread counts its own
 *
 * All words have the machine's byte order.  A field's value is its word; the lanes that are in use
 * add to leases_taken, leases_given and leases_now (taken - given), and those with
 * MR_LANE_REUSES to iova_reuses (taken - fresh).
 *
 * head.sequence is odd while the counts of a pool that ends move from the lanes to the words: a
 * reader who finds it odd, or changed when he is through, reads again.  Nothing else needs that,
 * since every counter is one word with one meaning.
 *
 * The owner holds an exclusive flock() on the file for life, so a file that can be locked is one
 * of a process that was killed: the next process that opens a watch removes it.
 */
#ifndef NFSRDMA_MR_WATCH_H
#define NFSRDMA_MR_WATCH_H

#include "mr/internal.h"

#define MR_WATCH_MAGIC "nfsrldg1"
#define MR_WATCH_NAME_SIZE 40
#define MR_WATCH_LANES 256 /* threads times pools; beyond, leases are not seen from outside */

struct mr_watch_head {
	char magic[8];
	uint32_t size; /* of the file */
	uint32_t pid;
	uint32_t fields, name_size, names_at, values_at;
	uint32_t lanes, lanes_at;
	uint64_t started_ns; /* CLOCK_REALTIME, when the ledger began */
	_Atomic uint64_t sequence;
	char name[16]; /* the program's */
};

#define MR_WATCH_COUNT(name) +1
#define MR_WATCH_FIELDS (0 MR_LEDGER_FIELDS(MR_WATCH_COUNT))

struct mr_watch_file {
	struct mr_watch_head head;
	char names[MR_WATCH_FIELDS][MR_WATCH_NAME_SIZE];
	struct mr_ledger_counters counters;
	struct mr_lane lanes[MR_WATCH_LANES];
};

struct mr_watch {
	struct mr_watch_file *file;
	int dir, fd;
	char name[32];
};

#endif
