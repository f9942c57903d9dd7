/* SPDX-License-Identifier: BSD-2-Clause */
/* rig.h - a fabric, a domain, a cq and a connection on the mock, for the tests of this folder. */
#ifndef NFSRDMA_TESTS_VERBS_RIG_H
#define NFSRDMA_TESTS_VERBS_RIG_H

#include <arpa/inet.h>
#include <criterion/criterion.h>

#include "tests/verbs/mock.h"
#include "transport/verbs/internal.h"

#define OPS (&verbs_fabric_ops)

struct rig {
	struct fabric *fabric;
	struct fabric_domain *domain;
	struct fabric_cq *cq;
	struct fabric_conn *conn;
	struct fabric_wc wc[64];
	struct util_err err;
};

static inline bool says(const char *text, const char *words)
{
	return strstr(text, words) != NULL;
}

static inline struct sockaddr_in rig_addr(const char *host, uint16_t port)
{
	struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(port)};

	inet_pton(AF_INET, host, &addr.sin_addr);
	return addr;
}

static inline struct fabric_conn_params rig_params(void)
{
	struct fabric_conn_params params = {
		.max_send_wr = 8, .max_recv_wr = 8, .max_sge = 2, .max_inline = 64};
	struct sockaddr_in peer = rig_addr("10.0.0.2", 20049);

	memcpy(&params.peer, &peer, sizeof(peer));
	params.peer_len = sizeof(peer);
	return params;
}

/* Fabric, domain, cq. */
static inline void rig_open(struct rig *rig)
{
	struct sockaddr_in peer = rig_addr("10.0.0.2", 20049);

	memset(rig, 0, sizeof(*rig));
	cr_assert_eq(OPS->open(&rig->fabric, NULL, &rig->err), 0);
	cr_assert_eq(OPS->domain_open(rig->fabric, (struct sockaddr *)&peer, sizeof(peer), 1000,
				      &rig->domain, &rig->err),
		     0, "%s", rig->err.what);
	cr_assert_eq(OPS->cq_create(rig->domain, 64, &rig->cq, &rig->err), 0, "%s", rig->err.what);
}

/* Everything polled until nothing more comes, as a caller that arms in between would. */
static inline int rig_poll(struct rig *rig)
{
	int n = 0, got;

	do {
		got = OPS->cq_poll(rig->cq, rig->wc + n, (int)UTIL_ARRAY_SIZE(rig->wc) - n);
		n += got;
	} while (got || OPS->cq_wait(rig->cq, 0) == 0);
	return n;
}

static inline void rig_post_recvs(struct rig *rig, unsigned count, uint64_t first_id)
{
	static char buf[8][1024];
	struct fabric_recv recv[8];

	for (unsigned i = 0; i < count; i++)
		recv[i] = (struct fabric_recv){
			.next = i + 1 < count ? &recv[i + 1] : NULL,
			.wr_id = first_id + i,
			.sge = {.ptr = buf[i], .iova = (uintptr_t)buf[i], .len = 1024, .lkey = 7}};
	cr_assert_eq(OPS->post_recv(rig->conn, recv), 0);
}

/* rig_open and an established connection with nrecvs receives of wr_id 100, 101, ... */
static inline void rig_connect(struct rig *rig, unsigned nrecvs)
{
	struct fabric_conn_params params = rig_params();

	rig_open(rig);
	cr_assert_eq(OPS->conn_connect(rig->cq, &params, &rig->conn, &rig->err), 0, "%s",
		     rig->err.what);
	if (nrecvs)
		rig_post_recvs(rig, nrecvs, 100);
	cr_assert_eq(rig_poll(rig), 1);
	cr_assert_eq(rig->wc[0].type, FABRIC_EV_ESTABLISHED);
	cr_assert_eq(rig->conn->state, FABRIC_CONN_ESTABLISHED);
}

static inline void rig_close(struct rig *rig)
{
	if (rig->conn)
		OPS->conn_destroy(rig->conn);
	if (rig->cq)
		OPS->cq_destroy(rig->cq);
	if (rig->domain)
		OPS->domain_put(rig->domain);
	if (rig->fabric)
		OPS->close(rig->fabric);
	cr_expect_eq(mock.live, 0, "%u RDMA objects left", mock.live);
	cr_expect_eq(mock.violations, 0, "%s", mock.violation);
}

static inline struct fabric_wr rig_send(uint64_t wr_id, unsigned flags,
					const struct fabric_sge *sge)
{
	return (struct fabric_wr){.wr_id = wr_id,
				  .op = FABRIC_OP_SEND,
				  .flags = flags,
				  .nsge = sge ? 1 : 0,
				  .sge = sge};
}

#endif
