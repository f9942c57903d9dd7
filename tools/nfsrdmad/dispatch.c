/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dispatch.c - a request's way in and out.
 *
 * In: is the peer allowed, is it a program, version, procedure and flavor of ours, is it a
 * duplicate? Then the procedure's function has it.  Out: through server_reply(), server_fail() or
 * server_refuse(), once, now or when a disk is done; there the reply is remembered for duplicates
 * and everything the request held is let go.
 *
 * What each procedure may answer is in the table below (RFC 1813 section 3.3, "ERRORS" of each). An
 * errno that has no place there becomes the nearest status that has.
 */
#include "tools/nfsrdmad/server.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "tools/nfsrdmad/null.h"
#include "wire/nfs3_xdr.h"

/* Status, two attributes before and two after: more than any failure needs. */
#define FAIL_MAX 320

#define COMMON NFS3ERR_STALE, NFS3ERR_BADHANDLE, NFS3ERR_SERVERFAULT
#define MAKING                                                                                     \
	NFS3ERR_IO, NFS3ERR_ACCES, NFS3ERR_EXIST, NFS3ERR_NOTDIR, NFS3ERR_NOSPC, NFS3ERR_ROFS,     \
		NFS3ERR_NAMETOOLONG, NFS3ERR_DQUOT, NFS3ERR_NOTSUPP, COMMON

