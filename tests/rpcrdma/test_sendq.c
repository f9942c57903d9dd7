/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of transport/rpcrdma/sendq.c. */
#include <criterion/criterion.h>

#include "transport/rpcrdma/sendq.h"

static unsigned retire(struct rpcrdma_sendq *q, uint64_t wr_id)
{
	unsigned n = 0;
	void *owner;

	while (rpcrdma_sendq_retire(q, wr_id, &owner))
		n++;
	return n;
}

Test(rpcrdma_sendq, every_interval_th_entry_is_signalled_and_retires_those_before)
{
	struct rpcrdma_sendq q;
	uint64_t id = 0;
	bool signal;

	cr_assert_eq(rpcrdma_sendq_init(&q, 64, 64, 4), 0);
	for (int i = 1; i <= 8; i++) {
		id = rpcrdma_sendq_push(&q, &q, 1, false, &signal);
		cr_assert_eq(signal, i % 4 == 0);
	}
	cr_assert_eq(retire(&q, id - 4), 4);
	cr_assert_eq(retire(&q, id - 4), 0); /* twice is nothing */
	cr_assert_eq(retire(&q, id), 4);
	cr_assert_eq(retire(&q, id + 1), 0); /* none of ours */
	cr_assert_eq(rpcrdma_sendq_room(&q), 64);
	rpcrdma_sendq_free(&q);
}

Test(rpcrdma_sendq, owners_come_back_in_order)
{
	struct rpcrdma_sendq q;
	char owners[3];
	uint64_t id = 0;
	void *owner;
	bool signal;

	cr_assert_eq(rpcrdma_sendq_init(&q, 4, 8, 8), 0);
	for (int i = 0; i < 3; i++)
		id = rpcrdma_sendq_push(&q, &owners[i], 1, i == 2, &signal);
	cr_assert(signal);
	for (int i = 0; i < 3; i++) {
		cr_assert(rpcrdma_sendq_retire(&q, id, &owner));
		cr_assert_eq(owner, &owners[i]);
	}
	rpcrdma_sendq_free(&q);
}

/* Whatever the sizes, a full queue has a signalled entry in it, so a completion is on its way. */
Test(rpcrdma_sendq, a_queue_without_room_is_never_silent)
{
	for (uint32_t entries = 2; entries <= 40; entries += 3) {
		for (uint32_t max_wr = 2; max_wr <= 80; max_wr += 7) {
			for (uint32_t nwr = 1; nwr <= max_wr / 2; nwr++) {
				struct rpcrdma_sendq q;
				uint64_t last = 0;
				bool signal, any = false;

				cr_assert_eq(rpcrdma_sendq_init(&q, entries, max_wr, 1000), 0);
				while (rpcrdma_sendq_room(&q) >= nwr) {
					uint64_t id =
						rpcrdma_sendq_push(&q, NULL, nwr, false, &signal);

					if (signal)
						last = id;
					any |= signal;
				}
				cr_assert(any, "%u entries, %u requests by %u", entries, max_wr,
					  nwr);
				cr_assert_gt(retire(&q, last), 0);
				cr_assert_geq(rpcrdma_sendq_room(&q), nwr);
				rpcrdma_sendq_free(&q);
			}
		}
	}
}

Test(rpcrdma_sendq, numbers_may_wrap)
{
	struct rpcrdma_sendq q;
	bool signal;

	cr_assert_eq(rpcrdma_sendq_init(&q, 4, 8, 1), 0);
	q.head = q.tail = UINT32_MAX - 1;
	for (int i = 0; i < 8; i++) {
		uint64_t id = rpcrdma_sendq_push(&q, NULL, 1, true, &signal);

		cr_assert_leq(id, UINT32_MAX);
		cr_assert_eq(retire(&q, id), 1);
	}
	rpcrdma_sendq_free(&q);
}
