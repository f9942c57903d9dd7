/* SPDX-License-Identifier: BSD-2-Clause */
/* test_io.c - reading and writing: sizes, offsets, ends of file, servers that give less or lie. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "tests/client/fake_nfs.h"

#define TIMEOUT .timeout = 60

static struct nfsrdma_file *open_file(struct nfsrdma *mount, const char *path, int flags)
{
	struct nfsrdma_file *file = NULL;

	cr_assert_eq(nfsrdma_open(mount, &file, path, flags, 0644), 0, "%s",
		     nfsrdma_strerror_last());
	return file;
}

static struct nfsrdma_buf *get_buf(struct nfsrdma *mount, size_t len, int flags)
{
	struct nfsrdma_buf *buf = NULL;

	cr_assert_eq(nfsrdma_buf_get(mount, &buf, len, flags), 0, "%s", nfsrdma_strerror_last());
	return buf;
}

static void assert_pattern(const uint8_t *bytes, uint64_t off, size_t len)
{
	for (size_t i = 0; i < len; i++)
		cr_assert_eq(bytes[i], fake_byte(off + i), "byte %llu",
			     (unsigned long long)(off + i));
}

/* What a read of count at off from a file of size must return. */
static ssize_t expected(uint64_t size, size_t count, uint64_t off)
{
	if (off >= size)
		return 0;
	return size - off < count ? (ssize_t)(size - off) : (ssize_t)count;
}

static void check_read(struct nfsrdma_file *file, struct nfsrdma_buf *buf, uint64_t size,
		       size_t count, uint64_t off)
{
	uint8_t *bytes = nfsrdma_buf_addr(buf);
	ssize_t want = expected(size, count, off), n;
	uint8_t *plain = malloc(count + 1);

	memset(bytes, 0xee, count + 1);
	n = nfsrdma_pread(file, buf, 0, count, off);
	cr_assert_eq(n, want, "size %llu count %zu off %llu: %zd", (unsigned long long)size, count,
		     (unsigned long long)off, n);
	assert_pattern(bytes, off, (size_t)n);
	cr_assert_eq(bytes[count], 0xee, "wrote past the end");
	memset(plain, 0xee, count + 1);
	n = nfsrdma_pread_copy(file, plain, count, off);
	cr_assert_eq(n, want);
	assert_pattern(plain, off, (size_t)n);
	cr_assert_eq(plain[count], 0xee);
	free(plain);
}

Test(client_io, reads_what_is_there_for_every_size_count_and_offset, TIMEOUT)
{
	static const uint64_t sizes[] = {0, 1, 511, 4095, 4096, 4097, 16384, 40000};
	static const size_t counts[] = {0, 1, 7, 4095, 4096, 4097, 12288, 50000};
	static const uint64_t offs[] = {0, 1, 4095, 4096, 4097, 39999, 40000, 1u << 20};
	struct fake_nfs *f = fake_start();
	struct nfsrdma *mount = fake_mount(f, "rsize=4k");
	struct nfsrdma_buf *buf = get_buf(mount, 50001, NFSRDMA_BUF_READ);

	for (size_t s = 0; s < 8; s++) {
		char path[16] = {'/', (char)('a' + s), 0};
		struct nfsrdma_file *file;

		fake_file(f, path, sizes[s]);
		file = open_file(mount, path, O_RDONLY);
		for (size_t c = 0; c < 8; c++)
			for (size_t o = 0; o < 8; o++)
				check_read(file, buf, sizes[s], counts[c], offs[o]);
		cr_assert_eq(nfsrdma_close(file), 0);
	}
	nfsrdma_buf_put(buf);
	nfsrdma_umount(mount);
	fake_stop(f);
}

