/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * null.h - the export whose files read as zeros and swallow writes.
 */
#ifndef NFSRDMAD_NULL_H
#define NFSRDMAD_NULL_H

struct server;
struct server_op;
struct server_export;
struct wire_fh;

/* For the export named; -ENOMEM. */
int server_null_create(struct server *srv, const struct server_export *exp);
void server_null_destroy(struct server *srv);
void server_null_root(const struct server *srv, struct wire_fh *fh);
/* Any NFS procedure whose first handle claims to be the null export's. */
void server_null_dispatch(struct server_op *op);

#endif
