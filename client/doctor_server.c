/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * doctor_server.c - from the connection to a READ, and what that took of this machine's memory.
 */
#include <stdio.h>

#include "client/doctor.h"

#define NULLS 5			     /* round trips of which the shortest is told */
#define READ_LEN ((size_t)64 * 1024) /* of the trial READ */
#define LOOK_AT 1000		     /* names to look at for a file */

static double ms_since(uint64_t start_ns)
{
	return (double)(util_clock_ns() - start_ns) / 1e6;
}

int client_doctor_connect(struct doctor *d)
{
	struct nfsrdma *mount = d->mount;
	const struct fabric_attr *attr;
	uint64_t start_ns = util_clock_ns();
	char shown[80];
	bool slower;
	int err = client_connect(mount);

	if (err)
		return client_doctor_fail(d, "connect", &mount->err);
	attr = transport_client_attr(mount->conn[0]);
	client_addr_format(&mount->addr, shown, sizeof(shown));
	slower = !d->tcp && mount->proto == CLIENT_PROTO_TCP;
	client_doctor_say(
		d, slower ? NFSRDMA_WARN : NFSRDMA_OK, "connect",
		slower ? "fallback=tcp hid that RDMA did not get through: without it the reason "
			 "is told"
		       : NULL,
		"%s%s%s to %s in %.1f ms", transport_client_fabric(mount->conn[0]),
		attr ? " on " : "", attr ? attr->device : "", shown, ms_since(start_ns));
	return 0;
}

void client_doctor_private_data(struct doctor *d)
{
	uint32_t asked = d->mount->opts.inline_size ? d->mount->opts.inline_size : 4096;
	struct transport_agreed a;

	if (transport_client_agreed(d->mount->conn[0], &a)) {
		client_doctor_say(d, NFSRDMA_OK, "private data", NULL, "none on tcp");
		return;
	}
	if (!a.private_data) {
		client_doctor_say(
			d, NFSRDMA_WARN, "private data",
			"nothing to do here: the server does not know RFC 8797, and small "
			"replies go by chunks",
			"the server sent none: messages of %u bytes each way", a.send_size);
		return;
	}
	client_doctor_say(
		d, NFSRDMA_OK, "private data", NULL,
		"messages of %u bytes to and %u from the server (asked for %u); the server %s "
		"remote invalidation",
		a.send_size, a.recv_size, asked, a.peer_invalidates ? "offers" : "does not offer");
}

/* A call failed.  hint is for failures that brought none of their own. */
static int fail_call(struct doctor *d, const char *step, const char *hint)
{
	struct util_err *err = &d->mount->err;

	if (err->code == -EMSGSIZE && !d->tcp)
		hint = "too little memory may be registered for it: raise memlock (ulimit -l) or "
		       "max-pinned=";
	if (!err->hint[0])
		util_err_hint(err, "%s", hint);
	return client_doctor_fail(d, step, err);
}

int client_doctor_null(struct doctor *d)
{
	struct transport_agreed a = {0};
	struct client_proc p;
	double best = 0;

	for (unsigned i = 0; i < NULLS; i++) {
		uint64_t start_ns = util_clock_ns();
		int err;

		client_proc_init(&p, d->mount, WIRE_NFS3_NULL);
		p.no_status = true;
		err = client_proc_run(&p);
		if (err)
			return fail_call(
				d, "NULL",
				"something answers on that port, but it is no NFSv3 server");
		if (!i || ms_since(start_ns) < best)
			best = ms_since(start_ns);
	}
	transport_client_agreed(d->mount->conn[0], &a);
	if (a.credits)
		client_doctor_say(d, NFSRDMA_OK, "NULL", NULL,
				  "NFSv3 answers in %.3f ms and grants %u credits", best,
				  a.credits);
	else
		client_doctor_say(d, NFSRDMA_OK, "NULL", NULL, "NFSv3 answers in %.3f ms", best);
	return 0;
}

static int find_export(struct nfsrdma *mount, struct transport_client *conn, void *arg)
{
	return client_export_find(mount, conn);
}

int client_doctor_mount(struct doctor *d)
{
	struct nfsrdma *mount = d->mount;
	char shown[80] = "the NFS connection";
	int err = client_mountd(mount, find_export, NULL);

	if (err)
		return fail_call(d, "MOUNT",
				 "'nfsrdma exports SERVER' lists what it offers; -o mountport= "
				 "names mountd's port");
	mount->mounted = true;
	if (mount->mountd_addr.ss_family != AF_UNSPEC)
		client_addr_format(&mount->mountd_addr, shown, sizeof(shown));
	client_doctor_say(d, NFSRDMA_OK, "MOUNT", NULL, "export %s, from %s", mount->export_path,
			  shown);
	return 0;
}

