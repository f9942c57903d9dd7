/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_drc.c - the duplicate-request cache.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>

#include "tests/server/double.h"
#include "tools/nfsrdmad/null.h"

struct key {
	struct sockaddr_storage peer;
	struct wire_rpc_call call;
	struct wire_dec args;
	uint8_t text[64];
};

static void key_init(struct key *k, uint32_t xid)
{
	struct sockaddr_in *in = (void *)&k->peer;

	memset(k, 0, sizeof(*k));
	in->sin_family = AF_INET;
	in->sin_addr.s_addr = htonl(0x0a000001);
	in->sin_port = htons(700);
	k->call = (struct wire_rpc_call){
		.xid = xid, .prog = WIRE_NFS_PROG, .vers = 3, .proc = WIRE_NFS3_REMOVE};
	wire_dec_init(&k->args, k->text, sizeof(k->text));
}

static enum server_drc_verdict begin(struct server_drc *drc, const struct key *k,
				     struct server_drc_entry **entryp, uint8_t **replyp,
				     size_t *lenp)
{
	return server_drc_begin(drc, &k->peer, &k->call, &k->args, NULL, 0, entryp, replyp, lenp);
}

static struct server_drc *make(unsigned entries, size_t bytes, uint64_t age_ns)
{
	struct server_drc_limits limits = {entries, bytes, age_ns};
	struct server_drc *drc;

	cr_assert_eq(server_drc_create(&drc, &limits), 0);
	return drc;
}

Test(server_drc, a_duplicate_is_dropped_then_replayed)
{
	struct server_drc *drc = make(1000, 1 << 20, 60 * UTIL_NS_PER_S);
	struct server_drc_entry *entry, *other;
	uint8_t *reply;
	struct key k;
	size_t len;

	key_init(&k, 1);
	cr_assert_eq(begin(drc, &k, &entry, &reply, &len), SERVER_DRC_NEW);
	cr_expect_eq(begin(drc, &k, &other, &reply, &len), SERVER_DRC_IN_PROGRESS);
	server_drc_done(drc, entry, "answer", 6);
	/* from another port: a client that came back */
	((struct sockaddr_in *)&k.peer)->sin_port = htons(701);
	cr_assert_eq(begin(drc, &k, &other, &reply, &len), SERVER_DRC_REPLAY);
	cr_expect_eq(len, 6);
	cr_expect_arr_eq(reply, "answer", 6);
	free(reply);
	server_drc_destroy(drc);
}

Test(server_drc, anything_different_is_another_request)
{
	struct server_drc *drc = make(1000, 1 << 20, 60 * UTIL_NS_PER_S);
	struct server_drc_entry *entry;
	struct key k, other[7];
	uint8_t *reply;
	size_t len;

	key_init(&k, 1);
	cr_assert_eq(begin(drc, &k, &entry, &reply, &len), SERVER_DRC_NEW);
	server_drc_done(drc, entry, "answer", 6);
	for (int i = 0; i < 7; i++)
		key_init(&other[i], 1);
	other[0].call.xid = 2;
	other[1].call.proc = WIRE_NFS3_RMDIR;
	other[2].text[63] = 1;
	other[3].args.end -= 4;
	((struct sockaddr_in *)&other[4].peer)->sin_addr.s_addr = htonl(0x0a000002);
	other[5].call.prog = 1;
	other[6].call.has_cred = true;
	other[6].call.cred.uid = 5;
	for (int i = 0; i < 7; i++) {
		cr_expect_eq(begin(drc, &other[i], &entry, &reply, &len), SERVER_DRC_NEW, "case %d",
			     i);
		server_drc_abort(drc, entry);
	}
	server_drc_destroy(drc);
}

Test(server_drc, an_aborted_request_is_new_again)
{
	struct server_drc *drc = make(1000, 1 << 20, 60 * UTIL_NS_PER_S);
	struct server_drc_entry *entry;
	uint8_t *reply;
	struct key k;
	size_t len;

	key_init(&k, 1);
	cr_assert_eq(begin(drc, &k, &entry, &reply, &len), SERVER_DRC_NEW);
	server_drc_abort(drc, entry);
	cr_expect_eq(server_drc_count(drc), 0);
	cr_expect_eq(begin(drc, &k, &entry, &reply, &len), SERVER_DRC_NEW);
	server_drc_destroy(drc);
}

