/* SPDX-License-Identifier: BSD-2-Clause */
/* mock_verbs.c - libibverbs, scripted (see mock.h). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tests/verbs/mock.h"

#define MOCK_CQ_MAX 256

struct mock_cq {
	struct ibv_cq cq;
	struct ibv_wc wc[MOCK_CQ_MAX];
	unsigned head, tail;
	unsigned qps;
	bool armed;
	unsigned events, acked;
	struct mock_cq *next_event; /* in the channel's queue */
};

struct mock_channel {
	struct ibv_comp_channel channel;
	struct mock_cq *queue[64];
	unsigned head, tail;
};

struct mock_pd {
	struct ibv_pd pd;
	unsigned users;
};

struct mock mock;
static struct ibv_device mock_device, mock_second_device;
static struct ibv_context mock_context, mock_second_context;

void mock_violate(const char *words)
{
	if (!mock.violations++)
		snprintf(mock.violation, sizeof(mock.violation), "%s", words);
}

bool mock_fails(const char *call)
{
	mock.calls++;
	if (!mock.fail_call || (strcmp(mock.fail_call, call) && strcmp(mock.fail_call, "*")))
		return false;
	if (mock.fail_after-- != 0)
		return false;
	errno = mock.fail_errno ? mock.fail_errno : ENOMEM;
	return true;
}

/* ---- device ------------------------------------------------------------------------------ */

#undef ibv_get_device_list
struct ibv_device **ibv_get_device_list(int *num)
{
	struct ibv_device **list;

	*num = mock.no_device ? 0 : 1;
	if (mock.no_device) {
		errno = ENOSYS;
		return NULL;
	}
	list = calloc(2, sizeof(*list));
	list[0] = &mock_device;
	return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	if (mock_fails("ibv_query_device"))
		return errno;
	*attr = mock.dev;
	return 0;
}

#undef ibv_query_port
int ibv_query_port(struct ibv_context *context, uint8_t port_num,
		   struct _compat_ibv_port_attr *port_attr)
{
	if (mock_fails("ibv_query_port"))
		return errno;
	memcpy(port_attr, &mock.port, sizeof(mock.port));
	return 0;
}

/* ---- what the device says out of turn ---------------------------------------------------- */

const char *ibv_wc_status_str(enum ibv_wc_status status)
{
	return status == IBV_WC_SUCCESS ? "success" : "mock's failure";
}

void mock_async(enum ibv_event_type type, int port)
{
	uint64_t one = 1;

	mock.async = (struct ibv_async_event){.event_type = type, .element.port_num = port};
	if (write(mock.context->async_fd, &one, sizeof(one)) != sizeof(one))
		mock_violate("an asynchronous event is lost");
}

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	uint64_t one;

	if (mock.async_lost) {
		errno = EIO;
		return -1;
	}
	if (read(context->async_fd, &one, sizeof(one)) != sizeof(one))
		return -1;
	*event = mock.async;
	mock.async_taken++;
	return 0;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	mock.async_taken--;
}

/* ---- protection domain, regions, windows ------------------------------------------------- */

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct mock_pd *pd;

	if (mock_fails("ibv_alloc_pd"))
		return NULL;
	pd = calloc(1, sizeof(*pd));
	pd->pd.context = context;
	mock.live++;
	return &pd->pd;
}

int ibv_dealloc_pd(struct ibv_pd *base)
{
	struct mock_pd *pd = (struct mock_pd *)base;

	if (pd->users)
		mock_violate("protection domain destroyed under its users");
	free(pd);
	mock.live--;
	return 0;
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				unsigned int access)
{
	static uint32_t key = 0x1000;
	struct ibv_mr *mr;

	if (mock_fails("ibv_reg_mr"))
		return NULL;
	if (mock.iova_refused && iova != (uintptr_t)addr) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	mr = calloc(1, sizeof(*mr));
	*mr = (struct ibv_mr){.context = pd->context, .pd = pd, .addr = addr, .length = length};
	mr->lkey = mr->rkey = key += 0x100;
	mock.last_access = (int)access;
	mock.last_iova = iova;
	((struct mock_pd *)pd)->users++;
	mock.live++;
	return mr;
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	((struct mock_pd *)mr->pd)->users--;
	free(mr);
	mock.live--;
	return 0;
}

static struct ibv_mw *alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct ibv_mw *mw;

	if (mock_fails("ibv_alloc_mw"))
		return NULL;
	mw = calloc(1, sizeof(*mw));
	*mw = (struct ibv_mw){.context = pd->context, .pd = pd, .rkey = 0x77700, .type = type};
	((struct mock_pd *)pd)->users++;
	mock.live++;
	mock.windows++;
	return mw;
}

static int dealloc_mw(struct ibv_mw *mw)
{
	((struct mock_pd *)mw->pd)->users--;
	free(mw);
	mock.live--;
	mock.windows--;
	return 0;
}

