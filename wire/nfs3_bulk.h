/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nfs3_bulk.h - what the four codecs with bulk data in them share (private to wire/).
 *
 * READ's and WRITE's data, READLINK's and SYMLINK's target may travel in a chunk.  Their length
 * word stays in the stream, their bytes and padding do not (RFC 8166 section 3.4.4, RFC 8267
 * section 2).
 */
#ifndef NFSRDMA_WIRE_NFS3_BULK_H
#define NFSRDMA_WIRE_NFS3_BULK_H

#include "wire/wire.h"

/* removed: only the length word. */
static inline void wire_put_bulk(struct wire_enc *e, const uint8_t *data, uint32_t len,
				 bool removed)
{
	wire_put_u32(e, len);
	if (!removed)
		wire_put_fixed(e, data, len);
}

/* removed: NULL, and only the length word is read and held against max. */
static inline const uint8_t *wire_get_bulk(struct wire_dec *d, uint32_t max, uint32_t *lenp,
					   bool removed)
{
	uint32_t len = wire_get_u32(d);
	const uint8_t *data = NULL;

	if (len > max)
		d->bad = true;
	if (!removed)
		data = wire_get_fixed(d, len);
	*lenp = d->bad ? 0 : len;
	return data;
}

/*
 * Where a result's post_op_attr ends, for looking into results of which only the first len bytes
 * are there: the offset, -EAGAIN (more bytes needed), -ENODATA (an error status), -EBADMSG.
 */
ssize_t wire_results_after_attr(const uint8_t *results, size_t len);

#endif
