/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mode_check.c - one way of registering memory (mr=) put to work on somebody's server.
 *
 *     mode_check TARGET OPTIONS MODE            what the mode promises holds
 *     mode_check TARGET OPTIONS MODE refused    mounting fails, and says why
 *
 * Writes the file /mode-check and reads it back, one call at a time and sixteen at once, then holds
 * the ledger against what the mode says about itself and against VmPin.  Memory of the application
 * is registered and deregistered, and read into where it cannot be pinned.  With mr-verify and
 * mr-monitor=off in OPTIONS, memory is taken away and mapped anew under a cached registration, which
 * must be noticed.  Prints TAP; the client is used through its public interface alone.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "client/nfsrdma.h"
#include "iommu-aware/iommu.h"
#include "util/util.h"

#define RECORD ((size_t)65536)
#define RECORDS 40u
#define DEPTH 16u

static unsigned tap_count, tap_bad;

static bool tap(bool good, const char *claim)
{
	printf("%sok %u - %s\n", good ? "" : "not ", ++tap_count, claim);
	if (!good) {
		printf("# %s (%s)\n", nfsrdma_strerror_last(), nfsrdma_hint_last());
		tap_bad++;
	}
	return good;
}

/* ---- the ledger -------------------------------------------------------------------------- */

#define COUNTERS(X)                                                                                \
	X(registrations)                                                                           \
	X(deregistrations)                                                                         \
	X(pages_charged_now)                                                                       \
	X(windows_bound)                                                                           \
	X(windows_now)                                                                             \
	X(windows_dropped) X(invalidations_local) X(invalidations_remote) X(invalidation_batches)  \
		X(cache_stale) X(iova_reuses) X(bounces)

struct counters {
#define DECLARE(name) uint64_t name;
	COUNTERS(DECLARE)
#undef DECLARE
};

