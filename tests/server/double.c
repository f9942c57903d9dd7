/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * double.c - a server under test, called without a transport.
 *
 * Stands in for the responder half of transport.h: requests are made by hand, replies are caught.
 */
#include "tests/server/double.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tools/nfsrdmad/null.h"

struct transport_worker {
	void *priv;
	int fd;
	void (*ready)(void *arg);
	void *ready_arg;
	void (*before)(void *arg);
	void *before_arg;
};

struct request {
	struct transport_request req;
	struct fixture *f;
	uint8_t *results;
	void *bulk[4];
	unsigned nbulk;
};

/* ---- the transport's side --------------------------------------------------------------- */

static struct request *request_of(struct transport_request *req)
{
	return UTIL_CONTAINER_OF(req, struct request, req);
}

int transport_request_begin(struct transport_request *req, size_t max)
{
	struct request *r = request_of(req);

	if (max > req->reply_room)
		return -EMSGSIZE;
	free(r->results);
	r->results = malloc(WIRE_RPC_REPLY_LEN + max);
	wire_enc_init(&req->results, r->results, WIRE_RPC_REPLY_LEN + max);
	wire_rpc_reply_encode(&req->results, req->call.xid);
	return 0;
}

void *transport_request_buffer(struct transport_request *req, size_t len)
{
	struct request *r = request_of(req);
	void *buf = malloc(len);

	cr_assert(r->nbulk < UTIL_ARRAY_SIZE(r->bulk));
	r->bulk[r->nbulk++] = buf;
	return buf;
}

static void request_free(struct request *r)
{
	for (unsigned i = 0; i < r->nbulk; i++)
		free(r->bulk[i]);
	free(r->results);
	free(r);
}

/* Bulk results go back where a TCP reply has them. */
void transport_request_reply(struct transport_request *req)
{
	struct request *r = request_of(req);
	struct fixture *f = r->f;
	size_t len = wire_enc_len(&req->results), bulk = req->reply_data_len;
	size_t pos = req->reply_data_pos;

	cr_assert(!f->answered, "one request, two answers");
	cr_assert(!req->results.overflow);
	if (!bulk)
		pos = len;
	f->answered = true;
	f->data_len = bulk;
	f->reply_len = len + bulk + WIRE_PAD(bulk);
	f->reply = calloc(1, f->reply_len + 1);
	memcpy(f->reply, req->results.start, pos);
	if (bulk)
		memcpy(f->reply + pos, req->reply_data, bulk);
	memcpy(f->reply + pos + bulk + WIRE_PAD(bulk), req->results.start + pos, len - pos);
	request_free(r);
}

void transport_request_reply_error(struct transport_request *req,
				   const struct wire_rpc_error *error)
{
	struct request *r = request_of(req);

	cr_assert(!r->f->answered, "one request, two answers");
	r->f->answered = r->f->refused = true;
	r->f->error = *error;
	request_free(r);
}

void transport_request_drop(struct transport_request *req)
{
	struct request *r = request_of(req);

	r->f->answered = r->f->dropped = true;
	request_free(r);
}

int transport_worker_watch(struct transport_worker *worker, int fd, void (*ready)(void *arg),
			   void *arg)
{
	worker->fd = fd;
	worker->ready = ready;
	worker->ready_arg = arg;
	return 0;
}

int transport_worker_before_sleep(struct transport_worker *worker, void (*fn)(void *arg), void *arg)
{
	worker->before = fn;
	worker->before_arg = arg;
	return 0;
}

void transport_worker_again(struct transport_worker *worker)
{
}

unsigned transport_worker_index(const struct transport_worker *worker)
{
	return 0;
}

void *transport_worker_priv(const struct transport_worker *worker)
{
	return worker->priv;
}

void transport_worker_set_priv(struct transport_worker *worker, void *priv)
{
	worker->priv = priv;
}

/* ---- making servers --------------------------------------------------------------------- */