const struct server_proc server_procs[WIRE_NFS3_PROC_COUNT] = {
	[WIRE_NFS3_GETATTR] = {server_proc_getattr, SERVER_FAIL_BARE, false, {NFS3ERR_IO, COMMON}},
	[WIRE_NFS3_SETATTR] = {server_proc_setattr,
			       SERVER_FAIL_WCC,
			       true,
			       {NFS3ERR_PERM, NFS3ERR_IO, NFS3ERR_ACCES, NFS3ERR_INVAL,
				NFS3ERR_NOSPC, NFS3ERR_ROFS, NFS3ERR_DQUOT, NFS3ERR_NOT_SYNC,
				NFS3ERR_NOTSUPP, COMMON}},
	[WIRE_NFS3_LOOKUP] = {server_proc_lookup,
			      SERVER_FAIL_POST,
			      false,
			      {NFS3ERR_IO, NFS3ERR_NOENT, NFS3ERR_ACCES, NFS3ERR_NOTDIR,
			       NFS3ERR_NAMETOOLONG, COMMON}},
	[WIRE_NFS3_ACCESS] = {server_proc_access, SERVER_FAIL_POST, false, {NFS3ERR_IO, COMMON}},
	[WIRE_NFS3_READLINK] = {server_proc_readlink,
				SERVER_FAIL_POST,
				false,
				{NFS3ERR_IO, NFS3ERR_INVAL, NFS3ERR_ACCES, NFS3ERR_NOTSUPP,
				 COMMON}},
	[WIRE_NFS3_READ] = {server_proc_read,
			    SERVER_FAIL_POST,
			    false,
			    {NFS3ERR_IO, NFS3ERR_NXIO, NFS3ERR_ACCES, NFS3ERR_INVAL, COMMON}},
	[WIRE_NFS3_WRITE] = {server_proc_write,
			     SERVER_FAIL_WCC,
			     false,
			     {NFS3ERR_IO, NFS3ERR_ACCES, NFS3ERR_FBIG, NFS3ERR_DQUOT, NFS3ERR_NOSPC,
			      NFS3ERR_ROFS, NFS3ERR_INVAL, COMMON}},
	[WIRE_NFS3_CREATE] = {server_proc_create, SERVER_FAIL_WCC, true, {MAKING}},
	[WIRE_NFS3_MKDIR] = {server_proc_mkdir, SERVER_FAIL_WCC, true, {MAKING}},
	[WIRE_NFS3_SYMLINK] = {server_proc_symlink, SERVER_FAIL_WCC, true, {MAKING}},
	[WIRE_NFS3_MKNOD] = {server_proc_mknod, SERVER_FAIL_WCC, true, {NFS3ERR_BADTYPE, MAKING}},
	[WIRE_NFS3_REMOVE] = {server_proc_remove,
			      SERVER_FAIL_WCC,
			      true,
			      {NFS3ERR_NOENT, NFS3ERR_IO, NFS3ERR_ACCES, NFS3ERR_NOTDIR,
			       NFS3ERR_NAMETOOLONG, NFS3ERR_ROFS, COMMON}},
	[WIRE_NFS3_RMDIR] = {server_proc_rmdir,
			     SERVER_FAIL_WCC,
			     true,
			     {NFS3ERR_NOENT, NFS3ERR_IO, NFS3ERR_ACCES, NFS3ERR_INVAL,
			      NFS3ERR_EXIST, NFS3ERR_NOTDIR, NFS3ERR_NAMETOOLONG, NFS3ERR_ROFS,
			      NFS3ERR_NOTEMPTY, NFS3ERR_NOTSUPP, COMMON}},
	[WIRE_NFS3_RENAME] = {server_proc_rename,
			      SERVER_FAIL_WCC_WCC,
			      true,
			      {NFS3ERR_NOENT, NFS3ERR_IO, NFS3ERR_ACCES, NFS3ERR_EXIST,
			       NFS3ERR_XDEV, NFS3ERR_NOTDIR, NFS3ERR_ISDIR, NFS3ERR_INVAL,
			       NFS3ERR_NOSPC, NFS3ERR_ROFS, NFS3ERR_MLINK, NFS3ERR_NAMETOOLONG,
			       NFS3ERR_NOTEMPTY, NFS3ERR_DQUOT, NFS3ERR_NOTSUPP, COMMON}},
	[WIRE_NFS3_LINK] = {server_proc_link,
			    SERVER_FAIL_POST_WCC,
			    true,
			    {NFS3ERR_IO, NFS3ERR_ACCES, NFS3ERR_EXIST, NFS3ERR_XDEV, NFS3ERR_NOTDIR,
			     NFS3ERR_INVAL, NFS3ERR_NOSPC, NFS3ERR_ROFS, NFS3ERR_MLINK,
			     NFS3ERR_NAMETOOLONG, NFS3ERR_DQUOT, NFS3ERR_NOTSUPP, COMMON}},
	[WIRE_NFS3_READDIR] = {server_proc_readdir,
			       SERVER_FAIL_POST,
			       false,
			       {NFS3ERR_IO, NFS3ERR_ACCES, NFS3ERR_NOTDIR, NFS3ERR_BAD_COOKIE,
				NFS3ERR_TOOSMALL, COMMON}},
	[WIRE_NFS3_READDIRPLUS] = {server_proc_readdirplus,
				   SERVER_FAIL_POST,
				   false,
				   {NFS3ERR_IO, NFS3ERR_ACCES, NFS3ERR_NOTDIR, NFS3ERR_BAD_COOKIE,
				    NFS3ERR_TOOSMALL, NFS3ERR_NOTSUPP, COMMON}},
	[WIRE_NFS3_FSSTAT] = {server_proc_fsstat, SERVER_FAIL_POST, false, {NFS3ERR_IO, COMMON}},
	[WIRE_NFS3_FSINFO] = {server_proc_fsinfo, SERVER_FAIL_POST, false, {COMMON}},
	[WIRE_NFS3_PATHCONF] = {server_proc_pathconf, SERVER_FAIL_POST, false, {COMMON}},
	[WIRE_NFS3_COMMIT] = {server_proc_commit, SERVER_FAIL_WCC, false, {NFS3ERR_IO, COMMON}},
};

/* ---- status ----------------------------------------------------------------------------- */

static bool status_legal(const struct server_proc *proc, uint32_t status)
{
	if (status == NFS3ERR_JUKEBOX) /* section 2.6: any procedure */
		return true;
	for (size_t i = 0; i < UTIL_ARRAY_SIZE(proc->legal) && proc->legal[i]; i++)
		if (proc->legal[i] == status)
			return true;
	return false;
}

/* What to say instead where a status has no place; followed until one fits. */
static uint32_t status_instead(uint32_t status)
{
	switch (status) {
	case NFS3ERR_PERM:
	case NFS3ERR_XDEV:
	case NFS3ERR_INVAL:
		return NFS3ERR_ACCES;
	case NFS3ERR_NOENT: /* of the folder itself: it was removed */
		return NFS3ERR_STALE;
	case NFS3ERR_NOTDIR:
	case NFS3ERR_ISDIR:
	case NFS3ERR_FBIG:
	case NFS3ERR_NOTSUPP:
		return NFS3ERR_INVAL;
	case NFS3ERR_NOTEMPTY:
		return NFS3ERR_EXIST;
	case NFS3ERR_MLINK:
		return NFS3ERR_NOSPC;
	default:
		return NFS3ERR_IO;
	}
}

