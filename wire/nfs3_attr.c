/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nfs3_attr.c - handles, attributes and weak cache consistency data (RFC 1813 sections 2.5
 * and 2.6).
 *
 * The parts every result is made of.  Values are passed on as they came (a file type nobody knows,
 * a billion nanoseconds): what to make of them is for those who know what they are for.  Only what
 * changes how the bytes are read is judged here: lengths, booleans, discriminants.
 */
#include "wire/wire.h"

#include <string.h>

void wire_put_fh(struct wire_enc *e, const struct wire_fh *fh)
{
	if (fh->len > WIRE_NFS3_FHSIZE) {
		e->overflow = true;
		return;
	}
	wire_put_opaque(e, fh->data, fh->len);
}

void wire_get_fh(struct wire_dec *d, struct wire_fh *fh)
{
	size_t len;
	const uint8_t *data = wire_get_opaque(d, WIRE_NFS3_FHSIZE, &len);

	fh->len = (uint32_t)len;
	if (data)
		memcpy(fh->data, data, len);
}

static void put_time(struct wire_enc *e, const struct wire_time *t)
{
	wire_put_u32(e, t->sec);
	wire_put_u32(e, t->nsec);
}

static void get_time(struct wire_dec *d, struct wire_time *t)
{
	t->sec = wire_get_u32(d);
	t->nsec = wire_get_u32(d);
}

void wire_put_attr(struct wire_enc *e, const struct wire_attr *a)
{
	wire_put_u32(e, a->type);
	wire_put_u32(e, a->mode);
	wire_put_u32(e, a->nlink);
	wire_put_u32(e, a->uid);
	wire_put_u32(e, a->gid);
	wire_put_u64(e, a->size);
	wire_put_u64(e, a->used);
	wire_put_u32(e, a->rdev_major);
	wire_put_u32(e, a->rdev_minor);
	wire_put_u64(e, a->fsid);
	wire_put_u64(e, a->fileid);
	put_time(e, &a->atime);
	put_time(e, &a->mtime);
	put_time(e, &a->ctime);
}

void wire_get_attr(struct wire_dec *d, struct wire_attr *a)
{
	a->type = wire_get_u32(d);
	a->mode = wire_get_u32(d);
	a->nlink = wire_get_u32(d);
	a->uid = wire_get_u32(d);
	a->gid = wire_get_u32(d);
	a->size = wire_get_u64(d);
	a->used = wire_get_u64(d);
	a->rdev_major = wire_get_u32(d);
	a->rdev_minor = wire_get_u32(d);
	a->fsid = wire_get_u64(d);
	a->fileid = wire_get_u64(d);
	get_time(d, &a->atime);
	get_time(d, &a->mtime);
	get_time(d, &a->ctime);
}

void wire_put_post_attr(struct wire_enc *e, const struct wire_post_attr *a)
{
	wire_put_bool(e, a->present);
	if (a->present)
		wire_put_attr(e, &a->attr);
}

void wire_get_post_attr(struct wire_dec *d, struct wire_post_attr *a)
{
	a->present = wire_get_bool(d);
	if (a->present)
		wire_get_attr(d, &a->attr);
	if (d->bad)
		a->present = false;
}

void wire_put_wcc(struct wire_enc *e, const struct wire_wcc *w)
{
	wire_put_bool(e, w->before.present);
	if (w->before.present) {
		wire_put_u64(e, w->before.size);
		put_time(e, &w->before.mtime);
		put_time(e, &w->before.ctime);
	}
	wire_put_post_attr(e, &w->after);
}

void wire_get_wcc(struct wire_dec *d, struct wire_wcc *w)
{
	w->before.present = wire_get_bool(d);
	if (w->before.present) {
		w->before.size = wire_get_u64(d);
		get_time(d, &w->before.mtime);
		get_time(d, &w->before.ctime);
	}
	wire_get_post_attr(d, &w->after);
	if (d->bad)
		w->before.present = false;
}

static void put_set_u32(struct wire_enc *e, bool set, uint32_t v)
{
	wire_put_bool(e, set);
	if (set)
		wire_put_u32(e, v);
}

static void put_set_time(struct wire_enc *e, enum wire_set_time how, const struct wire_time *t)
{
	wire_put_u32(e, how);
	if (how == WIRE_SET_TO_CLIENT_TIME)
		put_time(e, t);
}

void wire_put_sattr(struct wire_enc *e, const struct wire_sattr *s)
{
	put_set_u32(e, s->set_mode, s->mode);
	put_set_u32(e, s->set_uid, s->uid);
	put_set_u32(e, s->set_gid, s->gid);
	wire_put_bool(e, s->set_size);
	if (s->set_size)
		wire_put_u64(e, s->size);
	put_set_time(e, s->set_atime, &s->atime);
	put_set_time(e, s->set_mtime, &s->mtime);
}

static bool get_set_u32(struct wire_dec *d, uint32_t *v)
{
	bool set = wire_get_bool(d);

	*v = set ? wire_get_u32(d) : 0;
	return set;
}

static enum wire_set_time get_set_time(struct wire_dec *d, struct wire_time *t)
{
	uint32_t how = wire_get_u32(d);

	if (how > WIRE_SET_TO_CLIENT_TIME) {
		d->bad = true;
		how = WIRE_DONT_CHANGE;
	}
	if (how == WIRE_SET_TO_CLIENT_TIME)
		get_time(d, t);
	else
		*t = (struct wire_time){0, 0};
	return (enum wire_set_time)how;
}

void wire_get_sattr(struct wire_dec *d, struct wire_sattr *s)
{
	s->set_mode = get_set_u32(d, &s->mode);
	s->set_uid = get_set_u32(d, &s->uid);
	s->set_gid = get_set_u32(d, &s->gid);
	s->set_size = wire_get_bool(d);
	s->size = s->set_size ? wire_get_u64(d) : 0;
	s->set_atime = get_set_time(d, &s->atime);
	s->set_mtime = get_set_time(d, &s->mtime);
}
