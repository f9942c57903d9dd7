/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * xdr_bridge.c - runs a codec that rpcgen wrote over one of our cursors, on libtirpc's memory
 * stream.
 *
 * The stream is given exactly what the cursor has left, so libtirpc's bounds are ours.  Every
 * variable item of the .x files has a bound, so what a decoder may allocate is bounded too: a few
 * hundred bytes. An object is zeroed before it is decoded into, hence a decode that fails half way
 * can be handed to the same codec in its freeing mode, and nothing leaks.
 */
#include "wire/wire.h"

#include <errno.h>
#include <string.h>
#include <rpc/rpc.h>

typedef bool_t xdr_fn(XDR *xdrs, void *object);

/* libtirpc counts in u_int; no message of ours comes near that. */
static u_int clamp(size_t len)
{
	return len > INT32_MAX ? INT32_MAX : (u_int)len;
}

int wire_xdr_encode(struct wire_enc *e, void *proc, const void *object)
{
	xdr_fn *fn = (xdr_fn *)proc;
	XDR xdrs;

	if (e->overflow)
		return -EMSGSIZE;
	xdrmem_create(&xdrs, (char *)e->p, clamp((size_t)(e->end - e->p)), XDR_ENCODE);
	if (!fn(&xdrs, (void *)object)) {
		e->overflow = true;
		return -EMSGSIZE;
	}
	e->p += xdr_getpos(&xdrs);
	return 0;
}

int wire_xdr_decode_sized(struct wire_dec *d, void *proc, void *object, size_t size)
{
	xdr_fn *fn = (xdr_fn *)proc;
	XDR xdrs;

	memset(object, 0, size);
	if (d->bad)
		return -EBADMSG;
	xdrmem_create(&xdrs, (char *)d->p, clamp(wire_dec_left(d)), XDR_DECODE);
	if (!fn(&xdrs, object)) {
		wire_xdr_free(proc, object);
		memset(object, 0, size);
		d->bad = true;
		return -EBADMSG;
	}
	d->p += xdr_getpos(&xdrs);
	return 0;
}

void wire_xdr_free(void *proc, void *object)
{
	xdr_fn *fn = (xdr_fn *)proc;
	XDR xdrs = {.x_op = XDR_FREE};

	fn(&xdrs, object);
}
