/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_data.c - READ, WRITE, COMMIT.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <signal.h>
#include <unistd.h>

#include "tests/server/double.h"

Test(server_data, what_was_written_is_read)
{
	static const unsigned flags[] = {0, FIXTURE_NO_URING, FIXTURE_WALK};

	for (size_t i = 0; i < UTIL_ARRAY_SIZE(flags); i++) {
		struct fixture *f = fixture_open(flags[i], NULL);
		struct wire_write_res w;
		struct wire_read_res r;
		struct wire_fh fh;

		cr_assert_eq(fixture_create(f, &f->root, "file", 0644, &fh), NFS3_OK);
		cr_assert_eq(fixture_write(f, &fh, 0, "hello, world", 12, WIRE_UNSTABLE, &w),
			     NFS3_OK);
		cr_expect_eq(w.count, 12);
		cr_expect_eq(w.committed, WIRE_UNSTABLE);
		cr_assert(w.wcc.before.present && w.wcc.after.present);
		cr_expect_eq(w.wcc.before.size, 0);
		cr_expect_eq(w.wcc.after.attr.size, 12);
		cr_assert_eq(fixture_read(f, &fh, 0, 100, &r), NFS3_OK);
		cr_expect_eq(r.count, 12);
		cr_expect(r.eof);
		cr_expect_arr_eq(r.data, "hello, world", 12);
		cr_assert_eq(fixture_read(f, &fh, 7, 3, &r), NFS3_OK);
		cr_expect_eq(r.count, 3);
		cr_expect(!r.eof);
		cr_expect_arr_eq(r.data, "wor", 3);
		fixture_close(f, false);
	}
}

/* Size x count x offset against a file of known contents. */
Test(server_data, reads_exactly_what_there_is)
{
	static const uint32_t sizes[] = {0, 1, 4095, 4096, 4097, 300001};
	static const uint32_t counts[] = {0, 1, 4096, 65536, 1048576, UINT32_MAX};
	struct fixture *f = fixture_open(0, NULL);
	uint8_t *pattern = malloc(300001);

	for (uint32_t i = 0; i < 160001; i++)
		pattern[i] = (uint8_t)(i * 7 + i / 256);
	for (size_t s = 0; s < UTIL_ARRAY_SIZE(sizes); s++) {
		struct wire_write_res w;
		struct wire_fh fh;
		char name[] = "file0";

		name[4] = (char)('0' + s);
		cr_assert_eq(fixture_create(f, &f->root, name, 0644, &fh), NFS3_OK);
		if (sizes[s])
			cr_assert_eq(fixture_write(f, &fh, 0, pattern, sizes[s], WIRE_UNSTABLE, &w),
				     NFS3_OK);
		for (size_t c = 0; c < UTIL_ARRAY_SIZE(counts); c++) {
			const uint64_t offsets[] = {0,
						    1,
						    4096,
						    sizes[s] ? sizes[s] - 1 : 0,
						    sizes[s],
						    sizes[s] + 1,
						    UINT64_C(1) << 31,
						    UINT64_C(1) << 32,
						    INT64_MAX};

			for (size_t o = 0; o < UTIL_ARRAY_SIZE(offsets); o++) {
				uint64_t left = offsets[o] < sizes[s] ? sizes[s] - offsets[o] : 0;
				uint32_t expect = counts[c] < left ? counts[c] : (uint32_t)left;
				struct wire_read_res r;

				cr_assert_eq(fixture_read(f, &fh, offsets[o], counts[c], &r),
					     NFS3_OK);
				cr_assert_eq(r.count, expect);
				cr_assert_eq(r.eof, expect == left);
				cr_assert(expect == 0 ||
					  !memcmp(r.data, pattern + offsets[o], expect));
			}
		}
	}
	free(pattern);
	fixture_close(f, false);
}

