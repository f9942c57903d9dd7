/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fake_nfs.c - the fake server's thread: connections, record marks, rules.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "tests/client/fake_proc.h"

#define REPLY_MAX (2u << 20)

/* ---- replies ------------------------------------------------------------------------------ */

static void send_all(int fd, const uint8_t *bytes, size_t len)
{
	while (len) {
		ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);

		if (n < 0) {
			struct pollfd p = {.fd = fd, .events = POLLOUT};

			if (errno != EAGAIN || poll(&p, 1, 5000) <= 0)
				return;
			continue;
		}
		bytes += n;
		len -= (size_t)n;
	}
}

static void hold(struct fake_nfs *f, int fd, uint8_t *bytes, size_t len)
{
	if (f->nheld == FAKE_HELD)
		abort();
	f->held[f->nheld++] = (struct fake_held){fd, bytes, len};
	if (f->nheld > f->peak)
		f->peak = f->nheld;
}

static void release_held(struct fake_nfs *f)
{
	/* last first: answers need not come in the order of the calls */
	while (f->nheld) {
		struct fake_held *h = &f->held[--f->nheld];

		send_all(h->fd, h->bytes, h->len);
		free(h->bytes);
	}
}

static const struct fake_rule *match(struct fake_nfs *f, uint32_t prog, uint32_t proc)
{
	for (unsigned i = 0; i < f->nrules; i++) {
		struct fake_rule *r = &f->rules[i];

		if (r->prog != prog || r->proc != proc || !r->count)
			continue;
		if (r->skip) {
			r->skip--;
			continue;
		}
		if (r->count != UINT32_MAX)
			r->count--;
		return r;
	}
	return NULL;
}

static void lose(struct fake_nfs *f)
{
	fake_tree_lose(&f->tree);
	f->verf += 0x1000;
}

/* Mostly small words, so that lengths, counts and booleans are often nearly right. */
static void random_results(struct fake_call *c)
{
	unsigned seed = (unsigned)(c->rule->arg * 2654435761u) ^ c->f->randoms++;
	unsigned words = (unsigned)rand_r(&seed) % 120;

	if (fake_is(c, FAKE_RANDOM_OK))
		wire_put_u32(c->out, 0);
	for (unsigned i = 0; i < words; i++) {
		unsigned r = (unsigned)rand_r(&seed);

		wire_put_u32(c->out, r % 4 == 0	  ? (uint32_t)rand_r(&seed) * 2u
				     : r % 4 == 1 ? r / 4 % 300
						  : r / 4 % 2);
	}
}

static void run(struct fake_call *c, const struct wire_rpc_call *rpc)
{
	const struct fake_rule *rule = c->rule;
	struct wire_enc *out = c->out;
	uint8_t *results = out->p;

	if (fake_is(c, FAKE_RESTART))
		lose(c->f);
	if (fake_is(c, FAKE_RPC_ERROR)) {
		struct wire_rpc_error error = {.stat = (uint32_t)rule->arg};

		out->p = out->start + 4;
		wire_rpc_error_encode(out, rpc->xid, &error);
		return;
	}
	if (fake_is(c, FAKE_STATUS)) {
		if (rpc->prog == WIRE_NFS_PROG)
			fake_fail(c, rpc->proc, (uint32_t)rule->arg);
		else
			wire_put_u32(out, (uint32_t)rule->arg);
		return;
	}
	if (fake_is(c, FAKE_RANDOM) || fake_is(c, FAKE_RANDOM_OK)) {
		random_results(c);
		return;
	}
	if (rpc->prog == WIRE_NFS_PROG)
		fake_nfs_proc(c, rpc->proc);
	else
		fake_mount_proc(c, rpc->proc);
	if (fake_is(c, FAKE_CUT_REPLY) && (size_t)(out->p - results) > rule->arg)
		out->p = results + rule->arg;
	if (fake_is(c, FAKE_GARBAGE)) {
		memset(results, 0xff, rule->arg);
		out->p = results + rule->arg;
	}
}