Test(server_drc, stays_within_its_bounds)
{
	struct server_drc *drc = make(64, 16384, 60 * UTIL_NS_PER_S);
	static const uint8_t big[600];
	struct server_drc_entry *entry;
	uint8_t *reply;
	struct key k;
	size_t len;

	for (uint32_t xid = 0; xid < 2000; xid++) {
		key_init(&k, xid);
		cr_assert_eq(begin(drc, &k, &entry, &reply, &len), SERVER_DRC_NEW);
		server_drc_done(drc, entry, big, xid % 2 ? sizeof(big) : 100);
	}
	cr_expect_leq(server_drc_count(drc), 64);
	cr_expect_leq(server_drc_bytes(drc), 16384);
	cr_expect_gt(server_drc_count(drc), 0);
	/* what is in progress is never pushed out */
	key_init(&k, 5000);
	cr_assert_eq(begin(drc, &k, &entry, &reply, &len), SERVER_DRC_NEW);
	for (uint32_t xid = 6000; xid < 8000; xid++) {
		struct server_drc_entry *more;
		struct key other;

		key_init(&other, xid);
		cr_assert_eq(begin(drc, &other, &more, &reply, &len), SERVER_DRC_NEW);
		server_drc_done(drc, more, big, 100);
	}
	cr_expect_eq(begin(drc, &k, &entry, &reply, &len), SERVER_DRC_IN_PROGRESS);
	server_drc_destroy(drc);
}

Test(server_drc, forgets_with_age)
{
	struct server_drc *drc = make(1000, 1 << 20, 5 * UTIL_NS_PER_S);
	struct server_drc_entry *entry;
	uint8_t *reply;
	struct key k;
	size_t len;

	key_init(&k, 1);
	cr_assert_eq(begin(drc, &k, &entry, &reply, &len), SERVER_DRC_NEW);
	server_drc_done(drc, entry, "x", 1);
	server_drc_tick(drc, util_clock_ns() + 4 * UTIL_NS_PER_S);
	cr_expect_eq(server_drc_count(drc), 1);
	server_drc_tick(drc, util_clock_ns() + 6 * UTIL_NS_PER_S);
	cr_expect_eq(server_drc_count(drc), 0);
	server_drc_destroy(drc);
}

/* ---- through the dispatch --------------------------------------------------------------- */

Test(server_drc, a_repeated_call_gets_the_same_bytes)
{
	struct fixture *f = fixture_open(FIXTURE_NULL, NULL);
	struct wire_fh null_root;
	struct wire_fh *roots[] = {&f->root, &null_root};

	server_null_root(f->srv, &null_root);
	for (int i = 0; i < 2; i++) {
		uint8_t first[1024];
		size_t first_len;

		f->xid = 0x1000 + (uint32_t)i * 16;
		cr_assert_eq(fixture_mkdir(f, roots[i], "dir", 0777, NULL), NFS3_OK);
		first_len = f->reply_len;
		cr_assert_leq(first_len, sizeof(first));
		memcpy(first, f->reply, first_len);
		cr_assert_eq(fixture_mkdir(f, roots[i], "dir", 0777, NULL), NFS3_OK);
		cr_expect_eq(f->reply_len, first_len);
		cr_expect_arr_eq(f->reply, first, first_len);
		f->xid++;
		cr_expect_eq(fixture_mkdir(f, roots[i], "dir", 0777, NULL), NFS3ERR_EXIST);
		/* an error is an answer too */
		cr_expect_eq(fixture_mkdir(f, roots[i], "dir", 0777, NULL), NFS3ERR_EXIST);
		f->xid++;
		cr_assert_eq(fixture_name_call(f, WIRE_NFS3_RMDIR, roots[i], "dir"), NFS3_OK);
		cr_expect_eq(fixture_name_call(f, WIRE_NFS3_RMDIR, roots[i], "dir"), NFS3_OK);
		f->xid++;
		cr_expect_eq(fixture_name_call(f, WIRE_NFS3_RMDIR, roots[i], "dir"), NFS3ERR_NOENT);
	}
	fixture_close(f, false);
}

Test(server_drc, garbage_is_not_remembered)
{
	struct fixture *f = fixture_open(0, NULL);

	f->xid = 99;
	wire_put_fh(fixture_args(f), &f->root);
	fixture_call(f, WIRE_NFS3_REMOVE);
	cr_expect(f->refused);
	cr_expect_eq(server_drc_count(f->srv->drc), 0);
	fixture_close(f, false);
}
