/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * xdr.c - cursors over a message: the one place that touches its bytes.
 *
 * Normal operation.  An encoder and a decoder are three pointers and a flag.  Callers put or get
 * item after item without looking, and look at the flag once at the end: an encoder that would have
 * gone past its end has written nothing there and nothing since (overflow), a decoder that would
 * have read past its end has returned zeros from there on (bad).  So a codec reads like the RFC's
 * text.
 *
 * Hostile lengths.  No sum of a peer's number and anything else is ever formed: what is asked for
 * is compared with what is left, as size_t, and the padding with what remains after that.
 *
 * Source: RFC 4506.
 */
#include "wire/wire.h"

#include "util/util.h"

void wire_enc_init(struct wire_enc *e, void *buf, size_t len)
{
	e->start = e->p = buf;
	e->end = e->start + len;
	e->overflow = false;
}

uint8_t *wire_put_space(struct wire_enc *e, size_t n)
{
	uint8_t *at = e->p;

	if (e->overflow || n > (size_t)(e->end - e->p)) {
		e->overflow = true;
		return NULL;
	}
	e->p += n;
	return at;
}

void wire_put_u32(struct wire_enc *e, uint32_t v)
{
	uint8_t *at = wire_put_space(e, sizeof(v));

	if (at)
		util_put_be32(at, v);
}

void wire_put_u64(struct wire_enc *e, uint64_t v)
{
	uint8_t *at = wire_put_space(e, sizeof(v));

	if (at)
		util_put_be64(at, v);
}

void wire_put_bool(struct wire_enc *e, bool v)
{
	wire_put_u32(e, v);
}

void wire_put_fixed(struct wire_enc *e, const void *data, size_t len)
{
	size_t pad = WIRE_PAD(len);
	uint8_t *at;

	if (len > SIZE_MAX - pad) {
		e->overflow = true;
		return;
	}
	at = wire_put_space(e, len + pad);
	if (!at)
		return;
	if (len)
		memcpy(at, data, len);
	memset(at + len, 0, pad);
}

void wire_put_opaque(struct wire_enc *e, const void *data, size_t len)
{
	if (len > UINT32_MAX) {
		e->overflow = true;
		return;
	}
	wire_put_u32(e, (uint32_t)len);
	wire_put_fixed(e, data, len);
}

void wire_dec_init(struct wire_dec *d, const void *buf, size_t len)
{
	/* No bytes still need a place: null + 0 is undefined (C11 6.5.6). */
	static const uint8_t nothing[1];

	d->start = d->p = buf ? buf : nothing;
	d->end = d->start + len;
	d->bad = false;
}

/* The next n bytes, or NULL and bad. */
static const uint8_t *take(struct wire_dec *d, size_t n)
{
	const uint8_t *at = d->p;

	if (d->bad || n > wire_dec_left(d)) {
		d->bad = true;
		return NULL;
	}
	d->p += n;
	return at;
}

uint32_t wire_get_u32(struct wire_dec *d)
{
	const uint8_t *at = take(d, sizeof(uint32_t));

	return at ? util_get_be32(at) : 0;
}

uint64_t wire_get_u64(struct wire_dec *d)
{
	const uint8_t *at = take(d, sizeof(uint64_t));

	return at ? util_get_be64(at) : 0;
}

bool wire_get_bool(struct wire_dec *d)
{
	uint32_t v = wire_get_u32(d);

	if (v > 1)
		d->bad = true;
	return !d->bad && v;
}

/* RFC 4506 section 4.9: the padding is zero; as everybody does, we do not insist. */
const uint8_t *wire_get_fixed(struct wire_dec *d, size_t len)
{
	const uint8_t *at = take(d, len);

	if (!at || !take(d, WIRE_PAD(len)))
		return NULL;
	return at;
}

const uint8_t *wire_get_opaque(struct wire_dec *d, size_t max, size_t *lenp)
{
	size_t len = wire_get_u32(d);
	const uint8_t *at;

	*lenp = 0;
	if (len > max)
		d->bad = true;
	at = wire_get_fixed(d, len);
	if (at)
		*lenp = len;
	return at;
}