uint32_t server_status(const struct server_proc *proc, int error)
{
	uint32_t status = wire_nfs3_status(error);

	while (!status_legal(proc, status)) {
		if (status == NFS3ERR_IO)
			return NFS3ERR_SERVERFAULT;
		status = status_instead(status);
	}
	return status;
}

/* ---- out -------------------------------------------------------------------------------- */

static void op_release(struct server_op *op)
{
	if (op->obj)
		server_objects_put(op->srv->objects, op->obj);
	if (op->obj2)
		server_objects_put(op->srv->objects, op->obj2);
	util_list_push(&op->w->free_ops, &op->node);
}

static void answer_send(const struct server_answer *answer)
{
	if (answer->refused)
		transport_request_reply_error(answer->req, &answer->error);
	else
		transport_request_reply(answer->req);
}

/* Now, or on the hand: when it has returned.  A run there answers one request at most. */
static void answer_give(struct server_worker *w, const struct server_answer *answer)
{
	if (!w->on_hand) {
		answer_send(answer);
		return;
	}
	assert(!w->answer.req);
	w->answer = *answer;
}

void server_run(struct server_worker *w, void (*fn)(void *arg), void *arg)
{
	struct server_answer answer;

	if (!w->hand) {
		fn(arg);
		return;
	}
	w->on_hand = true;
	server_hand_run(w->hand, fn, arg);
	w->on_hand = false;
	answer = w->answer;
	w->answer.req = NULL;
	if (answer.req)
		answer_send(&answer);
}

void server_refuse(struct server_op *op, const struct wire_rpc_error *error)
{
	const struct server_answer answer = {.req = op->req, .refused = true, .error = *error};
	struct server_worker *w = op->w;

	if (op->drc)
		server_drc_abort(op->srv->drc, op->drc);
	op_release(op);
	answer_give(w, &answer);
}

static void refuse_stat(struct server_op *op, enum wire_accept_stat stat)
{
	struct wire_rpc_error error = {.stat = stat};

	server_refuse(op, &error);
}

bool server_bulk_belongs(const struct server_op *op)
{
	const struct transport_request *req = op->req;

	return !req->data || (size_t)(req->args.p - op->args_start) == req->data_args_pos;
}

void server_garbage(struct server_op *op)
{
	refuse_stat(op, WIRE_GARBAGE_ARGS);
}

bool server_begin_bare(struct server_op *op, size_t max)
{
	if (transport_request_begin(op->req, max)) {
		refuse_stat(op, WIRE_SYSTEM_ERR);
		return false;
	}
	op->results_pos = wire_enc_len(&op->req->results);
	return true;
}

bool server_begin(struct server_op *op, size_t max)
{
	if (!server_begin_bare(op, max))
		return false;
	wire_put_u32(&op->req->results, NFS3_OK);
	return true;
}

/* The results of every procedure but NULL begin with a status. */
static void op_count(const struct server_op *op)
{
	const struct wire_enc *results = &op->req->results;
	bool failed = false;

	if (op->req->call.prog != WIRE_NFS_PROG)
		return;
	if (op->proc_num != WIRE_NFS3_NULL)
		failed = util_get_be32(results->start + op->results_pos) != NFS3_OK;
	server_counts_add(&op->w->counts, op->proc_num, failed, op->moved);
}

void server_reply(struct server_op *op)
{
	const struct server_answer answer = {.req = op->req};
	const struct wire_enc *results = &op->req->results;
	struct server_worker *w = op->w;

	if (results->overflow) { /* it would be cut: better none */
		refuse_stat(op, WIRE_SYSTEM_ERR);
		return;
	}
	op_count(op);
	if (op->drc)
		server_drc_done(op->srv->drc, op->drc, results->start + op->results_pos,
				wire_enc_len(results) - op->results_pos);
	op_release(op);
	answer_give(w, &answer);
}

static void put_post(struct wire_enc *e, struct server_object *obj)
{
	struct wire_post_attr post = {.present = false};

	if (obj)
		server_post_now(obj, &post);
	wire_put_post_attr(e, &post);
}

