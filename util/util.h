/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * util.h - the leaf everyone may use: lists, clock, log, errors, sizes, histograms.
 *
 * Nothing here knows what the rest of the project is for.  No mutable globals.
 */
#ifndef NFSRDMA_UTIL_H
#define NFSRDMA_UTIL_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#define UTIL_CONTAINER_OF(ptr, type, member) ((type *)((char *)(ptr) - offsetof(type, member)))
#define UTIL_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define UTIL_PRINTF(f, a) __attribute__((format(printf, f, a)))

/* ---- lists: circular, doubly linked, embedded nodes ------------------------------------- */

struct util_list {
	struct util_list *next, *prev;
};

#define UTIL_LIST_INIT(name) { &(name), &(name) }

static inline void util_list_init(struct util_list *l)
{
	l->next = l->prev = l;
}

static inline bool util_list_empty(const struct util_list *l)
{
	return l->next == l;
}

static inline void util_list_insert_after(struct util_list *at, struct util_list *node)
{
	node->next = at->next;
	node->prev = at;
	at->next->prev = node;
	at->next = node;
}

/* Append at the tail. */
static inline void util_list_add(struct util_list *head, struct util_list *node)
{
	util_list_insert_after(head->prev, node);
}

/* Insert at the front. */
static inline void util_list_push(struct util_list *head, struct util_list *node)
{
	util_list_insert_after(head, node);
}

/* Remove; the node is left self-linked, so removing twice is harmless. */
static inline void util_list_del(struct util_list *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
	util_list_init(node);
}

/* Take the first node off, or NULL. */
static inline struct util_list *util_list_pop(struct util_list *head)
{
	struct util_list *node = head->next;

	if (node == head)
		return NULL;
	util_list_del(node);
	return node;
}

/* Move all nodes of from to the tail of to. */
static inline void util_list_splice(struct util_list *to, struct util_list *from)
{
	if (util_list_empty(from))
		return;
	from->next->prev = to->prev;
	to->prev->next = from->next;
	from->prev->next = to;
	to->prev = from->prev;
	util_list_init(from);
}

#define UTIL_LIST_ENTRY(node, type, member) UTIL_CONTAINER_OF(node, type, member)
#define UTIL_LIST_FOR_EACH(pos, head) \
	for (struct util_list *pos = (head)->next; pos != (head); pos = pos->next)
