/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fake.c - providers for the tests of mr/, and wrappers that count and fail.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <linux/mman.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "mr/internal.h"
#include "tests/mr/fake.h"

/* ---- the fake --------------------------------------------------------------------------- */

static int fake_register(struct mr_provider *p, void *addr, size_t len, size_t page_size,
			 unsigned access, struct mr_registration *reg, struct util_err *err)
{
	struct fake_provider *fake = UTIL_CONTAINER_OF(p, struct fake_provider, p);
	unsigned call = ++fake->calls;

	cr_assert(fake->unaligned || (uintptr_t)addr % page_size == 0,
		  "memory is aligned to its pages");
	cr_assert(fake->unaligned || len % page_size == 0, "memory is whole pages");
	if (call == fake->fail_at)
		return util_err_set(err, -ENOSPC, "the fake's table is full");
	if (fake->refuse_above && fake->bytes + len > fake->refuse_above)
		return util_err_set(err, -ENOMEM, "the fake refuses");
	fake->registered++;
	fake->bytes += len;
	fake->last_access = access;
	fake->next_key += 256;
	*reg = (struct mr_registration){
		.addr = addr,
		.len = len,
		.iova = 0x1000000000ull + (uintptr_t)addr % 0x200000 +
			(uint64_t)fake->next_key * 0x200000,
		.lkey = fake->next_key,
		.rkey = access & (MR_ACCESS_REMOTE_READ | MR_ACCESS_REMOTE_WRITE)
				? fake->next_key + 1
				: 0,
		.access = access,
		.pages_charged = ((uintptr_t)addr + len - 1) / 4096 - (uintptr_t)addr / 4096 + 1,
		.iova_maps = 1,
	};
	return 0;
}

static void fake_deregister(struct mr_provider *p, struct mr_registration *reg)
{
	struct fake_provider *fake = UTIL_CONTAINER_OF(p, struct fake_provider, p);

	fake->deregistered++;
	fake->bytes -= reg->len;
	/* Still mapped: a region outlives its registration. */
	((volatile char *)reg->addr)[0];
}

static int fake_window_alloc(struct mr_provider *p, struct mr_window *w)
{
	struct fake_provider *fake = UTIL_CONTAINER_OF(p, struct fake_provider, p);

	if (!p->max_windows)
		return -EOPNOTSUPP;
	if (++fake->window_calls == fake->window_fail_at || fake->windows == p->max_windows)
		return -ENOMEM;
	fake->windows++;
	fake->next_key += 256;
	w->rkey = fake->next_key;
	w->priv = fake;
	return 0;
}

static void fake_window_free(struct mr_provider *p, struct mr_window *w)
{
	struct fake_provider *fake = UTIL_CONTAINER_OF(p, struct fake_provider, p);

	fake->windows--;
	w->priv = NULL;
}

/* As verbs does it: eight bits of the key count. */
int fake_window_next_key(struct mr_provider *p, struct mr_window *w, uint32_t *rkeyp)
{
	(void)p;
	*rkeyp = (w->rkey & ~0xffu) | ((w->rkey + 1) & 0xff);
	return 0;
}

static const struct mr_provider_ops fake_ops = {
	.name = "fake",
	.register_memory = fake_register,
	.deregister_memory = fake_deregister,
	.window_alloc = fake_window_alloc,
	.window_free = fake_window_free,
	.window_next_key = fake_window_next_key,
};

void fake_provider_init(struct fake_provider *fake)
{
	memset(fake, 0, sizeof(*fake));
	fake->p.ops = &fake_ops;
	fake->p.max_region = 1ul << 30;
	fake->p.max_regions = 1000;
	fake->p.registers = true;
	fake->p.numa_node = -1;
	strcpy(fake->p.device, "fake0");
}

unsigned fake_live(const struct fake_provider *fake)
{
	return fake->registered - fake->deregistered;
}

struct mr_pool *fake_pool(struct mr_provider *provider, struct mr_pool_params *params)
{
	struct util_err err = {0};
	struct mr_pool *pool = NULL;

	if (!params->numa_node)
		params->numa_node = -1;
	cr_assert_eq(mr_pool_create(&pool, provider, params, &err), 0, "%s", err.what);
	return pool;
}

