/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * receive.c - the requester's receiving side: replies out of the byte stream, READ data straight
 * into its sink.
 *
 * Normal operation.  The head of a reply is read ahead into the stage.  If the whole record lies
 * there (small replies, many to a system call) it is handled in place.  Otherwise its first bytes
 * go to link->msg until they say what the record is: the XID names the call, and the
 * call's find_data() finds where its bulk data begins.  From there on the socket is read directly
 * into the sink, by the same system call that reads the next record's head into the stage.
 * What is not bulk data is collected in link->msg, so that the caller gets the results in one
 * piece, without the data and its padding.
 *
 * Bounds.  A record is compared with what its call can have as an answer as soon as its length is
 * announced; a longer one fails the call, and its bytes are thrown away as they come.  So are
 * those of a record whose XID nobody waits for: a reply to a call given up long ago is no
 * reason to lose the connection.  Nothing is allocated by a length that was not bounded so.
 */
#include <errno.h>
#include <stdlib.h>

#include "transport/tcp/internal.h"

/* Read ahead this much while small replies are expected, so that one call gets many of them... */
#define STAGE_ALL SIZE_MAX
/* ...and only a head's worth before and after large data, which would have to be copied. */
#define STAGE_HEAD 2048
#define LARGE_DATA 16384
/* recvmsg() calls before other connections and the caller get a turn */
#define ROUNDS 16
/* Results may be this long even when a call promised less: fixed by no rule, generous. */
#define RESULTS_MIN 65536
/* RPC reply header: xid, type, stat, verifier with up to 400 bytes (RFC 5531), stat, versions */
#define REPLY_HEADER_MAX 512

void tcp_link_receive_reset(struct tcp_link *link)
{
	tcp_stream_reset(&link->in);
	link->mode = TCP_MODE_HEAD;
	link->call = NULL;
	link->msg_len = 0;
}

void tcp_link_receive_abandon(struct tcp_link *link, const struct transport_call *call)
{
	if (link->call != call)
		return;
	link->call = NULL;
	link->mode = TCP_MODE_SKIP;
}

/* ---- the message buffer ----------------------------------------------------------------- */

/* Room for len more bytes; lengths were bounded by the caller. */
static int msg_reserve(struct tcp_link *link, size_t len)
{
	size_t need = link->msg_len + len;
	size_t size = link->msg_size ? link->msg_size : RESULTS_MIN;
	uint8_t *msg;

	if (need <= link->msg_size)
		return 0;
	while (size < need)
		size *= 2;
	msg = realloc(link->msg, size);
	if (!msg)
		return -ENOMEM;
	link->msg = msg;
	link->msg_size = size;
	return 0;
}

static int msg_append(struct tcp_link *link, const uint8_t *p, size_t len)
{
	int err = msg_reserve(link, len);

	if (err)
		return err;
	memcpy(link->msg + link->msg_len, p, len);
	link->msg_len += len;
	return 0;
}

/* ---- the sink --------------------------------------------------------------------------- */

/* The sink's memory from byte done on, at most len bytes, as iovecs. */
static int sink_iov(const struct transport_call *call, size_t done, size_t len, struct iovec *iov)
{
	int n = 0;

	for (unsigned i = 0; i < call->sink_nsegs && len > 0; i++) {
		const struct transport_seg *seg = &call->sink[i];
		size_t take;

		if (done >= seg->len) {
			done -= seg->len;
			continue;
		}
		take = seg->len - done < len ? seg->len - done : len;
		iov[n].iov_base = (uint8_t *)seg->addr + done;
		iov[n].iov_len = take;
		len -= take;
		done = 0;
		n++;
	}
	return n;
}

static void sink_copy(const struct transport_call *call, size_t done, const uint8_t *p, size_t len)
{
	struct iovec iov[TRANSPORT_MAX_SEGS];
	int n = sink_iov(call, done, len, iov);

	for (int i = 0; i < n; i++) {
		memcpy(iov[i].iov_base, p, iov[i].iov_len);
		p += iov[i].iov_len;
	}
}

/* ---- what is this record? --------------------------------------------------------------- */

enum verdict {
	VERDICT_MORE,  /* cannot tell yet */
	VERDICT_SKIP,  /* nobody's */
	VERDICT_WHOLE, /* no bulk data to be taken out */
	VERDICT_SINK,  /* bulk data of data_len bytes at data_pos */
	VERDICT_BAD,   /* the call's, and it must fail */
};

