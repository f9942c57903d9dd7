/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * call.c - one procedure call with its waits and retries.
 *
 * Normal operation.  client_op_start() takes a call from a connection's free list, has prepare()
 * write the arguments and submits it.  The transport repeats it over reconnects under the same XID;
 * when the reply comes, reply() reads the results while they are there, and done() runs.
 *
 * JUKEBOX (RFC 1813 section 2.6: "the server is working on it, try again later") parks the
 * operation on mount->delayed and sends it anew, as another RPC, after 100 ms, then twice as long
 * each time up to 5 s.  A soft mount gives up after timeo x (retrans + 1) in all, a hard one never.
 *
 * Replays.  call->replayed says that the server may have executed the call before.  What an
 * EEXIST or ENOENT then means is for the procedures of name.c and link.c.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "client/internal.h"

#define JUKEBOX_STATUS 10008 /* NFS3ERR_JUKEBOX */
#define JUKEBOX_FIRST_MS 100
#define JUKEBOX_MAX_MS 5000

static void op_transport_done(struct transport_call *call);

void client_op_init(struct client_op *op, struct nfsrdma *mount, uint32_t proc,
		    const struct client_op_ops *ops)
{
	util_list_init(&op->node);
	op->mount = mount;
	op->conn = NULL;
	op->ops = ops;
	op->prog = WIRE_NFS_PROG;
	op->vers = 3;
	op->proc = proc;
	op->idempotent = true;
	op->err.code = 0;
	op->err.what[0] = op->err.hint[0] = '\0';
	op->status = 0;
	op->replayed = false;
	op->due_ns = op->start_ns = 0;
	op->delays = 0;
}

static struct transport_client *op_connection(struct client_op *op)
{
	struct nfsrdma *mount = op->mount;

	if (op->conn)
		return op->conn;
	if (mount->nconns == 1)
		return mount->conn[0];
	mount->next_conn = (mount->next_conn + 1) % mount->nconns;
	return mount->conn[mount->next_conn];
}

/* MOUNT and rpcbind calls bear the same credentials as the others: a server may look. */
int client_op_start(struct client_op *op)
{
	struct nfsrdma *mount = op->mount;
	struct transport_call *call;
	int err;

	if (mount->closing)
		return util_err_set(&op->err, -ESHUTDOWN, "the mount is being taken down");
	err = transport_call_get(op_connection(op), op->prog, op->vers, op->proc, &mount->cred,
				 &call);
	if (err)
		return util_err_set(&op->err, err, "out of memory");
	call->idempotent = op->idempotent;
	call->done = op_transport_done;
	call->arg = op;
	if (mount->call_limit_ms)
		call->deadline_ns = util_clock_ns() + mount->call_limit_ms * UTIL_NS_PER_MS;
	op->ops->prepare(op, call);
	err = transport_call_submit(call);
	if (err) {
		if (call->err.code) {
			op->err = call->err;
		} else if (err == -EMSGSIZE) {
			util_err_set(&op->err, err,
				     "no registered memory for a reply of up to %zu bytes",
				     (size_t)call->reply_max);
			util_err_hint(&op->err, "more may be pinned with a higher -o max-pinned= "
						"or memlock limit (ulimit -l)");
		} else {
			util_err_set(&op->err, err, "cannot send the call: %s", strerror(-err));
		}
		op->err.code = err;
		transport_call_put(call);
	}
	return err;
}

/* How long a soft mount puts up with JUKEBOX. */
static uint64_t op_patience_ns(const struct nfsrdma *mount)
{
	return (uint64_t)mount->opts.timeo_ds * 100 * (mount->opts.retrans + 1) * UTIL_NS_PER_MS;
}

/* Park op; false when it has waited long enough. */
static bool op_delay(struct client_op *op)
{
	struct nfsrdma *mount = op->mount;
	uint64_t now = util_clock_ns(), wait_ms = JUKEBOX_FIRST_MS;
	struct util_list *at = &mount->delayed;

	if (mount->closing)
		return false;
	if (!op->start_ns)
		op->start_ns = now;
	if (mount->opts.soft && now - op->start_ns > op_patience_ns(mount))
		return false;
	if (mount->call_limit_ms && now - op->start_ns > mount->call_limit_ms * UTIL_NS_PER_MS)
		return false;
	for (unsigned i = 0; i < op->delays && wait_ms < JUKEBOX_MAX_MS; i++)
		wait_ms *= 2;
	if (wait_ms > JUKEBOX_MAX_MS)
		wait_ms = JUKEBOX_MAX_MS;
	op->delays++;
	op->due_ns = now + wait_ms * UTIL_NS_PER_MS;
	while (at->prev != &mount->delayed &&
	       UTIL_LIST_ENTRY(at->prev, struct client_op, node)->due_ns > op->due_ns)
		at = at->prev;
	util_list_insert_after(at->prev, &op->node);
	return true;
}

static uint32_t peek_status(const struct transport_call *call)
{
	if (wire_dec_left(&call->results) < 4)
		return UINT32_MAX;
	return util_get_be32(call->results.p);
}

static void op_failed_call(struct client_op *op, const struct transport_call *call)
{
	op->err = call->err;
	op->err.code = call->status;
	if (!op->err.what[0])
		util_err_set(&op->err, call->status, "%s", strerror(-call->status));
}

static void op_transport_done(struct transport_call *call)
{
	struct client_op *op = call->arg;
	bool nfs = op->prog == WIRE_NFS_PROG && op->proc != WIRE_NFS3_NULL;

	op->replayed = call->replayed;
	if (call->status) {
		op_failed_call(op, call);
	} else if (nfs && peek_status(call) == JUKEBOX_STATUS) {
		if (op_delay(op)) {
			transport_call_put(call);
			return;
		}
		util_err_set(&op->err, -ETIMEDOUT,
			     "the server keeps putting the call off "
			     "(NFS3ERR_JUKEBOX)");
	} else if (op->ops->reply(op, call)) {
		util_err_set(&op->err, -EIO, "the server's %s reply makes no sense",
			     nfs ? wire_nfs3_proc_name(op->proc) : "MOUNT");
	}
	transport_call_put(call);
	op->ops->done(op);
}

void client_op_cancel_delayed(struct nfsrdma *mount)
{
	struct util_list *node;

	while ((node = util_list_pop(&mount->delayed))) {
		struct client_op *op = UTIL_LIST_ENTRY(node, struct client_op, node);

		util_err_set(&op->err, -ECANCELED, "the mount was taken down");
		op->ops->done(op);
	}
}

/* "Permission denied", and what is unusual with its NFS name. */
static void op_status_words(struct util_err *err, uint32_t status, int code)
{
	if (code == -EIO || code == -EREMOTEIO || code == -EBADF || code == -EBADMSG ||
	    code == -EOPNOTSUPP)
		util_err_set(err, code, "%s (%s)", strerror(-code), wire_nfs3_status_name(status));
	else
		util_err_set(err, code, "%s", strerror(-code));
}

int client_op_result(struct client_op *op)
{
	struct nfsrdma *mount = op->mount;
	int code;

	if (op->err.code) {
		mount->err = op->err;
		mount->nfs_status = 0;
		return op->err.code;
	}
	if (!op->status)
		return 0;
	code = op->prog == WIRE_MOUNT_PROG ? wire_mount_errno(op->status)
					   : wire_nfs3_errno(op->status);
	op_status_words(&mount->err, op->status, code);
	mount->nfs_status = op->prog == WIRE_MOUNT_PROG ? 0 : op->status;
	return code;
}
