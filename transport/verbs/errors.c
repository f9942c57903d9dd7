/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * errors.c - completion statuses and CM events in our words: what, likely cause, what to do.  Pure.
 *
 * Three dialects come in.  Completions have enum ibv_wc_status.  CM events carry a status that is a
 * negative errno, except for rejections over InfiniBand and RoCE, where it is the reason code of
 * the CM's REJ message (the kernel's enum ib_cm_rej_reason lists them).  iWARP rejections are
 * negative errnos always.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "transport/verbs/internal.h"

#define VERBS_HINT_LATER "too many connections there; try later"
#define VERBS_HINT_AGAIN "try again"
#define VERBS_HINT_LISTENER "is the server's RDMA listener up? (NFS/RDMA is on port 20049)"
#define VERBS_HINT_ROCE "do both ends have the same kind of RoCE (v1/v2) and a route?"
#define VERBS_HINT_FABRIC "the subnet manager's paths may be stale: is one running?"

static const struct {
	enum ibv_wc_status status;
	enum fabric_wc_status fabric;
	int code;
} verbs_wc_table[] = {
	{IBV_WC_SUCCESS, FABRIC_WC_OK, 0},
	{IBV_WC_LOC_LEN_ERR, FABRIC_WC_LENGTH, -EMSGSIZE},
	{IBV_WC_LOC_PROT_ERR, FABRIC_WC_LOCAL_PROTECTION, -EFAULT},
	{IBV_WC_LOC_ACCESS_ERR, FABRIC_WC_LOCAL_PROTECTION, -EFAULT},
	{IBV_WC_MW_BIND_ERR, FABRIC_WC_LOCAL_PROTECTION, -EFAULT},
	{IBV_WC_WR_FLUSH_ERR, FABRIC_WC_FLUSHED, -ECONNRESET},
	{IBV_WC_REM_ACCESS_ERR, FABRIC_WC_REMOTE_ACCESS, -EACCES},
	{IBV_WC_REM_INV_REQ_ERR, FABRIC_WC_REMOTE_ERROR, -EREMOTEIO},
	{IBV_WC_REM_OP_ERR, FABRIC_WC_REMOTE_ERROR, -EREMOTEIO},
	{IBV_WC_REM_INV_RD_REQ_ERR, FABRIC_WC_REMOTE_ERROR, -EREMOTEIO},
	{IBV_WC_REM_ABORT_ERR, FABRIC_WC_REMOTE_ERROR, -EREMOTEIO},
	{IBV_WC_BAD_RESP_ERR, FABRIC_WC_REMOTE_ERROR, -EREMOTEIO},
	{IBV_WC_RETRY_EXC_ERR, FABRIC_WC_RETRY, -ETIMEDOUT},
	{IBV_WC_RESP_TIMEOUT_ERR, FABRIC_WC_RETRY, -ETIMEDOUT},
	{IBV_WC_RNR_RETRY_EXC_ERR, FABRIC_WC_RNR, -ENOBUFS},
};

enum fabric_wc_status verbs_wc_status(enum ibv_wc_status status)
{
	for (size_t i = 0; i < UTIL_ARRAY_SIZE(verbs_wc_table); i++)
		if (verbs_wc_table[i].status == status)
			return verbs_wc_table[i].fabric;
	return FABRIC_WC_OTHER;
}

int verbs_wc_errno(enum ibv_wc_status status)
{
	for (size_t i = 0; i < UTIL_ARRAY_SIZE(verbs_wc_table); i++)
		if (verbs_wc_table[i].status == status)
			return verbs_wc_table[i].code;
	return -EIO;
}

const char *verbs_addr_text(const struct sockaddr *addr, char *buf, size_t len)
{
	char host[INET6_ADDRSTRLEN];
	const struct sockaddr_in *in = (const void *)addr;
	const struct sockaddr_in6 *in6 = (const void *)addr;

	if (addr->sa_family == AF_INET && inet_ntop(AF_INET, &in->sin_addr, host, sizeof(host)))
		snprintf(buf, len, "%s port %u", host, ntohs(in->sin_port));
	else if (addr->sa_family == AF_INET6 &&
		 inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof(host)))
		snprintf(buf, len, "[%s] port %u", host, ntohs(in6->sin6_port));
	else
		snprintf(buf, len, "(address family %d)", addr->sa_family);
	return buf;
}