Test(server_data, offsets_beyond_what_a_file_can_be_are_refused)
{
	struct fixture *f = fixture_open(0, NULL);
	struct wire_write_res w;
	struct wire_read_res r;
	struct wire_fh fh;

	cr_assert_eq(fixture_create(f, &f->root, "file", 0644, &fh), NFS3_OK);
	cr_expect_eq(fixture_read(f, &fh, UINT64_C(1) << 63, 1, &r), NFS3ERR_INVAL);
	cr_expect_eq(fixture_read(f, &fh, UINT64_MAX, 1, &r), NFS3ERR_INVAL);
	cr_expect_eq(fixture_write(f, &fh, UINT64_C(1) << 63, "x", 1, WIRE_UNSTABLE, &w),
		     NFS3ERR_FBIG);
	cr_expect_eq(fixture_write(f, &fh, INT64_MAX, "x", 1, WIRE_UNSTABLE, &w), NFS3ERR_FBIG);
	cr_expect_eq(fixture_write(f, &fh, UINT64_MAX, "xy", 2, WIRE_UNSTABLE, &w), NFS3ERR_FBIG);
	/* the file system's own limit */
	cr_expect_eq(fixture_write(f, &fh, INT64_MAX - 1, "x", 1, WIRE_UNSTABLE, &w), NFS3ERR_FBIG);
	fixture_close(f, false);
}

Test(server_data, a_sparse_file_beyond_4_gib_works)
{
	struct fixture *f = fixture_open(0, NULL);
	const uint64_t at = (UINT64_C(5) << 30) + 3;
	struct wire_write_res w;
	struct wire_read_res r;
	struct wire_fh fh;

	cr_assert_eq(fixture_create(f, &f->root, "file", 0644, &fh), NFS3_OK);
	cr_assert_eq(fixture_write(f, &fh, at, "end", 3, WIRE_UNSTABLE, &w), NFS3_OK);
	cr_assert_eq(fixture_read(f, &fh, at - 3, 100, &r), NFS3_OK);
	cr_expect_eq(r.count, 6);
	cr_expect(r.eof);
	cr_expect_arr_eq(r.data, "\0\0\0end", 6);
	fixture_close(f, false);
}

Test(server_data, what_the_page_cache_has_not_comes_from_the_disk)
{
	struct fixture *f = fixture_open(0, NULL);
	static uint8_t data[1 << 20];
	struct wire_write_res w;
	struct wire_read_res r;
	struct wire_fh fh;
	int fd;

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i / 4096 + i);
	cr_assert_eq(fixture_create(f, &f->root, "file", 0644, &fh), NFS3_OK);
	cr_assert_eq(fixture_write(f, &fh, 0, data, sizeof(data), WIRE_FILE_SYNC, &w), NFS3_OK);
	server_as_self(f->w);
	fd = open(fixture_path(f, "file"), O_RDONLY);
	cr_assert_eq(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
	/* half of it in the cache: the rest is fetched behind it */
	cr_assert_eq(pread(fd, f->args_buf, 4096, 0), 4096);
	close(fd);
	cr_assert_eq(fixture_read(f, &fh, 0, sizeof(data), &r), NFS3_OK);
	cr_expect_eq(r.count, sizeof(data));
	cr_expect(!memcmp(r.data, data, sizeof(data)));
	fixture_close(f, false);
}

Test(server_data, a_read_fits_the_room_the_client_has)
{
	struct fixture *f = fixture_open(0, NULL);
	static uint8_t data[8192];
	struct wire_write_res w;
	struct wire_read_res r;
	struct wire_fh fh;

	cr_assert_eq(fixture_create(f, &f->root, "file", 0644, &fh), NFS3_OK);
	cr_assert_eq(fixture_write(f, &fh, 0, data, sizeof(data), WIRE_UNSTABLE, &w), NFS3_OK);
	f->rdma = true;
	f->sink_room = 1000;
	f->reply_room = 1024;
	cr_assert_eq(fixture_read(f, &fh, 0, 8192, &r), NFS3_OK);
	cr_expect_eq(r.count, 1000);
	cr_expect(!r.eof);
	f->sink_room = 0; /* inline */
	cr_assert_eq(fixture_read(f, &fh, 0, 8192, &r), NFS3_OK);
	cr_expect(r.count > 500 && f->reply_len <= WIRE_RPC_REPLY_LEN + 1024);
	cr_expect(!r.eof);
	fixture_close(f, false);
}

