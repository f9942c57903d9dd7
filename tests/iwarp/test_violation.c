/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each rule a peer can break: our end answers with the Terminate the RFCs name, nothing outside
 * what the peer was granted is written, and the owner hears why.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/iwarp/peer.h"
#include "transport/iwarp/internal.h"

#define REGION 8192

/* What a violation is played against: regions of each kind, a window, two receives. */
struct scene {
	struct peer peer;
	struct memory writable, readable, sink, boundable, foreign, inbox;
	struct fabric_domain *other_domain;
	struct mr_window window;
	uint32_t stale;	      /* the key of a region that has been deregistered */
	uint32_t dead_window; /* a window's last key */
	uint8_t junk[REGION];
};

static void fill(struct memory *m)
{
	memset(m->ptr, 0x5a, m->len);
}

static bool untouched(const struct memory *m)
{
	for (size_t i = 0; i < m->len; i++)
		if (m->ptr[i] != 0x5a)
			return false;
	return true;
}

static void open_foreign(struct scene *s)
{
	struct util_err err;
	struct mr_provider *p;
	struct sockaddr sa = {0};

	cr_assert_eq(s->peer.pair.ops->domain_open(s->peer.pair.end[0].fabric, &sa, sizeof(sa), 0,
						   &s->other_domain, &err),
		     0);
	p = s->other_domain->provider;
	s->foreign.len = REGION;
	s->foreign.provider = p;
	s->foreign.ptr =
		mmap(NULL, REGION, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cr_assert_eq(p->ops->register_memory(p, s->foreign.ptr, REGION, 4096,
					     MR_ACCESS_REMOTE_WRITE | MR_ACCESS_REMOTE_READ,
					     &s->foreign.reg, &err),
		     0);
}

static void bind_window(struct scene *s)
{
	struct fabric_wr wr = {
		.op = FABRIC_OP_BIND,
		.flags = FABRIC_WR_SIGNALED,
		.u.bind = {.window = &s->window,
			   .reg = &s->boundable.reg,
			   .iova = s->boundable.reg.iova + 4096,
			   .len = 4096,
			   .access = MR_ACCESS_REMOTE_WRITE | MR_ACCESS_REMOTE_READ},
	};

	cr_assert_eq(s->peer.pair.ops->post_send(s->peer.pair.end[0].conn, &wr), 0);
	cr_assert_eq(pair_next(&s->peer.pair, 0).status, FABRIC_WC_OK);
}

static void scene_open(struct scene *s, const struct peer_options *opts)
{
	struct pair *pair = &s->peer.pair;
	struct memory gone;
	struct mr_provider *p;

	memset(s, 0, sizeof(*s));
	memset(s->junk, 0xee, sizeof(s->junk));
	peer_establish(&s->peer, opts);
	peer_tagged(&s->peer, IWARP_OPCODE_WRITE, 0, 0, NULL, 0); /* lets a responder speak */
	while (!iwarp_conn_of(pair->end[0].conn)->rx.first_done)
		pair_turn(pair);
	p = pair->end[0].domain->provider;
	memory_open(&s->writable, pair, 0, REGION, MR_ACCESS_REMOTE_WRITE);
	memory_open(&s->readable, pair, 0, REGION, MR_ACCESS_REMOTE_READ);
	memory_open(&s->sink, pair, 0, REGION, MR_ACCESS_READ_SINK);
	memory_open(&s->boundable, pair, 0, REGION, MR_ACCESS_WINDOW_BIND);
	memory_open(&s->inbox, pair, 0, REGION, 0);
	memory_open(&gone, pair, 0, REGION, MR_ACCESS_REMOTE_WRITE | MR_ACCESS_REMOTE_READ);
	s->stale = gone.reg.rkey;
	memory_close(&gone);
	open_foreign(s);
	cr_assert_eq(p->ops->window_alloc(p, &s->window), 0);
	bind_window(s);
	s->dead_window = s->window.rkey;
	bind_window(s);
	fill(&s->writable);
	fill(&s->readable);
	fill(&s->sink);
	fill(&s->boundable);
	fill(&s->foreign);
	fill(&s->inbox);
}

static void scene_close(struct scene *s)
{
	struct mr_provider *p = s->peer.pair.end[0].domain->provider;

	p->ops->window_free(p, &s->window);
	memory_close(&s->writable);
	memory_close(&s->readable);
	memory_close(&s->sink);
	memory_close(&s->boundable);
	memory_close(&s->inbox);
	memory_close(&s->foreign);
	s->peer.pair.ops->domain_put(s->other_domain);
	peer_close(&s->peer);
}

/* ---- the violations ---------------------------------------------------------------------- */

static void write_at(struct scene *s, uint32_t stag, uint64_t to, size_t len)
{
	peer_tagged(&s->peer, IWARP_OPCODE_WRITE, stag, to, s->junk, len);
}

static void write_stale(struct scene *s)
{
	write_at(s, s->stale, s->writable.reg.iova, 1);
}

static void write_unknown(struct scene *s)
{
	write_at(s, 0x12345678, s->writable.reg.iova, 1);
}

static void write_key_0(struct scene *s)
{
	write_at(s, 0, s->writable.reg.iova, 1);
}

static void write_foreign(struct scene *s)
{
	write_at(s, s->foreign.reg.rkey, s->foreign.reg.iova, 1);
}

static void write_one_past(struct scene *s)
{
	write_at(s, s->writable.reg.rkey, s->writable.reg.iova + 1, REGION);
}

static void write_one_before(struct scene *s)
{
	write_at(s, s->writable.reg.rkey, s->writable.reg.iova - 1, REGION);
}

static void write_wrapping(struct scene *s)
{
	write_at(s, s->writable.reg.rkey, UINT64_MAX - 3, 8);
}

static void write_readable(struct scene *s)
{
	write_at(s, s->readable.reg.rkey, s->readable.reg.iova, 16);
}

static void write_sink(struct scene *s)
{
	write_at(s, s->sink.reg.rkey, s->sink.reg.iova, 16);
}

static void write_boundable(struct scene *s)
{
	write_at(s, s->boundable.reg.rkey, s->boundable.reg.iova + 4096, 16);
}

static void write_dead_window(struct scene *s)
{
	write_at(s, s->dead_window, s->boundable.reg.iova + 4096, 16);
}

static void write_before_window(struct scene *s)
{
	write_at(s, s->window.rkey, s->boundable.reg.iova + 4095, 16);
}

static void write_past_window(struct scene *s)
{
	write_at(s, s->window.rkey, s->boundable.reg.iova + 4097, 4096);
}

static void segment(struct scene *s, struct iwarp_ddp ddp, size_t len)
{
	peer_write_segment(&s->peer, &ddp, s->junk, len);
}

/* A segment whose two control bytes are as given. */
static void control(struct scene *s, uint8_t first, uint8_t second)
{
	uint8_t ulpdu[64] = {0};

	ulpdu[0] = first;
	ulpdu[1] = second;
	ulpdu[13] = 1; /* MSN */
	peer_write_fpdu(&s->peer, ulpdu, sizeof(ulpdu));
}

static void tagged_version(struct scene *s)
{
	control(s, 0xc2, 0x40);
}

static void untagged_version(struct scene *s)
{
	control(s, 0x40, 0x43);
}

static void rdmap_version(struct scene *s)
{
	control(s, 0x41, 0x03);
}

static void tagged_send(struct scene *s)
{
	control(s, 0xc1, 0x43);
}

static void atomic_request(struct scene *s)
{
	control(s, 0x41, 0x4a);
}

static void queue_3(struct scene *s)
{
	segment(s, (struct iwarp_ddp){.last = true, .opcode = 3, .qn = 3, .msn = 1}, 4);
}

static void msn_ahead(struct scene *s)
{
	pair_recv(&s->peer.pair, 0, &s->inbox, 0, 4096, 1);
	segment(s, (struct iwarp_ddp){.last = true, .opcode = 3, .msn = 2}, 4);
}

static void msn_0(struct scene *s)
{
	pair_recv(&s->peer.pair, 0, &s->inbox, 0, 4096, 1);
	segment(s, (struct iwarp_ddp){.last = true, .opcode = 3, .msn = 0}, 4);
}

static void no_buffer(struct scene *s)
{
	segment(s, (struct iwarp_ddp){.last = true, .opcode = 3, .msn = 1}, 4);
}

static void offset_ahead(struct scene *s)
{
	pair_recv(&s->peer.pair, 0, &s->inbox, 0, 4096, 1);
	segment(s, (struct iwarp_ddp){.last = true, .opcode = 3, .msn = 1, .mo = 1}, 4);
}

static void too_long(struct scene *s)
{
	pair_recv(&s->peer.pair, 0, &s->inbox, 0, 100, 1);
	segment(s, (struct iwarp_ddp){.last = true, .opcode = 3, .msn = 1}, 101);
}

static void invalidate_region(struct scene *s)
{
	pair_recv(&s->peer.pair, 0, &s->inbox, 0, 100, 1);
	segment(s,
		(struct iwarp_ddp){
			.last = true, .opcode = 4, .msn = 1, .stag = s->writable.reg.rkey},
		0);
}

static void invalidate_dead_window(struct scene *s)
{
	pair_recv(&s->peer.pair, 0, &s->inbox, 0, 100, 1);
	segment(s, (struct iwarp_ddp){.last = true, .opcode = 6, .msn = 1, .stag = s->dead_window},
		0);
}

static void read_of(struct scene *s, uint32_t stag, uint64_t to, uint32_t len)
{
	const struct iwarp_read_request req = {
		.sink_stag = 1,
		.sink_to = 2,
		.len = len,
		.source_stag = stag,
		.source_to = to,
	};

	peer_read_request(&s->peer, &req);
}

static void read_stale(struct scene *s)
{
	read_of(s, s->stale, s->readable.reg.iova, 1);
}

static void read_foreign(struct scene *s)
{
	read_of(s, s->foreign.reg.rkey, s->foreign.reg.iova, 1);
}

static void read_writable(struct scene *s)
{
	read_of(s, s->writable.reg.rkey, s->writable.reg.iova, 1);
}

static void read_one_past(struct scene *s)
{
	read_of(s, s->readable.reg.rkey, s->readable.reg.iova, REGION + 1);
}

static void read_4_gib(struct scene *s)
{
	read_of(s, s->readable.reg.rkey, s->readable.reg.iova, UINT32_MAX);
}

static void read_wrapping(struct scene *s)
{
	read_of(s, s->readable.reg.rkey, UINT64_MAX, 2);
}

static void read_request_long(struct scene *s)
{
	segment(s, (struct iwarp_ddp){.last = true, .opcode = 1, .qn = 1, .msn = 1}, 29);
}

static void read_request_longer_than_we_look(struct scene *s)
{
	segment(s, (struct iwarp_ddp){.last = true, .opcode = 1, .qn = 1, .msn = 1}, 1000);
}

static void read_request_short(struct scene *s)
{
	segment(s, (struct iwarp_ddp){.last = true, .opcode = 1, .qn = 1, .msn = 1}, 27);
}

static void read_request_in_parts(struct scene *s)
{
	segment(s, (struct iwarp_ddp){.opcode = 1, .qn = 1, .msn = 1}, 14);
}

static void read_request_msn(struct scene *s)
{
	segment(s, (struct iwarp_ddp){.last = true, .opcode = 1, .qn = 1, .msn = 9}, 28);
}

static void response_unasked(struct scene *s)
{
	peer_tagged(&s->peer, IWARP_OPCODE_READ_RESPONSE, s->sink.reg.rkey, s->sink.reg.iova,
		    s->junk, 8);
}

/* Ask for 100 bytes into the sink at 1000. */
static void ask(struct scene *s)
{
	struct fabric_sge sge = memory_sge(&s->sink, 1000, 100);

	cr_assert_eq(pair_post(&s->peer.pair, 0, FABRIC_OP_READ, &sge, 0x1000, 0x77, 0, 5), 0);
}

static void response(struct scene *s, uint32_t stag, uint64_t off, size_t len, bool last)
{
	const struct iwarp_ddp ddp = {.tagged = true,
				      .last = last,
				      .opcode = IWARP_OPCODE_READ_RESPONSE,
				      .stag = stag,
				      .to = s->sink.reg.iova + off};

	ask(s);
	peer_write_segment(&s->peer, &ddp, s->junk, len);
}

static void response_elsewhere(struct scene *s)
{
	response(s, s->sink.reg.rkey, 1001, 100, true);
}

static void response_other_key(struct scene *s)
{
	response(s, s->writable.reg.rkey, 1000, 100, true);
}

static void response_too_long(struct scene *s)
{
	response(s, s->sink.reg.rkey, 1000, 101, true);
}

static void response_cut_short(struct scene *s)
{
	response(s, s->sink.reg.rkey, 1000, 99, true);
}

static void response_without_end(struct scene *s)
{
	response(s, s->sink.reg.rkey, 1000, 100, false);
}

static void short_segment(struct scene *s)
{
	peer_write_fpdu(&s->peer, "\xc1\x40", 2);
}

static void empty_segment(struct scene *s)
{
	/* length 0 looks at the pad as if it were a control byte */
	peer_write_fpdu(&s->peer, "", 0);
}

struct violation {
	const char *name;
	void (*commit)(struct scene *s);
	enum iwarp_fault fault;
	bool has_header, has_request;
};

#define VIOLATION(fn, fault, ...)                                                                  \
	{                                                                                          \
#fn, fn, IWARP_FAULT_##fault, __VA_ARGS__                                          \
	}

static const struct violation violations[] = {
	VIOLATION(write_stale, TAGGED_STAG, true),
	VIOLATION(write_unknown, TAGGED_STAG, true),
	VIOLATION(write_key_0, TAGGED_STAG, true),
	VIOLATION(write_foreign, TAGGED_NOT_ASSOCIATED, true),
	VIOLATION(write_one_past, TAGGED_BOUNDS, true),
	VIOLATION(write_one_before, TAGGED_BOUNDS, true),
	VIOLATION(write_wrapping, TAGGED_TO_WRAP, true),
	VIOLATION(write_readable, RDMAP_ACCESS, true),
	VIOLATION(write_sink, RDMAP_ACCESS, true),
	VIOLATION(write_boundable, RDMAP_ACCESS, true),
	VIOLATION(write_dead_window, TAGGED_STAG, true),
	VIOLATION(write_before_window, TAGGED_BOUNDS, true),
	VIOLATION(write_past_window, TAGGED_BOUNDS, true),
	VIOLATION(tagged_version, TAGGED_VERSION, true),
	VIOLATION(untagged_version, UNTAGGED_VERSION, true),
	VIOLATION(rdmap_version, RDMAP_VERSION, true),
	VIOLATION(tagged_send, RDMAP_OPCODE, true),
	VIOLATION(atomic_request, RDMAP_OPCODE, true),
	VIOLATION(queue_3, UNTAGGED_QN, true),
	VIOLATION(msn_ahead, UNTAGGED_MSN, true),
	VIOLATION(msn_0, UNTAGGED_MSN, true),
	VIOLATION(no_buffer, UNTAGGED_NO_BUFFER, true),
	VIOLATION(offset_ahead, UNTAGGED_MO, true),
	VIOLATION(too_long, UNTAGGED_TOO_LONG, true),
	VIOLATION(invalidate_region, RDMAP_NOT_YOURS_TO_INVALIDATE, true),
	VIOLATION(invalidate_dead_window, RDMAP_CANNOT_INVALIDATE, true),
	VIOLATION(read_stale, RDMAP_STAG, true, true),
	VIOLATION(read_foreign, RDMAP_NOT_ASSOCIATED, true, true),
	VIOLATION(read_writable, RDMAP_ACCESS, true, true),
	VIOLATION(read_one_past, RDMAP_BOUNDS, true, true),
	VIOLATION(read_4_gib, RDMAP_BOUNDS, true, true),
	VIOLATION(read_wrapping, RDMAP_TO_WRAP, true, true),
	VIOLATION(read_request_long, UNTAGGED_TOO_LONG, true),
	VIOLATION(read_request_longer_than_we_look, UNTAGGED_TOO_LONG, true),
	VIOLATION(read_request_short, RDMAP_UNSPECIFIED, true),
	VIOLATION(read_request_in_parts, UNTAGGED_MO, true),
	VIOLATION(read_request_msn, UNTAGGED_MSN, true),
	VIOLATION(response_unasked, RDMAP_OPCODE, true),
	VIOLATION(response_elsewhere, TAGGED_BOUNDS, true),
	VIOLATION(response_other_key, TAGGED_STAG, true),
	VIOLATION(response_too_long, TAGGED_BOUNDS, true),
	VIOLATION(response_cut_short, RDMAP_UNSPECIFIED, true),
	VIOLATION(response_without_end, RDMAP_UNSPECIFIED, true),
	VIOLATION(short_segment, DDP_CATASTROPHIC, false),
	VIOLATION(empty_segment, DDP_CATASTROPHIC, false),
};

static void play(const struct violation *v, const struct peer_options *opts)
{
	struct scene *s = calloc(1, sizeof(*s));
	struct iwarp_terminate term;
	enum iwarp_fault fault;

	scene_open(s, opts);
	v->commit(s);
	fault = peer_read_terminate(&s->peer, &term);
	cr_expect_eq(fault, v->fault, "%s: %s (%#x)", v->name, iwarp_fault_name(fault), fault);
	cr_expect_eq(term.header_len != 0, v->has_header, "%s", v->name);
	cr_expect_eq(term.has_request, v->has_request, "%s", v->name);
	cr_expect(peer_sees_end(&s->peer));
	/* what follows a violation does nothing */
	write_at(s, s->writable.reg.rkey, s->writable.reg.iova, 16);
	close(s->peer.fd);
	s->peer.fd = -1;
	pair_until_disconnected(&s->peer.pair, 0);
	cr_expect_eq(s->peer.pair.end[0].conn->err.code, -EPROTO, "%s", v->name);
	cr_expect(strlen(s->peer.pair.end[0].conn->err.what) > 0);
	cr_expect(untouched(&s->writable), "%s", v->name);
	cr_expect(untouched(&s->readable), "%s", v->name);
	cr_expect(untouched(&s->sink), "%s", v->name);
	cr_expect(untouched(&s->boundable), "%s", v->name);
	cr_expect(untouched(&s->foreign), "%s", v->name);
	cr_expect(untouched(&s->inbox), "%s", v->name);
	scene_close(s);
	free(s);
}

static void play_all(struct peer_options opts)
{
	for (size_t i = 0; i < UTIL_ARRAY_SIZE(violations); i++)
		play(&violations[i], &opts);
}

Test(iwarp_violation, each_is_answered_by_its_terminate_and_writes_nothing, .timeout = 60)
{
	play_all((struct peer_options){.crc = FABRIC_CRC_OFF});
}

Test(iwarp_violation, the_same_with_crc, .timeout = 60)
{
	play_all((struct peer_options){.crc = FABRIC_CRC_ON});
}

Test(iwarp_violation, the_same_behind_an_iommu, .timeout = 60)
{
	play_all((struct peer_options){.crc = FABRIC_CRC_OFF, .iommu.policy = IOMMU_SW_STRICT});
	play_all((struct peer_options){.crc = FABRIC_CRC_ON, .iommu.policy = IOMMU_SW_LAZY});
}

Test(iwarp_violation, the_same_as_responder_on_plain_sockets, .timeout = 60)
{
	play_all((struct peer_options){.crc = FABRIC_CRC_OFF, .plain = true, .responder = true});
}
