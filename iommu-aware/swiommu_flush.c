/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * swiommu_flush.c - telling the software IOMMU's IOTLB what to forget, at once or later.
 *
 * The invalidation queue is a ring of descriptors.  Whoever invalidates appends what is to be
 * forgotten and a wait descriptor, rings, and waits until the device has written that it came to
 * the wait.  The device is software, so the one who rang carries the ring out.  What hardware would
 * take for it can be modelled, as a wait on the CPU, which is how a driver waits too.
 *
 * Lazy mode.  Unmapped ranges are gathered in flush queues of 256 entries, one for each thread, so
 * that nobody but the timer meets a thread at its lock.  A queue that is full is flushed by the
 * thread that comes with the next range; every queue is flushed by the timer, 10 ms after the first
 * range was queued: one thread that sleeps while nothing is queued.  One flush makes the whole
 * IOTLB forget, then the bus addresses are free for others; never before, or a stale entry would
 * lead to the wrong memory.
 *
 * Threads come and go without telling.  A queue is found by its owner's identity, from a place
 * that follows from it onwards, and is never given back; when all have had an owner, a newcomer
 * takes over one that is empty.  Were its owner still there, it would take another in its turn:
 * ownership only keeps threads apart, the lock keeps them safe.
 */
#include <stdlib.h>
#include <time.h>

#include "iommu-aware/swiommu.h"
#include "util/util.h"

#define NS_PER_S UINT64_C(1000000000)

/* ---- invalidation queue ------------------------------------------------------------------- */

void iommu_sw_inval_init(struct iommu_sw_inval_queue *queue, struct sw_tlb *tlb, uint64_t wait_ns)
{
	pthread_mutex_init(&queue->lock, NULL);
	queue->head = queue->tail = 0;
	queue->tlb = tlb;
	queue->wait_ns = wait_ns;
}

void iommu_sw_inval_fini(struct iommu_sw_inval_queue *queue)
{
	pthread_mutex_destroy(&queue->lock);
}

static void model_wait(uint64_t ns)
{
	uint64_t end = ns ? util_clock_ns() + ns : 0;

	while (end && util_clock_ns() < end)
		;
}

/* What the device does when the doorbell rings. */
static void carry_out(struct iommu_sw_inval_queue *queue)
{
	while (queue->head != queue->tail) {
		struct sw_inval *inval = &queue->ring[queue->head++ % SW_INVAL_RING];

		switch (inval->kind) {
		case SW_INVAL_PAGES:
			iommu_sw_tlb_forget(queue->tlb, inval->bus, inval->len);
			break;
		case SW_INVAL_ALL:
			iommu_sw_tlb_forget_all(queue->tlb);
			break;
		case SW_INVAL_WAIT:
			model_wait(queue->wait_ns);
			*inval->done = true;
			break;
		}
	}
}

void iommu_sw_inval_sync(struct iommu_sw_inval_queue *queue, uint64_t bus, uint64_t len)
{
	bool done = false;

	pthread_mutex_lock(&queue->lock);
	queue->ring[queue->tail++ % SW_INVAL_RING] = (struct sw_inval){
		.kind = len ? SW_INVAL_PAGES : SW_INVAL_ALL, .bus = bus, .len = len};
	queue->ring[queue->tail++ % SW_INVAL_RING] =
		(struct sw_inval){.kind = SW_INVAL_WAIT, .done = &done};
	while (!done)
		carry_out(queue);
	pthread_mutex_unlock(&queue->lock);
}

/* ---- flush queues ------------------------------------------------------------------------- */

static void note_delay(struct sw_flush *flush, uint64_t ns)
{
	uint64_t most = atomic_load_explicit(&flush->delay_most_ns, memory_order_relaxed);

	while (ns > most && !atomic_compare_exchange_weak(&flush->delay_most_ns, &most, ns))
		;
}

