/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * walk.h - in which order the records of a file are visited; what is written into them.
 */
#ifndef NFSRDMA_BENCH_WALK_H
#define NFSRDMA_BENCH_WALK_H

#include "tools/nfsrdma-bench/bench.h"

struct bench_walk {
	enum bench_order order;
	uint64_t records, stride, key;
	uint64_t at, residue; /* of a strided walk */
	unsigned half_bits;   /* of a random one */
	bool jitter;
};

/* seed: two walks with the same seed are the same. */
void walk_start(struct bench_walk *walk, enum bench_order order, uint64_t records, uint64_t stride,
		uint64_t seed, bool jitter);
/* The record to visit in the k-th step, counted from 0; every pass over the file (records steps)
 * visits each record once, but for BENCH_SAME, which stays at the first. */
uint64_t walk_step(struct bench_walk *walk, uint64_t k);

/* Every 8 bytes are a function of the file and of where they stand in it. */
void data_fill(void *buf, size_t len, uint64_t file, uint64_t off);
/* The offset in buf of the first 8 bytes that are not, or -1. */
int64_t data_check(const void *buf, size_t len, uint64_t file, uint64_t off);
int64_t data_check_pattern(const void *buf, size_t len, uint8_t byte);

#endif