/* Reason codes of a CM REJ: all of InfiniBand's that a queue pair's set-up can meet. */
static const struct {
	int reason;
	int code;
	const char *words;
	const char *hint;
} verbs_rej_table[] = {
	{1, -EAGAIN, "the peer has no queue pair left", VERBS_HINT_LATER},
	{2, -EAGAIN, "the peer has no end-to-end context left", VERBS_HINT_LATER},
	{3, -EAGAIN, "the peer is out of resources", VERBS_HINT_LATER},
	{4, -ETIMEDOUT, "the peer's connection manager timed out", ""},
	{5, -EOPNOTSUPP, "the peer does not support this request", ""},
	{6, -EPROTO, "the peer knows no such communication id", VERBS_HINT_AGAIN},
	{7, -EPROTO, "the peer knows no such communication instance", VERBS_HINT_AGAIN},
	{8, -ECONNREFUSED, "nothing listens on that port", VERBS_HINT_LISTENER},
	{9, -EPROTO, "the peer wants another transport than reliable connections", ""},
	{10, -ECONNRESET, "the connection is stale at the peer", VERBS_HINT_AGAIN},
	{11, -EPROTO, "the peer lacks the reliable datagram channel", ""},
	{12, -EHOSTUNREACH, "the peer refuses our GID", VERBS_HINT_ROCE},
	{13, -EHOSTUNREACH, "the peer refuses our LID", VERBS_HINT_FABRIC},
	{14, -EHOSTUNREACH, "the peer refuses the service level", VERBS_HINT_FABRIC},
	{15, -EHOSTUNREACH, "the peer refuses the traffic class", VERBS_HINT_ROCE},
	{16, -EHOSTUNREACH, "the peer refuses the hop limit", VERBS_HINT_ROCE},
	{17, -EHOSTUNREACH, "the peer refuses the packet rate", VERBS_HINT_FABRIC},
	{24, -EHOSTUNREACH, "the peer's port redirects its connection manager", VERBS_HINT_FABRIC},
	{25, -EHOSTUNREACH, "the peer redirects to another port", VERBS_HINT_FABRIC},
	{26, -EMSGSIZE, "the peer refuses the path's MTU",
	 "do both ends' ports have the same MTU? (ibv_devinfo shows active_mtu)"},
	{27, -EAGAIN, "the peer grants fewer RDMA Reads than it must", VERBS_HINT_LATER},
	{28, -ECONNREFUSED, "the peer's consumer rejected it",
	 "the service there does not want this connection: version or limits"},
	{29, -EPROTO, "the peer refuses the receiver-not-ready retries", ""},
	{30, -EPROTO, "the communication id is in use already", VERBS_HINT_AGAIN},
	{31, -EPROTO, "the peer's connection manager has another version", ""},
	{32, -EHOSTUNREACH, "the peer refuses the flow label", VERBS_HINT_ROCE},
	{35, -EOPNOTSUPP, "the peer does not support a vendor's option", ""},
};

static int verbs_reject_err(struct util_err *err, int reason, const char *peer)
{
	for (size_t i = 0; i < UTIL_ARRAY_SIZE(verbs_rej_table); i++) {
		if (verbs_rej_table[i].reason != reason)
			continue;
		util_err_set(err, verbs_rej_table[i].code, "RDMA connect to %s: rejected: %s", peer,
			     verbs_rej_table[i].words);
		util_err_hint(err, "%s", verbs_rej_table[i].hint);
		return verbs_rej_table[i].code;
	}
	return util_err_set(err, -ECONNREFUSED,
			    "RDMA connect to %s: rejected by the peer (CM reason %d)", peer,
			    reason);
}

/* What was being tried when this event came instead of success. */
static const char *verbs_event_attempt(enum rdma_cm_event_type event)
{
	switch (event) {
	case RDMA_CM_EVENT_ADDR_ERROR:
		return "finding an RDMA device that routes to";
	case RDMA_CM_EVENT_ROUTE_ERROR:
		return "resolving the RDMA route to";
	default:
		return "RDMA connect to";
	}
}

const char *verbs_errno_hint(int code)
{
	switch (code) {
	case -ENODEV:
		return "the route to that address uses an interface without an RDMA device ('rdma "
		       "link' lists those that have one)";
	case -ECONNREFUSED:
		return VERBS_HINT_LISTENER;
	case -EACCES:
		return "the kernel lets only threads with the credentials that opened the device "
		       "use it";
	case -ETIMEDOUT:
		return "is the host up, and does its RDMA port answer (ping, rping)?";
	case -ENETUNREACH:
	case -EHOSTUNREACH:
		return "no route to that address, or nobody answers ARP there";
	default:
		return "";
	}
}

int verbs_cm_event_err(struct util_err *err, enum rdma_cm_event_type event, int status, bool iwarp,
		       const struct sockaddr *peer)
{
	char text[VERBS_ADDR_TEXT];
	int code = status < 0 ? status : -ECONNREFUSED;

	verbs_addr_text(peer, text, sizeof(text));
	switch (event) {
	case RDMA_CM_EVENT_DISCONNECTED:
		util_err_clear(err);
		return 0;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		util_err_set(err, -ENODEV, "connection to %s: the RDMA device was removed", text);
		return -ENODEV;
	case RDMA_CM_EVENT_ADDR_CHANGE:
		util_err_set(err, -ENETRESET, "connection to %s: the device of its address changed",
			     text);
		return -ENETRESET;
	case RDMA_CM_EVENT_REJECTED:
		if (!iwarp && status > 0)
			return verbs_reject_err(err, status, text);
		break;
	case RDMA_CM_EVENT_UNREACHABLE:
		code = status < 0 ? status : -ETIMEDOUT;
		break;
	default:
		break;
	}
	if (code == -ECONNRESET && event == RDMA_CM_EVENT_REJECTED) {
		/* iWARP: an MPA reply that rejects and a peer that closes look the same from here.
		 */
		util_err_set(err, -ECONNREFUSED, "RDMA connect to %s: rejected by the peer", text);
		util_err_hint(err, "the service there does not want this connection, or is not an "
				   "iWARP service");
		return -ECONNREFUSED;
	}
	util_err_set(err, code, "%s %s: %s", verbs_event_attempt(event), text, strerror(-code));
	util_err_hint(err, "%s", verbs_errno_hint(code));
	return code;
}

/* A failed completion, as the reason a connection ended. */
void verbs_wc_err(struct util_err *err, const struct ibv_wc *wc, const struct sockaddr *peer)
{
	char text[VERBS_ADDR_TEXT];
	enum fabric_wc_status status = verbs_wc_status(wc->status);

	verbs_addr_text(peer, text, sizeof(text));
	if (status == FABRIC_WC_FLUSHED)
		util_err_set(err, -ECONNRESET, "connection to %s: closed by the peer", text);
	else
		util_err_set(err, verbs_wc_errno(wc->status),
			     "connection to %s: %s (device: %s, vendor error 0x%x)", text,
			     fabric_wc_status_name(status), ibv_wc_status_str(wc->status),
			     wc->vendor_err);
	util_err_hint(err, "%s", fabric_wc_status_hint(status));
}