/* The queue's lock is held. */
static void flush_queue(struct sw_flush *flush, struct iommu_sw_flush_queue *queue)
{
	uint64_t now;

	if (!queue->count)
		return;
	iommu_sw_inval_sync(flush->inval, 0, 0);
	now = util_clock_ns();
	note_delay(flush, now - queue->entry[0].since_ns);
	for (unsigned i = 0; flush->space && i < queue->count; i++)
		iommu_space_free(flush->space, queue->entry[i].bus, queue->entry[i].len);
	atomic_fetch_add_explicit(&flush->batches, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&flush->flushed, queue->count, memory_order_relaxed);
	queue->count = 0;
}

void iommu_sw_flush_all(struct sw_flush *flush)
{
	for (unsigned i = 0; i < SW_FLUSH_QUEUES; i++) {
		pthread_mutex_lock(&flush->queue[i].lock);
		flush_queue(flush, &flush->queue[i]);
		pthread_mutex_unlock(&flush->queue[i].lock);
	}
}

static void *timer_main(void *arg)
{
	struct sw_flush *flush = arg;

	pthread_mutex_lock(&flush->timer_lock);
	while (!flush->stop) {
		struct timespec until = {.tv_sec = (time_t)(flush->due_ns / NS_PER_S),
					 .tv_nsec = (long)(flush->due_ns % NS_PER_S)};

		if (!flush->due_ns) {
			pthread_cond_wait(&flush->timer_cond, &flush->timer_lock);
		} else if (util_clock_ns() < flush->due_ns) {
			pthread_cond_timedwait(&flush->timer_cond, &flush->timer_lock, &until);
		} else {
			/* Who queues from here on arms the timer anew. */
			flush->due_ns = 0;
			pthread_mutex_unlock(&flush->timer_lock);
			iommu_sw_flush_all(flush);
			pthread_mutex_lock(&flush->timer_lock);
		}
	}
	pthread_mutex_unlock(&flush->timer_lock);
	return NULL;
}

/*
 * Armed already: the timer will yet take the locks of all queues, this one's too, and finds what
 * was queued before.  For had it been there already, it would have disarmed itself before that.
 */
static void timer_arm(struct sw_flush *flush, uint64_t due_ns)
{
	if (atomic_load_explicit(&flush->due_ns, memory_order_relaxed))
		return;
	pthread_mutex_lock(&flush->timer_lock);
	if (!flush->due_ns) {
		flush->due_ns = due_ns;
		pthread_cond_signal(&flush->timer_cond);
	}
	pthread_mutex_unlock(&flush->timer_lock);
}

/* The first from start that is self's or nobody's yet. */
static struct iommu_sw_flush_queue *find_queue(struct sw_flush *flush, uint64_t self,
					       unsigned start)
{
	for (unsigned i = 0; i < flush->queues; i++) {
		struct iommu_sw_flush_queue *queue = &flush->queue[(start + i) % flush->queues];
		uint64_t owner = atomic_load_explicit(&queue->owner, memory_order_relaxed);

		if (owner == self ||
		    (!owner && atomic_compare_exchange_strong(&queue->owner, &owner, self)))
			return queue;
	}
	return NULL;
}

/* One that holds nothing, whoever had it; if there is none, any. */
static struct iommu_sw_flush_queue *take_over(struct sw_flush *flush, uint64_t self, unsigned start)
{
	for (unsigned i = 0; i < flush->queues; i++) {
		struct iommu_sw_flush_queue *queue = &flush->queue[(start + i) % flush->queues];
		uint64_t owner = atomic_load_explicit(&queue->owner, memory_order_relaxed);

		if (!atomic_load_explicit(&queue->count, memory_order_relaxed) &&
		    atomic_compare_exchange_strong(&queue->owner, &owner, self))
			return queue;
	}
	return &flush->queue[start % flush->queues];
}

static struct iommu_sw_flush_queue *my_queue(struct sw_flush *flush)
{
	uint64_t self = (uint64_t)pthread_self();
	unsigned start = (unsigned)(self * UINT64_C(0x9e3779b97f4a7c15) >> SW_FLUSH_SHIFT);
	struct iommu_sw_flush_queue *queue = find_queue(flush, self, start);