static void put_wcc(struct wire_enc *e, struct server_object *obj, struct wire_wcc *wcc)
{
	if (obj && !wcc->after.present)
		server_post_now(obj, &wcc->after);
	wire_put_wcc(e, wcc);
}

void server_fail_status(struct server_op *op, uint32_t status)
{
	struct wire_enc *e = &op->req->results;

	op->req->reply_data = NULL;
	op->req->reply_data_len = 0;
	if (!server_begin_bare(op, FAIL_MAX))
		return;
	wire_put_u32(e, status);
	switch (op->proc->shape) {
	case SERVER_FAIL_BARE:
		break;
	case SERVER_FAIL_POST:
		put_post(e, op->obj);
		break;
	case SERVER_FAIL_WCC:
		put_wcc(e, op->obj, &op->wcc);
		break;
	case SERVER_FAIL_WCC_WCC:
		put_wcc(e, op->obj, &op->wcc);
		put_wcc(e, op->obj2, &op->wcc2);
		break;
	case SERVER_FAIL_POST_WCC:
		put_post(e, op->obj);
		put_wcc(e, op->obj2, &op->wcc2);
		break;
	}
	server_reply(op);
}

void server_fail(struct server_op *op, int err)
{
	server_fail_status(op, server_status(op->proc, -err));
}

bool server_target(struct server_op *op, const struct wire_fh *fh)
{
	int err;

	if (op->req->args.bad) {
		server_garbage(op);
		return false;
	}
	err = server_resolve(op->w, fh, &op->obj, &op->st);
	if (err)
		server_fail(op, err);
	return !err;
}

void server_wcc_reply(struct server_op *op)
{
	if (op->io_error) {
		server_fail(op, op->io_error);
		return;
	}
	if (!server_begin(op, 128))
		return;
	wire_put_wcc(&op->req->results, &op->wcc);
	server_reply(op);
}

/* ---- in --------------------------------------------------------------------------------- */

static struct server_op *op_get(struct server_worker *w, struct transport_request *req)
{
	struct util_list *node = util_list_pop(&w->free_ops);
	struct server_op *op =
		node ? UTIL_LIST_ENTRY(node, struct server_op, node) : malloc(sizeof(*op));

	if (!op)
		return NULL;
	memset(op, 0, sizeof(*op));
	util_list_init(&op->node);
	op->srv = w->srv;
	op->w = w;
	op->req = req;
	op->proc_num = req->call.proc;
	op->args_start = req->args.p;
	server_cred_from_call(&op->cred, &req->call, w->srv->root_squash);
	return op;
}

static void op_replay(struct server_op *op, uint8_t *reply, size_t len)
{
	util_log(op->srv->log, UTIL_LOG_INFO, "%s answered from the duplicate-request cache",
		 wire_nfs3_proc_name(op->proc_num));
	if (server_begin_bare(op, len)) {
		wire_put_fixed(&op->req->results, reply, len);
		server_reply(op);
	}
	free(reply);
}

/* true: the request is a new one (or cannot be told). */
static bool op_is_new(struct server_op *op)
{
	struct transport_request *req = op->req;
	uint8_t *reply;
	size_t len;

	switch (server_drc_begin(op->srv->drc, req->peer, &req->call, &req->args, req->data,
				 req->data_len, &op->drc, &reply, &len)) {
	case SERVER_DRC_IN_PROGRESS:
		op_release(op);
		transport_request_drop(req);
		return false;
	case SERVER_DRC_REPLAY:
		op_replay(op, reply, len);
		return false;
	case SERVER_DRC_NEW:
	case SERVER_DRC_PASS:
		break;
	}
	return true;
}

/* The arguments of every procedure begin with a handle, whose first byte tells the null export's.
 */
static bool op_is_null(const struct server_op *op)
{
	struct wire_dec d = op->req->args;
	struct wire_fh fh;

	wire_get_fh(&d, &fh);
	return !d.bad && fh.len > 0 && (fh.data[0] & 15) == SERVER_ID_NULL;
}

static void run_procedure(void *arg)
{
	struct server_op *op = arg;

	op->proc->handle(op);
}

static void run_mount(void *arg)
{
	server_mount_dispatch(arg);
}