/* ---- completion channels and queues ------------------------------------------------------ */

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct mock_channel *channel;

	if (mock_fails("ibv_create_comp_channel"))
		return NULL;
	channel = calloc(1, sizeof(*channel));
	channel->channel.context = context;
	channel->channel.fd = eventfd(0, EFD_SEMAPHORE | EFD_NONBLOCK);
	mock.live++;
	return &channel->channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	if (channel->refcnt)
		mock_violate("completion channel destroyed under its queues");
	close(channel->fd);
	free(channel);
	mock.live--;
	return 0;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
			     struct ibv_comp_channel *channel, int comp_vector)
{
	struct mock_cq *cq;

	if (mock_fails("ibv_create_cq"))
		return NULL;
	cq = calloc(1, sizeof(*cq));
	cq->cq = (struct ibv_cq){
		.context = context, .channel = channel, .cq_context = cq_context, .cqe = cqe};
	if (channel)
		channel->refcnt++;
	mock.live++;
	return &cq->cq;
}

int ibv_destroy_cq(struct ibv_cq *base)
{
	struct mock_cq *cq = (struct mock_cq *)base;
	struct mock_channel *channel = (struct mock_channel *)base->channel;

	if (cq->qps)
		mock_violate("completion queue destroyed under its queue pair");
	if (cq->events != cq->acked)
		mock_violate("completion queue destroyed with events not acknowledged");
	for (unsigned i = channel ? channel->tail : 0; channel && i < channel->head; i++)
		if (channel->queue[i] == cq)
			channel->queue[i] = NULL; /* the kernel drops what was not read */
	if (channel)
		channel->channel.refcnt--;
	free(cq);
	mock.live--;
	return 0;
}

static int poll_cq(struct ibv_cq *base, int num, struct ibv_wc *wc)
{
	struct mock_cq *cq = (struct mock_cq *)base;
	int n = 0;

	while (n < num && cq->tail != cq->head)
		wc[n++] = cq->wc[cq->tail++ % MOCK_CQ_MAX];
	return n;
}

static int req_notify_cq(struct ibv_cq *base, int solicited_only)
{
	((struct mock_cq *)base)->armed = true;
	mock.notifies++;
	return 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *base, struct ibv_cq **cqp, void **contextp)
{
	struct mock_channel *channel = (struct mock_channel *)base;
	uint64_t one;

	while (channel->tail != channel->head) {
		struct mock_cq *cq = channel->queue[channel->tail++];

		if (read(base->fd, &one, sizeof(one)) < 0)
			mock_violate("eventfd out of step");
		if (!cq)
			continue;
		cq->events++;
		*cqp = &cq->cq;
		*contextp = cq->cq.cq_context;
		return 0;
	}
	errno = EAGAIN;
	return -1;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int nevents)
{
	((struct mock_cq *)cq)->acked += nevents;
}

static void push_wc(struct ibv_cq *base, const struct ibv_wc *wc)
{
	struct mock_cq *cq = (struct mock_cq *)base;
	struct mock_channel *channel = (struct mock_channel *)base->channel;
	uint64_t one = 1;

	if ((int)(cq->head - cq->tail) >= base->cqe)
		mock_violate("completion queue overrun");
	cq->wc[cq->head++ % MOCK_CQ_MAX] = *wc;
	if (!cq->armed || !channel)
		return;
	cq->armed = false;
	channel->queue[channel->head++] = cq;
	if (write(base->channel->fd, &one, sizeof(one)) < 0)
		mock_violate("eventfd full");
}

/* ---- queue pairs ------------------------------------------------------------------------- */

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	struct mock_qp *qp;

	if (mock_fails("ibv_create_qp"))
		return NULL;
	if (init->cap.max_inline_data > mock.max_inline ||
	    init->cap.max_send_sge > (unsigned)mock.dev.max_sge ||
	    init->cap.max_send_wr > (unsigned)mock.dev.max_qp_wr) {
		errno = EINVAL;
		return NULL;
	}
	qp = calloc(1, sizeof(*qp));
	qp->qp = (struct ibv_qp){.context = pd->context,
				 .pd = pd,
				 .send_cq = init->send_cq,
				 .recv_cq = init->recv_cq};
	qp->cap = init->cap;
	((struct mock_pd *)pd)->users++;
	((struct mock_cq *)init->send_cq)->qps++;
	mock.live++;
	mock.qp = qp;
	return &qp->qp;
}

int ibv_destroy_qp(struct ibv_qp *base)
{
	mock.windows_under_qp += mock.windows;
	((struct mock_pd *)base->pd)->users--;
	((struct mock_cq *)base->send_cq)->qps--;
	if (mock.qp == (struct mock_qp *)base)
		mock.qp = NULL;
	free(base);
	mock.live--;
	return 0;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	if ((mask & IBV_QP_STATE) && attr->qp_state == IBV_QPS_ERR)
		((struct mock_qp *)qp)->error = true;
	return 0;
}