	return queue ? queue : take_over(flush, self, start);
}

/* The queue's lock is held.  A queue gets its memory when it is first used. */
static bool queue_room(struct sw_flush *flush, struct iommu_sw_flush_queue *queue)
{
	if (queue->count == SW_FLUSH_ENTRIES)
		flush_queue(flush, queue);
	if (!queue->entry)
		queue->entry = calloc(SW_FLUSH_ENTRIES, sizeof(*queue->entry));
	return queue->entry;
}

/* Without memory to remember it, the range is flushed by itself. */
static void flush_now(struct sw_flush *flush, uint64_t bus, uint64_t len)
{
	iommu_sw_inval_sync(flush->inval, bus, len);
	iommu_space_free(flush->space, bus, len);
	atomic_fetch_add_explicit(&flush->batches, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&flush->flushed, 1, memory_order_relaxed);
}

void iommu_sw_flush_add(struct sw_flush *flush, uint64_t bus, uint64_t len)
{
	struct iommu_sw_flush_queue *queue = my_queue(flush);
	uint64_t now = util_clock_ns();
	bool room;

	pthread_mutex_lock(&queue->lock);
	room = queue_room(flush, queue);
	if (room) {
		queue->entry[queue->count++] = (struct iommu_sw_flush_entry){bus, len, now};
		if (queue->count > queue->most)
			queue->most = queue->count;
	}
	pthread_mutex_unlock(&queue->lock);
	if (room) /* after the entry is there: a timer that has just looked is armed again */
		timer_arm(flush, now + SW_FLUSH_NS);
	else
		flush_now(flush, bus, len);
}

uint64_t iommu_sw_flush_queued(struct sw_flush *flush, uint64_t *mostp)
{
	uint64_t sum = 0, most = 0;

	for (unsigned i = 0; i < SW_FLUSH_QUEUES; i++) {
		struct iommu_sw_flush_queue *queue = &flush->queue[i];

		pthread_mutex_lock(&queue->lock);
		sum += queue->count;
		if (queue->most > most)
			most = queue->most;
		pthread_mutex_unlock(&queue->lock);
	}
	*mostp = most;
	return sum;
}

static void locks_fini(struct sw_flush *flush)
{
	for (unsigned i = 0; i < SW_FLUSH_QUEUES; i++) {
		pthread_mutex_destroy(&flush->queue[i].lock);
		free(flush->queue[i].entry);
	}
	pthread_cond_destroy(&flush->timer_cond);
	pthread_mutex_destroy(&flush->timer_lock);
}

int iommu_sw_flush_init(struct sw_flush *flush, struct iommu_sw_inval_queue *inval,
			struct iommu_space *space, bool lazy)
{
	pthread_condattr_t attr;
	int err;

	flush->inval = inval;
	flush->space = space;
	flush->queues = SW_FLUSH_QUEUES;
	for (unsigned i = 0; i < SW_FLUSH_QUEUES; i++)
		pthread_mutex_init(&flush->queue[i].lock, NULL);
	pthread_mutex_init(&flush->timer_lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&flush->timer_cond, &attr);
	pthread_condattr_destroy(&attr);
	if (!lazy)
		return 0;
	err = pthread_create(&flush->timer, NULL, timer_main, flush);
	if (err) {
		locks_fini(flush);
		return -err;
	}
	flush->has_timer = true;
	return 0;
}

void iommu_sw_flush_fini(struct sw_flush *flush)
{
	if (flush->has_timer) {
		pthread_mutex_lock(&flush->timer_lock);
		flush->stop = true;
		pthread_cond_signal(&flush->timer_cond);
		pthread_mutex_unlock(&flush->timer_lock);
		pthread_join(flush->timer, NULL);
	}
	iommu_sw_flush_all(flush);
	locks_fini(flush);
}
