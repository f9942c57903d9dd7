/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * handle.c - what a file handle says, and that we said it.
 *
 * A client may hand in any bytes as a handle, and the kernel would open what they say: a guessed
 * inode number reaches every file of the file system, whatever is exported.  So each handle
 * carries a tag, SipHash-2-4-128 of all the rest under the server's key, cut to 96 bits.  A handle
 * with a wrong tag is never looked at further.  The tag says that we issued the handle; that the
 * object still lies beneath the export is proved elsewhere (resolve.c), each time.
 *
 *	 0  version (high 4 bits) and kind of id (low 4)
 *	 1  type of the kernel's handle, else 0
 *	 2  length of the id
 *	 3  length of the hint
 *	 4  export, 4 bytes: a keyed hash of its name and folder, so the order of options is free
 *	 8  tag, 12 bytes
 *	20  id, then for kernel ids one byte of hint type if there is a hint, then the hint
 */
#include "tools/nfsrdmad/handle.h"

#include <errno.h>
#include <string.h>

#include "util/util.h"

#define HANDLE_VERSION 1
#define HANDLE_HEAD 8
#define HANDLE_TAG 12
#define HANDLE_BODY (HANDLE_HEAD + HANDLE_TAG)

bool server_id_equal(const struct server_id *a, const struct server_id *b)
{
	return a->kind == b->kind && a->type == b->type && a->len == b->len &&
	       !memcmp(a->bytes, b->bytes, a->len);
}

/* The tag covers head and body, which are brought together without the gap it leaves. */
static void handle_tag(const uint8_t key[SERVER_KEY_LEN], const struct wire_fh *fh, uint8_t tag[16])
{
	uint8_t text[WIRE_NFS3_FHSIZE];
	size_t body = fh->len - HANDLE_BODY;

	memcpy(text, fh->data, HANDLE_HEAD);
	memcpy(text + HANDLE_HEAD, fh->data + HANDLE_BODY, body);
	server_siphash_128(key, text, HANDLE_HEAD + body, tag);
}

/* How much of the hint goes in beside the id, its type byte apart. */
static size_t hint_room(const struct server_handle *h)
{
	size_t room = WIRE_NFS3_FHSIZE - HANDLE_BODY - h->id.len;

	if (h->id.kind == SERVER_ID_KERNEL)
		return h->hint.len < room ? h->hint.len : 0;
	return h->hint.len < room ? h->hint.len : room;
}

void server_handle_encode(const uint8_t key[SERVER_KEY_LEN], const struct server_handle *h,
			  struct wire_fh *fh)
{
	size_t hint = hint_room(h);
	uint8_t tag[16], *p = fh->data;

	p[0] = (uint8_t)(HANDLE_VERSION << 4 | h->id.kind);
	p[1] = h->id.type;
	p[2] = h->id.len;
	p[3] = (uint8_t)hint;
	util_put_be32(p + 4, h->export_id);
	p += HANDLE_BODY;
	memcpy(p, h->id.bytes, h->id.len);
	p += h->id.len;
	if (hint && h->id.kind == SERVER_ID_KERNEL)
		*p++ = h->hint.type;
	memcpy(p, h->hint.bytes, hint);
	p += hint;
	fh->len = (uint32_t)(p - fh->data);
	handle_tag(key, fh, tag);
	memcpy(fh->data + HANDLE_HEAD, tag, HANDLE_TAG);
}

/* In time that does not tell how many bytes were right. */
static bool tag_equal(const uint8_t *a, const uint8_t *b)
{
	uint8_t diff = 0;

	for (size_t i = 0; i < HANDLE_TAG; i++)
		diff |= a[i] ^ b[i];
	return diff == 0;
}

int server_handle_decode(const uint8_t key[SERVER_KEY_LEN], const struct wire_fh *fh,
			 struct server_handle *h)
{
	const uint8_t *p = fh->data;
	uint8_t tag[16];
	size_t typed;

	if (fh->len < HANDLE_BODY || fh->len > WIRE_NFS3_FHSIZE)
		return -EBADF;
	handle_tag(key, fh, tag);
	if (!tag_equal(tag, p + HANDLE_HEAD))
		return -EBADF;
	/* From here on the bytes are ours; still nothing is taken on trust. */
	h->id.kind = p[0] & 15;
	h->id.type = p[1];
	h->id.len = p[2];
	h->hint.len = p[3];
	h->hint.type = 0;
	h->export_id = util_get_be32(p + 4);
	typed = h->id.kind == SERVER_ID_KERNEL && h->hint.len;
	if (p[0] >> 4 != HANDLE_VERSION ||
	    (size_t)h->id.len + typed + h->hint.len != fh->len - HANDLE_BODY)
		return -EBADF;
	p += HANDLE_BODY;
	memcpy(h->id.bytes, p, h->id.len);
	p += h->id.len;
	if (typed)
		h->hint.type = *p++;
	memcpy(h->hint.bytes, p, h->hint.len);
	return 0;
}
