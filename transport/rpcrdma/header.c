/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * header.c - encode and decode the transport header of RPC-over-RDMA version 1.
 *
 * Layout (RFC 8166 section 4.1.2): four fixed words, then for RDMA_MSG and RDMA_NOMSG three lists,
 * each an XDR optional: a word 1 announces an element, a word 0 ends the list.
 *
 *     read list     { 1, position, handle, length, offset64 } ... 0
 *     write list    { 1, nsegs, { handle, length, offset64 } * nsegs } ... 0
 *     reply chunk   1, nsegs, { handle, length, offset64 } * nsegs      or 0
 *
 * Read chunks are flat: entries with equal positions are segments of one chunk.  Both peers use the
 * same layout, so one codec serves calls and replies.
 *
 * Everything here is pure.  The decoder takes hostile bytes: its work is bounded by the limits in
 * header.h whatever the counts in the message say, and an optional's word is 0 or 1, nothing else.
 */
#include <errno.h>

#include "transport/rpcrdma/header.h"
#include "util/util.h"

/* A cursor over the header's words; reading or writing past the end sets bad and stays bad. */
struct cursor {
	const uint8_t *p, *end;
	bool bad;
};

static uint32_t get_u32(struct cursor *c)
{
	uint32_t v;

	if (c->end - c->p < 4) {
		c->bad = true;
		return 0;
	}
	v = util_get_be32(c->p);
	c->p += 4;
	return v;
}

/* An XDR optional's word: true when an element follows. */
static bool get_present(struct cursor *c)
{
	uint32_t v = get_u32(c);

	if (v > 1)
		c->bad = true;
	return v == 1 && !c->bad;
}

static void get_segment(struct cursor *c, struct rpcrdma_segment *seg)
{
	uint64_t high;

	seg->handle = get_u32(c);
	seg->length = get_u32(c);
	high = get_u32(c);
	seg->offset = high << 32 | get_u32(c);
}

static int get_chunk(struct cursor *c, struct rpcrdma_chunk *chunk)
{
	uint32_t nsegs = get_u32(c);

	chunk->nsegs = 0;
	if (nsegs > (size_t)(c->end - c->p) / RPCRDMA_SEGMENT_LEN)
		return -EBADMSG;
	if (nsegs > RPCRDMA_MAX_SEGS)
		return -E2BIG;
	for (; chunk->nsegs < nsegs; chunk->nsegs++)
		get_segment(c, &chunk->seg[chunk->nsegs]);
	return c->bad ? -EBADMSG : 0;
}

static int get_lists(struct cursor *c, struct rpcrdma_header *h)
{
	int err;

	h->nreads = 0;
	h->nwrites = 0;
	while (get_present(c)) {
		if (h->nreads == RPCRDMA_MAX_READS)
			return -E2BIG;
		h->read[h->nreads].position = get_u32(c);
		get_segment(c, &h->read[h->nreads].seg);
		h->nreads++;
	}
	while (get_present(c)) {
		if (h->nwrites == RPCRDMA_MAX_WRITES)
			return -E2BIG;
		err = get_chunk(c, &h->write[h->nwrites]);
		if (err)
			return err;
		h->nwrites++;
	}
	h->has_reply = get_present(c);
	if (h->has_reply) {
		err = get_chunk(c, &h->reply);
		if (err)
			return err;
	}
	return c->bad ? -EBADMSG : 0;
}

static int get_error(struct cursor *c, struct rpcrdma_header *h)
{
	h->error = get_u32(c);
	if (h->error == RPCRDMA_ERR_VERS) {
		h->vers_low = get_u32(c);
		h->vers_high = get_u32(c);
	} else if (h->error != RPCRDMA_ERR_CHUNK) {
		return -EBADMSG;
	}
	return c->bad ? -EBADMSG : 0;
}