Test(client_io, reads_around_the_great_powers_of_two, TIMEOUT)
{
	static const uint64_t edges[] = {UINT64_C(1) << 31, UINT64_C(1) << 32, UINT64_C(1) << 40,
					 INT64_MAX};
	struct fake_nfs *f = fake_start();
	struct nfsrdma *mount = fake_mount(f, "rsize=4k");
	struct nfsrdma_buf *buf = get_buf(mount, 50001, NFSRDMA_BUF_READ);
	struct nfsrdma_file *file;

	fake_file(f, "/huge", INT64_MAX);
	file = open_file(mount, "/huge", O_RDONLY);
	for (size_t i = 0; i < 4; i++) {
		check_read(file, buf, INT64_MAX, 20000, edges[i] - 10000);
		check_read(file, buf, INT64_MAX, 20000, edges[i] - 20000);
		check_read(file, buf, INT64_MAX, 20000, edges[i] - 1);
		check_read(file, buf, INT64_MAX, 20000, edges[i]);
	}
	cr_assert_eq(nfsrdma_pread(file, buf, 0, 10, UINT64_C(1) << 63), -EINVAL);
	cr_assert_eq(nfsrdma_pread(file, buf, 0, 10, UINT64_MAX), -EINVAL);
	nfsrdma_umount(mount);
	fake_stop(f);
}

Test(client_io, writes_arrive_where_they_were_meant, TIMEOUT)
{
	static const uint64_t offs[] = {0,
					1,
					4095,
					4096,
					(UINT64_C(1) << 31) - 5000,
					(UINT64_C(1) << 32) - 5000,
					INT64_MAX - 20000};
	static const size_t counts[] = {1, 4095, 4096, 4097, 20000};
	struct fake_nfs *f = fake_start();
	struct nfsrdma *mount = fake_mount(f, "wsize=4k");
	struct nfsrdma_buf *buf = get_buf(mount, 20000, NFSRDMA_BUF_WRITE);
	struct nfsrdma_file *file = open_file(mount, "/out", O_RDWR | O_CREAT);
	uint8_t *bytes = nfsrdma_buf_addr(buf);

	for (size_t o = 0; o < 7; o++) {
		for (size_t c = 0; c < 5; c++) {
			for (size_t i = 0; i < counts[c]; i++)
				bytes[i] = (uint8_t)(i * 7 + o + c);
			cr_assert_eq(nfsrdma_pwrite(file, buf, 0, counts[c], offs[o]),
				     (ssize_t)counts[c], "%s", nfsrdma_strerror_last());
			cr_assert(fake_holds(f, "/out", offs[o], bytes, counts[c], false));
			bytes[0]++;
			cr_assert_eq(nfsrdma_pwrite_copy(file, bytes, counts[c], offs[o]),
				     (ssize_t)counts[c]);
			cr_assert(fake_holds(f, "/out", offs[o], bytes, counts[c], false));
		}
	}
	cr_assert_eq(nfsrdma_pwrite(file, buf, 0, 2, INT64_MAX - 1), -EFBIG);
	cr_assert_eq(nfsrdma_pwrite(file, buf, 0, 1, UINT64_MAX), -EINVAL);
	cr_assert_eq(nfsrdma_close(file), 0, "%s", nfsrdma_strerror_last());
	cr_assert_eq(fake_size(f, "/out"), (uint64_t)INT64_MAX);
	nfsrdma_umount(mount);
	fake_stop(f);
}

