/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * doctor.c - what is missing between this machine and a READ, and what to do about it.
 *
 * A mount that fails says why, once, for the step it failed at.  The doctor takes the same steps
 * one by one, says what it finds at each even where all is well, and goes on past what is merely
 * unfortunate.  It uses the mount's own code (connect.c, mountd.c, io.c), so that what it finds is
 * what a mount would meet; only what a mount never looks at (modules, ports' states, limits) is
 * looked up here.
 *
 * Nothing is changed: no file is written, and the server is told of the end of the mount.
 */
#include <stdarg.h>
#include <stdio.h>

#include "client/doctor.h"

void client_doctor_say(struct doctor *d, enum nfsrdma_verdict verdict, const char *step,
		       const char *remedy, const char *fmt, ...)
{
	struct nfsrdma_finding finding = {.verdict = verdict, .step = step, .remedy = remedy};
	char detail[768];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(detail, sizeof(detail), fmt, ap);
	va_end(ap);
	finding.detail = detail;
	if (!finding.remedy)
		finding.remedy = "";
	d->fn(d->arg, &finding);
}

int client_doctor_fail(struct doctor *d, const char *step, const struct util_err *err)
{
	client_doctor_say(d, NFSRDMA_FAIL, step, err->hint, "%s",
			  err->what[0] ? err->what : strerror(-err->code));
	if (!d->first)
		d->first = err->code;
	return err->code;
}

/* What needs no server: a failure here is told, and the address is looked up all the same. */
static int examine_machine(struct doctor *d)
{
	struct client_addrs addrs;
	int err, device;

	iommu_probe(&d->facts, NULL);
	client_doctor_limits(d);
	device = client_doctor_device(d, "");
	if (!device)
		device = client_doctor_module(d);
	err = client_doctor_address(d, &addrs);
	if (err)
		return err;
	if (device)
		return device;
	return client_doctor_route(d, &addrs.addr[0], addrs.len[0]);
}

static int examine_server(struct doctor *d)
{
	int err = client_doctor_connect(d);

	if (err)
		return err;
	client_doctor_private_data(d);
	err = client_doctor_null(d);
	if (!err)
		err = client_doctor_mount(d);
	if (!err)
		err = client_doctor_fsinfo(d);
	return err;
}

static void examine_memory(struct doctor *d)
{
	client_doctor_read(d);
	client_doctor_registration(d);
	client_doctor_memlock(d);
	client_doctor_pins(d);
	client_doctor_iommu(d);
	nfsrdma_buf_put(d->buf);
}

int nfsrdma_doctor(const char *target, const struct nfsrdma_options *opts,
		   void (*fn)(void *arg, const struct nfsrdma_finding *finding), void *arg)
{
	struct doctor d = {.fn = fn, .arg = arg};
	struct util_err err;
	int ret;

	util_err_clear(&err);
	ret = client_mount_new(&d.mount, target, false, opts, &err);
	if (ret)
		return client_fail_err(ret, &err);
	d.tcp = d.mount->opts.proto == CLIENT_PROTO_TCP;
	d.verbs_wanted = !d.tcp && d.mount->opts.fabric == TRANSPORT_FABRIC_VERBS;
	d.iwarp_possible = !d.tcp && d.mount->opts.fabric != TRANSPORT_FABRIC_VERBS;
	d.mount->opts.soft = true; /* an examination comes to an end */
	ret = examine_machine(&d);
	if (!ret)
		ret = examine_server(&d);
	if (!ret) {
		d.mount->call_limit_ms = 0;
		examine_memory(&d);
	}
	nfsrdma_umount(d.mount);
	return d.first;
}
