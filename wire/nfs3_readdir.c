/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nfs3_readdir.c - READDIR and READDIRPLUS (RFC 1813 sections 3.3.16 and 3.3.17), one entry at a
 * time.
 *
 * On the wire the entries are a linked list: TRUE before each, FALSE after the last, then the eof
 * flag. Decoding it is a loop of the caller's around wire_dirent_next; nothing is allocated and
 * nothing recurses, however long the list.  Some servers stop without FALSE or without the flag:
 * that is an error here, and the caller keeps the entries it got before.
 */
#include "wire/wire.h"

#include <errno.h>
#include <string.h>

/* FALSE and the eof flag. */
#define LIST_END_LEN 8

/* READDIR has one count: it is maxcount here, and decodes into both. */
void wire_readdir_args_encode(struct wire_enc *e, const struct wire_readdir_args *a, bool plus)
{
	wire_put_fh(e, &a->dir);
	wire_put_u64(e, a->cookie);
	wire_put_fixed(e, a->verf, sizeof(a->verf));
	if (plus)
		wire_put_u32(e, a->dircount);
	wire_put_u32(e, a->maxcount);
}

static void get_verf(struct wire_dec *d, uint8_t verf[8])
{
	const uint8_t *at = wire_get_fixed(d, 8);

	if (at)
		memcpy(verf, at, 8);
}

int wire_readdir_args_decode(struct wire_dec *d, struct wire_readdir_args *a, bool plus)
{
	memset(a, 0, sizeof(*a));
	wire_get_fh(d, &a->dir);
	a->cookie = wire_get_u64(d);
	get_verf(d, a->verf);
	a->dircount = wire_get_u32(d);
	a->maxcount = plus ? wire_get_u32(d) : a->dircount;
	return d->bad ? -EBADMSG : 0;
}

void wire_readdir_head_encode(struct wire_enc *e, const struct wire_readdir_head *h)
{
	wire_put_u32(e, h->status);
	wire_put_post_attr(e, &h->attr);
	if (!h->status)
		wire_put_fixed(e, h->verf, sizeof(h->verf));
}

int wire_readdir_head_decode(struct wire_dec *d, struct wire_readdir_head *h)
{
	memset(h, 0, sizeof(*h));
	h->status = wire_get_u32(d);
	wire_get_post_attr(d, &h->attr);
	if (d->bad)
		return -EBADMSG;
	if (!h->status)
		get_verf(d, h->verf);
	return d->bad ? -EBADMSG : 0;
}

int wire_dirent_next(struct wire_dec *d, struct wire_dirent *ent, bool plus, bool *eof)
{
	size_t name_len;

	if (!wire_get_bool(d)) {
		bool end = wire_get_bool(d);

		if (d->bad)
			return -EBADMSG;
		*eof = end;
		return 0;
	}
	ent->fileid = wire_get_u64(d);
	ent->name = wire_get_opaque(d, WIRE_NAME_MAX, &name_len);
	ent->name_len = (uint32_t)name_len;
	ent->cookie = wire_get_u64(d);
	ent->attr.present = false;
	ent->has_fh = false;
	if (plus) {
		wire_get_post_attr(d, &ent->attr);
		ent->has_fh = wire_get_bool(d);
		if (ent->has_fh)
			wire_get_fh(d, &ent->fh);
	}
	return d->bad ? -EBADMSG : 1;
}

size_t wire_dirent_size(const struct wire_dirent *ent, bool plus)
{
	/* TRUE, fileid, the name's length, cookie */
	size_t size = 4 + 8 + 4 + (size_t)ent->name_len + WIRE_PAD(ent->name_len) + 8;

	if (plus)
		size += 4 + (ent->attr.present ? WIRE_ATTR_LEN : 0) + 4;
	if (plus && ent->has_fh)
		size += 4 + (size_t)ent->fh.len + WIRE_PAD(ent->fh.len);
	return size;
}

bool wire_dirent_encode(struct wire_enc *e, const struct wire_dirent *ent, bool plus)
{
	size_t size = wire_dirent_size(ent, plus);
	size_t left = (size_t)(e->end - e->p);

	if (e->overflow || left < LIST_END_LEN || size > left - LIST_END_LEN)
		return false;
	if (plus && ent->has_fh && ent->fh.len > WIRE_NFS3_FHSIZE)
		return false;
	wire_put_bool(e, true);
	wire_put_u64(e, ent->fileid);
	wire_put_opaque(e, ent->name, ent->name_len);
	wire_put_u64(e, ent->cookie);
	if (!plus)
		return true;
	wire_put_post_attr(e, &ent->attr);
	wire_put_bool(e, ent->has_fh);
	if (ent->has_fh)
		wire_put_fh(e, &ent->fh);
	return true;
}

void wire_readdir_end_encode(struct wire_enc *e, bool eof)
{
	wire_put_bool(e, false);
	wire_put_bool(e, eof);
}
