/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * counts.h - what the server answered: calls and errors by procedure, bytes read and written.
 *
 * Each worker counts in a struct of its own, which only it writes; the main thread adds them up.
 */
#ifndef NFSRDMAD_COUNTS_H
#define NFSRDMAD_COUNTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "util/util.h"
#include "wire/wire.h"

struct server_counts {
	struct util_list node;
	_Atomic uint64_t calls[WIRE_NFS3_PROC_COUNT];
	_Atomic uint64_t
		errors[WIRE_NFS3_PROC_COUNT]; /* of the calls: an nfsstat3 other than NFS3_OK */
	_Atomic uint64_t read_bytes, written_bytes;
};

struct server_tally {
	pthread_mutex_t lock;
	struct util_list workers;   /* of struct server_counts */
	struct server_counts ended; /* of workers that are gone */
};

void server_tally_init(struct server_tally *tally);
void server_tally_fini(struct server_tally *tally);
void server_tally_join(struct server_tally *tally, struct server_counts *counts);
/* What it counted stays. */
void server_tally_leave(struct server_tally *tally, struct server_counts *counts);

/* One call of a procedure was answered.  By the worker it belongs to. */
void server_counts_add(struct server_counts *counts, uint32_t proc, bool failed, uint64_t bytes);

/* One line of JSON: {"calls":{"GETATTR":N,...},"errors":{...},"read_bytes":N,"written_bytes":N},
 * procedures that were never called left out. */
void server_tally_print(struct server_tally *tally, FILE *f);

#endif