static void nfs_dispatch(struct server_op *op)
{
	if (op->proc_num == WIRE_NFS3_NULL) {
		if (server_begin_bare(op, 0))
			server_reply(op);
		return;
	}
	if (op->proc_num >= WIRE_NFS3_PROC_COUNT) {
		refuse_stat(op, WIRE_PROC_UNAVAIL);
		return;
	}
	/* RFC 8267: only these two have an argument that may come in a read chunk. */
	if (op->req->data && op->proc_num != WIRE_NFS3_WRITE && op->proc_num != WIRE_NFS3_SYMLINK) {
		server_garbage(op);
		return;
	}
	op->proc = &server_procs[op->proc_num];
	if (op->proc->replay && !op_is_new(op))
		return;
	if (op_is_null(op))
		server_null_dispatch(op);
	else
		server_run(op->w, run_procedure, op);
}

/* What keeps a call from being carried out at all; false: nothing. */
static bool op_is_refused(const struct server_op *op, struct wire_rpc_error *error)
{
	const struct wire_rpc_call *call = &op->req->call;

	memset(error, 0, sizeof(*error));
	/* MOUNT says so in its own words. */
	if (call->prog != WIRE_MOUNT_PROG &&
	    !server_exports_allowed(&op->srv->exports, op->req->peer)) {
		*error = (struct wire_rpc_error){
			.denied = true, .stat = 1, .auth_stat = WIRE_AUTH_TOOWEAK};
		return true;
	}
	if (call->prog != WIRE_NFS_PROG && call->prog != WIRE_MOUNT_PROG) {
		error->stat = WIRE_PROG_UNAVAIL;
		return true;
	}
	if (call->vers != 3) {
		*error = (struct wire_rpc_error){.stat = WIRE_PROG_MISMATCH, .low = 3, .high = 3};
		return true;
	}
	if (call->flavor != WIRE_AUTH_NONE && !call->has_cred) {
		*error = (struct wire_rpc_error){
			.denied = true, .stat = 1, .auth_stat = WIRE_AUTH_REJECTEDCRED};
		return true;
	}
	return false;
}

void server_dispatch(void *arg, struct transport_request *req)
{
	struct server_worker *w = transport_worker_priv(req->worker);
	struct server_op *op = op_get(w, req);
	struct wire_rpc_error error = {.stat = WIRE_SYSTEM_ERR};

	if (!op)
		transport_request_reply_error(req, &error);
	else if (op_is_refused(op, &error))
		server_refuse(op, &error);
	else if (req->call.prog == WIRE_MOUNT_PROG)
		server_run(w, run_mount, op);
	else
		nfs_dispatch(op);
}

/* ---- workers ---------------------------------------------------------------------------- */

int server_worker_start(void *arg, struct transport_worker *worker)
{
	struct server *srv = arg;
	struct server_worker *w = calloc(1, sizeof(*w));
	int err = -ENOMEM;

	if (!w)
		return -ENOMEM;
	w->dir_buf = malloc(SERVER_DIR_BUF);
	if (!w->dir_buf)
		goto err_free;
	if (srv->apart) {
		err = server_hand_create(&w->hand);
		if (err)
			goto err_dir_buf;
	}
	err = server_aio_create(&w->aio, worker, srv->no_io_uring);
	if (err)
		goto err_hand;
	w->srv = srv;
	util_list_init(&w->free_ops);
	server_tally_join(&srv->tally, &w->counts);
	server_identity_init(&w->identity, srv->privileged);
	transport_worker_set_priv(worker, w);
	return 0;

err_hand:
	server_hand_destroy(w->hand);
err_dir_buf:
	free(w->dir_buf);
err_free:
	free(w);
	return err;
}

void server_worker_stop(void *arg, struct transport_worker *worker)
{
	struct server_worker *w = transport_worker_priv(worker);
	struct util_list *node;

	if (!w)
		return;
	server_aio_destroy(w->aio);
	server_hand_destroy(w->hand);
	server_tally_leave(&w->srv->tally, &w->counts);
	while ((node = util_list_pop(&w->free_ops)))
		free(UTIL_LIST_ENTRY(node, struct server_op, node));
	free(w->dir_buf);
	free(w);
	transport_worker_set_priv(worker, NULL);
}
