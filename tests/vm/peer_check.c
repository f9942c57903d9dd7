/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * peer_check.c - our client put to work on somebody else's server.
 *
 *     peer_check TARGET OPTIONS SENT RECEIVED ENTRIES
 *
 * TARGET and OPTIONS as for a mount.  Writes the local file SENT to /sent, reads the server's
 * /given into the local file RECEIVED: whoever runs this compares checksums on both sides.  The
 * server's /many holds ENTRIES empty files named 0, 1, ...  At the height of the work and after
 * unmounting, the ledger is compared with what the kernel has booked: VmPin always, the pins taken
 * where "pins" follows ENTRIES (they are the whole system's, so nobody else may pin anything).
 * Prints TAP; the client is used through its public interface alone.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/nfsrdma.h"
#include "iommu-aware/iommu.h"

#define CHUNK ((size_t)1 << 20)
#define FAR ((uint64_t)5 << 30)

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

static void describe(struct nfsrdma *mount)
{
	struct nfsrdma_info info = {.size = sizeof(info)};

	if (nfsrdma_info(mount, &info) < 0)
		return;
	printf("# %s %s: %s on %s, rsize %u, wsize %u, inline %u, slots %u\n", info.server,
	       info.address, info.fabric, info.device, info.rsize, info.wsize, info.inline_size,
	       info.slots);
	printf("# pool: %s\n", info.pool);
}

/* ---- counters that must not move --------------------------------------------------------- */

struct counters {
	uint64_t registrations, rpcs, doorbells, pages;
};

static void pick(void *arg, const char *name, uint64_t value)
{
	struct counters *c = arg;

	if (!strcmp(name, "registrations"))
		c->registrations = value;
	else if (!strcmp(name, "rpcs"))
		c->rpcs = value;
	else if (!strcmp(name, "doorbells"))
		c->doorbells = value;
	else if (!strcmp(name, "pages_charged_now"))
		c->pages = value;
}

static struct counters counters(struct nfsrdma *mount)
{
	struct counters c = {0};

	nfsrdma_stats(mount, NFSRDMA_STATS_LEDGER, pick, &c);
	nfsrdma_stats(mount, NFSRDMA_STATS_TRANSPORT, pick, &c);
	return c;
}

/* ---- pins: what the kernel says beside what we say --------------------------------------- */

struct pins {
	uint64_t vm_pin_kb;
	int64_t taken; /* pages, of the whole system */
};

static struct pins pins(void)
{
	int fd = open("/proc/sys/vm/stat_refresh", O_WRONLY);
	struct iommu_pins read = {0};
	ssize_t n;

	/* The counters are kept per processor until somebody asks. */
	if (fd >= 0) {
		n = write(fd, "1", 1);
		(void)n;
		close(fd);
	}
	iommu_pins_read(&read, 0, NULL);
	return (struct pins){.vm_pin_kb = read.vm_pin_kb,
			     .taken = (int64_t)(read.foll_pin_acquired - read.foll_pin_released)};
}

/* The ledger's pages now, VmPin, and the pins taken since before. */
static void check_pins(struct nfsrdma *mount, const struct pins *before, bool exact)
{
	uint64_t pages = counters(mount).pages;
	struct pins now = pins();

	printf("# ledger %llu pages, VmPin %llu kB, %lld pins taken\n", (unsigned long long)pages,
	       (unsigned long long)now.vm_pin_kb, (long long)(now.taken - before->taken));
	tap(pages > 0 && now.vm_pin_kb - before->vm_pin_kb == pages * 4,
	    "the ledger equals VmPin to the page");
	if (exact)
		tap(now.taken - before->taken == (int64_t)pages,
		    "and the pins that the kernel has taken");
}

static void check_unpinned(const struct pins *before, bool exact)
{
	struct pins now = pins();

	printf("# after unmounting: VmPin %llu kB, %lld pins taken\n",
	       (unsigned long long)now.vm_pin_kb, (long long)(now.taken - before->taken));
	tap(now.vm_pin_kb == before->vm_pin_kb && (!exact || now.taken == before->taken),
	    "after unmounting all pins are gone");
}

/* ---- files ------------------------------------------------------------------------------- */

static bool send_file(struct nfsrdma *mount, struct nfsrdma_buf *buf, const char *local)
{
	struct nfsrdma_file *file;
	int fd = open(local, O_RDONLY);
	uint64_t off = 0;
	ssize_t n;
	bool good;

	if (fd < 0 || nfsrdma_open(mount, &file, "/sent", O_CREAT | O_TRUNC | O_WRONLY, 0644) < 0)
		return false;
	while ((n = read(fd, nfsrdma_buf_addr(buf), CHUNK)) > 0) {
		if (nfsrdma_pwrite(file, buf, 0, (size_t)n, off) != n)
			break;
		off += (uint64_t)n;
	}
	good = n == 0 && nfsrdma_fsync(file) == 0;
	close(fd);
	return nfsrdma_close(file) == 0 && good;
}

static bool receive_file(struct nfsrdma *mount, struct nfsrdma_buf *buf, const char *local)
{
	struct nfsrdma_file *file;
	int fd = open(local, O_CREAT | O_TRUNC | O_WRONLY, 0644);
	uint64_t off = 0;
	ssize_t n;

	if (fd < 0 || nfsrdma_open(mount, &file, "/given", O_RDONLY, 0) < 0)
		return false;
	while ((n = nfsrdma_pread(file, buf, 0, CHUNK, off)) > 0) {
		if (write(fd, nfsrdma_buf_addr(buf), (size_t)n) != n)
			break;
		off += (uint64_t)n;
	}
	close(fd);
	return nfsrdma_close(file) == 0 && n == 0;
}

static bool beyond_five_gib(struct nfsrdma *mount)
{
	static const char text[] = "far away";
	char got[sizeof(text)] = "";
	struct nfsrdma_file *file;
	struct stat st;
	bool good;

	if (nfsrdma_open(mount, &file, "/far", O_CREAT | O_RDWR, 0644) < 0)
		return false;
	good = nfsrdma_pwrite_copy(file, text, sizeof(text), FAR) == sizeof(text) &&
	       nfsrdma_pread_copy(file, got, sizeof(got), FAR) == sizeof(got) &&
	       !memcmp(got, text, sizeof(text)) && nfsrdma_fstat(file, &st) == 0 &&
	       (uint64_t)st.st_size == FAR + sizeof(text);
	return nfsrdma_close(file) == 0 && good && nfsrdma_unlink(mount, "/far") == 0;
}

/* The sizes at which a reply or a call changes its form: inline, chunk, odd lengths. */
static bool odd_sizes(struct nfsrdma *mount)
{
	static const size_t sizes[] = {1,    3,	   700,	 1023,	1024,  1025,
				       3900, 4096, 4097, 65537, 300001};
	struct nfsrdma_file *file;
	uint8_t *out = malloc(300001), *in = malloc(300001);
	bool good = out && in;

	if (!good || nfsrdma_open(mount, &file, "/odd", O_CREAT | O_RDWR, 0644) < 0)
		goto out;
	for (size_t i = 0; good && i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		ssize_t len = (ssize_t)sizes[i];

		memset(out, (int)('a' + i), sizes[i]);
		out[0] = out[sizes[i] - 1] = (uint8_t)i;
		good = nfsrdma_ftruncate(file, 0) == 0 &&
		       nfsrdma_pwrite_copy(file, out, sizes[i], 5) == len &&
		       nfsrdma_pread_copy(file, in, sizes[i], 5) == len &&
		       !memcmp(in, out, sizes[i]);
		if (!good)
			printf("# at %zu bytes\n", sizes[i]);
	}
	good = nfsrdma_close(file) == 0 && good && nfsrdma_unlink(mount, "/odd") == 0;
out:
	free(out);
	free(in);
	return good;
}

/* ---- names ------------------------------------------------------------------------------- */

/* Every number below entries exactly once, with attributes. */
static bool list_many(struct nfsrdma *mount, unsigned long entries)
{
	struct nfsrdma_dir *dir;
	struct nfsrdma_dirent ent;
	uint8_t *seen = calloc(1, entries + 1);
	unsigned long count = 0, attributes = 0;
	int ret;

	if (!seen || nfsrdma_opendir(mount, &dir, "/many") < 0) {
		free(seen);
		return false;
	}
	while ((ret = nfsrdma_readdir(dir, &ent)) > 0) {
		unsigned long number = strtoul(ent.name, NULL, 10);

		if (ent.name[0] == '.')
			continue;
		if (number < entries && !seen[number]++)
			count++;
		else
			printf("# %s comes twice, or is none of ours\n", ent.name);
		attributes += ent.has_stat && S_ISREG(ent.st.st_mode);
	}
	nfsrdma_closedir(dir);
	free(seen);
	printf("# %lu of %lu names, %lu with attributes\n", count, entries, attributes);
	return ret == 0 && count == entries && attributes == entries;
}

static bool names(struct nfsrdma *mount)
{
	char target[64];
	struct stat st;

	return nfsrdma_mkdir(mount, "/dir", 0755) == 0 &&
	       nfsrdma_symlink(mount, "dir", "/link") == 0 &&
	       nfsrdma_readlink(mount, "/link", target, sizeof(target)) == 3 &&
	       !strcmp(target, "dir") && nfsrdma_stat(mount, "/link", &st) == 0 &&
	       S_ISDIR(st.st_mode) && nfsrdma_rename(mount, "/dir", "/other") == 0 &&
	       nfsrdma_stat(mount, "/dir", &st) == -ENOENT && nfsrdma_unlink(mount, "/link") == 0 &&
	       nfsrdma_rmdir(mount, "/other") == 0;
}

/* Reading again what was read before registers nothing and rings at most once per call. */
static bool steady(struct nfsrdma *mount, struct nfsrdma_buf *buf)
{
	struct counters before, after;
	struct nfsrdma_file *file;
	bool good = true;

	if (nfsrdma_open(mount, &file, "/given", O_RDONLY, 0) < 0)
		return false;
	before = counters(mount);
	for (int i = 0; i < 20 && good; i++)
		good = nfsrdma_pread(file, buf, 0, CHUNK, 0) > 0;
	after = counters(mount);
	printf("# %llu registrations, %llu doorbells in %llu calls\n",
	       (unsigned long long)(after.registrations - before.registrations),
	       (unsigned long long)(after.doorbells - before.doorbells),
	       (unsigned long long)(after.rpcs - before.rpcs));
	return nfsrdma_close(file) == 0 && good && after.registrations == before.registrations &&
	       after.doorbells - before.doorbells <= after.rpcs - before.rpcs;
}

static void log_line(void *arg, enum nfsrdma_log_level level, const char *line)
{
	printf("# log: %s\n", line);
}

int main(int argc, char **argv)
{
	struct nfsrdma_options opts = NFSRDMA_OPTIONS_INIT;
	struct nfsrdma *mount;
	struct nfsrdma_buf *buf;
	struct pins before = pins();
	bool exact = argc == 7 && !strcmp(argv[6], "pins");

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc != 6 && !exact) {
		fprintf(stderr, "usage: peer_check TARGET OPTIONS SENT RECEIVED ENTRIES [pins]\n");
		return 2;
	}
	opts.opts = argv[2];
	opts.log = log_line;
	opts.log_level = NFSRDMA_LOG_WARN;
	if (!tap(nfsrdma_mount(&mount, argv[1], &opts) == 0, "mounts"))
		return 1;
	describe(mount);
	if (!tap(nfsrdma_buf_get(mount, &buf, CHUNK, NFSRDMA_BUF_READ | NFSRDMA_BUF_WRITE) == 0,
		 "gets registered memory"))
		return 1;
	tap(send_file(mount, buf, argv[3]), "writes a file and commits it");
	tap(receive_file(mount, buf, argv[4]), "reads a file");
	tap(odd_sizes(mount), "writes and reads odd sizes");
	tap(beyond_five_gib(mount), "writes and reads beyond 5 GiB");
	tap(names(mount), "makes, links, renames and removes names");
	tap(list_many(mount, strtoul(argv[5], NULL, 10)),
	    "lists a large directory, each name once");
	tap(steady(mount, buf), "in the steady state registers nothing and rings once per call");
	check_pins(mount, &before, exact);
	nfsrdma_buf_put(buf);
	nfsrdma_umount(mount);
	check_unpinned(&before, exact);
	printf("1..%u\n", tap_count);
	return tap_bad != 0;
}
