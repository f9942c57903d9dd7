/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nfs3_write.c - WRITE (RFC 1813 section 3.3.7).
 *
 * As in READ, the arguments say their length twice and must agree with themselves.
 */
#include "wire/nfs3_bulk.h"

#include <errno.h>
#include <string.h>

void wire_write_args_encode(struct wire_enc *e, const struct wire_write_args *a, bool removed)
{
	wire_put_fh(e, &a->fh);
	wire_put_u64(e, a->offset);
	wire_put_u32(e, a->count);
	wire_put_u32(e, a->stable);
	wire_put_bulk(e, a->data, a->data_len, removed);
}

int wire_write_args_decode(struct wire_dec *d, struct wire_write_args *a, bool removed)
{
	memset(a, 0, sizeof(*a));
	wire_get_fh(d, &a->fh);
	a->offset = wire_get_u64(d);
	a->count = wire_get_u32(d);
	a->stable = wire_get_u32(d);
	a->data = wire_get_bulk(d, UINT32_MAX, &a->data_len, removed);
	if (a->stable > WIRE_FILE_SYNC || a->count != a->data_len)
		d->bad = true;
	return d->bad ? -EBADMSG : 0;
}

void wire_write_res_encode(struct wire_enc *e, const struct wire_write_res *r)
{
	wire_put_u32(e, r->status);
	wire_put_wcc(e, &r->wcc);
	if (r->status)
		return;
	wire_put_u32(e, r->count);
	wire_put_u32(e, r->committed);
	wire_put_fixed(e, r->verf, sizeof(r->verf));
}

int wire_write_res_decode(struct wire_dec *d, struct wire_write_res *r)
{
	const uint8_t *verf;

	memset(r, 0, sizeof(*r));
	r->status = wire_get_u32(d);
	wire_get_wcc(d, &r->wcc);
	if (d->bad)
		return -EBADMSG;
	if (r->status)
		return 0;
	r->count = wire_get_u32(d);
	r->committed = wire_get_u32(d);
	verf = wire_get_fixed(d, sizeof(r->verf));
	if (verf)
		memcpy(r->verf, verf, sizeof(r->verf));
	if (r->committed > WIRE_FILE_SYNC)
		d->bad = true;
	return d->bad ? -EBADMSG : 0;
}
