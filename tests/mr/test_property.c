/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A million random steps over real pins, a quarter in each mode: takes, gives, grants, ends of all
 * three kinds, lost connections, memory of others, trims and failing registrations, held against a
 * model.  After every single step the ledger must say what the model says, and what the kernel
 * says: the growth of VmPin.
 *
 * A run that fails is shrunk: pieces of its steps are left out as long as it still fails, and what
 * remains is printed.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mr/internal.h"
#include "tests/mr/shaky.h"

/* Where a limit makes tests take turns, waiting counts. */
TestSuite(mr_property, .timeout = 300);

#define STEPS 250000u
#define SHRINK_S 60u /* how long to look for a shorter one */
#define LEASES 12
#define GRANTS 12
#define FOREIGN (1u << 20)

/* ---- the model ---------------------------------------------------------------------------- */

struct model {
	struct shaky_provider shaky;
	struct mr_ledger ledger;
	struct mr_pool *pool;
	struct mr_binder *binder;
	char *foreign;
	int status;
	uint64_t pinned_before;
	struct mr_lease *lease[LEASES];
	bool quarantined[LEASES];
	struct mr_grant *grant[GRANTS];
	unsigned of[GRANTS]; /* the lease it is of */
	bool closing[GRANTS];
	uint64_t stamp;
	const char *wrong; /* what broke, NULL: nothing */
};

static uint64_t read_pinned(int fd)
{
	char text[4096];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	const char *at;

	cr_assert_gt(n, 0);
	text[n] = '\0';
	at = strstr(text, "\nVmPin:");
	return at ? strtoull(at + 7, NULL, 10) / 4 : 0;
}

static void stamp(struct model *m, struct mr_lease *lease)
{
	uint64_t value = ++m->stamp;

	memcpy(lease->addr, &value, 8);
	memcpy((char *)lease->addr + lease->len - 8, &value, 8);
}

/* One holder's stamp at both ends; memory of others may be lent twice. */
static void check_stamp(struct model *m, const struct mr_lease *lease)
{
	if ((char *)lease->addr >= m->foreign && (char *)lease->addr < m->foreign + FOREIGN)
		return;
	if (memcmp(lease->addr, (char *)lease->addr + lease->len - 8, 8))
		m->wrong = "a lease was written to by another holder";
}

static bool has_grant(const struct model *m, unsigned lease)
{
	for (unsigned g = 0; g < GRANTS; g++)
		if (m->grant[g] && m->of[g] == lease)
			return true;
	return false;
}

static void do_take(struct model *m, unsigned i, uint32_t r)
{
	size_t len = 16 + r % (1u << (8 + r / 7 % 11));
	struct util_err err = {0};
	int ret;

	if (m->lease[i])
		return;
	if (r % 4 == 0) {
		size_t off = r / 3 % (FOREIGN / 4096 - 32) * 4096;

		ret = mr_lease_take_memory(m->pool, (enum mr_kind)(r % 3), m->foreign + off,
					   4096 + r % 65536, &m->lease[i], &err);
	} else {
		ret = mr_lease_take(m->pool, (enum mr_kind)(r % 3), len, &m->lease[i], &err);
	}
	if (!ret)
		stamp(m, m->lease[i]);
	else if (m->lease[i] || err.code != ret || !err.what[0])
		m->wrong = "a failed take leaves something, or says nothing";
}

static void do_give(struct model *m, unsigned i)
{
	if (!m->lease[i] || has_grant(m, i))
		return;
	check_stamp(m, m->lease[i]);
	mr_lease_give(m->lease[i]);
	m->lease[i] = NULL;
	m->quarantined[i] = false;
}

static void do_open(struct model *m, unsigned g, unsigned i)
{
	struct mr_lease *lease = m->lease[i];
	struct util_err err = {0};
	enum mr_kind kind;
	int ret;

	if (m->grant[g] || !lease)
		return;
	kind = lease->kind == MR_KIND_BOTH ? MR_KIND_READ : lease->kind;
	ret = mr_grant_open(m->binder, lease, lease->addr, lease->len, kind, &m->grant[g], &err);
	if (ret < 0 && (m->grant[g] || err.code != ret || !err.what[0]))
		m->wrong = "a failed grant leaves something, or says nothing";
	if (ret >= 0 && (ret == 1) != mr_binder_all_windows(m->binder))
		m->wrong = "a bind where none is due, or none where one is";
	m->of[g] = i;
	m->closing[g] = false;
	if (ret == 1)
		m->grant[g]->window.rkey = m->grant[g]->rkey;
}