Test(server_data, stability_is_as_asked_and_the_verifier_lasts_a_run)
{
	struct fixture *f = fixture_open(0, NULL);
	struct wire_write_res w[3];
	char folder[128];
	struct wire_fh fh;
	struct wire_wcc wcc;

	cr_assert_eq(fixture_create(f, &f->root, "file", 0644, &fh), NFS3_OK);
	for (unsigned stable = 0; stable < 3; stable++) {
		cr_assert_eq(fixture_write(f, &fh, stable, "x", 1, stable, &w[stable]), NFS3_OK);
		cr_expect_eq(w[stable].committed, stable);
		cr_expect_arr_eq(w[stable].verf, w[0].verf, 8);
	}
	wire_put_fh(fixture_args(f), &fh);
	wire_put_u64(&f->args, 0);
	wire_put_u32(&f->args, 0);
	cr_assert_eq(fixture_call(f, WIRE_NFS3_COMMIT), NFS3_OK);
	wire_get_wcc(&f->res, &wcc);
	cr_expect(wcc.before.present && wcc.after.present);
	cr_expect_arr_eq(wire_get_fixed(&f->res, 8), w[0].verf, 8);
	memcpy(folder, f->dir, sizeof(folder));
	fixture_close(f, true);
	f = fixture_open(0, folder);
	cr_assert_eq(fixture_write(f, &fh, 0, "x", 1, WIRE_UNSTABLE, &w[1]), NFS3_OK);
	cr_expect(memcmp(w[1].verf, w[0].verf, 8), "a new start, a new verifier");
	fixture_close(f, false);
}

Test(server_data, bad_write_arguments_are_garbage)
{
	struct fixture *f = fixture_open(0, NULL);
	struct wire_enc *e;
	struct wire_fh fh;

	cr_assert_eq(fixture_create(f, &f->root, "file", 0644, &fh), NFS3_OK);
	for (int i = 0; i < 5; i++) {
		e = fixture_args(f);
		wire_put_fh(e, &fh);
		wire_put_u64(e, 0);
		wire_put_u32(e, i == 0 ? 5 : 4);	     /* count is not the data's length */
		wire_put_u32(e, i == 1 ? 3 : WIRE_UNSTABLE); /* no such stability */
		if (i == 2) {
			wire_put_u32(e, 4); /* no data follows */
		} else if (i == 3) {
			wire_put_u32(e, 4); /* a read chunk shorter than it says */
			f->bulk = "abc";
			f->bulk_len = 3;
		} else if (i == 4) {
			wire_put_u32(e, 4); /* a read chunk that belongs elsewhere */
			f->bulk = "abcd";
			f->bulk_len = 4;
			f->bulk_pos = 8;
		} else {
			wire_put_opaque(e, "abcd", 4);
		}
		fixture_call(f, WIRE_NFS3_WRITE);
		cr_expect(f->refused && f->error.stat == WIRE_GARBAGE_ARGS, "case %d", i);
	}
	/* and on a procedure whose arguments never come in one */
	f->bulk = "abcd";
	f->bulk_len = 4;
	cr_expect_eq(fixture_getattr(f, &fh, NULL), UINT32_MAX);
	cr_expect(f->refused && f->error.stat == WIRE_GARBAGE_ARGS);
	fixture_close(f, false);
}

Test(server_data, a_full_disk_is_told)
{
	struct fixture *f = fixture_open(0, NULL);
	const struct rlimit limit = {8192, 8192};
	static uint8_t data[16384];
	struct wire_write_res w;
	struct wire_fh fh;

	/* a file size limit is the full disk that needs no disk */
	signal(SIGXFSZ, SIG_IGN);
	cr_assert_eq(fixture_create(f, &f->root, "file", 0644, &fh), NFS3_OK);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	cr_assert_eq(fixture_write(f, &fh, 0, data, sizeof(data), WIRE_UNSTABLE, &w), NFS3_OK);
	cr_expect_eq(w.count, 8192, "what went in is told");
	cr_expect_eq(fixture_write(f, &fh, 8192, data, 10, WIRE_UNSTABLE, &w), NFS3ERR_FBIG);
	fixture_close(f, false);
}