Test(client_io, short_replies_are_carried_on_with, TIMEOUT)
{
	struct fake_nfs *f = fake_start();
	struct nfsrdma *mount = fake_mount(f, "rsize=4k&wsize=4k");
	struct nfsrdma_buf *buf = get_buf(mount, 20001, NFSRDMA_BUF_READ | NFSRDMA_BUF_WRITE);
	struct nfsrdma_file *file;

	fake_file(f, "/short", 20000);
	fake_rule(f, WIRE_NFS3_READ, 0, UINT32_MAX, FAKE_SHORT, 999);
	fake_rule(f, WIRE_NFS3_WRITE, 0, UINT32_MAX, FAKE_SHORT, 777);
	file = open_file(mount, "/short", O_RDWR);
	check_read(file, buf, 20000, 20000, 0);
	check_read(file, buf, 20000, 5000, 17000);
	memset(nfsrdma_buf_addr(buf), 'w', 20000);
	cr_assert_eq(nfsrdma_pwrite(file, buf, 0, 20000, 3), 20000);
	cr_assert(fake_holds(f, "/short", 3, nfsrdma_buf_addr(buf), 20000, false));
	cr_assert_eq(nfsrdma_pwrite_copy(file, nfsrdma_buf_addr(buf), 20000, 30000), 20000);
	cr_assert(fake_holds(f, "/short", 30000, nfsrdma_buf_addr(buf), 20000, false));
	cr_assert_eq(nfsrdma_close(file), 0);
	nfsrdma_umount(mount);
	fake_stop(f);
}

/* Apply a rule to READ or WRITE; the call must fail with EIO and harm nothing around it. */
static void check_lie(uint32_t proc, enum fake_action action, uint64_t arg)
{
	struct fake_nfs *f = fake_start();
	struct nfsrdma *mount = fake_mount(f, "rsize=4k&wsize=4k");
	struct nfsrdma_buf *buf = get_buf(mount, 16384, NFSRDMA_BUF_READ | NFSRDMA_BUF_WRITE);
	struct nfsrdma_file *file;
	uint8_t *bytes = nfsrdma_buf_addr(buf);

	fake_file(f, "/file", 20000);
	file = open_file(mount, "/file", O_RDWR);
	memset(bytes, 0xee, 16384);
	fake_rule(f, proc, 0, UINT32_MAX, action, arg);
	if (proc == WIRE_NFS3_READ)
		cr_assert_eq(nfsrdma_pread(file, buf, 0, 4096, 0), -EIO, "action %d arg %d", action,
			     (int)arg);
	else
		cr_assert_eq(nfsrdma_pwrite(file, buf, 0, 4096, 0), -EIO, "action %d write arg %d",
			     action, (int)arg);
	for (size_t i = 4096; i < 16384; i++)
		cr_assert_eq(bytes[i], 0xee, "action %d wrote outside", action);
	nfsrdma_umount(mount);
	fake_stop(f);
}

Test(client_io, counts_beyond_what_was_asked_fail_the_call, TIMEOUT)
{
	check_lie(WIRE_NFS3_READ, FAKE_COUNT_PLUS, 1);
	check_lie(WIRE_NFS3_READ, FAKE_COUNT_PLUS, 4000);
	check_lie(WIRE_NFS3_WRITE, FAKE_COUNT_PLUS, 1);
	check_lie(WIRE_NFS3_WRITE, FAKE_COUNT_PLUS, UINT32_MAX - 5000);
}

Test(client_io, no_progress_is_an_error_and_not_a_loop, TIMEOUT)
{
	check_lie(WIRE_NFS3_READ, FAKE_EMPTY, 0);
	check_lie(WIRE_NFS3_WRITE, FAKE_EMPTY, 0);
}

Test(client_io, replies_cut_short_or_mangled_fail_the_call, TIMEOUT)
{
	static const unsigned read_cuts[] = {0, 4, 8, 91, 92, 96, 100, 103, 104, 105, 4000};
	static const unsigned write_cuts[] = {0, 3, 4, 8, 12, 16, 20, 27};

	for (size_t i = 0; i < sizeof(read_cuts) / sizeof(read_cuts[0]); i++)
		check_lie(WIRE_NFS3_READ, FAKE_CUT_REPLY, read_cuts[i]);
	for (size_t i = 0; i < sizeof(write_cuts) / sizeof(write_cuts[0]); i++)
		check_lie(WIRE_NFS3_WRITE, FAKE_CUT_REPLY, write_cuts[i]);
	check_lie(WIRE_NFS3_WRITE, FAKE_GARBAGE, 200);
}