static int post_send(struct ibv_qp *base, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct mock_qp *qp = (struct mock_qp *)base;
	int taken = 0;

	qp->doorbells++;
	for (; wr; wr = wr->next, taken++) {
		if (taken == mock.post_send_takes) {
			*bad = wr;
			return ENOMEM;
		}
		if (qp->nsends - qp->sends_done >= qp->cap.max_send_wr)
			mock_violate("send queue overrun");
		qp->sends[qp->nsends % MOCK_MAX_WR] = *wr;
		memcpy(qp->send_sges[qp->nsends % MOCK_MAX_WR], wr->sg_list,
		       sizeof(*wr->sg_list) * (wr->num_sge < 4 ? wr->num_sge : 4));
		qp->nsends++;
	}
	return 0;
}

static int post_recv(struct ibv_qp *base, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct mock_qp *qp = (struct mock_qp *)base;

	if (mock_fails("ibv_post_recv")) {
		*bad = wr;
		return errno;
	}
	qp->recv_doorbells++;
	for (; wr; wr = wr->next) {
		if (qp->nrecvs - qp->recvs_done >= qp->cap.max_recv_wr)
			mock_violate("receive queue overrun");
		qp->recvs[qp->nrecvs % MOCK_MAX_WR] = *wr;
		qp->recv_sges[qp->nrecvs % MOCK_MAX_WR] = *wr->sg_list;
		qp->nrecvs++;
	}
	return 0;
}

void mock_complete_send(struct mock_qp *qp, enum ibv_wc_status status)
{
	const struct ibv_send_wr *wr = &qp->sends[qp->sends_done++ % MOCK_MAX_WR];
	struct ibv_wc wc = {.wr_id = wr->wr_id, .status = status, .opcode = IBV_WC_SEND};

	if (wr->opcode == IBV_WR_RDMA_READ) {
		wc.opcode = IBV_WC_RDMA_READ;
		wc.byte_len = wr->num_sge ? qp->send_sges[(wr - qp->sends)][0].length : 0;
	}
	push_wc(qp->qp.send_cq, &wc);
}

void mock_complete_to_signaled(struct mock_qp *qp)
{
	while (!(qp->sends[qp->sends_done % MOCK_MAX_WR].send_flags & IBV_SEND_SIGNALED))
		qp->sends_done++;
	mock_complete_send(qp, IBV_WC_SUCCESS);
}

void mock_complete_recv(struct mock_qp *qp, enum ibv_wc_status status, uint32_t byte_len,
			unsigned wc_flags, uint32_t inv_rkey)
{
	const struct ibv_recv_wr *wr = &qp->recvs[qp->recvs_done++ % MOCK_MAX_WR];
	struct ibv_wc wc = {.wr_id = wr->wr_id,
			    .status = status,
			    .opcode = IBV_WC_RECV,
			    .byte_len = byte_len,
			    .wc_flags = wc_flags,
			    .invalidated_rkey = inv_rkey};

	push_wc(qp->qp.recv_cq, &wc);
}

/* ---- the script's start ------------------------------------------------------------------ */

static void init_context(struct ibv_context *context, struct ibv_device *device, const char *name)
{
	snprintf(device->name, sizeof(device->name), "%s", name);
	device->transport_type = mock.transport;
	context->device = device;
	context->num_comp_vectors = 2;
	if (!context->async_fd)
		context->async_fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
	context->ops.poll_cq = poll_cq;
	context->ops.req_notify_cq = req_notify_cq;
	context->ops.post_send = post_send;
	context->ops.post_recv = post_recv;
	context->ops.alloc_mw = alloc_mw;
	context->ops.dealloc_mw = dealloc_mw;
}

void mock_init(void)
{
	mock = (struct mock){
		.transport = IBV_TRANSPORT_IB,
		.max_inline = 220,
		.post_send_takes = -1,
		.dev = {.max_mr_size = UINT64_MAX,
			.max_qp_wr = 4096,
			.max_sge = 30,
			.max_sge_rd = 30,
			.max_cqe = 65536,
			.max_mr = 1000,
			.max_mw = 1000,
			.max_qp_rd_atom = 16,
			.max_qp_init_rd_atom = 16,
			.device_cap_flags =
				IBV_DEVICE_MEM_WINDOW_TYPE_2B | IBV_DEVICE_MEM_MGT_EXTENSIONS},
		.port = {.state = IBV_PORT_ACTIVE,
			 .active_width = 2,
			 .active_speed = 4,
			 .max_msg_sz = 1u << 30},
		.address = {.type = RDMA_CM_EVENT_ADDR_RESOLVED},
		.route = {.type = RDMA_CM_EVENT_ROUTE_RESOLVED},
		.connect = {.type = RDMA_CM_EVENT_ESTABLISHED},
		.accept = {.type = RDMA_CM_EVENT_ESTABLISHED},
	};
	init_context(&mock_context, &mock_device, "mock0");
	init_context(&mock_second_context, &mock_second_device, "mock1");
	mock.context = &mock_context;
}

struct ibv_context *mock_resolved_context(void);
struct ibv_context *mock_resolved_context(void)
{
	return mock.other_device ? &mock_second_context : &mock_context;
}