static void make_folder(struct fixture *f, const char *dir)
{
	const char *tmp = getenv("TMPDIR");

	if (dir) {
		snprintf(f->dir, sizeof(f->dir), "%s", dir);
	} else {
		snprintf(f->dir, sizeof(f->dir), "%s/nfsrdmad.XXXXXX", tmp ? tmp : "/tmp");
		cr_assert(mkdtemp(f->dir));
		chmod(f->dir, 0755);
	}
	snprintf(f->export_dir, sizeof(f->export_dir), "%s/export", f->dir);
	if (!dir) {
		cr_assert(mkdir(f->export_dir, 0755) == 0);
		chmod(f->export_dir, 0777);
	}
}

static void find_root(struct fixture *f)
{
	struct wire_mnt_res res;

	f->prog = WIRE_MOUNT_PROG;
	wire_mnt_args_encode(fixture_args(f), "/export");
	fixture_call_bare(f, WIRE_MOUNT_MNT);
	cr_assert(f->answered && !f->refused);
	cr_assert_eq(wire_mnt_res_decode(&f->res, &res), 0);
	cr_assert_eq(res.status, 0);
	f->root = res.fh;
	f->prog = WIRE_NFS_PROG;
}

struct fixture *fixture_open(unsigned flags, const char *dir)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct sockaddr_in *in = (void *)&f->peer;
	struct util_err err;
	char spec[256];

	umask(0);
	make_folder(f, dir);
	f->srv = calloc(1, sizeof(*f->srv));
	memset(f->srv->key, 7, sizeof(f->srv->key));
	f->srv->root_squash = !(flags & FIXTURE_NO_SQUASH);
	f->srv->privileged = !(flags & FIXTURE_OWN_USER) && server_cred_privileged();
	f->srv->no_io_uring = flags & FIXTURE_NO_URING;
	f->srv->apart = flags & FIXTURE_APART;
	f->srv->max_data = SERVER_MAX_DATA;
	snprintf(spec, sizeof(spec), "%s=/export", f->export_dir);
	cr_assert_eq(server_exports_add(&f->srv->exports, spec, &err), 0, "%s", err.what);
	if (flags & FIXTURE_NULL)
		cr_assert_eq(server_exports_add_null(&f->srv->exports, &err), 0);
	cr_assert_eq(
		server_exports_prepare(&f->srv->exports, f->srv->key, flags & FIXTURE_RO, &err), 0,
		"%s", err.what);
	if (flags & FIXTURE_WALK)
		f->srv->exports.list[0].kernel_handles = false;
	cr_assert_eq(server_init(f->srv, flags & FIXTURE_FEW_FDS ? 100 : 400, &err), 0, "%s",
		     err.what);
	f->worker = calloc(1, sizeof(*f->worker));
	f->worker->fd = -1;
	cr_assert_eq(server_worker_start(f->srv, f->worker), 0);
	f->w = f->worker->priv;
	f->vers = 3;
	f->sink_room = 0;
	f->reply_room = 2 << 20;
	f->uid = geteuid() ? geteuid() : 1000;
	f->gid = geteuid() ? getegid() : 1000;
	in->sin_family = AF_INET;
	in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	find_root(f);
	return f;
}

static int open_up(const char *path, const struct stat *st, int type, struct FTW *where)
{
	return S_ISDIR(st->st_mode) ? chmod(path, 0700) && errno != ENOENT : 0;
}

static int take_away(const char *path, const struct stat *st, int type, struct FTW *where)
{
	return remove(path);
}

void fixture_close(struct fixture *f, bool keep)
{
	server_as_self(f->w);
	server_worker_stop(f->srv, f->worker);
	server_fini(f->srv);
	server_exports_close(&f->srv->exports);
	free(f->srv);
	free(f->worker);
	free(f->reply);
	if (!keep) {
		/* A folder may have been made unreadable, to us too. */
		nftw(f->dir, open_up, 16, FTW_PHYS);
		nftw(f->dir, take_away, 16, FTW_PHYS | FTW_DEPTH);
		cr_assert_eq(access(f->dir, F_OK), -1);
	}
	free(f);
}

