/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_wire_mount.c - MNT, and the lists of EXPORT and DUMP.
 */
#include <errno.h>

#include "tests/fuzz/round_trip.h"

FUZZ_CODEC(mnt_args)
FUZZ_CODEC(mnt_res)

static void inside(const struct wire_dec *d, const uint8_t *text, uint32_t len)
{
	FUZZ_CHECK(text >= d->start && text <= d->end && len <= (size_t)(d->end - text));
}

static void exports(const uint8_t *data, size_t size)
{
	struct wire_export x;
	struct wire_dec d;

	wire_dec_init(&d, data, size);
	while (wire_export_next(&d, &x) > 0) {
		const uint8_t *name;
		uint32_t name_len, ngroups = 0;

		inside(&d, x.path, x.path_len);
		while (wire_export_group_next(&x.groups, &name, &name_len) > 0) {
			inside(&d, name, name_len);
			ngroups++;
		}
		FUZZ_CHECK(ngroups == x.ngroups && (x.group != NULL) == (ngroups > 0));
	}
}

static void mountents(const uint8_t *data, size_t size)
{
	struct wire_mountent m;
	struct wire_dec d;

	wire_dec_init(&d, data, size);
	while (wire_mountent_next(&d, &m) > 0) {
		inside(&d, m.host, m.host_len);
		inside(&d, m.path, m.path_len);
	}
}

FUZZ_TARGET(wire_mount)
{
	static const struct fuzz_codec codecs[] = {FUZZ_ROW(mnt_args), FUZZ_ROW(mnt_res)};

	if (size == 0)
		return 0;
	switch (data[0] & 3) {
	case 2:
		exports(data + 1, size - 1);
		return 0;
	case 3:
		mountents(data + 1, size - 1);
		return 0;
	default:
		fuzz_round_trip(&codecs[data[0] & 1], data + 1, size - 1);
		return 0;
	}
}