void fake_unlimit(struct mr_pool *pool)
{
	pool->budget.memlock = UINT64_MAX;
	pool->budget.pinned_max = pool->budget.bytes_max;
	pool->budget.soft = pool->budget.pinned_max / 4;
	pool->max_lease = pool->provider->max_region;
}

/* ---- pins by io_uring ------------------------------------------------------------------- */

static int pinning_register(struct mr_provider *p, void *addr, size_t len, size_t page_size,
			    unsigned access, struct mr_registration *reg, struct util_err *err)
{
	struct io_uring *ring = malloc(sizeof(*ring));
	struct iovec iov = {.iov_base = addr, .iov_len = len};
	int ret;

	if (!ring)
		return -ENOMEM;
	ret = io_uring_queue_init(1, ring, 0);
	if (ret)
		goto err_free;
	ret = io_uring_register_buffers(ring, &iov, 1);
	if (ret)
		goto err_exit;
	*reg = (struct mr_registration){
		.addr = addr,
		.len = len,
		.iova = (uintptr_t)addr,
		.access = access,
		.pages_charged = ((uintptr_t)addr + len - 1) / 4096 - (uintptr_t)addr / 4096 + 1,
		.priv = ring,
	};
	return 0;

err_exit:
	io_uring_queue_exit(ring);
err_free:
	free(ring);
	return ret;
}

static void pinning_deregister(struct mr_provider *p, struct mr_registration *reg)
{
	io_uring_unregister_buffers(reg->priv);
	io_uring_queue_exit(reg->priv);
	free(reg->priv);
}

static const struct mr_provider_ops pinning_ops = {
	.name = "pinning",
	.register_memory = pinning_register,
	.deregister_memory = pinning_deregister,
	.window_alloc = fake_window_alloc,
	.window_free = fake_window_free,
	.window_next_key = fake_window_next_key,
};

static void be_alone_with_the_limit(void)
{
	struct iommu_facts facts;
	char path[64];
	int fd;

	iommu_probe(&facts, NULL);
	if (facts.ipc_lock || facts.memlock_soft == UINT64_MAX)
		return;
	snprintf(path, sizeof(path), "/tmp/nfsrdma-tests-pin.%u", (unsigned)getuid());
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	cr_assert_geq(fd, 0, "%s: %s", path, strerror(errno));
	cr_assert_eq(flock(fd, LOCK_EX), 0); /* and never closed */
}

int pinning_provider_init(struct pinning_provider *pinning)
{
	struct io_uring ring;
	int ret = io_uring_queue_init(1, &ring, 0);

	if (ret)
		return ret;
	io_uring_queue_exit(&ring);
	be_alone_with_the_limit();
	memset(pinning, 0, sizeof(*pinning));
	pinning->p.ops = &pinning_ops;
	pinning->p.max_region = 1ul << 30;
	pinning->p.max_regions = 1000;
	pinning->p.registers = true;
	pinning->p.numa_node = -1;
	strcpy(pinning->p.device, "pinning");
	return 0;
}

uint64_t vm_pin_pages(void)
{
	struct iommu_pins pins;

	cr_assert_eq(iommu_pins_read(&pins, 0, NULL), 0);
	return pins.vm_pin_kb / 4;
}

void check_vm_pin(struct mr_ledger *ledger)
{
	struct mr_ledger_snapshot snap;

	mr_ledger_read(ledger, &snap);
	cr_assert_eq(snap.pages_charged_now, vm_pin_pages(), "ledger %lu, VmPin %lu pages",
		     (unsigned long)snap.pages_charged_now, (unsigned long)vm_pin_pages());
}

/* ---- wrapped functions ------------------------------------------------------------------ */

_Atomic long wrap_fail_at, wrap_calls, wrap_live, wrap_mapped;

void *__real_malloc(size_t len);
void *__real_calloc(size_t n, size_t len);
void *__real_aligned_alloc(size_t align, size_t len);
void __real_free(void *p);
void *__real_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t off);
int __real_munmap(void *addr, size_t len);
long __real_syscall(long number, ...);
int __real_madvise(void *addr, size_t len, int advice);
int __real_pthread_mutex_lock(pthread_mutex_t *lock);

