/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cache.c - a worker's buffers for long calls and replies.
 *
 * Four size classes: a page cluster, and 64 KiB, 256 KiB and the longest record with room around
 * them for headers.  Buffers given back wait on a chain for the next taker, last in first out, so
 * that warm memory is used again; beyond the limit they go back to the system.  One thread, no
 * locks.
 */
#include <errno.h>
#include <stdlib.h>

#include "transport/tcp/responder.h"

#define PAGE 4096u
#define AROUND 8192u
#define CACHE_LIMIT (64u << 20)
/* Per worker, in use at one time: many times what well-behaved clients need. */
#define OUT_LIMIT ((size_t)1 << 30)

static size_t page_up(size_t len)
{
	return (len + PAGE - 1) & ~(size_t)(PAGE - 1);
}

void tcp_cache_init(struct tcp_cache *cache, size_t max)
{
	memset(cache, 0, sizeof(*cache));
	cache->size[0] = 16384;
	cache->size[1] = 65536 + AROUND;
	cache->size[2] = 262144 + AROUND;
	cache->size[3] = page_up(max);
	for (int i = 0; i < TCP_CACHE_CLASSES - 1; i++)
		if (cache->size[i] > cache->size[3])
			cache->size[i] = cache->size[3];
	cache->limit = CACHE_LIMIT;
}

void tcp_cache_free(struct tcp_cache *cache)
{
	for (int i = 0; i < TCP_CACHE_CLASSES; i++) {
		while (cache->free[i]) {
			void *p = cache->free[i];

			memcpy(&cache->free[i], p, sizeof(p));
			free(p);
		}
	}
	cache->cached = 0;
}

static int class_of(const struct tcp_cache *cache, size_t len)
{
	for (int i = 0; i < TCP_CACHE_CLASSES; i++)
		if (len <= cache->size[i])
			return i;
	return -EMSGSIZE;
}

int tcp_cache_take(struct tcp_cache *cache, size_t len, struct tcp_buf *buf)
{
	int class = class_of(cache, len);
	void *p;

	if (class < 0)
		return class;
	if (cache->out + cache->size[class] > OUT_LIMIT)
		return -ENOMEM;
	p = cache->free[class];
	if (p) {
		memcpy(&cache->free[class], p, sizeof(p));
		cache->cached -= cache->size[class];
	} else if (posix_memalign(&p, PAGE, cache->size[class])) {
		return -ENOMEM;
	}
	cache->out += cache->size[class];
	buf->p = p;
	buf->size = cache->size[class];
	return 0;
}

void tcp_cache_give(struct tcp_cache *cache, struct tcp_buf *buf)
{
	int class;

	if (!buf->p)
		return;
	class = class_of(cache, buf->size);
	cache->out -= buf->size;
	if (cache->cached + buf->size > cache->limit) {
		free(buf->p);
	} else {
		memcpy(buf->p, &cache->free[class], sizeof(void *));
		cache->free[class] = buf->p;
		cache->cached += buf->size;
	}
	buf->p = NULL;
	buf->size = 0;
}
