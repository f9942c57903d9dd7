/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_wire_generated.c - what rpcgen wrote, by way of wire_xdr_decode and its bounds.
 *
 * The first byte of an input picks the type; new types are added at the end, so that corpora keep
 * their meaning.
 */
#include "tests/fuzz/round_trip.h"
#include "wire/mount_xdr.h"
#include "wire/nfs3_xdr.h"

/* clang-format off */
#define TYPES(X) \
	X(GETATTR3args) X(GETATTR3res) X(SETATTR3args) X(SETATTR3res) X(LOOKUP3args) X(LOOKUP3res) \
	X(ACCESS3args) X(ACCESS3res) X(READLINK3args) X(CREATE3args) X(CREATE3res) X(MKDIR3args) \
	X(MKDIR3res) X(SYMLINK3res) X(MKNOD3args) X(MKNOD3res) X(REMOVE3args) X(REMOVE3res) \
	X(RMDIR3args) X(RMDIR3res) X(RENAME3args) X(RENAME3res) X(LINK3args) X(LINK3res) \
	X(FSSTAT3args) X(FSSTAT3res) X(FSINFO3args) X(FSINFO3res) X(PATHCONF3args) X(PATHCONF3res) \
	X(COMMIT3args) X(COMMIT3res) X(mountres3)
/* clang-format on */

#define CODEC(type)                                                                                \
	static int decode_##type(struct wire_dec *d, void *o)                                      \
	{                                                                                          \
		return wire_xdr_decode(d, xdr_##type, (type *)o);                                  \
	}                                                                                          \
	static void encode_##type(struct wire_enc *e, const void *o)                               \
	{                                                                                          \
		wire_xdr_encode(e, (void *)xdr_##type, o);                                         \
	}                                                                                          \
	static void release_##type(void *o)                                                        \
	{                                                                                          \
		wire_xdr_free((void *)xdr_##type, o);                                              \
	}
TYPES(CODEC)

#define ROW(type) {decode_##type, encode_##type, release_##type},

FUZZ_TARGET(wire_generated)
{
	static const struct fuzz_codec codecs[] = {TYPES(ROW)};

	return fuzz_pick(codecs, sizeof(codecs) / sizeof(codecs[0]), data, size);
}
