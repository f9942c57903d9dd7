/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pin.c - pin memory for as long as it is registered, without privilege and without a device.
 *
 * Registering fixed buffers with io_uring takes the same long-term pins as registering memory with
 * an RDMA NIC: the pages stay where they are until the table is unregistered.  A pin here is one
 * ring with a table of one registration.  The ring is never entered and not even mapped; only its
 * file descriptor is used.  Tables are registered and unregistered whole: updating an entry
 * releases the old pins up to a second late on Linux 6.1, unregistering releases them before it
 * returns.  Rings are not SINGLE_ISSUER, so any thread may release what another pinned.  A few idle
 * rings are kept, because registering per I/O would otherwise pay for setting one up each time.
 *
 * What it costs is read where the kernel books it: VmPin in /proc/self/status, before and after. It
 * cannot be computed here, unless the owner knows his memory to be small pages: a huge page counts
 * whole however little of it is pinned, and whether memory is backed by huge pages is for the
 * kernel to know.  Two readers would spoil each other's
 * difference, so the readings are guarded by a mutex (threads of one fabric) and by flock on the
 * status file (fabrics of one process; each process has its own file).
 *
 * The limit.  io_uring charges RLIMIT_MEMLOCK per user over all his processes, so only the kernel
 * knows whether there is room.  ENOMEM where this process's own pins would fit is taken for a
 * sibling's release that is due (a killed process's pins linger, for instance): it is retried with
 * back-off for 1.5 s in all; having given up once, we fail at once for the next five seconds, so
 * that a caller who halves his demand does not wait each time.
 *
 * Where io_uring is forbidden, mlock stands in (lock.c): pages stay resident though they may
 * migrate, and are counted as locked, never as pinned.
 */
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "transport/iwarp/pin.h"

#define IDLE_RINGS 64
#define PAGE_BYTES UINT64_C(4096)
#define ENTRY_MAX ((size_t)1 << 30) /* longest entry of a buffer table */
#define ENTRIES_MAX ((size_t)16384) /* entries of a table */
#define RETRY_TOTAL_MS 1500
#define GAVE_UP_NS (5 * UTIL_NS_PER_S)

struct iwarp_pinner {
	bool uring;
	pthread_mutex_t lock; /* protects the rest and the readings of status */
	int status;	      /* /proc/self/status, -1 where there is none */
	int idle[IDLE_RINGS];
	unsigned nidle;
	uint64_t gave_up_ns;
	struct iwarp_locks *locks;
};

/* ---- system calls liburing has no function for, as the ring is not mapped ---- */

static int ring_setup(void)
{
	struct io_uring_params params = {0};
	long fd = syscall(__NR_io_uring_setup, 1, &params);

	return fd < 0 ? -errno : (int)fd;
}

static int ring_register(int ring, const struct iovec *iov, unsigned n)
{
	return syscall(__NR_io_uring_register, ring, IORING_REGISTER_BUFFERS, iov, n) < 0 ? -errno
											  : 0;
}

static void ring_unregister(int ring)
{
	syscall(__NR_io_uring_register, ring, IORING_UNREGISTER_BUFFERS, NULL, 0);
}

