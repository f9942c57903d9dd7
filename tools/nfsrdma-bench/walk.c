/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * walk.c - orders of visiting, data to verify.
 *
 * Random order is a permutation: each record once per pass, like iozone's, so a random read test
 * moves the file's bytes and not some of them twice.  It takes no memory: a Feistel network over
 * the smallest even number of bits that holds the records is a bijection, and numbers beyond the
 * last record are sent through again until they fall below it (at most four times on average).
 */
#include "tools/nfsrdma-bench/walk.h"

#define WALK_ROUNDS 4
/* One in ten records is read out of turn. */
#define WALK_JITTER 10

/* The finalizer of splitmix64: every bit of the argument reaches every bit of the result. */
static uint64_t walk_mix(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

void walk_start(struct bench_walk *walk, enum bench_order order, uint64_t records, uint64_t stride,
		uint64_t seed, bool jitter)
{
	*walk = (struct bench_walk){.order = order, .records = records, .key = walk_mix(seed)};
	walk->stride = stride ? stride : 1;
	walk->half_bits = 1;
	walk->jitter = jitter;
	while (walk->half_bits < 31 && UINT64_C(1) << 2 * walk->half_bits < records)
		walk->half_bits++;
}

static uint64_t walk_permute(const struct bench_walk *walk, uint64_t x)
{
	unsigned bits = walk->half_bits;
	uint64_t mask = (UINT64_C(1) << bits) - 1, left = x >> bits, right = x & mask;

	for (uint64_t i = 0; i < WALK_ROUNDS; i++) {
		uint64_t next = left ^ (walk_mix(right ^ walk->key ^ i << 56) & mask);

		left = right;
		right = next;
	}
	return left << bits | right;
}

static uint64_t walk_random(const struct bench_walk *walk, uint64_t k)
{
	do
		k = walk_permute(walk, k);
	while (k >= walk->records);
	return k;
}

/* 0, stride, 2 * stride, ... then 1, 1 + stride, ...: the caller's k only grows. */
static uint64_t walk_strided(struct bench_walk *walk, uint64_t k)
{
	uint64_t record;

	if (k == 0)
		walk->at = walk->residue = 0;
	record = walk->at;
	walk->at += walk->stride;
	if (walk->at >= walk->records)
		walk->at = ++walk->residue;
	return record;
}

/* The records WALK_JITTER - 2 and WALK_JITTER - 1 of each ten change places. */
static uint64_t walk_jittered(const struct bench_walk *walk, uint64_t k)
{
	if (k % WALK_JITTER == WALK_JITTER - 2 && k + 1 < walk->records)
		return k + 1;
	return k % WALK_JITTER == WALK_JITTER - 1 ? k - 1 : k;
}

uint64_t walk_step(struct bench_walk *walk, uint64_t k)
{
	if (k >= walk->records)
		k %= walk->records;
	switch (walk->order) {
	case BENCH_BACKWARD:
		return walk->records - 1 - k;
	case BENCH_STRIDED:
		return walk_strided(walk, k);
	case BENCH_RANDOM:
		return walk_random(walk, k);
	case BENCH_SAME:
		return 0;
	case BENCH_FORWARD:
		break;
	}
	return walk->jitter ? walk_jittered(walk, k) : k;
}

void data_fill(void *buf, size_t len, uint64_t file, uint64_t off)
{
	uint64_t *word = buf, base = walk_mix(file) + off / sizeof(*word);

	for (size_t i = 0; i < len / sizeof(*word); i++)
		word[i] = walk_mix(base + i);
}

int64_t data_check(const void *buf, size_t len, uint64_t file, uint64_t off)
{
	const uint64_t *word = buf;
	uint64_t base = walk_mix(file) + off / sizeof(*word);

	for (size_t i = 0; i < len / sizeof(*word); i++)
		if (word[i] != walk_mix(base + i))
			return (int64_t)(i * sizeof(*word));
	return -1;
}

int64_t data_check_pattern(const void *buf, size_t len, uint8_t byte)
{
	const uint8_t *p = buf;

	if (!len || (p[0] == byte && !memcmp(p, p + 1, len - 1)))
		return -1;
	for (size_t i = 0; i < len; i++)
		if (p[i] != byte)
			return (int64_t)i;
	return -1;
}
