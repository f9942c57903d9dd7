/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_server_call.c - a server that is called with anything, files and all.
 *
 * The input's first byte chooses the procedure (NFS 0 to 21, then MOUNT's), the second how the call
 * comes (bit 0: by RDMA, with room for a write chunk; bit 1: its last 64 bytes come in a read
 * chunk). The rest are the arguments, in which four bytes "FH0." to "FH3." stand for the handle of
 * the root, a file, a folder, a link.
 *
 * What must hold: the call is answered once, whatever is encoded fits, nothing outside the export
 * changes.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/fuzz/fuzz.h"
#include "tests/server/double.h"

enum { HANDLES = 4, BULK = 64 };

static void names(struct fixture *f, struct wire_fh fh[HANDLES])
{
	fh[0] = f->root;
	fixture_file(f, "file", "some text");
	FUZZ_CHECK(mkdir(fixture_path(f, "folder"), 0777) == 0);
	FUZZ_CHECK(symlink("file", fixture_path(f, "link")) == 0);
	FUZZ_CHECK(fixture_lookup(f, &f->root, "file", &fh[1]) == 0);
	FUZZ_CHECK(fixture_lookup(f, &f->root, "folder", &fh[2]) == 0);
	FUZZ_CHECK(fixture_lookup(f, &f->root, "link", &fh[3]) == 0);
}

static void put_arguments(struct fixture *f, const struct wire_fh fh[HANDLES], const uint8_t *data,
			  size_t size)
{
	struct wire_enc *e = fixture_args(f);

	while (size >= 4) {
		if (memcmp(data, "FH", 2) == 0 && data[2] >= '0' && data[2] < '0' + HANDLES)
			wire_put_fh(e, &fh[data[2] - '0']);
		else
			wire_put_u32(e, util_get_be32(data));
		data += 4;
		size -= 4;
	}
}

FUZZ_TARGET(server_call)
{
	const unsigned procs = WIRE_NFS3_PROC_COUNT + 6; /* MOUNT has 0 to 5 */
	struct wire_fh fh[HANDLES];
	struct fixture *f;
	struct stat st;
	unsigned proc;

	if (size < 2)
		return 0;
	f = fixture_open(FIXTURE_NO_URING, NULL);
	names(f, fh);
	proc = data[0] % procs;
	f->rdma = data[1] & 1;
	f->sink_room = f->rdma ? 1 << 20 : 0;
	if (proc >= WIRE_NFS3_PROC_COUNT) {
		proc -= WIRE_NFS3_PROC_COUNT;
		f->prog = WIRE_MOUNT_PROG;
	}
	if (data[1] & 2 && size >= 2 + BULK) {
		f->bulk = data + size - BULK;
		f->bulk_len = BULK;
		size -= BULK;
	}
	put_arguments(f, fh, data + 2, size - 2);
	fixture_call_bare(f, proc);
	FUZZ_CHECK(f->answered);
	FUZZ_CHECK(stat(f->export_dir, &st) == 0 && S_ISDIR(st.st_mode));
	fixture_close(f, false);
	return 0;
}