static void do_close(struct model *m, unsigned g, uint32_t r)
{
	struct mr_grant *grant = m->grant[g];
	bool over = true;

	if (!grant)
		return;
	if (m->closing[g])
		mr_grant_end(m->binder, grant);
	else if (mr_binder_all_windows(m->binder) && r % 2)
		mr_grant_invalidated(m->binder, grant);
	else
		over = !mr_grant_close(m->binder, grant);
	m->closing[g] = !over;
	if (over)
		m->grant[g] = NULL;
}

static void do_reset(struct model *m)
{
	mr_binder_reset(m->binder);
	for (unsigned g = 0; g < GRANTS; g++) {
		if (m->grant[g])
			mr_grant_end(m->binder, m->grant[g]);
		m->grant[g] = NULL;
	}
}

/* Remember unmapped memory: as the monitor would, and new pages behind the addresses. */
static void do_forget(struct model *m, uint32_t r)
{
	size_t off = r % (FOREIGN / 4096) * 4096;

	mr_pool_forget_memory(m->pool, m->foreign + off, 4096);
}

static void step(struct model *m, uint32_t r)
{
	unsigned i = r / 32 % LEASES, g = r / 512 % GRANTS;

	switch (r % 32) {
	case 0:
		if (r / 32 % 16 == 0)
			mr_pool_trim(m->pool);
		break;
	case 1:
		if (r / 32 % 16 == 0)
			do_reset(m);
		break;
	case 2:
		m->shaky.fail_next = r / 32 % 4 == 0;
		break;
	case 3:
		do_forget(m, r / 32);
		break;
	case 4:
		if (m->lease[i] && !m->quarantined[i])
			mr_lease_quarantine(m->lease[i]);
		m->quarantined[i] = m->lease[i] != NULL;
		break;
	case 5 ... 12:
		do_take(m, i, r / 32);
		break;
	case 13 ... 17:
		do_give(m, i);
		break;
	case 18 ... 24:
		do_open(m, g, i);
		break;
	default:
		do_close(m, g, r / 8192);
	}
}

static bool planted; /* of one test: a fault to be shrunk to */

static void check(struct model *m)
{
	unsigned leases = 0, quarantined = 0, windows = 0;
	struct mr_ledger_snapshot snap;

	for (unsigned i = 0; i < LEASES; i++) {
		leases += m->lease[i] != NULL;
		quarantined += m->quarantined[i];
	}
	for (unsigned g = 0; g < GRANTS; g++)
		windows += m->grant[g] && mr_binder_all_windows(m->binder);
	mr_ledger_read(&m->ledger, &snap);
	if (snap.leases_now != leases || snap.leases_taken - snap.leases_given != leases)
		m->wrong = "leases";
	if (snap.quarantined_now != quarantined)
		m->wrong = "quarantines";
	if (snap.windows_now != windows ||
	    snap.windows_bound != snap.invalidations_local + snap.invalidations_remote +
					  snap.windows_dropped + windows)
		m->wrong = "windows";
	if (snap.registrations - snap.deregistrations != m->shaky.live ||
	    snap.bytes_registered_now != m->shaky.bytes)
		m->wrong = "registrations";
	if (planted && m->lease[2] && m->lease[5])
		m->wrong = "planted";
	if (snap.pages_charged_now != snap.pages_charged - snap.pages_released)
		m->wrong = "pages";
	if (snap.pages_charged_now != read_pinned(m->status) - m->pinned_before)
		m->wrong = "VmPin";
}