int client_doctor_fsinfo(struct doctor *d)
{
	struct nfsrdma *mount = d->mount;
	struct client_fsinfo info;
	int err = client_fsinfo(mount, &mount->export_root, &info);

	if (err)
		return fail_call(d, "FSINFO",
				 "the server knows the export but not its handle: is it "
				 "still there?");
	client_mount_sizes(mount, &info);
	mount->root = mount->export_root;
	client_doctor_say(d, NFSRDMA_OK, "FSINFO", NULL,
			  "READ up to %u bytes, WRITE up to %u; rsize %u and wsize %u are in force",
			  info.rtmax, info.wtmax, mount->rsize, mount->wsize);
	return 0;
}

/* ---- a READ ------------------------------------------------------------------------------- */

/* A file with something in it in that directory; false: none among the first LOOK_AT names. */
static bool find_file(struct nfsrdma *mount, const char *dir_path, char *out, size_t len)
{
	struct nfsrdma_dir *dir;
	struct nfsrdma_dirent ent;
	bool found = false;

	if (nfsrdma_opendir(mount, &dir, dir_path))
		return false;
	for (unsigned i = 0; i < LOOK_AT && !found && nfsrdma_readdir(dir, &ent) > 0; i++) {
		found = ent.has_stat && S_ISREG(ent.st.st_mode) && ent.st.st_size > 0;
		if (found)
			snprintf(out, len, "%s%s%s", dir_path, strcmp(dir_path, "/") ? "/" : "",
				 ent.name);
	}
	nfsrdma_closedir(dir);
	return found;
}

/* The last API call's failure as a finding's words. */
static void take_last(struct util_err *err, int code)
{
	util_err_set(err, code, "%s", nfsrdma_strerror_last());
	util_err_hint(err, "%s", nfsrdma_hint_last());
}

static int read_file(struct doctor *d, const char *path)
{
	struct util_err err;
	char shown[256];
	uint64_t start_ns;
	ssize_t n;
	int code = nfsrdma_open(d->mount, &d->file, path, O_RDONLY, 0);

	if (code) {
		take_last(&err, code);
		return client_doctor_fail(d, "READ", &err);
	}
	start_ns = util_clock_ns();
	n = nfsrdma_pread(d->file, d->buf, 0, READ_LEN, 0);
	if (n < 0)
		take_last(&err, (int)n);
	util_text_escape(path, strlen(path), shown, sizeof(shown));
	nfsrdma_close(d->file);
	if (n < 0)
		return client_doctor_fail(d, "READ", &err);
	client_doctor_say(d, NFSRDMA_OK, "READ", NULL, "%zd bytes of %s in %.3f ms", n, shown,
			  ms_since(start_ns));
	return 0;
}

void client_doctor_read(struct doctor *d)
{
	struct nfsrdma *mount = d->mount;
	char path[WIRE_PATH_MAX + WIRE_NAME_MAX + 2];
	struct util_err err;
	struct stat st;
	int code;

	d->buf_code = nfsrdma_buf_get(mount, &d->buf, READ_LEN, NFSRDMA_BUF_READ);
	if (d->buf_code) {
		d->buf = NULL;
		take_last(&d->buf_err, d->buf_code);
		client_doctor_say(d, NFSRDMA_WARN, "READ", NULL,
				  "not tried: there is no registered memory (below)");
		return;
	}
	code = nfsrdma_stat(mount, mount->root_path, &st);
	if (code) {
		take_last(&err, code);
		if (!err.hint[0])
			util_err_hint(&err, "'nfsrdma ls' of the export shows what is there");
		client_doctor_fail(d, "READ", &err);
		return;
	}
	if (S_ISREG(st.st_mode))
		read_file(d, mount->root_path);
	else if (find_file(mount, mount->root_path, path, sizeof(path)))
		read_file(d, path);
	else
		client_doctor_say(
			d, NFSRDMA_WARN, "READ", "name a file: doctor SERVER:/EXPORT/FILE",
			"not tried: no file that holds anything was found in that directory");
}

/* ---- what it took ------------------------------------------------------------------------- */

static void ledger(struct doctor *d, struct mr_ledger_snapshot *snap)
{
	mr_ledger_read(mr_pool_ledger(transport_client_pool(d->mount->conn[0])), snap);
}