ssize_t rpcrdma_header_decode(struct rpcrdma_header *h, const uint8_t *buf, size_t len)
{
	struct cursor c = {.p = buf, .end = buf + len};
	int err;

	if (len < RPCRDMA_FIXED_LEN)
		return -ENODATA;
	h->xid = get_u32(&c);
	h->vers = get_u32(&c);
	h->credits = get_u32(&c);
	h->proc = get_u32(&c);
	if (h->vers != RPCRDMA_VERSION)
		return -EPROTONOSUPPORT;
	switch (h->proc) {
	case RPCRDMA_MSG:
	case RPCRDMA_NOMSG:
		err = get_lists(&c, h);
		break;
	case RPCRDMA_ERROR:
		err = get_error(&c, h);
		break;
	case RPCRDMA_DONE:
		err = 0;
		break;
	default:
		err = -EBADMSG;
	}
	if (err)
		return err;
	return c.p - buf;
}

static size_t chunk_words_len(const struct rpcrdma_chunk *chunk)
{
	return 8 + (size_t)chunk->nsegs * RPCRDMA_SEGMENT_LEN;
}

size_t rpcrdma_header_len(const struct rpcrdma_header *h)
{
	size_t len = RPCRDMA_HEADER_MIN;

	if (h->proc == RPCRDMA_ERROR)
		return RPCRDMA_FIXED_LEN + (h->error == RPCRDMA_ERR_VERS ? 12 : 4);
	len += (size_t)h->nreads * RPCRDMA_READ_LEN;
	for (uint32_t i = 0; i < h->nwrites; i++)
		len += chunk_words_len(&h->write[i]);
	/* The reply chunk's presence word is one of the three that end the lists. */
	if (h->has_reply)
		len += chunk_words_len(&h->reply) - 4;
	return len;
}

static uint8_t *put_u32(uint8_t *p, uint32_t v)
{
	util_put_be32(p, v);
	return p + 4;
}

static uint8_t *put_segment(uint8_t *p, const struct rpcrdma_segment *seg)
{
	p = put_u32(p, seg->handle);
	p = put_u32(p, seg->length);
	util_put_be64(p, seg->offset);
	return p + 8;
}

static uint8_t *put_chunk(uint8_t *p, const struct rpcrdma_chunk *chunk)
{
	p = put_u32(p, 1);
	p = put_u32(p, chunk->nsegs);
	for (uint32_t i = 0; i < chunk->nsegs; i++)
		p = put_segment(p, &chunk->seg[i]);
	return p;
}

static uint8_t *put_lists(uint8_t *p, const struct rpcrdma_header *h)
{
	for (uint32_t i = 0; i < h->nreads; i++) {
		p = put_u32(p, 1);
		p = put_u32(p, h->read[i].position);
		p = put_segment(p, &h->read[i].seg);
	}
	p = put_u32(p, 0);
	for (uint32_t i = 0; i < h->nwrites; i++)
		p = put_chunk(p, &h->write[i]);
	p = put_u32(p, 0);
	if (h->has_reply)
		return put_chunk(p, &h->reply);
	return put_u32(p, 0);
}

ssize_t rpcrdma_header_encode(const struct rpcrdma_header *h, uint8_t *buf, size_t len)
{
	uint8_t *p = buf;

	if (rpcrdma_header_len(h) > len)
		return -EMSGSIZE;
	p = put_u32(p, h->xid);
	p = put_u32(p, RPCRDMA_VERSION);
	p = put_u32(p, h->credits);
	p = put_u32(p, h->proc);
	if (h->proc != RPCRDMA_ERROR)
		return put_lists(p, h) - buf;
	p = put_u32(p, h->error);
	if (h->error == RPCRDMA_ERR_VERS) {
		p = put_u32(p, h->vers_low);
		p = put_u32(p, h->vers_high);
	}
	return p - buf;
}

uint64_t rpcrdma_chunk_len(const struct rpcrdma_chunk *chunk)
{
	uint64_t len = 0;

	for (uint32_t i = 0; i < chunk->nsegs; i++)
		len += chunk->seg[i].length;
	return len;
}

const char *rpcrdma_proc_name(uint32_t proc)
{
	static const char *const names[] = {"RDMA_MSG", "RDMA_NOMSG", "RDMA_MSGP", "RDMA_DONE",
					    "RDMA_ERROR"};

	return proc < UTIL_ARRAY_SIZE(names) ? names[proc] : "unknown procedure";
}
