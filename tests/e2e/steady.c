/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * steady.c - what the steady state costs, seen from inside and marked for those who look from outside.
 *
 *   steady TARGET OPTS read|write RECORD DEPTH COUNT
 *
 * Mounts, warms up, then does COUNT operations of RECORD bytes, DEPTH at a time, between two marks that strace shows
 * (write(-1, "steady-begin")).  Counts its own malloc calls there.  Prints one JSON object: mallocs, VmPin before
 * and after, the differences of the library's counters.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/nfsrdma.h"

/* ---- the allocator, counted: glibc's own entry points beneath ---- */

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *ptr, size_t size);
extern void *__libc_memalign(size_t align, size_t size);

static atomic_ulong mallocs;

void *malloc(size_t size)
{
	atomic_fetch_add(&mallocs, 1);
	return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	atomic_fetch_add(&mallocs, 1);
	return __libc_calloc(n, size);
}

void *realloc(void *ptr, size_t size)
{
	atomic_fetch_add(&mallocs, 1);
	return __libc_realloc(ptr, size);
}

void *aligned_alloc(size_t align, size_t size)
{
	atomic_fetch_add(&mallocs, 1);
	return __libc_memalign(align, size);
}

int posix_memalign(void **ptr, size_t align, size_t size)
{
	atomic_fetch_add(&mallocs, 1);
	*ptr = __libc_memalign(align, size);
	return *ptr ? 0 : ENOMEM;
}

/* ---- counters ---- */

#define MAX_STATS 64

struct stats {
	unsigned n;
	const char *name[MAX_STATS];
	uint64_t value[MAX_STATS];
};

static void stats_add(void *arg, const char *name, uint64_t value)
{
	struct stats *s = arg;

	if (s->n < MAX_STATS) {
		s->name[s->n] = name;
		s->value[s->n++] = value;
	}
}

static void stats_read(struct nfsrdma *mount, struct stats *s)
{
	s->n = 0;
	nfsrdma_stats(mount, NFSRDMA_STATS_LEDGER, stats_add, s);
	nfsrdma_stats(mount, NFSRDMA_STATS_TRANSPORT, stats_add, s);
}

static long vm_kb(const char *key)
{
	char line[256];
	long kb = -1;
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof(line), f)) {
		if (!strncmp(line, key, strlen(key)))
			kb = strtol(line + strlen(key) + 1, NULL, 10);
	}
	if (f)
		fclose(f);
	return kb;
}

/* ---- the load ---- */

#define MAX_DEPTH 1024

struct load {
	struct nfsrdma *mount;
	struct nfsrdma_file *file;
	size_t record;
	unsigned depth;
	int writing;
	unsigned long left, bad;
	unsigned busy;
	uint64_t next;
};

struct slot {
	struct load *load;
	struct nfsrdma_buf *buf;
};

static void slot_done(void *arg, ssize_t n);

static void slot_submit(struct slot *s)
{
	struct load *l = s->load;
	uint64_t off = (l->next++ % 64) * l->record;
	int err;

	l->left--;
	err = l->writing ? nfsrdma_pwrite_async(l->file, s->buf, 0, l->record, off, slot_done, s)
			 : nfsrdma_pread_async(l->file, s->buf, 0, l->record, off, slot_done, s);
	if (err)
		l->bad++;
	else
		l->busy++;
}

static void slot_done(void *arg, ssize_t n)
{
	struct slot *s = arg;

	s->load->busy--;
	if (n != (ssize_t)s->load->record)
		s->load->bad++;
	else if (s->load->left)
		slot_submit(s);
}

static void load_run(struct load *l, struct slot *slots, unsigned long count)
{
	l->left = count;
	for (unsigned i = 0; i < l->depth && l->left; i++)
		slot_submit(&slots[i]);
	while (l->busy) {
		int n = nfsrdma_process(l->mount, -1);

		if (n < 0 && n != -EINTR) {
			l->bad++;
			return;
		}
	}
}

static void mark(const char *text)
{
	ssize_t n = write(-1, text, strlen(text));

	(void)n;
}

static int fail(const char *what)
{
	fprintf(stderr, "steady: %s: %s\n", what, nfsrdma_strerror_last());
	return 1;
}

static int run(struct load *l, struct slot *slots, unsigned long count)
{
	static struct stats before, after;
	unsigned long m0, m1;
	long pin0, pin1;

	load_run(l, slots, 256 + 4 * l->depth);
	pin0 = vm_kb("VmPin");
	stats_read(l->mount, &before);
	m0 = atomic_load(&mallocs);
	mark("steady-begin");
	load_run(l, slots, count);
	mark("steady-end");
	m1 = atomic_load(&mallocs);
	stats_read(l->mount, &after);
	pin1 = vm_kb("VmPin");
	if (l->bad)
		return fail("an operation failed");
	printf("{\"operations\":%lu,\"mallocs\":%lu,\"vm_pin_kb_before\":%ld,\"vm_pin_kb_after\":%ld,"
	       "\"vm_lck_kb\":%ld", count, m1 - m0, pin0, pin1, vm_kb("VmLck"));
	for (unsigned i = 0; i < after.n; i++)
		printf(",\"%s\":%llu,\"%s_total\":%llu", after.name[i],
		       (unsigned long long)(after.value[i] - before.value[i]), after.name[i],
		       (unsigned long long)after.value[i]);
	printf("}\n");
	return 0;
}

int main(int argc, char **argv)
{
	struct nfsrdma_options opts = NFSRDMA_OPTIONS_INIT;
	static struct slot slots[MAX_DEPTH];
	struct load l = { 0 };
	unsigned long count;
	int status;

	if (argc != 7)
		return 2;
	opts.opts = argv[2];
	l.writing = !strcmp(argv[3], "write");
	l.record = strtoul(argv[4], NULL, 10);
	l.depth = (unsigned)strtoul(argv[5], NULL, 10);
	count = strtoul(argv[6], NULL, 10);
	if (!l.depth || l.depth > MAX_DEPTH || !l.record)
		return 2;
	if (nfsrdma_mount(&l.mount, argv[1], &opts))
		return fail("mount");
	if (nfsrdma_open(l.mount, &l.file, "/steady.dat", O_RDWR | O_CREAT, 0644))
		return fail("open");
	for (unsigned i = 0; i < l.depth; i++) {
		slots[i].load = &l;
		if (nfsrdma_buf_get(l.mount, &slots[i].buf, l.record, NFSRDMA_BUF_READ | NFSRDMA_BUF_WRITE))
			return fail("buffer");
		memset(nfsrdma_buf_addr(slots[i].buf), (int)i, l.record);
	}
	for (uint64_t i = 0; i < 64; i++) {
		if (nfsrdma_pwrite(l.file, slots[0].buf, 0, l.record, i * l.record) != (ssize_t)l.record)
			return fail("write");
	}
	if (nfsrdma_fsync(l.file))
		return fail("fsync");
	status = run(&l, slots, count);
	for (unsigned i = 0; i < l.depth; i++)
		nfsrdma_buf_put(slots[i].buf);
	if (nfsrdma_close(l.file) && !status)
		status = fail("close");
	nfsrdma_umount(l.mount);
	fprintf(stderr, "VmPin after umount: %ld kB\n", vm_kb("VmPin"));
	return status;
}