void client_doctor_registration(struct doctor *d)
{
	const struct fabric_attr *attr = transport_client_attr(d->mount->conn[0]);
	struct mr_ledger_snapshot snap;
	char bytes[32], pool[160];

	if (d->buf_code) {
		client_doctor_fail(d, "registration", &d->buf_err);
		return;
	}
	if (!attr) {
		client_doctor_say(d, NFSRDMA_OK, "registration", NULL, "none on tcp");
		return;
	}
	ledger(d, &snap);
	mr_pool_describe(transport_client_pool(d->mount->conn[0]), pool, sizeof(pool));
	util_size_format(snap.bytes_registered_now, bytes, sizeof(bytes));
	client_doctor_say(
		d, NFSRDMA_OK, "registration", NULL,
		"%llu regions, %s, registered once for all I/O (%s); the server sees %s",
		(unsigned long long)(snap.registrations - snap.deregistrations), bytes, pool,
		attr->region_addresses ? "addresses of our own choice"
				       : "this process's addresses (the device takes no others)");
}

void client_doctor_memlock(struct doctor *d)
{
	uint64_t limit = d->facts.memlock_soft, used;
	struct mr_ledger_snapshot snap;
	char now[32], max[32];
	bool tight;

	ledger(d, &snap);
	used = (snap.pages_charged_now + snap.locked_pages_now) * 4096;
	util_size_format(used, now, sizeof(now));
	if (d->facts.ipc_lock || limit == UINT64_MAX) {
		client_doctor_say(d, NFSRDMA_OK, "memlock", NULL, "%s pinned, no limit", now);
		return;
	}
	util_size_format(limit, max, sizeof(max));
	tight = used > limit / 4 * 3;
	client_doctor_say(
		d, tight ? NFSRDMA_WARN : NFSRDMA_OK, "memlock",
		tight ? "raise it (ulimit -l), or take less (-o max-pinned=): the limit counts all "
			"this user's processes together"
		      : NULL,
		"%s pinned of %s allowed", now, max);
}

void client_doctor_pins(struct doctor *d)
{
	struct mr_ledger_snapshot snap;
	struct iommu_pins pins;
	int err = iommu_pins_read(&pins, 0, NULL);

	ledger(d, &snap);
	if (err) {
		client_doctor_say(d, NFSRDMA_WARN, "pins", NULL, "the kernel does not tell: %s",
				  strerror(-err));
		return;
	}
	if (snap.locked_pages_now) {
		client_doctor_say(d, NFSRDMA_OK, "pins", NULL, "locked, not pinned: VmLck %llu kB",
				  (unsigned long long)pins.vm_lck_kb);
		return;
	}
	if (pins.vm_pin_kb >= snap.pages_charged_now * 4)
		client_doctor_say(d, NFSRDMA_OK, "pins", NULL,
				  "VmPin %llu kB, of which this mount %llu kB",
				  (unsigned long long)pins.vm_pin_kb,
				  (unsigned long long)snap.pages_charged_now * 4);
	else
		client_doctor_say(d, NFSRDMA_WARN, "pins",
				  "report this: the ledger should agree with the kernel",
				  "VmPin is %llu kB, but the ledger counts %llu kB",
				  (unsigned long long)pins.vm_pin_kb,
				  (unsigned long long)snap.pages_charged_now * 4);
}

/* What the device's domain means; the machine's limits have their own steps. */
static void doctor_advice(struct doctor *d, const struct iommu_device *dev)
{
	struct iommu_advice advice[IOMMU_MAX_ADVICE];
	struct iommu_survey survey;
	unsigned count;

	iommu_probe_survey(&survey, NULL);
	count = iommu_warnings_add(advice, 0, &survey, dev);
	for (unsigned i = 0; i < count; i++)
		client_doctor_say(d, NFSRDMA_WARN, "IOMMU", advice[i].remedy, "%s: %s",
				  advice[i].fact, advice[i].consequence);
}

void client_doctor_iommu(struct doctor *d)
{
	const struct fabric_attr *attr = transport_client_attr(d->mount->conn[0]);
	struct iommu_device dev = {0};
	char line[320];

	if (attr)
		iommu_probe_device(&dev, attr->device, NULL);
	iommu_summary(&d->facts, attr ? &dev : NULL, line, sizeof(line));
	client_doctor_say(d, NFSRDMA_OK, "IOMMU", NULL, "%s", line);
	if (attr)
		doctor_advice(d, &dev);
}
