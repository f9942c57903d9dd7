/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * proc.c - one procedure call that somebody waits for.
 *
 * Metadata procedures are small both ways: arguments are written once into the struct on the
 * caller's stack and copied into each sending, results are copied out of the reply (which is the
 * transport's) before they are parsed, and parsed by the caller at leisure.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/internal.h"

static struct client_proc *proc_of(struct client_op *op)
{
	return UTIL_CONTAINER_OF(op, struct client_proc, op);
}

static void proc_prepare(struct client_op *op, struct transport_call *call)
{
	struct client_proc *p = proc_of(op);

	if (p->args.overflow)
		call->args.overflow = true;
	wire_put_fixed(&call->args, p->arg_bytes, wire_enc_len(&p->args));
	call->reply_max = p->reply_max;
	if (p->bulk_out)
		transport_call_data_here(call, &p->bulk, 1, p->bulk.len);
	if (p->bulk_in) {
		call->sink[0] = p->bulk;
		call->sink_nsegs = 1;
		call->sink_len = p->bulk.len;
		call->find_data = p->find_data;
	}
}

static int proc_reply(struct client_op *op, struct transport_call *call)
{
	struct client_proc *p = proc_of(op);
	size_t len = wire_dec_left(&call->results);

	if (p->grow) {
		p->results = malloc(len ? len : 1);
		p->results_size = p->results ? len : 0;
	}
	if (len > p->results_size)
		return -EBADMSG;
	memcpy(p->results, call->results.p, len);
	p->results_len = len;
	p->data_sunk = call->data_sunk;
	return 0;
}

static void proc_done(struct client_op *op)
{
	proc_of(op)->finished = true;
}

static const struct client_op_ops proc_ops = {
	.prepare = proc_prepare,
	.reply = proc_reply,
	.done = proc_done,
};

void client_proc_init(struct client_proc *p, struct nfsrdma *mount, uint32_t proc)
{
	client_op_init(&p->op, mount, proc, &proc_ops);
	wire_enc_init(&p->args, p->arg_bytes, sizeof(p->arg_bytes));
	p->finished = p->bulk_out = p->bulk_in = p->data_sunk = false;
	p->no_status = p->grow = false;
	p->find_data = NULL;
	p->results = p->small;
	p->results_size = sizeof(p->small);
	p->results_len = 0;
	p->reply_max = sizeof(p->small);
}

int client_proc_run(struct client_proc *p)
{
	int err = client_op_start(&p->op);

	if (!err)
		while (!p->finished)
			client_drive(p->op.mount, -1);
	wire_dec_init(&p->res, p->results, p->results_len);
	if (!p->op.err.code && !p->no_status) {
		p->op.status = wire_get_u32(&p->res);
		if (p->res.bad)
			util_err_set(&p->op.err, -EIO, "the server's reply is empty");
	}
	return client_op_result(&p->op);
}

int client_proc_check(struct client_proc *p)
{
	if (!p->res.bad)
		return 0;
	return client_error(p->op.mount, -EIO, "the server's %s reply is cut short or malformed",
			    wire_nfs3_proc_name(p->op.proc));
}
