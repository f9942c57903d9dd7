/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * doctor.h - private to the examination's files.
 *
 *     doctor.c          the walk: which steps, in which order, and what follows a failure
 *     doctor_machine.c  before the network: limits, devices, modules, addresses, routes
 *     doctor_server.c   with the server: connection, calls, a READ, and what that took of memory
 *
 * Each step says one thing with client_doctor_say().  A step returns 0, or -errno when the
 * following ones make no sense.
 */
#ifndef NFSRDMA_CLIENT_DOCTOR_H
#define NFSRDMA_CLIENT_DOCTOR_H

#include "client/internal.h"
#include "iommu-aware/iommu.h"

struct doctor {
	struct nfsrdma *mount;
	void (*fn)(void *arg, const struct nfsrdma_finding *finding);
	void *arg;
	int first; /* the first failure's errno */
	struct iommu_facts facts;
	unsigned devices;    /* RDMA devices there are */
	bool verbs_wanted;   /* fabric=verbs */
	bool verbs_possible; /* or auto, with a device */
	bool iwarp_possible;
	bool tcp;
	struct nfsrdma_file *file; /* that is read from, and into what */
	struct nfsrdma_buf *buf;
	int buf_code; /* how getting it went */
	struct util_err buf_err;
};

/* Tell a finding.  remedy NULL: none.  code 0 unless the verdict is a failure. */
void client_doctor_say(struct doctor *d, enum nfsrdma_verdict verdict, const char *step,
		       const char *remedy, const char *fmt, ...) UTIL_PRINTF(5, 6);
/* A failure: err has code, words and remedy.  Returns its code. */
int client_doctor_fail(struct doctor *d, const char *step, const struct util_err *err);

/* ---- doctor_machine.c */
void client_doctor_limits(struct doctor *d);
int client_doctor_device(struct doctor *d, const char *root);
int client_doctor_module(struct doctor *d);
int client_doctor_address(struct doctor *d, struct client_addrs *addrs);
int client_doctor_route(struct doctor *d, const struct sockaddr_storage *addr, socklen_t len);

/* ---- doctor_server.c */
int client_doctor_connect(struct doctor *d);
void client_doctor_private_data(struct doctor *d);
int client_doctor_null(struct doctor *d);
int client_doctor_mount(struct doctor *d);
int client_doctor_fsinfo(struct doctor *d);
void client_doctor_read(struct doctor *d);
void client_doctor_registration(struct doctor *d);
void client_doctor_memlock(struct doctor *d);
void client_doctor_pins(struct doctor *d);
void client_doctor_iommu(struct doctor *d);

#endif