/* One whole call.  false: close the connection. */
static bool answer(struct fake_nfs *f, int fd, const uint8_t *msg, size_t len)
{
	struct wire_rpc_error error;
	struct wire_rpc_call rpc;
	struct wire_dec args;
	struct wire_enc out;
	struct fake_call c = {.f = f, .args = &args, .out = &out};
	uint8_t *bytes;

	wire_dec_init(&args, msg, len);
	if (wire_rpc_call_decode(&args, &rpc, &error))
		return false;
	if (rpc.has_cred)
		f->cred = rpc.cred;
	if (rpc.prog == WIRE_NFS_PROG && rpc.proc < WIRE_NFS3_PROC_COUNT)
		f->calls[rpc.proc]++;
	c.rule = match(f, rpc.prog, rpc.proc);
	if (fake_is(&c, FAKE_CUT))
		return false;
	if (fake_is(&c, FAKE_SILENT))
		return true;
	bytes = malloc(REPLY_MAX);
	if (!bytes)
		abort();
	wire_enc_init(&out, bytes, REPLY_MAX);
	wire_put_space(&out, 4);
	wire_rpc_reply_encode(&out, rpc.xid);
	run(&c, &rpc);
	util_put_be32(bytes, (uint32_t)(wire_enc_len(&out) - 4) | 0x80000000u);
	if (fake_is(&c, FAKE_HOLD)) {
		hold(f, fd, bytes, wire_enc_len(&out));
		return true;
	}
	if (!fake_is(&c, FAKE_RUN_AND_CUT))
		send_all(fd, bytes, wire_enc_len(&out));
	free(bytes);
	return !fake_is(&c, FAKE_RUN_AND_CUT);
}

/* ---- connections -------------------------------------------------------------------------- */

static void conn_close(struct fake_nfs *f, struct fake_conn *conn)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < f->nheld; i++) {
		if (f->held[i].fd == conn->fd)
			free(f->held[i].bytes);
		else
			f->held[kept++] = f->held[i];
	}
	f->nheld = kept;
	close(conn->fd);
	free(conn->in);
	memset(conn, 0, sizeof(*conn));
	conn->fd = -1;
}

/* Whole records out of what has come; requests of one fragment, as our client sends them. */
static bool conn_parse(struct fake_nfs *f, struct fake_conn *conn)
{
	size_t pos = 0;
	unsigned batch = 0;
	bool ok = true;

	while (ok && conn->in_len - pos >= 4) {
		uint32_t mark = util_get_be32(conn->in + pos);
		size_t len = mark & 0x7fffffff;

		if (conn->in_len - pos - 4 < len)
			break;
		ok = answer(f, conn->fd, conn->in + pos + 4, len);
		pos += 4 + len;
		if (++batch > f->peak)
			f->peak = batch;
	}
	memmove(conn->in, conn->in + pos, conn->in_len - pos);
	conn->in_len -= pos;
	return ok;
}

static bool conn_read(struct fake_nfs *f, struct fake_conn *conn)
{
	for (;;) {
		ssize_t n;

		if (conn->in_room - conn->in_len < 65536) {
			conn->in_room = conn->in_room * 2 + 131072;
			conn->in = realloc(conn->in, conn->in_room);
			if (!conn->in)
				abort();
		}
		n = recv(conn->fd, conn->in + conn->in_len, conn->in_room - conn->in_len,
			 MSG_DONTWAIT);
		if (n < 0)
			return errno == EAGAIN;
		if (!n)
			return false;
		conn->in_len += (size_t)n;
		if (!conn_parse(f, conn))
			return false;
	}
}

static void conn_accept(struct fake_nfs *f)
{
	int fd = accept(f->listen_fd, NULL, NULL);

	/* or small answers wait for each other's acknowledgements */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
	for (unsigned i = 0; i < FAKE_CONNS && fd >= 0; i++) {
		if (f->conns[i].fd < 0) {
			f->conns[i].fd = fd;
			return;
		}
	}
	if (fd >= 0)
		close(fd);
}

static void *serve(void *arg)
{
	struct fake_nfs *f = arg;
	struct pollfd fds[FAKE_CONNS + 2];

	for (;;) {
		fds[0] = (struct pollfd){.fd = f->wake[0], .events = POLLIN};
		fds[1] = (struct pollfd){.fd = f->listen_fd, .events = POLLIN};
		for (unsigned i = 0; i < FAKE_CONNS; i++)
			fds[i + 2] = (struct pollfd){.fd = f->conns[i].fd, .events = POLLIN};
		poll(fds, FAKE_CONNS + 2, -1);
		if (fds[0].revents) {
			char byte = 0;

			if (read(f->wake[0], &byte, 1) != 1 || byte == 'q')
				return NULL;
		}
		pthread_mutex_lock(&f->lock);
		if (f->release)
			release_held(f);
		f->release = false;
		for (unsigned i = 0; i < FAKE_CONNS; i++)
			if (fds[i + 2].revents && !conn_read(f, &f->conns[i]))
				conn_close(f, &f->conns[i]);
		if (fds[1].revents)
			conn_accept(f);
		pthread_mutex_unlock(&f->lock);
	}
}

