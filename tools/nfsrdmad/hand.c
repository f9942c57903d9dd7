/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hand.c - a worker's hand: a thread that touches files on its behalf.
 *
 * Why.  The kernel lets RDMA descriptors be used only by a thread with the very credentials that
 * opened them (ib_safe_file_access() compares the pointers).  Acting as a caller gives a thread new
 * credentials, and going back gives it new ones again: a worker that did would be refused by its
 * RDMA device from then on.  So where verbs listens, a worker's procedures run on its hand, and
 * their answers are sent when they have returned, by the worker.
 *
 * The worker waits meanwhile, so the two never run at once and share all they have without locks.
 * It costs two switches of threads per call.
 */
#include "tools/nfsrdmad/hand.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

struct server_hand {
	pthread_t thread;
	pthread_mutex_t lock; /* all below */
	pthread_cond_t begun, ended;
	void (*fn)(void *arg); /* NULL: nothing to do */
	void *arg;
	bool stop;
};

static void *hand_main(void *arg)
{
	struct server_hand *hand = arg;

	pthread_mutex_lock(&hand->lock);
	for (;;) {
		while (!hand->fn && !hand->stop)
			pthread_cond_wait(&hand->begun, &hand->lock);
		if (!hand->fn)
			break;
		pthread_mutex_unlock(&hand->lock);
		hand->fn(hand->arg);
		pthread_mutex_lock(&hand->lock);
		hand->fn = NULL;
		pthread_cond_signal(&hand->ended);
	}
	pthread_mutex_unlock(&hand->lock);
	return NULL;
}

int server_hand_create(struct server_hand **handp)
{
	struct server_hand *hand = calloc(1, sizeof(*hand));
	int ret;

	if (!hand)
		return -ENOMEM;
	pthread_mutex_init(&hand->lock, NULL);
	pthread_cond_init(&hand->begun, NULL);
	pthread_cond_init(&hand->ended, NULL);
	ret = pthread_create(&hand->thread, NULL, hand_main, hand);
	if (ret) {
		free(hand);
		return -ret;
	}
	*handp = hand;
	return 0;
}

void server_hand_destroy(struct server_hand *hand)
{
	if (!hand)
		return;
	pthread_mutex_lock(&hand->lock);
	hand->stop = true;
	pthread_cond_signal(&hand->begun);
	pthread_mutex_unlock(&hand->lock);
	pthread_join(hand->thread, NULL);
	pthread_mutex_destroy(&hand->lock);
	pthread_cond_destroy(&hand->begun);
	pthread_cond_destroy(&hand->ended);
	free(hand);
}

void server_hand_run(struct server_hand *hand, void (*fn)(void *arg), void *arg)
{
	pthread_mutex_lock(&hand->lock);
	hand->fn = fn;
	hand->arg = arg;
	pthread_cond_signal(&hand->begun);
	while (hand->fn)
		pthread_cond_wait(&hand->ended, &hand->lock);
	pthread_mutex_unlock(&hand->lock);
}
