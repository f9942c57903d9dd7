/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mount.c - MOUNT version 3 (RFC 1813 section 5): MNT, and the lists of DUMP and EXPORT one item at
 * a time.
 *
 * Lists are iterated for the reason given in nfs3_readdir.c.
 */
#include "wire/wire.h"

#include <errno.h>
#include <string.h>

#include "wire/mount_xdr.h"

int wire_mount_errno(uint32_t status)
{
	switch (status) {
	case MNT3_OK:
		return 0;
	case MNT3ERR_PERM:
		return -EPERM;
	case MNT3ERR_NOENT:
		return -ENOENT;
	case MNT3ERR_ACCES:
		return -EACCES;
	case MNT3ERR_NOTDIR:
		return -ENOTDIR;
	case MNT3ERR_INVAL:
		return -EINVAL;
	case MNT3ERR_NAMETOOLONG:
		return -ENAMETOOLONG;
	case MNT3ERR_NOTSUPP:
		return -EOPNOTSUPP;
	case MNT3ERR_SERVERFAULT:
		return -EREMOTEIO;
	default:
		return -EIO;
	}
}

void wire_mnt_args_encode(struct wire_enc *e, const char *path)
{
	size_t len = strlen(path);

	if (len > MNTPATHLEN) {
		e->overflow = true;
		return;
	}
	wire_put_opaque(e, path, len);
}

int wire_mnt_args_decode(struct wire_dec *d, char path[WIRE_PATH_MAX + 1])
{
	size_t len;
	const uint8_t *text = wire_get_opaque(d, MNTPATHLEN, &len);

	if (!text || memchr(text, '\0', len)) {
		d->bad = true;
		path[0] = '\0';
		return -EBADMSG;
	}
	memcpy(path, text, len);
	path[len] = '\0';
	return 0;
}

static uint32_t kept_flavors(uint32_t nflavors)
{
	return nflavors < MNT_FLAVORS ? nflavors : MNT_FLAVORS;
}

void wire_mnt_res_encode(struct wire_enc *e, const struct wire_mnt_res *r)
{
	uint32_t nflavors = kept_flavors(r->nflavors);

	wire_put_u32(e, r->status);
	if (r->status)
		return;
	wire_put_fh(e, &r->fh);
	wire_put_u32(e, nflavors);
	for (uint32_t i = 0; i < nflavors; i++)
		wire_put_u32(e, r->flavors[i]);
}

/* Flavors beyond our array are dropped: they come in the server's order of preference. */
int wire_mnt_res_decode(struct wire_dec *d, struct wire_mnt_res *r)
{
	uint32_t nflavors;

	memset(r, 0, sizeof(*r));
	r->status = wire_get_u32(d);
	if (!d->bad && r->status)
		return 0;
	wire_get_fh(d, &r->fh);
	nflavors = wire_get_u32(d);
	if (d->bad || nflavors > wire_dec_left(d) / 4) {
		d->bad = true;
		return -EBADMSG;
	}
	r->nflavors = kept_flavors(nflavors);
	for (uint32_t i = 0; i < nflavors; i++) {
		uint32_t flavor = wire_get_u32(d);

		if (i < r->nflavors)
			r->flavors[i] = flavor;
	}
	return 0;
}

static const uint8_t *get_text(struct wire_dec *d, size_t max, uint32_t *lenp)
{
	size_t len;
	const uint8_t *text = wire_get_opaque(d, max, &len);

	*lenp = (uint32_t)len;
	return text;
}

int wire_export_group_next(struct wire_dec *groups, const uint8_t **namep, uint32_t *lenp)
{
	if (wire_get_bool(groups)) {
		*namep = get_text(groups, MNTNAMLEN, lenp);
		return groups->bad ? -EBADMSG : 1;
	}
	return groups->bad ? -EBADMSG : 0;
}

int wire_export_next(struct wire_dec *d, struct wire_export *x)
{
	const uint8_t *name;
	uint32_t name_len;
	int more;

	memset(x, 0, sizeof(*x));
	if (!wire_get_bool(d))
		return d->bad ? -EBADMSG : 0;
	x->path = get_text(d, MNTPATHLEN, &x->path_len);
	x->groups = *d;
	while ((more = wire_export_group_next(d, &name, &name_len)) > 0) {
		if (x->ngroups++ == 0) {
			x->group = name;
			x->group_len = name_len;
		}
	}
	return more < 0 ? more : 1;
}

void wire_export_encode(struct wire_enc *e, const char *path, const char *group)
{
	wire_put_bool(e, true);
	wire_put_opaque(e, path, strlen(path));
	if (group) {
		wire_put_bool(e, true);
		wire_put_opaque(e, group, strlen(group));
	}
	wire_put_bool(e, false);
}

void wire_export_end_encode(struct wire_enc *e)
{
	wire_put_bool(e, false);
}

int wire_mountent_next(struct wire_dec *d, struct wire_mountent *m)
{
	memset(m, 0, sizeof(*m));
	if (!wire_get_bool(d))
		return d->bad ? -EBADMSG : 0;
	m->host = get_text(d, MNTNAMLEN, &m->host_len);
	m->path = get_text(d, MNTPATHLEN, &m->path_len);
	return d->bad ? -EBADMSG : 1;
}

void wire_mountent_encode(struct wire_enc *e, const char *host, const char *path)
{
	wire_put_bool(e, true);
	wire_put_opaque(e, host, strlen(host));
	wire_put_opaque(e, path, strlen(path));
}

void wire_mountent_end_encode(struct wire_enc *e)
{
	wire_put_bool(e, false);
}