/* ---- calls ------------------------------------------------------------------------------ */

struct wire_enc *fixture_args(struct fixture *f)
{
	wire_enc_init(&f->args, f->args_buf, sizeof(f->args_buf));
	return &f->args;
}

static struct request *request_make(struct fixture *f, uint32_t proc)
{
	struct request *r = calloc(1, sizeof(*r));
	struct transport_request *req = &r->req;

	r->f = f;
	req->worker = f->worker;
	req->peer = &f->peer;
	req->rdma = f->rdma;
	req->call.xid = f->xid ? f->xid : (uint32_t)random();
	req->call.prog = f->prog;
	req->call.vers = f->vers;
	req->call.proc = proc;
	req->call.flavor = f->auth_none ? WIRE_AUTH_NONE : WIRE_AUTH_SYS;
	req->call.has_cred = !f->auth_none;
	req->call.cred.uid = f->uid;
	req->call.cred.gid = f->gid;
	req->call.cred.ngroups = f->ngroups;
	memcpy(req->call.cred.groups, f->groups, sizeof(f->groups));
	req->data = (void *)f->bulk;
	req->data_len = f->bulk_len;
	req->data_args_pos = f->bulk_pos ? f->bulk_pos : wire_enc_len(&f->args);
	req->sink_room = f->sink_room;
	req->reply_room = f->reply_room;
	wire_dec_init(&req->args, f->args_buf, wire_enc_len(&f->args));
	return r;
}

static void pump(struct fixture *f)
{
	struct pollfd pfd = {.fd = f->worker->fd, .events = POLLIN};

	while (!f->answered) {
		if (f->worker->before)
			f->worker->before(f->worker->before_arg);
		cr_assert_eq(poll(&pfd, 1, 10000), 1, "the server never answered");
		f->worker->ready(f->worker->ready_arg);
	}
}

void fixture_call_bare(struct fixture *f, uint32_t proc)
{
	uint32_t xid;

	free(f->reply);
	f->reply = NULL;
	f->reply_len = 0;
	f->answered = f->dropped = f->refused = false;
	cr_assert(!f->args.overflow);
	server_dispatch(f->srv, &request_make(f, proc)->req);
	pump(f);
	f->bulk = NULL;
	f->bulk_len = f->bulk_pos = 0;
	wire_dec_init(&f->res, f->reply, f->reply_len);
	if (f->reply)
		cr_assert_eq(wire_rpc_reply_decode(&f->res, &xid, &f->error), 0);
}

uint32_t fixture_call(struct fixture *f, uint32_t proc)
{
	fixture_call_bare(f, proc);
	f->status = f->reply ? wire_get_u32(&f->res) : UINT32_MAX;
	return f->status;
}

const char *fixture_path(struct fixture *f, const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s", f->export_dir, name);
	return path;
}