static void pick(void *arg, const char *name, uint64_t value)
{
	struct counters *c = arg;

#define PICK(field)                                                                                \
	if (!strcmp(name, #field))                                                                 \
		c->field = value;
	COUNTERS(PICK)
#undef PICK
}

static struct counters counters(struct nfsrdma *mount)
{
	struct counters c = {0};

	nfsrdma_stats(mount, NFSRDMA_STATS_LEDGER, pick, &c);
	return c;
}

static void print(const struct counters *c)
{
#define PRINT(name) printf(" %s %" PRIu64, #name, c->name);
	printf("#");
	COUNTERS(PRINT)
	printf("\n");
#undef PRINT
}

static uint64_t pinned_pages(void)
{
	struct iommu_pins pins = {0};

	iommu_pins_read(&pins, 0, NULL);
	return pins.vm_pin_kb / 4;
}

/* ---- work -------------------------------------------------------------------------------- */

static void fill(uint8_t *p, unsigned record)
{
	for (size_t i = 0; i < RECORD; i++)
		p[i] = (uint8_t)(i * 7 + i / 4096 + record);
}

static bool filled(const uint8_t *p, unsigned record)
{
	for (size_t i = 0; i < RECORD; i++)
		if (p[i] != (uint8_t)(i * 7 + i / 4096 + record))
			return false;
	return true;
}

static bool write_all(struct nfsrdma_file *file, struct nfsrdma_buf *buf)
{
	for (unsigned i = 0; i < RECORDS; i++) {
		fill(nfsrdma_buf_addr(buf), i);
		if (nfsrdma_pwrite(file, buf, 0, RECORD, i * RECORD) != (ssize_t)RECORD)
			return false;
	}
	return nfsrdma_fsync(file) == 0;
}

static bool read_all(struct nfsrdma_file *file, struct nfsrdma_buf *buf)
{
	for (unsigned i = 0; i < RECORDS; i++) {
		memset(nfsrdma_buf_addr(buf), 0, RECORD);
		if (nfsrdma_pread(file, buf, 0, RECORD, i * RECORD) != (ssize_t)RECORD ||
		    !filled(nfsrdma_buf_addr(buf), i))
			return false;
	}
	return true;
}

static void count(void *arg, ssize_t n)
{
	*(unsigned *)arg += n == (ssize_t)RECORD;
}

/* DEPTH records at once, each to its own piece of buf. */
static bool read_deep(struct nfsrdma *mount, struct nfsrdma_file *file, struct nfsrdma_buf *buf)
{
	unsigned good = 0;

	memset(nfsrdma_buf_addr(buf), 0, DEPTH * RECORD);
	for (unsigned i = 0; i < DEPTH; i++)
		if (nfsrdma_pread_async(file, buf, i * RECORD, RECORD, i * RECORD, count, &good))
			return false;
	while (nfsrdma_outstanding(mount))
		if (nfsrdma_process(mount, -1) < 0)
			return false;
	for (unsigned i = 0; good == DEPTH && i < DEPTH; i++)
		if (!filled((uint8_t *)nfsrdma_buf_addr(buf) + i * RECORD, i))
			return false;
	return good == DEPTH;
}

/* ---- what the modes promise -------------------------------------------------------------- */

#define CALLS (2 * RECORDS + DEPTH)

static void check_pool(const struct counters *was, const struct counters *now)
{
	tap(now->registrations == was->registrations, "registers nothing once it is going");
	tap(now->windows_bound == 0, "binds no windows");
}

static void check_window(const struct counters *was, const struct counters *now)
{
	tap(now->registrations == was->registrations, "registers nothing once it is going");
	tap(now->windows_bound - was->windows_bound == CALLS, "binds one window per call");
	tap(now->windows_now == 0, "no window is bound when all calls are answered");
	tap(now->invalidations_local + now->invalidations_remote + now->windows_dropped ==
		    now->windows_bound,
	    "every window's end is accounted for");
	tap(now->invalidations_remote - was->invalidations_remote == CALLS,
	    "the server invalidates each call's window with its reply");
}

static void check_per_io(const struct counters *was, const struct counters *now)
{
	tap(now->registrations - was->registrations == CALLS, "registers once per call");
	tap(now->deregistrations - was->deregistrations == CALLS, "and ends each registration");
}

static void check_cache(const struct counters *was, const struct counters *now)
{
	/* the pieces of the deep reads are new, all else is known */
	tap(now->registrations - was->registrations <= DEPTH,
	    "registers a piece of memory once, however often it is used");
	tap(now->iova_reuses > was->iova_reuses, "and uses it again");
}

static void check_mode(const char *mode, const struct counters *was, const struct counters *now)
{
	if (!strcmp(mode, "pool"))
		check_pool(was, now);
	else if (!strcmp(mode, "window"))
		check_window(was, now);
	else if (!strcmp(mode, "per-io"))
		check_per_io(was, now);
	else if (!strcmp(mode, "cache"))
		check_cache(was, now);
}

/* Memory of ours, read into, unmapped, mapped anew at the same place, and read into again. */
static void check_stale(struct nfsrdma *mount, struct nfsrdma_file *file)
{
	const int prot = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS;
	uint8_t *mem = mmap(NULL, RECORD, prot, flags, -1, 0);
	bool good = mem != MAP_FAILED;
	uint64_t was;

	good = good && nfsrdma_pread_copy(file, mem, RECORD, 0) == (ssize_t)RECORD &&
	       filled(mem, 0);
	tap(good, "memory of ours is read into in place");
	/* An earlier mapping may have lain here, and have been stale. */
	was = counters(mount).cache_stale;
	munmap(mem, RECORD);
	good = good && mmap(mem, RECORD, prot, flags | MAP_FIXED_NOREPLACE, -1, 0) == mem;
	good = good && nfsrdma_pread_copy(file, mem, RECORD, RECORD) == (ssize_t)RECORD;
	tap(good && counters(mount).cache_stale == was + 1,
	    "a mapping that went and came again is noticed to be stale");
	tap(good && filled(mem, 1), "and what is read arrives in the new one");
	if (good)
		munmap(mem, RECORD);
}

/* A buffer made of memory of ours, as long as it is registered. */
static void check_registered(struct nfsrdma *mount, struct nfsrdma_file *file)
{
	uint8_t *mem =
		mmap(NULL, 2 * RECORD, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct counters was = counters(mount), now;
	struct nfsrdma_buf *buf, *none;
	unsigned done = 0;

	/* Neither its beginning nor its end is a page's. */
	if (!tap(nfsrdma_mem_register(mount, &buf, mem + 100, RECORD + 200,
				      NFSRDMA_BUF_READ | NFSRDMA_BUF_WRITE) == 0,
		 "memory of ours becomes a buffer"))
		return;
	tap(nfsrdma_pread(file, buf, 10, RECORD, 3 * RECORD) == (ssize_t)RECORD &&
		    filled(mem + 110, 3) && mem[109] == 0 && mem[110 + RECORD] == 0,
	    "and is read into in place, to the byte");
	fill(mem + 100, 3);
	tap(nfsrdma_pwrite(file, buf, 0, RECORD, 3 * RECORD) == (ssize_t)RECORD &&
		    nfsrdma_fsync(file) == 0,
	    "and written from");
	nfsrdma_pread_async(file, buf, 0, RECORD, 0, count, &done);
	tap(nfsrdma_mem_deregister(buf) == -EBUSY, "it is not let go under a call");
	while (nfsrdma_outstanding(mount))
		nfsrdma_process(mount, -1);
	tap(done == 1 && nfsrdma_mem_deregister(buf) == 0, "but afterwards");
	now = counters(mount);
	tap(now.registrations - was.registrations == now.deregistrations - was.deregistrations &&
		    now.pages_charged_now == was.pages_charged_now,
	    "and then nothing of it is left");
	mprotect(mem, 2 * RECORD, PROT_READ);
	tap(nfsrdma_mem_register(mount, &none, mem, RECORD, NFSRDMA_BUF_READ) == -EFAULT,
	    "memory that cannot be written to is refused");
	munmap(mem, 2 * RECORD);
}

/* Reading into a shared mapping of a file, which some devices cannot pin. */
static void check_bounce(struct nfsrdma *mount, struct nfsrdma_file *file)
{
	const char *folder = getenv("TMPDIR");
	struct counters was = counters(mount);
	struct nfsrdma_buf *buf;
	char path[256];
	bool pinnable;
	uint8_t *mem;
	int fd;

	snprintf(path, sizeof(path), "%s/mode-check.XXXXXX", folder ? folder : "/tmp");
	fd = mkstemp(path);
	if (fd < 0 || ftruncate(fd, (off_t)RECORD))
		return;
	unlink(path);
	mem = mmap(NULL, RECORD, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	pinnable = !nfsrdma_mem_register(mount, &buf, mem, RECORD, NFSRDMA_BUF_READ);
	if (pinnable)
		nfsrdma_mem_deregister(buf);
	printf("# a shared mapping of %s %s pinned here\n", path,
	       pinnable ? "can be" : "cannot be");
	tap(nfsrdma_pread_copy(file, mem, RECORD, 5 * RECORD) == (ssize_t)RECORD && filled(mem, 5),
	    "a mapping of a file is read into all the same");
	tap(pinnable || counters(mount).bounces > was.bounces, "by way of the pool, and counted");
	munmap(mem, RECORD);
	close(fd);
}

static bool work(struct nfsrdma *mount, struct nfsrdma_file *file, struct nfsrdma_buf *buf,
		 const char *mode, const char *options)
{
	struct counters was, now;

	/* Once for what is made at first use. */
	if (!tap(write_all(file, buf) && read_all(file, buf), "writes, and reads it back"))
		return false;
	was = counters(mount);
	if (!tap(write_all(file, buf) && read_all(file, buf) && read_deep(mount, file, buf),
		 "does it again, and with sixteen calls at once"))
		return false;
	now = counters(mount);
	print(&now);
	check_mode(mode, &was, &now);
	check_registered(mount, file);
	if (!strcmp(mode, "cache") || !strcmp(mode, "per-io"))
		check_bounce(mount, file);
	if (strstr(options, "mr-verify"))
		check_stale(mount, file);
	tap(counters(mount).pages_charged_now == pinned_pages(),
	    "the ledger equals VmPin to the page");
	return true;
}

static int refused(const char *target, const struct nfsrdma_options *opts, const char *mode)
{
	struct nfsrdma *mount;
	char name[32];
	int err = nfsrdma_mount(&mount, target, opts);

	snprintf(name, sizeof(name), "mr=%s", mode);
	printf("# %s (%s)\n", nfsrdma_strerror_last(), nfsrdma_hint_last());
	tap(err == -EOPNOTSUPP && strstr(nfsrdma_strerror_last(), name) &&
		    strstr(nfsrdma_strerror_last(), "device") && nfsrdma_hint_last()[0],
	    "is refused by name, with the reason and what to do");
	if (!err)
		nfsrdma_umount(mount);
	return tap_bad != 0;
}

static void log_line(void *arg, enum nfsrdma_log_level level, const char *line)
{
	printf("# log: %s\n", line);
}

int main(int argc, char **argv)
{
	struct nfsrdma_options opts = NFSRDMA_OPTIONS_INIT;
	struct nfsrdma_file *file;
	struct nfsrdma_buf *buf;
	struct nfsrdma *mount;
	uint64_t before = pinned_pages();
	char text[512];

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc != 4 && !(argc == 5 && !strcmp(argv[4], "refused"))) {
		fprintf(stderr, "usage: mode_check TARGET OPTIONS MODE [refused]\n");
		return 2;
	}
	snprintf(text, sizeof(text), "%s,mr=%s", argv[2], argv[3]);
	opts.opts = text;
	opts.log = log_line;
	opts.log_level = NFSRDMA_LOG_WARN;
	if (argc == 5)
		return refused(argv[1], &opts, argv[3]);
	if (!tap(nfsrdma_mount(&mount, argv[1], &opts) == 0, "mounts") ||
	    !tap(nfsrdma_open(mount, &file, "/mode-check", O_CREAT | O_TRUNC | O_RDWR, 0644) == 0 &&
			 nfsrdma_buf_get(mount, &buf, DEPTH * RECORD,
					 NFSRDMA_BUF_READ | NFSRDMA_BUF_WRITE) == 0,
		 "opens a file and gets a buffer"))
		return 1;
	work(mount, file, buf, argv[3], argv[2]);
	nfsrdma_buf_put(buf);
	tap(nfsrdma_close(file) == 0 && nfsrdma_unlink(mount, "/mode-check") == 0, "cleans up");
	nfsrdma_umount(mount);
	tap(pinned_pages() == before, "after unmounting all pins are gone");
	printf("1..%u\n", tap_count);
	return tap_bad != 0;
}
