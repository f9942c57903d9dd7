/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * null_data.c - READ, WRITE and COMMIT of the null export: what it is there for.
 *
 * WRITE looks at no byte.  The tree's lock is held for the node's few words only.
 */
#include <errno.h>

#include "tools/nfsrdmad/null.h"
#include "tools/nfsrdmad/null_tree.h"
#include "tools/nfsrdmad/server.h"
#include "wire/nfs3_xdr.h"

void server_null_post(const struct server_null *tree, const struct server_null_node *node,
		      struct wire_post_attr *post)
{
	post->present = true;
	post->attr = (struct wire_attr){
		.type = node->dir ? NF3DIR : NF3REG,
		.mode = node->mode,
		.nlink = node->dir ? 2 + node->subdirs : 1,
		.uid = node->uid,
		.gid = node->gid,
		.size = node->dir ? 4096 : node->size,
		.fsid = tree->fsid,
		.fileid = node->index + UINT64_C(1),
		.atime = node->atime,
		.mtime = node->mtime,
		.ctime = node->ctime,
	};
}

void server_null_pre(const struct server_null_node *node, struct wire_pre_attr *pre)
{
	pre->present = true;
	pre->size = node->dir ? 4096 : node->size;
	pre->mtime = node->mtime;
	pre->ctime = node->ctime;
}

int server_null_node(struct server_op *op, const struct wire_fh *fh,
		     struct server_null_node **nodep)
{
	struct server_handle h;
	int err = server_handle_decode(op->srv->key, fh, &h);

	if (err)
		return err;
	if (!op->srv->null || h.id.kind != SERVER_ID_NULL || h.id.len != SERVER_NULL_ID_LEN ||
	    h.export_id != op->srv->null->export_id)
		return -ESTALE;
	*nodep = server_null_tree_get(op->srv->null, util_get_be32(h.id.bytes),
				      util_get_be64(h.id.bytes + 4));
	return *nodep ? 0 : -ESTALE;
}

/* ---- READ ------------------------------------------------------------------------------- */

/* No more than there is, the client has room for, and one READ may move. */
static uint32_t read_count(const struct server_op *op, uint64_t size, uint64_t offset,
			   uint32_t count)
{
	const struct transport_request *req = op->req;
	uint64_t left = offset < size ? size - offset : 0;
	uint64_t room = req->sink_room;

	if (!room)
		room = req->reply_room > 128 ? req->reply_room - 128 : 0;
	if (left > room)
		left = room;
	if (left > op->srv->max_data)
		left = op->srv->max_data;
	return count < left ? count : (uint32_t)left;
}

int server_null_read(struct server_op *op)
{
	struct transport_request *req = op->req;
	struct server_null *tree = op->srv->null;
	struct wire_read_res res = {.status = NFS3_OK};
	struct server_null_node *node;
	struct wire_read_args a;
	int err;

	if (wire_read_args_decode(&req->args, &a))
		return -EPROTO;
	pthread_mutex_lock(&tree->lock);
	err = server_null_node(op, &a.fh, &node);
	if (!err && node->dir)
		err = -EINVAL;
	if (!err)
		server_null_post(tree, node, &res.attr);
	pthread_mutex_unlock(&tree->lock);
	if (err)
		return err;
	res.count = res.data_len = read_count(op, res.attr.attr.size, a.offset, a.count);
	res.eof = a.offset + res.count >= res.attr.attr.size;
	if (res.count) {
		req->reply_data = transport_request_buffer(req, res.count);
		if (!req->reply_data)
			return -ENOMEM;
		memset(req->reply_data, 0, res.count);
	}
	if (!server_begin_bare(op, 128))
		return 1;
	wire_read_res_encode(&req->results, &res, true);
	req->reply_data_len = res.count;
	req->reply_data_pos = wire_enc_len(&req->results);
	op->moved = res.count;
	return 0;
}

/* ---- WRITE and COMMIT ------------------------------------------------------------------- */

/* Under the lock. */
static int node_write(struct server_op *op, const struct wire_write_args *a,
		      struct wire_write_res *res)
{
	struct server_null_node *node;
	int err = server_null_node(op, &a->fh, &node);

	if (err)
		return err;
	if (node->dir)
		return -EINVAL;
	server_null_pre(node, &res->wcc.before);
	if (a->count && a->offset + a->count > node->size)
		node->size = a->offset + a->count;
	node->mtime = node->ctime = server_null_now();
	server_null_post(op->srv->null, node, &res->wcc.after);
	return 0;
}

int server_null_write(struct server_op *op)
{
	const struct transport_request *req = op->req;
	struct wire_write_res res = {.status = NFS3_OK, .committed = WIRE_FILE_SYNC};
	struct wire_write_args a;
	int err;

	if (wire_write_args_decode(&op->req->args, &a, req->data) || !server_bulk_belongs(op) ||
	    (req->data && req->data_len < a.count) || a.count > op->srv->max_data)
		return -EPROTO;
	if (a.offset > INT64_MAX || a.count > INT64_MAX - a.offset)
		return -EFBIG;
	pthread_mutex_lock(&op->srv->null->lock);
	err = node_write(op, &a, &res);
	pthread_mutex_unlock(&op->srv->null->lock);
	if (err)
		return err;
	if (!server_begin_bare(op, 200))
		return 1;
	res.count = a.count;
	server_verifier_get(op->srv, res.verf);
	wire_write_res_encode(&op->req->results, &res);
	op->moved = res.count;
	return 0;
}

int server_null_commit(struct server_op *op)
{
	struct server_null *tree = op->srv->null;
	struct server_null_node *node;
	struct wire_wcc wcc;
	uint8_t verf[8];
	struct wire_fh fh;
	int err;

	wire_get_fh(&op->req->args, &fh);
	wire_get_u64(&op->req->args);
	wire_get_u32(&op->req->args);
	if (op->req->args.bad)
		return -EPROTO;
	pthread_mutex_lock(&tree->lock);
	err = server_null_node(op, &fh, &node);
	if (!err) {
		server_null_pre(node, &wcc.before);
		server_null_post(tree, node, &wcc.after);
	}
	pthread_mutex_unlock(&tree->lock);
	if (err)
		return err;
	if (!server_begin(op, 160))
		return 1;
	wire_put_wcc(&op->req->results, &wcc);
	server_verifier_get(op->srv, verf);
	wire_put_fixed(&op->req->results, verf, sizeof(verf));
	return 0;
}