struct finding {
	struct transport_call *call;
	size_t data_pos, data_len;
};

/* Past the RPC header: does the call's find_data() see bulk data? */
static enum verdict judge_results(struct transport_call *call, const uint8_t *msg, size_t len,
				  struct finding *found)
{
	struct wire_rpc_error error;
	struct wire_dec dec;
	uint32_t xid;
	ssize_t pos;
	int err;

	wire_dec_init(&dec, msg, len);
	err = wire_rpc_reply_decode(&dec, &xid, &error);
	if (err == -EBADMSG && len < REPLY_HEADER_MAX)
		return VERDICT_MORE;
	if (err)
		return VERDICT_WHOLE; /* the core will say what is wrong with it */
	pos = call->find_data(dec.p, wire_dec_left(&dec), &found->data_len);
	if (pos == -EAGAIN)
		return VERDICT_MORE;
	if (pos == -ENODATA)
		return VERDICT_WHOLE;
	if (pos < 0 || found->data_len > call->sink_len)
		return VERDICT_BAD;
	if ((size_t)pos > wire_dec_left(&dec))
		return VERDICT_MORE;
	found->data_pos = wire_dec_pos(&dec) + (size_t)pos;
	return VERDICT_SINK;
}

/* The first len bytes of a record lie at msg. */
static enum verdict judge(struct tcp_link *link, const uint8_t *msg, size_t len,
			  struct finding *found)
{
	struct transport_call *call = link->call;

	if (len < sizeof(uint32_t))
		return VERDICT_MORE;
	if (!call)
		call = transport_client_find(link->link.client, util_get_be32(msg));
	found->call = call;
	if (!call)
		return VERDICT_SKIP;
	return call->sink_nsegs > 0 ? judge_results(call, msg, len, found) : VERDICT_WHOLE;
}

/* Longer than any answer to this call: it fails, the bytes are thrown away. */
static bool too_long(const struct tcp_link *link, const struct transport_call *call)
{
	size_t results = call->reply_max > RESULTS_MIN ? call->reply_max : RESULTS_MIN;

	return link->in.record_len > REPLY_HEADER_MAX + (uint64_t)results + call->sink_len;
}

/*
 * The call's answer is here: nothing refers to it any more, since done() may put it, submit others
 * and cancel others.  An answer to a call whose record has not left as a whole means that the rest
 * of it never will: the connection is dropped.
 */
static void let_go(struct tcp_link *link, struct transport_call *call)
{
	struct util_err err = {0};

	link->call = NULL;
	link->mode = TCP_MODE_SKIP;
	if (link->partial != call)
		return;
	link->partial = NULL;
	link->blocked = true;
	util_err_set(&err, -EPROTO, "%s answered a call it had not received as a whole",
		     link->link.client->params.server);
	transport_client_link_down(link->link.client, &err);
}

static void fail(struct tcp_link *link, struct transport_call *call, const char *what)
{
	struct util_err err = {0};

	let_go(link, call);
	util_err_set(&err, -EIO, "%s sent %s", link->link.client->params.server, what);
	transport_client_fail(call, &err);
}

static void reply(struct tcp_link *link, struct transport_call *call, const uint8_t *msg,
		  size_t len)
{
	let_go(link, call);
	transport_client_reply(call, msg, len);
}

/* ---- a record that lies in memory as a whole --------------------------------------------- */

static int whole_with_data(struct tcp_link *link, const uint8_t *msg, size_t len,
			   const struct finding *found)
{
	struct transport_call *call = found->call;
	size_t tail_pos, tail_len;
	int err;

	if (found->data_len > len - found->data_pos) {
		fail(link, call, "a reply that was cut short");
		return 0;
	}
	sink_copy(call, 0, msg + found->data_pos, found->data_len);
	call->data_received = found->data_len;
	call->data_sunk = true;
	tail_pos = found->data_pos + found->data_len;
	tail_len = len - tail_pos;
	if (tail_len <= WIRE_PAD(found->data_len)) {
		reply(link, call, msg, found->data_pos);
		return 0;
	}
	/* Something follows the data: only now is a copy needed to close the gap. */
	tail_pos += WIRE_PAD(found->data_len);
	if (msg == link->msg) {
		memmove(link->msg + found->data_pos, msg + tail_pos, len - tail_pos);
		link->msg_len = found->data_pos + len - tail_pos;
	} else {
		link->msg_len = 0;
		err = msg_append(link, msg, found->data_pos);
		if (!err)
			err = msg_append(link, msg + tail_pos, len - tail_pos);
		if (err)
			return err;
	}
	reply(link, call, link->msg, link->msg_len);
	return 0;
}

