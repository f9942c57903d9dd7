/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hand.h - a thread that touches files so that a worker need not change its credentials.
 */
#ifndef NFSRDMAD_HAND_H
#define NFSRDMAD_HAND_H

struct server_hand;

/* -ENOMEM, or what pthread_create() says. */
int server_hand_create(struct server_hand **handp);
void server_hand_destroy(struct server_hand *hand); /* NULL is fine */
/* Have fn(arg) run there; returns when it has. */
void server_hand_run(struct server_hand *hand, void (*fn)(void *arg), void *arg);

#endif