/* ---- the tests' side ---------------------------------------------------------------------- */

struct fake_nfs *fake_start(void)
{
	return fake_start_at(0);
}

struct fake_nfs *fake_start_furnished(void)
{
	struct fake_nfs *f = fake_start();

	fake_dir(f, "/dir");
	fake_file(f, "/dir/file", 1 << 20);
	fake_link(f, "/link", "dir/file");
	return f;
}

struct fake_nfs *fake_start_at(uint16_t port)
{
	struct sockaddr_in addr = {.sin_family = AF_INET,
				   .sin_port = htons(port),
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(addr);
	struct fake_nfs *f = calloc(1, sizeof(*f));

	cr_assert(f);
	pthread_mutex_init(&f->lock, NULL);
	fake_tree_init(&f->tree);
	f->verf = 0x1111;
	f->rtmax = f->wtmax = 65536;
	f->dtpref = 4096;
	for (unsigned i = 0; i < FAKE_CONNS; i++)
		f->conns[i].fd = -1;
	f->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cr_assert_eq(setsockopt(f->listen_fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int)), 0);
	cr_assert_eq(bind(f->listen_fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	cr_assert_eq(listen(f->listen_fd, 64), 0);
	cr_assert_eq(getsockname(f->listen_fd, (struct sockaddr *)&addr, &len), 0);
	f->port = ntohs(addr.sin_port);
	cr_assert_eq(pipe(f->wake), 0);
	cr_assert_eq(pthread_create(&f->thread, NULL, serve, f), 0);
	return f;
}

static void wake(struct fake_nfs *f, char byte)
{
	cr_assert_eq(write(f->wake[1], &byte, 1), 1);
}

void fake_stop(struct fake_nfs *f)
{
	wake(f, 'q');
	pthread_join(f->thread, NULL);
	for (unsigned i = 0; i < FAKE_CONNS; i++)
		if (f->conns[i].fd >= 0)
			conn_close(f, &f->conns[i]);
	close(f->listen_fd);
	close(f->wake[0]);
	close(f->wake[1]);
	fake_tree_free(&f->tree);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

uint16_t fake_port(const struct fake_nfs *f)
{
	return f->port;
}

const char *fake_url(const struct fake_nfs *f, const char *path, const char *more)
{
	static _Thread_local char url[5000];

	snprintf(url, sizeof(url), "nfs://127.0.0.1:%u/export%s?tcp%s%s", f->port, path,
		 *more ? "&" : "", more);
	return url;
}

struct nfsrdma *fake_mount(const struct fake_nfs *f, const char *more)
{
	struct nfsrdma *mount = NULL;

	cr_assert_eq(nfsrdma_mount(&mount, fake_url(f, "", more), NULL), 0, "%s",
		     nfsrdma_strerror_last());
	return mount;
}

static void add_rule(struct fake_nfs *f, struct fake_rule rule)
{
	pthread_mutex_lock(&f->lock);
	cr_assert_lt(f->nrules, FAKE_RULES);
	f->rules[f->nrules++] = rule;
	pthread_mutex_unlock(&f->lock);
}

void fake_rule(struct fake_nfs *f, uint32_t proc, unsigned skip, unsigned count,
	       enum fake_action action, uint64_t arg)
{
	add_rule(f, (struct fake_rule){WIRE_NFS_PROG, proc, skip, count, action, arg});
}

void fake_mount_rule(struct fake_nfs *f, uint32_t proc, unsigned skip, unsigned count,
		     enum fake_action action, uint64_t arg)
{
	add_rule(f, (struct fake_rule){WIRE_MOUNT_PROG, proc, skip, count, action, arg});
}

void fake_clear_rules(struct fake_nfs *f)
{
	pthread_mutex_lock(&f->lock);
	f->nrules = 0;
	pthread_mutex_unlock(&f->lock);
}

void fake_store(void *arg, ssize_t n)
{
	*(ssize_t *)arg = n;
}

void fake_release(struct fake_nfs *f)
{
	pthread_mutex_lock(&f->lock);
	f->release = true;
	for (unsigned i = 0; i < f->nrules; i++)
		if (f->rules[i].action == FAKE_HOLD)
			f->rules[i].count = 0;
	pthread_mutex_unlock(&f->lock);
	wake(f, 'r');
}

unsigned fake_calls(struct fake_nfs *f, uint32_t proc)
{
	unsigned n;

	pthread_mutex_lock(&f->lock);
	n = f->calls[proc];
	pthread_mutex_unlock(&f->lock);
	return n;
}

unsigned fake_peak(struct fake_nfs *f)
{
	unsigned n;

	pthread_mutex_lock(&f->lock);
	n = f->peak;
	pthread_mutex_unlock(&f->lock);
	return n;
}

void fake_last_io(struct fake_nfs *f, uint64_t *offset, uint32_t *count, uint32_t *stable)
{
	pthread_mutex_lock(&f->lock);
	*offset = f->last_offset;
	*count = f->last_count;
	*stable = f->last_stable;
	pthread_mutex_unlock(&f->lock);
}

static unsigned add(struct fake_nfs *f, const char *path, uint32_t type, uint64_t size,
		    const char *target)
{
	const char *name = strrchr(path, '/') + 1;
	char parent[4096];
	unsigned dir, node;

	snprintf(parent, sizeof(parent), "%.*s", (int)(name - path), path);
	pthread_mutex_lock(&f->lock);
	dir = fake_tree_walk(&f->tree, parent);
	cr_assert(dir, "no parent of %s", path);
	node = fake_tree_add(&f->tree, dir, name, strlen(name), type);
	f->tree.nodes[node].size = target ? strlen(target) : size;
	f->tree.nodes[node].pattern = size > 0;
	f->tree.nodes[node].target = target ? strdup(target) : NULL;
	pthread_mutex_unlock(&f->lock);
	return node;
}

unsigned fake_dir(struct fake_nfs *f, const char *path)
{
	return add(f, path, 2, 0, NULL);
}

unsigned fake_file(struct fake_nfs *f, const char *path, uint64_t size)
{
	return add(f, path, 1, size, NULL);
}

unsigned fake_link(struct fake_nfs *f, const char *path, const char *target)
{
	return add(f, path, 5, 0, target);
}

unsigned fake_big_dir(struct fake_nfs *f, const char *path, uint64_t n)
{
	unsigned node = fake_dir(f, path);

	pthread_mutex_lock(&f->lock);
	f->tree.nodes[node].big_dir = n;
	pthread_mutex_unlock(&f->lock);
	return node;
}

void fake_remove(struct fake_nfs *f, const char *path)
{
	unsigned node;

	pthread_mutex_lock(&f->lock);
	node = fake_tree_walk(&f->tree, path);
	cr_assert(node);
	fake_tree_unlink(&f->tree, node);
	pthread_mutex_unlock(&f->lock);
}

bool fake_exists(struct fake_nfs *f, const char *path)
{
	bool there;

	pthread_mutex_lock(&f->lock);
	there = fake_tree_walk(&f->tree, path) != 0;
	pthread_mutex_unlock(&f->lock);
	return there;
}

uint64_t fake_size(struct fake_nfs *f, const char *path)
{
	uint64_t size;

	pthread_mutex_lock(&f->lock);
	size = f->tree.nodes[fake_tree_real(&f->tree, fake_tree_walk(&f->tree, path))].size;
	pthread_mutex_unlock(&f->lock);
	return size;
}

bool fake_holds(struct fake_nfs *f, const char *path, uint64_t off, const void *bytes, size_t len,
		bool committed_only)
{
	uint8_t *there = malloc(len);
	bool same;

	cr_assert(there);
	pthread_mutex_lock(&f->lock);
	fake_tree_read(&f->tree, fake_tree_walk(&f->tree, path), off, there, len, committed_only);
	pthread_mutex_unlock(&f->lock);
	same = !memcmp(there, bytes, len);
	free(there);
	return same;
}

void fake_deny(struct fake_nfs *f, const char *path)
{
	pthread_mutex_lock(&f->lock);
	f->tree.nodes[fake_tree_walk(&f->tree, path)].denied = true;
	pthread_mutex_unlock(&f->lock);
}

void fake_set_sizes(struct fake_nfs *f, uint32_t rtmax, uint32_t wtmax, uint32_t dtpref)
{
	pthread_mutex_lock(&f->lock);
	f->rtmax = rtmax;
	f->wtmax = wtmax;
	f->dtpref = dtpref;
	pthread_mutex_unlock(&f->lock);
}

void fake_hide_exports(struct fake_nfs *f)
{
	pthread_mutex_lock(&f->lock);
	f->hide_exports = true;
	pthread_mutex_unlock(&f->lock);
}

void fake_restart(struct fake_nfs *f)
{
	pthread_mutex_lock(&f->lock);
	lose(f);
	pthread_mutex_unlock(&f->lock);
}

void fake_cred(struct fake_nfs *f, struct wire_cred *cred)
{
	pthread_mutex_lock(&f->lock);
	*cred = f->cred;
	pthread_mutex_unlock(&f->lock);
}
