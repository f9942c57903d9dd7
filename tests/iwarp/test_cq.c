/* SPDX-License-Identifier: BSD-2-Clause */
/* The completion queue as its drivers see it: the descriptor, the wait, threads that take turns. */
#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include "tests/iwarp/pair.h"
#include "util/util.h"

struct setup {
	struct pair pair;
	struct memory from, inbox;
};

static void setup_open(struct setup *s, bool plain)
{
	const struct pair_options opts = {.plain = plain};

	pair_open(&s->pair, &opts);
	memory_open(&s->from, &s->pair, 0, 65536, 0);
	memory_open(&s->inbox, &s->pair, 1, 65536, 0);
	pair_settle(&s->pair, 2);
}

static void setup_close(struct setup *s)
{
	memory_close(&s->from);
	memory_close(&s->inbox);
	pair_close(&s->pair);
}

static void send_len(struct setup *s, size_t len)
{
	struct fabric_sge sge = memory_sge(&s->from, 0, len);

	cr_assert_eq(pair_post(&s->pair, 0, FABRIC_OP_SEND, &sge, 0, 0, 0, 1), 0);
}

static int poll_receiver(struct setup *s, struct fabric_wc *wc)
{
	return s->pair.ops->cq_poll(s->pair.end[1].cq, wc, 1);
}

/* Poll end 1 until it is armed with nothing to say. */
static void arm(struct setup *s)
{
	struct fabric_wc wc;

	do
		cr_assert_eq(poll_receiver(s, &wc), 0);
	while (s->pair.ops->cq_arm(s->pair.end[1].cq) != 0);
}

Test(iwarp_cq, armed_descriptor_becomes_readable_when_something_comes)
{
	for (int plain = 0; plain < 2; plain++) {
		struct setup s;
		struct fabric_wc wc;
		struct pollfd pfd = {.events = POLLIN};

		setup_open(&s, plain);
		pfd.fd = s.pair.ops->cq_fd(s.pair.end[1].cq);
		for (unsigned i = 0; i < 20; i++) {
			/* small ones, and ones that need several reads */
			size_t len = i % 2 ? 100 : 60000;

			pair_recv(&s.pair, 1, &s.inbox, 0, 65536, i);
			arm(&s);
			cr_assert_eq(poll(&pfd, 1, 0), 0);
			send_len(&s, len);
			for (;;) {
				cr_assert_eq(poll(&pfd, 1, 2000), 1, "round %u", i);
				if (poll_receiver(&s, &wc))
					break;
				while (s.pair.ops->cq_arm(s.pair.end[1].cq) != 0 &&
				       !poll_receiver(&s, &wc))
					;
			}
			cr_assert_eq(wc.wr_id, i);
			cr_assert_eq(wc.byte_len, len);
			pair_next(&s.pair, 0);
		}
		setup_close(&s);
	}
}

/*
 * Without a message, time ends a wait.  It may end early a few times: io_uring runs the kernel's
 * deferred work by interrupting the thread (a pin ring's release, say), which ends it with -EINTR.
 */
static void expect_time(struct setup *s, int timeout_ms)
{
	struct fabric_wc wc;
	int err = 0;

	for (int i = 0; i < 10 && (err == 0 || err == -EINTR); i++) {
		err = s->pair.ops->cq_wait(s->pair.end[1].cq, timeout_ms);
		cr_assert_eq(poll_receiver(s, &wc), 0);
	}
	cr_expect_eq(err, -ETIME);
}

static void expect_awake(struct setup *s, int timeout_ms)
{
	int err = s->pair.ops->cq_wait(s->pair.end[1].cq, timeout_ms);

	cr_assert(err == 0 || err == -EINTR, "%d", err);
}

Test(iwarp_cq, wait_returns_for_messages_and_for_time)
{
	for (int plain = 0; plain < 2; plain++) {
		struct setup s;
		struct fabric_wc wc;

		setup_open(&s, plain);
		arm(&s);
		expect_time(&s, 1);
		expect_time(&s, 0);
		pair_recv(&s.pair, 1, &s.inbox, 0, 65536, 3);
		send_len(&s, 10);
		while (poll_receiver(&s, &wc) == 0)
			expect_awake(&s, 2000);
		cr_expect_eq(wc.wr_id, 3);
		/* something unheard: no sleep */
		pair_recv(&s.pair, 1, &s.inbox, 0, 65536, 4);
		s.pair.ops->conn_destroy(s.pair.end[0].conn);
		s.pair.end[0].conn = NULL;
		while (poll_receiver(&s, &wc) == 0)
			expect_awake(&s, 2000);
		cr_expect_eq(wc.status, FABRIC_WC_FLUSHED);
		cr_expect_eq(s.pair.ops->cq_wait(s.pair.end[1].cq, -1), 0);
		setup_close(&s);
	}
}

/* ---- threads ----------------------------------------------------------------------------- */

struct turn {
	struct setup *s;
	struct fabric_wc wc;
	bool sleep; /* stay alive, out of the kernel's sight, until told */
	pthread_barrier_t driven, over;
};

/* Drive end 1 until it is armed and nothing has come, then leave (or idle). */
static void *drive_and_leave(void *arg)
{
	struct turn *turn = arg;

	arm(turn->s);
	cr_assert_eq(turn->s->pair.ops->cq_wait(turn->s->pair.end[1].cq, 1), -ETIME);
	if (turn->sleep) {
		pthread_barrier_wait(&turn->driven);
		pthread_barrier_wait(&turn->over);
	}
	return NULL;
}

static void take_turns(bool plain, bool sleep)
{
	struct setup s;
	struct turn turn = {.s = &s, .sleep = sleep};
	struct fabric_wc wc;
	pthread_t thread;

	setup_open(&s, plain);
	pthread_barrier_init(&turn.driven, NULL, 2);
	pthread_barrier_init(&turn.over, NULL, 2);
	for (unsigned i = 0; i < 10; i++) {
		pair_recv(&s.pair, 1, &s.inbox, 0, 65536, i);
		pthread_create(&thread, NULL, drive_and_leave, &turn);
		if (sleep)
			pthread_barrier_wait(&turn.driven);
		else
			pthread_join(thread, NULL);
		send_len(&s, i % 2 ? 50 : 50000);
		while (poll_receiver(&s, &wc) == 0)
			expect_awake(&s, 2000);
		cr_assert_eq(wc.wr_id, i);
		cr_assert_eq(wc.status, FABRIC_WC_OK);
		if (sleep) {
			pthread_barrier_wait(&turn.over);
			pthread_join(thread, NULL);
		}
		pair_next(&s.pair, 0);
	}
	setup_close(&s);
}

Test(iwarp_cq, thread_that_drove_it_may_end_and_another_goes_on)
{
	take_turns(false, false);
	take_turns(true, false);
}

Test(iwarp_cq, thread_that_drove_it_may_do_something_else_while_another_waits)
{
	take_turns(false, true);
	take_turns(true, true);
}