static void model_open(struct model *m, enum mr_mode mode)
{
	struct mr_pool_params params = {
		.mode = mode,
		.monitor = MR_MONITOR_OFF,
		.max_pinned = mode == MR_MODE_POOL || mode == MR_MODE_WINDOW ? 6 << 20 : 1 << 20,
		.slab_size = 512 << 10,
		.hugepages = MR_HUGE_OFF,
		.numa_node = -1,
		.ledger_parent = &m->ledger,
	};
	struct util_err err = {0};

	memset(m, 0, sizeof(*m));
	shaky_provider_init(&m->shaky);
	m->status = open("/proc/self/status", O_RDONLY);
	m->pinned_before = read_pinned(m->status);
	mr_ledger_init(&m->ledger, NULL);
	m->foreign =
		mmap(NULL, FOREIGN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq(m->foreign, MAP_FAILED);
	madvise(m->foreign, FOREIGN, MADV_NOHUGEPAGE);
	memset(m->foreign, 1, FOREIGN);
	cr_assert_eq(mr_pool_create(&m->pool, &m->shaky.p, &params, &err), 0, "%s", err.what);
	cr_assert_eq(mr_binder_create(&m->binder, m->pool, 16, &err), 0, "%s", err.what);
}

static void model_close(struct model *m)
{
	struct mr_ledger_snapshot snap;

	do_reset(m);
	for (unsigned i = 0; i < LEASES; i++)
		do_give(m, i);
	mr_binder_destroy(m->binder);
	mr_pool_destroy(m->pool);
	mr_ledger_read(&m->ledger, &snap);
	if (m->shaky.live || m->shaky.windows || snap.pages_charged_now || snap.leases_now ||
	    read_pinned(m->status) != m->pinned_before)
		m->wrong = "something is left at the end";
	munmap(m->foreign, FOREIGN);
	close(m->status);
}

/* NULL: it holds; else what does not, after *np steps. */
static const char *run(enum mr_mode mode, const uint32_t *steps, unsigned *np)
{
	unsigned n = *np;
	struct model m;

	model_open(&m, mode);
	for (*np = 0; *np < n && !m.wrong; (*np)++) {
		step(&m, steps[*np]);
		if (!m.wrong)
			check(&m);
	}
	if (!m.wrong)
		model_close(&m);
	return m.wrong;
}

/* The same in a child, whose pins are gone with it whatever went wrong.  A crash is a failure. */
static bool fails(enum mr_mode mode, const uint32_t *steps, unsigned n)
{
	pid_t pid = fork();
	int status = 0;

	if (!pid)
		_exit(run(mode, steps, &n) ? 1 : 0);
	cr_assert_gt(pid, 0);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	return status != 0;
}

/* Leave out ever smaller pieces as long as the rest still fails.  Returns what is left. */
static unsigned shrink(enum mr_mode mode, uint32_t *steps, unsigned n)
{
	uint64_t until_ns = util_clock_ns() + SHRINK_S * UTIL_NS_PER_S;
	uint32_t *rest = malloc(n * sizeof(*rest));

	for (unsigned piece = n / 2, before = n; piece; before = n) {
		for (unsigned at = 0; at + piece <= n && util_clock_ns() < until_ns;) {
			memcpy(rest, steps, at * sizeof(*rest));
			memcpy(rest + at, steps + at + piece, (n - at - piece) * sizeof(*rest));
			if (fails(mode, rest, n - piece)) {
				n -= piece;
				memcpy(steps, rest, n * sizeof(*rest));
			} else {
				at += piece;
			}
		}
		/* The last size again as long as it helps: each step left may have freed another.
		 */
		if (piece > 1 || n == before)
			piece /= 2;
	}
	free(rest);
	return n;
}

static uint32_t *random_steps(uint64_t state, unsigned n)
{
	uint32_t *steps = malloc(n * sizeof(*steps));

	for (unsigned i = 0; i < n; i++) {
		state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
		steps[i] = (uint32_t)(state >> 32);
	}
	return steps;
}

static void quarter_million(enum mr_mode mode)
{
	uint32_t *steps = random_steps(0x5eed + mode, STEPS);
	unsigned left = STEPS;
	const char *wrong;

	wrong = run(mode, steps, &left);
	if (wrong) {
		left = shrink(mode, steps, left);
		for (unsigned i = 0; i < left && i < 50; i++)
			fprintf(stderr, "step %u: 0x%08x\n", i, steps[i]);
		cr_assert_fail("%s: %s, after %u steps that cannot be left out", mr_mode_name(mode),
			       wrong, left);
	}
	free(steps);
}

Test(mr_property, the_ledger_is_vmpin_at_every_step_of_pool_mode)
{
	quarter_million(MR_MODE_POOL);
}

Test(mr_property, the_ledger_is_vmpin_at_every_step_of_window_mode)
{
	quarter_million(MR_MODE_WINDOW);
}

Test(mr_property, the_ledger_is_vmpin_at_every_step_of_cache_mode)
{
	quarter_million(MR_MODE_CACHE);
}

Test(mr_property, the_ledger_is_vmpin_at_every_step_of_per_io_mode)
{
	quarter_million(MR_MODE_PER_IO);
}

/* Planted: it is wrong to hold the third and the sixth lease together. */
Test(mr_property, a_run_that_fails_is_shrunk_to_the_steps_it_takes)
{
	uint32_t *steps = random_steps(1, 5000);
	unsigned n = 5000;

	planted = true;
	cr_assert(fails(MR_MODE_POOL, steps, n), "such a run holds both some time");
	n = shrink(MR_MODE_POOL, steps, n);
	cr_expect_eq(n, 2, "two takes are enough: %u", n);
	for (unsigned i = 0; i < n; i++)
		cr_expect(steps[i] % 32 >= 5 && steps[i] % 32 <= 12, "step %u is no take", i);
	free(steps);
}