bool iwarp_uring_allowed(void)
{
	int fd = ring_setup();

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

/* ---- what the kernel books ---- */

/* A field of /proc/self/status ("\nVmPin:") in pages; 0 where it cannot be read. */
static uint64_t read_status(int fd, const char *field)
{
	char text[4096];
	const char *p;
	ssize_t n;

	if (fd < 0)
		return 0;
	n = pread(fd, text, sizeof(text) - 1, 0);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	p = strstr(text, field);
	return p ? strtoull(p + strlen(field), NULL, 10) * 1024 / PAGE_BYTES : 0;
}

static uint64_t span_pages(const void *addr, size_t len)
{
	uint64_t first = (uintptr_t)addr / PAGE_BYTES;
	uint64_t last = ((uintptr_t)addr + len - 1) / PAGE_BYTES;

	return last - first + 1;
}

static void readings_lock(struct iwarp_pinner *pinner)
{
	pthread_mutex_lock(&pinner->lock);
	if (pinner->status >= 0)
		flock(pinner->status, LOCK_EX);
}

static void readings_unlock(struct iwarp_pinner *pinner)
{
	if (pinner->status >= 0)
		flock(pinner->status, LOCK_UN);
	pthread_mutex_unlock(&pinner->lock);
}

/* ---- pinner ---- */

int iwarp_pinner_create(struct iwarp_pinner **pinnerp, bool uring)
{
	struct iwarp_pinner *pinner = calloc(1, sizeof(*pinner));
	int err;

	if (!pinner)
		return -ENOMEM;
	err = iwarp_locks_create(&pinner->locks);
	if (err) {
		free(pinner);
		return err;
	}
	pinner->uring = uring;
	pinner->status = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	pthread_mutex_init(&pinner->lock, NULL);
	*pinnerp = pinner;
	return 0;
}

void iwarp_pinner_destroy(struct iwarp_pinner *pinner)
{
	if (!pinner)
		return;
	while (pinner->nidle)
		close(pinner->idle[--pinner->nidle]);
	if (pinner->status >= 0)
		close(pinner->status);
	iwarp_locks_destroy(pinner->locks);
	pthread_mutex_destroy(&pinner->lock);
	free(pinner);
}

/* A ring without a table, idle or new; the lock is held. */
static int take_ring(struct iwarp_pinner *pinner)
{
	return pinner->nidle ? pinner->idle[--pinner->nidle] : ring_setup();
}

static void give_ring(struct iwarp_pinner *pinner, int ring)
{
	if (pinner->nidle < IDLE_RINGS)
		pinner->idle[pinner->nidle++] = ring;
	else
		close(ring);
}

/* Register the whole range on ring, in as many entries as it takes. */
static int register_range(int ring, void *addr, size_t len)
{
	size_t n = (len + ENTRY_MAX - 1) / ENTRY_MAX;
	struct iovec one, *iov = &one;
	int err;

	if (n > ENTRIES_MAX)
		return -EINVAL;
	if (n > 1) {
		iov = calloc(n, sizeof(*iov));
		if (!iov)
			return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++) {
		size_t off = i * ENTRY_MAX;

		iov[i].iov_base = (char *)addr + off;
		iov[i].iov_len = len - off < ENTRY_MAX ? len - off : ENTRY_MAX;
	}
	err = ring_register(ring, iov, (unsigned)n);
	if (iov != &one)
		free(iov);
	return err;
}

static int pin_once(struct iwarp_pinner *pinner, struct iwarp_pin *pin)
{
	bool reads = !pin->small && pinner->status >= 0;
	uint64_t before = 0;
	int err = 0;

	readings_lock(pinner);
	pin->ring = take_ring(pinner);
	if (pin->ring < 0) {
		err = pin->ring;
		goto unlock;
	}
	if (reads)
		before = read_status(pinner->status, "\nVmPin:");
	err = register_range(pin->ring, pin->addr, pin->len);
	if (err) {
		give_ring(pinner, pin->ring);
		goto unlock;
	}
	pin->pages_charged = reads ? read_status(pinner->status, "\nVmPin:") - before
				   : span_pages(pin->addr, pin->len);
unlock:
	readings_unlock(pinner);
	return err;
}

static int lock_once(struct iwarp_pinner *pinner, struct iwarp_pin *pin)
{
	uint64_t before;
	int err;

	pin->ring = -1;
	readings_lock(pinner);
	before = read_status(pinner->status, "\nVmLck:");
	err = iwarp_locks_add(pinner->locks, pin->addr, pin->len);
	if (!err)
		pin->locked_pages = read_status(pinner->status, "\nVmLck:") - before;
	readings_unlock(pinner);
	return err;
}

/* ---- the limit ---- */

/* Bytes this process may lock, or UINT64_MAX. */
static uint64_t memlock_limit(void)
{
	struct rlimit rl;

	if (getrlimit(RLIMIT_MEMLOCK, &rl) != 0 || rl.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	return rl.rlim_cur;
}

/* By this process's own account there is room for len more. */
static bool should_fit(const struct iwarp_pinner *pinner, const struct iwarp_pin *pin)
{
	uint64_t used =
		read_status(pinner->status, "\nVmPin:") + read_status(pinner->status, "\nVmLck:");
	uint64_t limit = memlock_limit();

	return limit == UINT64_MAX ||
	       (used + span_pages(pin->addr, pin->len)) * PAGE_BYTES <= limit;
}

static int explain(const struct iwarp_pinner *pinner, const struct iwarp_pin *pin, int code,
		   struct util_err *err)
{
	char size[32], limit[32], used[32];

	util_size_format(pin->len, size, sizeof(size));
	if (code == -EFAULT || code == -EOPNOTSUPP || code == -EACCES) {
		util_err_set(err, -EFAULT, "pin %s of memory: it cannot be pinned writable", size);
		util_err_hint(err, "it must be mapped, writable and not a shared file mapping");
		return -EFAULT;
	}
	if (code == -EMFILE || code == -ENFILE) {
		util_err_set(err, code, "pin %s of memory: too many open files", size);
		util_err_hint(err, "each registration needs a descriptor: raise ulimit -n");
		return code;
	}
	if (code == -EPERM)
		code = -ENOMEM; /* mlock's word for a limit of 0 */
	if (code != -ENOMEM || memlock_limit() == UINT64_MAX)
		return util_err_set(err, code, "pin %s of memory: %s", size, strerror(-code));
	util_size_format(memlock_limit(), limit, sizeof(limit));
	util_size_format((read_status(pinner->status, "\nVmPin:") +
			  read_status(pinner->status, "\nVmLck:")) *
				 PAGE_BYTES,
			 used, sizeof(used));
	util_err_set(err, -ENOMEM,
		     "pin %s of memory: over RLIMIT_MEMLOCK, %s for all processes of this user "
		     "(this process holds %s)",
		     size, limit, used);
	util_err_hint(
		err,
		"raise it (ulimit -l, LimitMEMLOCK= of the service) or ask for less (max-pinned=)");
	return -ENOMEM;
}

static int attempt(struct iwarp_pinner *pinner, struct iwarp_pin *pin)
{
	return pinner->uring ? pin_once(pinner, pin) : lock_once(pinner, pin);
}

/* True where waiting may help: another try after sleeping. */
static bool worth_waiting(struct iwarp_pinner *pinner, const struct iwarp_pin *pin)
{
	bool worth;

	pthread_mutex_lock(&pinner->lock);
	worth = !pinner->gave_up_ns || util_clock_ns() - pinner->gave_up_ns > GAVE_UP_NS;
	pthread_mutex_unlock(&pinner->lock);
	return worth && pinner->uring && should_fit(pinner, pin);
}

int iwarp_pin(struct iwarp_pinner *pinner, void *addr, size_t len, bool small,
	      struct iwarp_pin *pin, struct util_err *err)
{
	struct iwarp_pin tried = {.addr = addr, .len = len, .small = small};
	unsigned slept_ms = 0, sleep_ms = 1;
	int code = attempt(pinner, &tried);

	if (code == -ENOMEM && worth_waiting(pinner, &tried)) {
		while (code == -ENOMEM && slept_ms < RETRY_TOTAL_MS) {
			struct timespec ts = {.tv_nsec = (long)(sleep_ms * UTIL_NS_PER_MS)};

			nanosleep(&ts, NULL);
			slept_ms += sleep_ms;
			sleep_ms = sleep_ms < 200 ? sleep_ms * 2 : 200;
			code = attempt(pinner, &tried);
		}
		pthread_mutex_lock(&pinner->lock);
		pinner->gave_up_ns = code ? util_clock_ns() : 0;
		pthread_mutex_unlock(&pinner->lock);
	}
	if (code)
		return explain(pinner, &tried, code, err);
	*pin = tried;
	return 0;
}

void iwarp_unpin(struct iwarp_pinner *pinner, struct iwarp_pin *pin)
{
	readings_lock(pinner);
	if (pin->ring >= 0) {
		ring_unregister(pin->ring);
		give_ring(pinner, pin->ring);
	} else {
		uint64_t before = read_status(pinner->status, "\nVmLck:");

		iwarp_locks_del(pinner->locks, pin->addr, pin->len);
		pin->locked_pages = before - read_status(pinner->status, "\nVmLck:");
	}
	readings_unlock(pinner);
}