static int whole(struct tcp_link *link, const uint8_t *msg, size_t len)
{
	struct finding found = {0};

	switch (judge(link, msg, len, &found)) {
	case VERDICT_SINK:
		return whole_with_data(link, msg, len, &found);
	case VERDICT_BAD:
		fail(link, found.call, "a reply with impossible data in it");
		return 0;
	case VERDICT_WHOLE:
		reply(link, found.call, msg, len);
		return 0;
	case VERDICT_MORE: /* and no more will come */
		if (found.call)
			reply(link, found.call, msg, len);
		return 0;
	case VERDICT_SKIP:
	default:
		return 0;
	}
}

/* ---- a record that comes in pieces ------------------------------------------------------- */

/* link->msg holds the head and, behind data_pos, bytes that belong into the sink. */
static void enter_sink(struct tcp_link *link, const struct finding *found)
{
	size_t extra = link->msg_len - found->data_pos;
	size_t data = extra < found->data_len ? extra : found->data_len;
	size_t pad = WIRE_PAD(found->data_len);

	sink_copy(link->call, 0, link->msg + found->data_pos, data);
	link->sink_done = data;
	link->sink_left = found->data_len - data;
	extra -= data;
	link->pad_left = extra < pad ? pad - extra : 0;
	extra -= pad - link->pad_left;
	memmove(link->msg + found->data_pos, link->msg + link->msg_len - extra, extra);
	link->msg_len = found->data_pos + extra;
	if (link->sink_left > 0)
		link->mode = TCP_MODE_SINK;
	else
		link->mode = link->pad_left > 0 ? TCP_MODE_PAD : TCP_MODE_TAIL;
}