Test(client_io, a_sync_write_called_unstable_is_not_believed, TIMEOUT)
{
	struct fake_nfs *f = fake_start();
	struct nfsrdma *mount = fake_mount(f, "write=filesync");
	struct nfsrdma_file *file = open_file(mount, "/x", O_WRONLY | O_CREAT);

	fake_rule(f, WIRE_NFS3_WRITE, 0, 1, FAKE_UNSTABLE, 0);
	cr_assert_eq(nfsrdma_pwrite_copy(file, "abc", 3, 0), -EIO);
	cr_assert_eq(nfsrdma_pwrite_copy(file, "abc", 3, 0), 3);
	cr_assert_eq(nfsrdma_close(file), 0);
	cr_assert_eq(fake_calls(f, WIRE_NFS3_COMMIT), 0u);
	nfsrdma_umount(mount);
	fake_stop(f);
}

Test(client_io, an_error_past_the_first_byte_is_a_short_count, TIMEOUT)
{
	struct fake_nfs *f = fake_start();
	struct nfsrdma *mount = fake_mount(f, "rsize=4k&wsize=4k");
	struct nfsrdma_buf *buf = get_buf(mount, 40960, NFSRDMA_BUF_READ | NFSRDMA_BUF_WRITE);
	struct nfsrdma_file *file;

	fake_file(f, "/file", 40960);
	file = open_file(mount, "/file", O_RDWR);
	fake_rule(f, WIRE_NFS3_READ, 3, 1, FAKE_STATUS, 5);
	cr_assert_eq(nfsrdma_pread(file, buf, 0, 40960, 0), 3 * 4096);
	fake_rule(f, WIRE_NFS3_READ, 0, 1, FAKE_STATUS, 5);
	cr_assert_eq(nfsrdma_pread(file, buf, 0, 40960, 0), -EIO);
	cr_assert_eq(nfsrdma_nfs_status_last(), 5u);
	cr_assert(strstr(nfsrdma_strerror_last(), "read /file"), "%s", nfsrdma_strerror_last());
	fake_rule(f, WIRE_NFS3_WRITE, 2, 1, FAKE_STATUS, 28);
	cr_assert_eq(nfsrdma_pwrite(file, buf, 0, 40960, 0), 2 * 4096);
	fake_rule(f, WIRE_NFS3_WRITE, 0, 1, FAKE_STATUS, 28);
	cr_assert_eq(nfsrdma_pwrite(file, buf, 0, 40960, 0), -ENOSPC);
	fake_rule(f, WIRE_NFS3_WRITE, 0, 1, FAKE_STATUS, 69);
	cr_assert_eq(nfsrdma_pwrite(file, buf, 0, 10, 0), -EDQUOT);
	nfsrdma_umount(mount);
	fake_stop(f);
}

Test(client_io, stale_handles_stay_stale_and_do_not_become_eio, TIMEOUT)
{
	struct fake_nfs *f = fake_start();
	struct nfsrdma *mount = fake_mount(f, "");
	struct nfsrdma_file *file;
	char byte;

	fake_file(f, "/file", 10);
	file = open_file(mount, "/file", O_RDWR);
	fake_remove(f, "/file");
	cr_assert_eq(nfsrdma_pread_copy(file, &byte, 1, 0), -ESTALE);
	cr_assert_eq(nfsrdma_nfs_status_last(), 70u);
	cr_assert(strstr(nfsrdma_hint_last(), "open it again"));
	cr_assert_eq(nfsrdma_pwrite_copy(file, "x", 1, 0), -ESTALE);
	cr_assert_eq(nfsrdma_close(file), 0);
	nfsrdma_umount(mount);
	fake_stop(f);
}

