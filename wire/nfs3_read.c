/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nfs3_read.c - READ (RFC 1813 section 3.3.6).
 *
 * The result says its length twice, as count and as the opaque's own length word.  They must agree:
 * a server whose count exceeds what it sent would have us hand out bytes nobody wrote.  That count
 * does not exceed what was asked is for the caller to check, who knows what that was.
 */
#include "wire/nfs3_bulk.h"

#include <errno.h>
#include <string.h>

#include "util/util.h"

void wire_read_args_encode(struct wire_enc *e, const struct wire_read_args *a)
{
	wire_put_fh(e, &a->fh);
	wire_put_u64(e, a->offset);
	wire_put_u32(e, a->count);
}

int wire_read_args_decode(struct wire_dec *d, struct wire_read_args *a)
{
	wire_get_fh(d, &a->fh);
	a->offset = wire_get_u64(d);
	a->count = wire_get_u32(d);
	return d->bad ? -EBADMSG : 0;
}

void wire_read_res_encode(struct wire_enc *e, const struct wire_read_res *r, bool removed)
{
	wire_put_u32(e, r->status);
	wire_put_post_attr(e, &r->attr);
	if (r->status)
		return;
	wire_put_u32(e, r->count);
	wire_put_bool(e, r->eof);
	wire_put_bulk(e, r->data, r->data_len, removed);
}

int wire_read_res_decode(struct wire_dec *d, struct wire_read_res *r, bool removed)
{
	memset(r, 0, sizeof(*r));
	r->status = wire_get_u32(d);
	wire_get_post_attr(d, &r->attr);
	if (d->bad)
		return -EBADMSG;
	if (r->status)
		return 0;
	r->count = wire_get_u32(d);
	r->eof = wire_get_bool(d);
	r->data = wire_get_bulk(d, UINT32_MAX, &r->data_len, removed);
	if (r->count != r->data_len)
		d->bad = true;
	return d->bad ? -EBADMSG : 0;
}

ssize_t wire_results_after_attr(const uint8_t *results, size_t len)
{
	uint32_t follows;

	if (len < 4)
		return -EAGAIN;
	if (util_get_be32(results))
		return -ENODATA;
	if (len < 8)
		return -EAGAIN;
	follows = util_get_be32(results + 4);
	if (follows > 1)
		return -EBADMSG;
	return follows ? 8 + WIRE_ATTR_LEN : 8;
}

ssize_t wire_read_res_find_data(const uint8_t *results, size_t len, size_t *data_len)
{
	ssize_t at = wire_results_after_attr(results, len);
	uint32_t count, eof, opaque_len;

	if (at < 0)
		return at;
	if (len < (size_t)at + 12)
		return -EAGAIN;
	count = util_get_be32(results + at);
	eof = util_get_be32(results + at + 4);
	opaque_len = util_get_be32(results + at + 8);
	if (eof > 1 || count != opaque_len)
		return -EBADMSG;
	*data_len = opaque_len;
	return at + 12;
}