/* link->msg has grown: can it be told what it is? */
static void head_grew(struct tcp_link *link)
{
	struct finding found = {0};
	enum verdict verdict = judge(link, link->msg, link->msg_len, &found);

	link->call = found.call;
	if (link->call && too_long(link, link->call)) {
		fail(link, link->call, "a reply longer than any answer to the call");
		return;
	}
	switch (verdict) {
	case VERDICT_SINK:
		enter_sink(link, &found);
		break;
	case VERDICT_WHOLE:
		link->mode = TCP_MODE_WHOLE;
		break;
	case VERDICT_BAD:
		fail(link, link->call, "a reply with impossible data in it");
		break;
	case VERDICT_SKIP:
		link->mode = TCP_MODE_SKIP;
		break;
	case VERDICT_MORE:
		break;
	}
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Use up to n staged bytes of the record; returns how many, or -errno. */
static ssize_t piece(struct tcp_link *link, const uint8_t *p, size_t n)
{
	int err;

	switch (link->mode) {
	case TCP_MODE_HEAD:
		/* a head is short: do not copy data to msg only to move it on to the sink */
		n = least(n, REPLY_HEADER_MAX);
		err = msg_append(link, p, n);
		if (err)
			return err;
		head_grew(link);
		break;
	case TCP_MODE_WHOLE:
	case TCP_MODE_TAIL:
		if (link->call && too_long(link, link->call)) {
			fail(link, link->call, "a reply longer than any answer to the call");
			break;
		}
		err = msg_append(link, p, n);
		if (err)
			return err;
		break;
	case TCP_MODE_SINK:
		n = least(n, link->sink_left);
		sink_copy(link->call, link->sink_done, p, n);
		link->sink_done += n;
		link->sink_left -= n;
		break;
	case TCP_MODE_PAD:
		n = least(n, link->pad_left);
		link->pad_left -= n;
		break;
	case TCP_MODE_SKIP:
		break;
	}
	return (ssize_t)n;
}

static void next_mode(struct tcp_link *link)
{
	if (link->mode == TCP_MODE_SINK && link->sink_left == 0)
		link->mode = link->pad_left > 0 ? TCP_MODE_PAD : TCP_MODE_TAIL;
	else if (link->mode == TCP_MODE_PAD && link->pad_left == 0)
		link->mode = TCP_MODE_TAIL;
}

static int record_ended(struct tcp_link *link)
{
	struct transport_call *call = link->call;
	int err = 0;

	switch (link->mode) {
	case TCP_MODE_HEAD:
	case TCP_MODE_WHOLE:
		err = whole(link, link->msg, link->msg_len);
		break;
	case TCP_MODE_SINK:
		fail(link, call, "a reply that was cut short");
		break;
	case TCP_MODE_PAD:
	case TCP_MODE_TAIL:
		call->data_received = link->sink_done;
		call->data_sunk = true;
		reply(link, call, link->msg, link->msg_len);
		break;
	case TCP_MODE_SKIP:
		break;
	}
	link->mode = TCP_MODE_HEAD;
	link->call = NULL;
	link->msg_len = 0;
	return err;
}

/* ---- the stream ------------------------------------------------------------------------- */

/* Handle what the stage holds, until it holds no more than a piece of a mark. */
static int consume(struct tcp_link *link)
{
	struct tcp_stream *in = &link->in;
	const uint8_t *p;
	ssize_t used;
	size_t n;
	int err = 0;

	for (;;) {
		n = tcp_stream_next(in, &p);
		if (tcp_stream_ended(in)) {
			err = record_ended(link);
			tcp_stream_end(in);
			if (err)
				return err;
			continue;
		}
		if (n == 0)
			return 0;
		if (link->mode == TCP_MODE_HEAD && link->msg_len == 0 &&
		    tcp_stream_rest_staged(in)) {
			err = whole(link, p, n);
			if (err)
				return err;
			link->mode = TCP_MODE_SKIP;
			tcp_stream_consume(in, n);
			continue;
		}
		used = piece(link, p, n);
		if (used < 0)
			return (int)used;
		tcp_stream_consume(in, (size_t)used);
		next_mode(link);
	}
}

/* Where the rest of the current fragment may be read to directly. */
static int direct_places(struct tcp_link *link, struct iovec *iov)
{
	struct tcp_stream *in = &link->in;

	if (link->mode == TCP_MODE_SINK)
		return sink_iov(link->call, link->sink_done, least(link->sink_left, in->frag_left),
				iov);
	if ((link->mode != TCP_MODE_WHOLE && link->mode != TCP_MODE_TAIL) || in->frag_left == 0 ||
	    too_long(link, link->call) || msg_reserve(link, in->frag_left))
		return 0;
	iov[0].iov_base = link->msg + link->msg_len;
	iov[0].iov_len = in->frag_left;
	return 1;
}

static void direct_came(struct tcp_link *link, size_t n)
{
	if (n == 0)
		return;
	if (link->mode == TCP_MODE_SINK) {
		link->sink_done += n;
		link->sink_left -= n;
	} else {
		link->msg_len += n;
	}
	next_mode(link);
}

/* How much to read ahead: is the next reply large? */
static size_t stage_limit(const struct tcp_link *link)
{
	const struct transport_client *client = link->link.client;
	const struct transport_call *first;

	if (util_list_empty(&client->sent))
		return STAGE_ALL;
	first = UTIL_LIST_ENTRY(client->sent.next, struct transport_call, node);
	return first->sink_len >= LARGE_DATA ? STAGE_HEAD : STAGE_ALL;
}

int tcp_link_receive(struct tcp_link *link, struct util_err *err)
{
	const struct transport_client_params *params = &link->link.client->params;
	struct iovec direct[TCP_STREAM_MAX_DIRECT];
	struct tcp_fill fill = {0};
	int code;

	for (int round = 0; round < ROUNDS && !fill.drained; round++) {
		int ndirect = direct_places(link, direct);

		code = tcp_stream_fill(&link->in, link->fd, direct, ndirect, stage_limit(link),
				       &fill);
		link->counts.receive_calls++;
		if (code == -EAGAIN)
			return 0;
		if (code == 0)
			return util_err_set(err, -ECONNRESET, "%s closed the connection",
					    params->server);
		if (code < 0)
			return tcp_socket_error(code, params, err);
		link->counts.bytes_received += fill.total;
		direct_came(link, fill.direct);
		code = consume(link);
		if (code)
			return util_err_set(err, code, "reply from %s: %s", params->server,
					    strerror(-code));
	}
	return 0;
}