Test(client_io, jukebox_is_waited_out_and_never_shown, TIMEOUT)
{
	struct fake_nfs *f = fake_start();
	struct nfsrdma *mount = fake_mount(f, "rsize=4k");
	struct nfsrdma_file *file;
	uint8_t bytes[10000];

	fake_file(f, "/file", 10000);
	fake_rule(f, WIRE_NFS3_LOOKUP, 0, 1, FAKE_STATUS, 10008);
	fake_rule(f, WIRE_NFS3_READ, 1, 2, FAKE_STATUS, 10008);
	file = open_file(mount, "/file", O_RDONLY);
	cr_assert_eq(nfsrdma_pread_copy(file, bytes, 10000, 0), 10000);
	assert_pattern(bytes, 0, 10000);
	cr_assert_eq(fake_calls(f, WIRE_NFS3_READ), 5u);
	nfsrdma_umount(mount);
	fake_stop(f);
}

Test(client_io, a_soft_mount_tires_of_jukebox, TIMEOUT)
{
	struct fake_nfs *f = fake_start();
	struct nfsrdma *mount = fake_mount(f, "soft&timeo=2&retrans=1");
	struct stat st;

	fake_rule(f, WIRE_NFS3_LOOKUP, 0, UINT32_MAX, FAKE_STATUS, 10008);
	cr_assert_eq(nfsrdma_stat(mount, "/x", &st), -ETIMEDOUT);
	cr_assert(strstr(nfsrdma_strerror_last(), "JUKEBOX"));
	nfsrdma_umount(mount);
	fake_stop(f);
}

Test(client_io, many_calls_are_in_flight_for_one_request, TIMEOUT)
{
	struct fake_nfs *f = fake_start();
	struct nfsrdma *mount = fake_mount(f, "rsize=4k&slots=64");
	struct nfsrdma_file *file;
	uint8_t *bytes = malloc(1 << 20);

	fake_file(f, "/file", 1 << 20);
	file = open_file(mount, "/file", O_RDONLY);
	cr_assert_eq(nfsrdma_pread_copy(file, bytes, 1 << 20, 0), 1 << 20);
	assert_pattern(bytes, 0, 1 << 20);
	cr_assert_eq(fake_calls(f, WIRE_NFS3_READ), 256u);
	cr_assert_gt(fake_peak(f), 16u, "at most %u at once", fake_peak(f));
	free(bytes);
	nfsrdma_umount(mount);
	fake_stop(f);
}

Test(client_io, vectors_move_as_if_they_were_one, TIMEOUT)
{
	struct fake_nfs *f = fake_start();
	struct nfsrdma *mount = fake_mount(f, "rsize=4k&wsize=4k");
	struct nfsrdma_buf *a = get_buf(mount, 9000, NFSRDMA_BUF_READ | NFSRDMA_BUF_WRITE);
	struct nfsrdma_buf *b = get_buf(mount, 9000, NFSRDMA_BUF_READ | NFSRDMA_BUF_WRITE);
	struct nfsrdma_iov iov[60];
	struct nfsrdma_file *file;
	size_t len = 0;

	for (int i = 0; i < 60; i++) {
		iov[i] = (struct nfsrdma_iov){i % 2 ? a : b, (size_t)(i / 2) * 300,
					      (size_t)(i % 7 ? 300 - i : 0)};
		len += iov[i].len;
	}
	fake_file(f, "/file", 20000);
	file = open_file(mount, "/file", O_RDWR);
	cr_assert_eq(nfsrdma_preadv(file, iov, 60, 5), (ssize_t)len, "%s", nfsrdma_strerror_last());
	for (size_t i = 0, pos = 5; i < 60; pos += iov[i++].len)
		assert_pattern((uint8_t *)nfsrdma_buf_addr(iov[i].buf) + iov[i].buf_off, pos,
			       iov[i].len);
	cr_assert_eq(nfsrdma_pwritev(file, iov, 60, 20005), (ssize_t)len);
	for (size_t i = 0, pos = 20005; i < 60; pos += iov[i++].len)
		cr_assert(fake_holds(f, "/file", pos,
				     (uint8_t *)nfsrdma_buf_addr(iov[i].buf) + iov[i].buf_off,
				     iov[i].len, false));
	nfsrdma_umount(mount);
	fake_stop(f);
}

