/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nfs3_link.c - READLINK's result and SYMLINK's arguments (RFC 1813 sections 3.3.5 and 3.3.10).
 *
 * A target is bytes: it may hold anything, NUL included, and means nothing to the server.
 */
#include "wire/nfs3_bulk.h"

#include <errno.h>
#include <string.h>

#include "util/util.h"

void wire_readlink_res_encode(struct wire_enc *e, const struct wire_readlink_res *r, bool removed)
{
	wire_put_u32(e, r->status);
	wire_put_post_attr(e, &r->attr);
	if (!r->status)
		wire_put_bulk(e, r->target, r->target_len, removed);
}

int wire_readlink_res_decode(struct wire_dec *d, struct wire_readlink_res *r, bool removed)
{
	memset(r, 0, sizeof(*r));
	r->status = wire_get_u32(d);
	wire_get_post_attr(d, &r->attr);
	if (d->bad)
		return -EBADMSG;
	if (!r->status)
		r->target = wire_get_bulk(d, WIRE_PATH_MAX, &r->target_len, removed);
	return d->bad ? -EBADMSG : 0;
}

ssize_t wire_readlink_res_find_data(const uint8_t *results, size_t len, size_t *data_len)
{
	ssize_t at = wire_results_after_attr(results, len);
	uint32_t target_len;

	if (at < 0)
		return at;
	if (len < (size_t)at + 4)
		return -EAGAIN;
	target_len = util_get_be32(results + at);
	if (target_len > WIRE_PATH_MAX)
		return -EBADMSG;
	*data_len = target_len;
	return at + 4;
}

void wire_symlink_args_encode(struct wire_enc *e, const struct wire_symlink_args *a, bool removed)
{
	wire_put_fh(e, &a->dir);
	wire_put_opaque(e, a->name, a->name_len);
	wire_put_sattr(e, &a->attr);
	wire_put_bulk(e, a->target, a->target_len, removed);
}

int wire_symlink_args_decode(struct wire_dec *d, struct wire_symlink_args *a, bool removed)
{
	size_t name_len;

	memset(a, 0, sizeof(*a));
	wire_get_fh(d, &a->dir);
	a->name = wire_get_opaque(d, WIRE_NAME_MAX, &name_len);
	a->name_len = (uint32_t)name_len;
	wire_get_sattr(d, &a->attr);
	a->target = wire_get_bulk(d, WIRE_PATH_MAX, &a->target_len, removed);
	return d->bad ? -EBADMSG : 0;
}