/* The loop body may delete pos. */
#define UTIL_LIST_FOR_EACH_SAFE(pos, head)                                               \
	for (struct util_list *pos = (head)->next, *pos##_next = pos->next; pos != (head); \
	     pos = pos##_next, pos##_next = pos->next)

/* ---- clock ------------------------------------------------------------------------------ */

#define UTIL_NS_PER_MS UINT64_C(1000000)
#define UTIL_NS_PER_S UINT64_C(1000000000)

/* CLOCK_MONOTONIC in ns. */
uint64_t util_clock_ns(void);
/* Milliseconds from now until deadline_ns, rounded up; 0 when past; -1 for deadline 0 (never). */
int util_clock_until_ms(uint64_t deadline_ns);

/*
 * The same clock for one who reads it for every I/O: each reader has a ticker of its own, used by
 * one thread at a time.  Within UTIL_TICKER_OFF_NS of CLOCK_MONOTONIC, and what one ticker says
 * never decreases.  ticker.c.
 */
enum util_ticker_wish {
	UTIL_TICKER_AUTO,    /* the CPU's counter where the clock costs a system call */
	UTIL_TICKER_CLOCK,   /* always the clock */
	UTIL_TICKER_COUNTER, /* the counter, if it is invariant at all */
};

#define UTIL_TICKER_OFF_NS UTIL_NS_PER_MS

struct util_ticker {
	bool counting;
	uint64_t anchor_ticks, anchor_ns, last_ns;
	uint64_t ns_per_tick; /* times 2^32; 0: no estimate yet */
	uint64_t span_ticks;  /* the anchor is good for so long */
	uint64_t span_ns, gap_ticks;
};

void util_ticker_init(struct util_ticker *t, enum util_ticker_wish wish);
uint64_t util_ticker_ns(struct util_ticker *t);

/* ---- big-endian bytes ------------------------------------------------------------------- */

static inline uint16_t util_get_be16(const void *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return __builtin_bswap16(v);
}

static inline uint32_t util_get_be32(const void *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return __builtin_bswap32(v);
}

static inline uint64_t util_get_be64(const void *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return __builtin_bswap64(v);
}

static inline void util_put_be16(void *p, uint16_t v)
{
	v = __builtin_bswap16(v);
	memcpy(p, &v, sizeof(v));
}

static inline void util_put_be32(void *p, uint32_t v)
{
	v = __builtin_bswap32(v);
	memcpy(p, &v, sizeof(v));
}

static inline void util_put_be64(void *p, uint64_t v)
{
	v = __builtin_bswap64(v);
	memcpy(p, &v, sizeof(v));
}

/* ---- log: hangs from a handle, never global --------------------------------------------- */

enum util_log_level { UTIL_LOG_ERROR, UTIL_LOG_WARN, UTIL_LOG_INFO, UTIL_LOG_DEBUG };

struct util_log {
	/* line has no newline.  NULL fn: silent. */
	void (*fn)(void *arg, enum util_log_level level, const char *line);
	void *arg;
	enum util_log_level level; /* the most talkative level handed to fn */
};

/* log may be NULL.  Formats only when somebody listens. */
void util_log(const struct util_log *log, enum util_log_level level, const char *fmt, ...)
	UTIL_PRINTF(3, 4);

/* ---- errors: what went wrong, and what to do about it ----------------------------------- */

/*
 * Filled at the layer that knows the cause, carried up to the user.  All functions take
 * NULL and then do nothing but return code.
 */
struct util_err {
	int code;       /* negative errno, 0 when unset */
	char what[256]; /* what was tried and why it failed: "connect to 10.0.0.1 port 20049: Connection refused" */
	char hint[192]; /* the remedy, may be empty: "is the server running? ..." */
};

/* Set what (formatted), clear hint; returns code, so that `return util_err_set(...)` reads well. */
int util_err_set(struct util_err *err, int code, const char *fmt, ...) UTIL_PRINTF(3, 4);
void util_err_hint(struct util_err *err, const char *fmt, ...) UTIL_PRINTF(2, 3);
/* Put "text: " in front of what. */
void util_err_prefix(struct util_err *err, const char *fmt, ...) UTIL_PRINTF(2, 3);
void util_err_clear(struct util_err *err);

/* ---- sizes ------------------------------------------------------------------------------ */

/*
 * Parse "123", "64k", "1M", "2g", "1t" (powers of 1024, either case).  A bare number is
 * multiplied by bare_unit.  -EINVAL: empty, sign, trailing text; -ERANGE: overflow.
 */
int util_size_parse(const char *text, uint64_t bare_unit, uint64_t *sizep);
/* "1.5 GiB", "64 KiB", "17 B" into buf; returns buf. */
const char *util_size_format(uint64_t size, char *buf, size_t len);
/* Decimal, whole string, no sign or blanks.  -EINVAL, -ERANGE (above max). */
int util_u64_parse(const char *text, uint64_t max, uint64_t *valuep);

/* ---- text safe to print ----------------------------------------------------------------- */

/*
 * Copy name with control characters, invalid UTF-8 and backslashes escaped (\n, \x1b, ...).
 * Always terminates; returns the length the whole would have had.
 */
size_t util_text_escape(const char *name, size_t name_len, char *out, size_t out_len);

/* ---- sockets that do not leave the host -------------------------------------------------- */

bool util_addr_is_loopback(const struct sockaddr_storage *addr);
/* The same address (and scope), whatever the ports; false for other families than IP. */
bool util_addr_same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b);
/* For a TCP socket that will connect to this host, and for every listener, before it does: no
 * pacing.  Best effort. */
void util_sock_unpaced(int fd);
/* For what a listener accepted: if it comes from the network, the system's congestion control. */
void util_sock_accepted(int fd);

/* ---- standard streams --------------------------------------------------------------------- */

/*
 * For main(), first of all: descriptors 0, 1 and 2 that are closed stay useless instead of becoming
 * a socket that printf writes to.  -errno: there is no /dev/null.
 */
int util_stdio_reserve(void);

/*
 * For main(), before it makes threads: SIGINT, SIGTERM and SIGHUP come through the descriptor
 * (signalfd(2), non-blocking) and SIGPIPE not at all.  -errno.
 */
int util_signal_fd(void);

/* ---- random ----------------------------------------------------------------------------- */

/* Bytes from getrandom(2); 0 or -errno. */
int util_random_bytes(void *buf, size_t len);

/* ---- histogram: log-linear, constant relative error ------------------------------------- */

/* 64 sub-buckets per power of two: at most 1.6 % relative error for any uint64_t. */
#define UTIL_HIST_SUB_BITS 6
#define UTIL_HIST_BUCKETS ((64 - UTIL_HIST_SUB_BITS + 1) << UTIL_HIST_SUB_BITS)

struct util_hist {
	uint64_t count, sum, min, max;
	uint64_t bucket[UTIL_HIST_BUCKETS];
};

void util_hist_init(struct util_hist *h);
void util_hist_add(struct util_hist *h, uint64_t value);
void util_hist_merge(struct util_hist *to, const struct util_hist *from);
/* Smallest recorded-bucket midpoint with at least fraction (0..1) of the values at or below it;
 * exact for min (0) and max (1); 0 when empty. */
uint64_t util_hist_quantile(const struct util_hist *h, double fraction);

#endif