Test(server_data, descriptors_stay_within_their_limit)
{
	struct fixture *f = fixture_open(FIXTURE_FEW_FDS, NULL);
	struct wire_write_res w;
	struct wire_read_res r;
	struct wire_fh fh[160];
	char name[16];

	for (int i = 0; i < 160; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		cr_assert_eq(fixture_create(f, &f->root, name, 0644, &fh[i]), NFS3_OK);
		cr_assert_eq(fixture_write(f, &fh[i], 0, name, 4, WIRE_UNSTABLE, &w), NFS3_OK);
		cr_assert_eq(fixture_read(f, &fh[i], 0, 4, &r), NFS3_OK);
		cr_expect_leq(server_objects_fds(f->srv->objects), 100 + 3);
	}
	for (int i = 0; i < 160; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		cr_assert_eq(fixture_read(f, &fh[i], 0, 4, &r), NFS3_OK);
		cr_expect(!memcmp(r.data, name, 3));
	}
	fixture_close(f, false);
}

Test(server_data, what_is_idle_is_closed)
{
	struct fixture *f = fixture_open(0, NULL);
	struct wire_write_res w;
	struct wire_fh fh;
	bool failed;

	cr_assert_eq(fixture_create(f, &f->root, "file", 0644, &fh), NFS3_OK);
	cr_assert_eq(fixture_write(f, &fh, 0, "x", 1, WIRE_UNSTABLE, &w), NFS3_OK);
	cr_expect_gt(server_objects_count(f->srv->objects), 0);
	server_objects_tick(f->srv->objects, util_clock_ns(), 10 * UTIL_NS_PER_S,
			    60 * UTIL_NS_PER_S, &failed);
	cr_expect_gt(server_objects_count(f->srv->objects), 0);
	server_objects_tick(f->srv->objects, util_clock_ns() + 61 * UTIL_NS_PER_S,
			    10 * UTIL_NS_PER_S, 60 * UTIL_NS_PER_S, &failed);
	cr_expect_eq(server_objects_count(f->srv->objects), 0);
	cr_expect_eq(server_objects_fds(f->srv->objects), 0);
	cr_expect(!failed);
	fixture_close(f, false);
}

/* Calls, errors and bytes as server_tally_print() tells them, once the worker is gone, too. */
Test(server_data, answers_are_counted)
{
	struct fixture *f = fixture_open(FIXTURE_NULL, NULL);
	struct server_tally *tally = &f->srv->tally;
	struct wire_write_res w;
	struct wire_read_res r;
	struct wire_fh fh;
	char *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	cr_assert_eq(fixture_create(f, &f->root, "file", 0644, &fh), NFS3_OK);
	cr_assert_eq(fixture_write(f, &fh, 0, "hello, world", 12, WIRE_UNSTABLE, &w), NFS3_OK);
	cr_assert_eq(fixture_read(f, &fh, 0, 100, &r), NFS3_OK);
	cr_assert_eq(fixture_read(f, &fh, 7, 3, &r), NFS3_OK);
	cr_assert_neq(fixture_read(f, &f->root, 0, 3, &r), NFS3_OK);
	cr_expect_eq(tally->ended.calls[WIRE_NFS3_READ], 0);
	server_tally_leave(tally, &f->w->counts);
	cr_expect_eq(tally->ended.calls[WIRE_NFS3_READ], 3);
	cr_expect_eq(tally->ended.errors[WIRE_NFS3_READ], 1);
	memset(&f->w->counts, 0, sizeof(f->w->counts));
	server_tally_join(tally, &f->w->counts);
	server_tally_print(tally, out);
	fclose(out);
	cr_expect_not_null(strstr(text, "\"READ\":3,\"WRITE\":1,\"CREATE\":1"), "%s", text);
	cr_expect_not_null(
		strstr(text, "\"errors\":{\"READ\":1},\"read_bytes\":15,\"written_bytes\":12}\n"),
		"%s", text);
	free(text);
	fixture_close(f, false);
}