Test(client_io, the_door_is_guarded, TIMEOUT)
{
	struct fake_nfs *f = fake_start();
	struct nfsrdma *mount = fake_mount(f, "");
	struct nfsrdma_buf *r = get_buf(mount, 100, NFSRDMA_BUF_READ);
	struct nfsrdma_buf *w = get_buf(mount, 100, NFSRDMA_BUF_WRITE);
	struct nfsrdma_file *ro, *wo;
	struct nfsrdma_buf *none;

	fake_file(f, "/file", 10);
	ro = open_file(mount, "/file", O_RDONLY);
	wo = open_file(mount, "/file", O_WRONLY);
	cr_assert_eq(nfsrdma_pread(ro, w, 0, 10, 0), -EINVAL);
	cr_assert_eq(nfsrdma_pwrite(wo, r, 0, 10, 0), -EINVAL);
	cr_assert_eq(nfsrdma_pread(ro, r, 91, 10, 0), -EINVAL);
	cr_assert_eq(nfsrdma_pread(ro, r, 101, 0, 0), -EINVAL);
	cr_assert_eq(nfsrdma_pread(ro, r, SIZE_MAX, 10, 0), -EINVAL);
	cr_assert_eq(nfsrdma_pread(ro, r, 10, SIZE_MAX, 0), -EINVAL);
	cr_assert_eq(nfsrdma_pread(ro, NULL, 0, 10, 0), -EFAULT);
	cr_assert_eq(nfsrdma_pread(wo, r, 0, 10, 0), -EBADF);
	cr_assert_eq(nfsrdma_pwrite(ro, w, 0, 10, 0), -EBADF);
	cr_assert_eq(nfsrdma_buf_get(mount, &none, 0, NFSRDMA_BUF_READ), -EINVAL);
	cr_assert_eq(nfsrdma_buf_get(mount, &none, 10, 0), -EINVAL);
	cr_assert_eq(nfsrdma_buf_get(mount, &none, 10, 8), -EINVAL);
	cr_assert_eq(nfsrdma_buf_get(mount, &none, SIZE_MAX, NFSRDMA_BUF_READ), -EINVAL);
	nfsrdma_umount(mount);
	fake_stop(f);
}

Test(client_io, appends_go_to_the_end, TIMEOUT)
{
	struct fake_nfs *f = fake_start();
	struct nfsrdma *mount = fake_mount(f, "");
	struct nfsrdma_file *a = open_file(mount, "/log", O_WRONLY | O_CREAT | O_APPEND);
	struct nfsrdma_file *b = open_file(mount, "/log", O_WRONLY | O_APPEND);

	cr_assert_eq(nfsrdma_pwrite_copy(a, "one", 3, 0), 3);
	cr_assert_eq(nfsrdma_pwrite_copy(b, "two", 3, 0), 3);
	cr_assert_eq(nfsrdma_pwrite_copy(a, "six", 3, 999), 3);
	cr_assert(fake_holds(f, "/log", 0, "onetwosix", 9, false));
	cr_assert_eq(nfsrdma_close(a), 0);
	cr_assert_eq(nfsrdma_close(b), 0);
	nfsrdma_umount(mount);
	fake_stop(f);
}

Test(client_io, several_connections_share_the_calls, TIMEOUT)
{
	struct fake_nfs *f = fake_start();
	struct nfsrdma *mount = fake_mount(f, "nconnect=4&rsize=4k");
	struct nfsrdma_file *file;
	uint8_t *bytes = malloc(1 << 20);

	fake_file(f, "/file", 1 << 20);
	file = open_file(mount, "/file", O_RDONLY);
	for (int i = 0; i < 4; i++) {
		cr_assert_eq(nfsrdma_pread_copy(file, bytes, 1 << 20, 0), 1 << 20);
		assert_pattern(bytes, 0, 1 << 20);
	}
	cr_assert_eq(nfsrdma_close(file), 0);
	free(bytes);
	nfsrdma_umount(mount);
	fake_stop(f);
}