static bool wrap_fails(void)
{
	return ++wrap_calls == wrap_fail_at;
}

static void *wrap_made(void *p)
{
	wrap_live += p != NULL;
	return p;
}

void *__wrap_malloc(size_t len)
{
	return wrap_fails() ? NULL : wrap_made(__real_malloc(len));
}

void *__wrap_calloc(size_t n, size_t len)
{
	return wrap_fails() ? NULL : wrap_made(__real_calloc(n, len));
}

void *__wrap_aligned_alloc(size_t align, size_t len)
{
	return wrap_fails() ? NULL : wrap_made(__real_aligned_alloc(align, len));
}

void __wrap_free(void *p)
{
	wrap_live -= p != NULL;
	__real_free(p);
}

struct wrap_machine wrap_machine;

static void wrap_note(const struct wrap_ask *ask)
{
	struct wrap_machine *m = &wrap_machine;

	cr_assert_lt(m->nasks, UTIL_ARRAY_SIZE(m->asks));
	m->asks[m->nasks++] = *ask;
}

/* Address space of huge pages: aligned, and nobody touches it. */
static void *wrap_play_huge(size_t len, int flags)
{
	bool giant = (flags & (int)((unsigned)MAP_HUGE_MASK << MAP_HUGE_SHIFT)) == MAP_HUGE_1GB;
	size_t align = giant ? 1ul << 30 : 1ul << 21;
	uintptr_t start, addr;

	if (!(giant ? wrap_machine.has_1g : wrap_machine.has_2m) || len % align)
		return MAP_FAILED;
	start = (uintptr_t)__real_mmap(NULL, len + align, PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	addr = (start + align - 1) / align * align;
	if (addr > start)
		__real_munmap((void *)start, addr - start);
	if (start + align > addr)
		__real_munmap((void *)(addr + len), start + align - addr);
	return (void *)addr;
}

void *__wrap_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
	if (wrap_fails()) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	if (wrap_machine.on && (flags & MAP_HUGETLB))
		addr = wrap_play_huge(len, flags);
	else
		addr = __real_mmap(addr, len, prot, flags, fd, off);
	if (wrap_machine.on)
		wrap_note(&(struct wrap_ask){WRAP_MMAP, addr, len, flags, 0});
	wrap_mapped += addr == MAP_FAILED ? 0 : (long)len;
	return addr;
}

int __wrap_madvise(void *addr, size_t len, int advice)
{
	struct wrap_machine *m = &wrap_machine;

	if (!m->on)
		return __real_madvise(addr, len, advice);
	wrap_note(&(struct wrap_ask){WRAP_MADVISE, addr, len, advice, 0});
	if (advice != MADV_POPULATE_WRITE || !m->populate_fails)
		return 0;
	m->populate_fails--;
	errno = m->populate_errno;
	return -1;
}

/* libnuma's; a machine of four nodes. */
long __wrap_mbind(void *addr, unsigned long len, int mode, const unsigned long *mask,
		  unsigned long max, unsigned flags)
{
	(void)max;
	(void)flags;
	if (wrap_machine.on)
		wrap_note(&(struct wrap_ask){WRAP_MBIND, addr, len, mode, mask[0]});
	return 0;
}

int __wrap_numa_available(void)
{
	return 0;
}

int __wrap_numa_max_node(void)
{
	return 3;
}

int __wrap_munmap(void *addr, size_t len)
{
	int ret = __real_munmap(addr, len);

	wrap_mapped -= ret ? 0 : (long)len;
	return ret;
}

/* The software RNIC pins by these two. */
static bool wrap_may_fail(long number, long opcode)
{
	return number == __NR_io_uring_setup ||
	       (number == __NR_io_uring_register && opcode == IORING_REGISTER_BUFFERS);
}

/* Nobody here passes more than five. */
long __wrap_syscall(long number, long a, long b, long c, long d, long e)
{
	if (wrap_may_fail(number, b) && wrap_fails()) {
		errno = EMFILE;
		return -1;
	}
	return __real_syscall(number, a, b, c, d, e);
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *lock)
{
	wrap_calls++;
	return __real_pthread_mutex_lock(lock);
}