void fixture_file(struct fixture *f, const char *name, const char *text)
{
	int fd;

	server_as_self(f->w);
	fd = open(fixture_path(f, name), O_WRONLY | O_CREAT | O_TRUNC, 0644);
	cr_assert(fd >= 0);
	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

/* ---- the usual calls -------------------------------------------------------------------- */

static void put_name(struct wire_enc *e, const char *name)
{
	wire_put_opaque(e, name, strlen(name));
}

uint32_t fixture_lookup(struct fixture *f, const struct wire_fh *dir, const char *name,
			struct wire_fh *fh)
{
	struct wire_enc *e = fixture_args(f);

	wire_put_fh(e, dir);
	put_name(e, name);
	if (!fixture_call(f, WIRE_NFS3_LOOKUP) && fh)
		wire_get_fh(&f->res, fh);
	return f->status;
}

uint32_t fixture_getattr(struct fixture *f, const struct wire_fh *fh, struct wire_attr *attr)
{
	wire_put_fh(fixture_args(f), fh);
	if (!fixture_call(f, WIRE_NFS3_GETATTR) && attr)
		wire_get_attr(&f->res, attr);
	return f->status;
}

bool fixture_made(struct fixture *f, struct wire_fh *fh, struct wire_attr *attr)
{
	struct wire_post_attr post;

	if (f->status || !wire_get_bool(&f->res))
		return false;
	wire_get_fh(&f->res, fh);
	wire_get_post_attr(&f->res, &post);
	if (attr)
		*attr = post.attr;
	return post.present && !f->res.bad;
}

uint32_t fixture_create(struct fixture *f, const struct wire_fh *dir, const char *name,
			uint32_t mode, struct wire_fh *fh)
{
	struct wire_sattr sattr = {.set_mode = true, .mode = mode};
	struct wire_enc *e = fixture_args(f);

	wire_put_fh(e, dir);
	put_name(e, name);
	wire_put_u32(e, UNCHECKED);
	wire_put_sattr(e, &sattr);
	if (!fixture_call(f, WIRE_NFS3_CREATE) && fh)
		cr_assert(fixture_made(f, fh, NULL));
	return f->status;
}

uint32_t fixture_mkdir(struct fixture *f, const struct wire_fh *dir, const char *name,
		       uint32_t mode, struct wire_fh *fh)
{
	struct wire_sattr sattr = {.set_mode = true, .mode = mode};
	struct wire_enc *e = fixture_args(f);

	wire_put_fh(e, dir);
	put_name(e, name);
	wire_put_sattr(e, &sattr);
	if (!fixture_call(f, WIRE_NFS3_MKDIR) && fh)
		cr_assert(fixture_made(f, fh, NULL));
	return f->status;
}

uint32_t fixture_name_call(struct fixture *f, uint32_t proc, const struct wire_fh *dir,
			   const char *name)
{
	struct wire_enc *e = fixture_args(f);

	wire_put_fh(e, dir);
	put_name(e, name);
	return fixture_call(f, proc);
}

uint32_t fixture_rename(struct fixture *f, const struct wire_fh *from, const char *name,
			const struct wire_fh *to, const char *new_name)
{
	struct wire_enc *e = fixture_args(f);

	wire_put_fh(e, from);
	put_name(e, name);
	wire_put_fh(e, to);
	put_name(e, new_name);
	return fixture_call(f, WIRE_NFS3_RENAME);
}

uint32_t fixture_read(struct fixture *f, const struct wire_fh *fh, uint64_t offset, uint32_t count,
		      struct wire_read_res *res)
{
	struct wire_read_args a = {.fh = *fh, .offset = offset, .count = count};

	wire_read_args_encode(fixture_args(f), &a);
	fixture_call_bare(f, WIRE_NFS3_READ);
	cr_assert(f->reply);
	cr_assert_eq(wire_read_res_decode(&f->res, res, false), 0);
	return res->status;
}

uint32_t fixture_write(struct fixture *f, const struct wire_fh *fh, uint64_t offset,
		       const void *data, uint32_t len, enum wire_stable stable,
		       struct wire_write_res *res)
{
	struct wire_write_args a = {.fh = *fh,
				    .offset = offset,
				    .count = len,
				    .stable = stable,
				    .data_len = len,
				    .data = data};

	wire_write_args_encode(fixture_args(f), &a, f->rdma);
	if (f->rdma) {
		f->bulk = data;
		f->bulk_len = len;
	}
	fixture_call_bare(f, WIRE_NFS3_WRITE);
	cr_assert(f->reply);
	cr_assert_eq(wire_write_res_decode(&f->res, res), 0);
	return res->status;
}

bool fixture_has_kernel_handles(void)
{
	struct fixture *f = fixture_open(0, NULL);
	bool has = f->srv->exports.list[0].kernel_handles;

	fixture_close(f, false);
	return has;
}
