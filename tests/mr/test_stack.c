/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>

#include "mr/internal.h"
#include "tests/mr/fake.h"

TestSuite(mr_stack);

static struct mr_pool *pool_with_cells(void)
{
	size_t len = MR_CHUNK_CELLS * sizeof(struct mr_cell);
	struct mr_cell *cells = aligned_alloc(MR_CELL_ALIGN, len);
	struct mr_pool *pool = calloc(1, sizeof(*pool));

	memset(cells, 0, len);
	for (uint32_t i = 0; i < MR_CHUNK_CELLS; i++)
		cells[i].index = i + 1;
	pool->chunks[0] = cells;
	return pool;
}

static void pool_free(struct mr_pool *pool)
{
	free(pool->chunks[0]);
	free(pool);
}

Test(mr_stack, last_in_is_first_out_and_counted)
{
	struct mr_pool *pool = pool_with_cells();
	struct mr_cell *cells = pool->chunks[0];
	struct mr_stack stack = {0};
	struct mr_chain chain = {0};

	for (unsigned i = 0; i < 10; i++)
		mr_chain_add(&chain, &cells[i]);
	cr_assert_eq(mr_stack_push(&stack, &chain), 10);
	mr_stack_pop(pool, &stack, 4, &chain);
	cr_assert_eq(chain.count, 4);
	for (unsigned i = 9; i > 5; i--)
		cr_assert_eq(mr_chain_take(pool, &chain), &cells[i]);
	cr_assert_null(mr_chain_take(pool, &chain));
	mr_stack_pop(pool, &stack, 100, &chain);
	cr_assert_eq(chain.count, 6);
	cr_assert_null(mr_stack_pop_one(pool, &stack));
	pool_free(pool);
}

/*
 * The classical accident: a pop that was interrupted holds the head "a, then b"; meanwhile a and b
 * are popped and a is pushed back.  The head shows a again, and an exchange for b must fail.
 */
Test(mr_stack, a_head_is_never_the_same_twice)
{
	struct mr_pool *pool = pool_with_cells();
	struct mr_cell *cells = pool->chunks[0];
	struct mr_stack stack = {0};
	uint64_t interrupted;

	mr_stack_push_one(&stack, &cells[2]);
	mr_stack_push_one(&stack, &cells[1]);
	mr_stack_push_one(&stack, &cells[0]);
	interrupted = stack.head;
	cr_assert_eq(mr_stack_pop_one(pool, &stack), &cells[0]);
	cr_assert_eq(mr_stack_pop_one(pool, &stack), &cells[1]);
	mr_stack_push_one(&stack, &cells[3]);
	mr_stack_push_one(&stack, &cells[0]);
	cr_assert_eq((uint32_t)interrupted, (uint32_t)stack.head, "top and count are the same");
	cr_assert_neq(interrupted, stack.head);
	pool_free(pool);
}

static struct mr_pool *shared_pool;
static struct mr_stack shared_stack;
static _Atomic unsigned owners[MR_CHUNK_CELLS];

static void *pop_and_push(void *arg)
{
	for (unsigned i = 0; i < 100000; i++) {
		struct mr_chain chain;
		struct mr_cell *cell;

		mr_stack_pop(shared_pool, &shared_stack, 1 + i % 3, &chain);
		for (unsigned j = chain.count; j; j--) {
			cell = mr_chain_take(shared_pool, &chain);
			cr_assert_eq(atomic_fetch_add(&owners[cell->index - 1], 1), 0,
				     "a cell has two owners");
			atomic_fetch_sub(&owners[cell->index - 1], 1);
			mr_stack_push_one(&shared_stack, cell);
		}
	}
	return NULL;
}

Test(mr_stack, cells_have_one_owner_each_among_threads, .timeout = 30)
{
	pthread_t threads[4];
	unsigned left = 0;

	shared_pool = pool_with_cells();
	for (uint32_t i = 1; i <= 5; i++)
		mr_stack_push_one(&shared_stack, mr_cell_at(shared_pool, i));
	for (unsigned i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, pop_and_push, NULL);
	for (unsigned i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	while (mr_stack_pop_one(shared_pool, &shared_stack))
		left++;
	cr_assert_eq(left, 5);
	pool_free(shared_pool);
}
