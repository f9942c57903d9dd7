/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_wire_readdir.c - READDIR's and READDIRPLUS's arguments and lists.
 */
#include <errno.h>

#include "tests/fuzz/round_trip.h"

FUZZ_CODEC_FLAG(readdir_args, args_bare, false)
FUZZ_CODEC_FLAG(readdir_args, args_plus, true)

/* Copy a whole reply from decoder to encoder; every name must lie in the message. */
static int copy_list(struct wire_dec *d, struct wire_enc *e, bool plus)
{
	struct wire_readdir_head head;
	struct wire_dirent ent = {0};
	bool eof = false;
	int more = wire_readdir_head_decode(d, &head);

	if (more)
		return more;
	wire_readdir_head_encode(e, &head);
	if (head.status)
		return 0;
	while ((more = wire_dirent_next(d, &ent, plus, &eof)) > 0) {
		FUZZ_CHECK(ent.name >= d->start && ent.name_len <= WIRE_NAME_MAX);
		FUZZ_CHECK(ent.name_len <= (size_t)(d->end - ent.name));
		if (!wire_dirent_encode(e, &ent, plus))
			return -ENOBUFS;
	}
	if (more == 0)
		wire_readdir_end_encode(e, eof);
	return more;
}

static void list(const uint8_t *data, size_t size, bool plus)
{
	uint8_t *first = malloc(size + 1), *second = malloc(size + 1);
	struct wire_enc e, again;
	struct wire_dec d;
	int err;

	FUZZ_CHECK(first && second);
	wire_dec_init(&d, data, size);
	wire_enc_init(&e, first, size);
	err = copy_list(&d, &e, plus);
	FUZZ_CHECK(!e.overflow);
	if (err == 0) {
		wire_dec_init(&d, first, wire_enc_len(&e));
		wire_enc_init(&again, second, size);
		FUZZ_CHECK(copy_list(&d, &again, plus) == 0);
		FUZZ_CHECK(wire_enc_len(&again) == wire_enc_len(&e));
		FUZZ_CHECK(memcmp(first, second, wire_enc_len(&e)) == 0);
	}
	free(second);
	free(first);
}

FUZZ_TARGET(wire_readdir)
{
	static const struct fuzz_codec codecs[] = {FUZZ_ROW(args_bare), FUZZ_ROW(args_plus)};

	if (size == 0)
		return 0;
	if (data[0] & 2)
		list(data + 1, size - 1, data[0] & 1);
	else
		fuzz_round_trip(&codecs[data[0] & 1], data + 1, size - 1);
	return 0;
}
