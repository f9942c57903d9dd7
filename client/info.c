/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * info.c - facts about a mount, counters, and checks that need no mount.
 */
#include <stdio.h>
#include <string.h>

#include "client/internal.h"
#include "iommu-aware/iommu.h"

static void copy(char *out, size_t len, const char *text)
{
	size_t n = strlen(text);

	if (n >= len)
		n = len - 1;
	memcpy(out, text, n);
	out[n] = '\0';
}

static void info_fill(struct nfsrdma *mount, struct nfsrdma_info *info)
{
	struct transport_client *conn = mount->conn[0];
	const struct fabric_attr *attr = transport_client_attr(conn);
	const struct mr_pool *pool = transport_client_pool(conn);
	bool tcp = mount->proto == CLIENT_PROTO_TCP;

	copy(info->server, sizeof(info->server), mount->target.host);
	client_addr_format(&mount->addr, info->address, sizeof(info->address));
	copy(info->export_path, sizeof(info->export_path), mount->export_path);
	copy(info->root_path, sizeof(info->root_path), mount->root_path);
	copy(info->proto, sizeof(info->proto), tcp ? "tcp" : "rdma");
	copy(info->fabric, sizeof(info->fabric), transport_client_fabric(conn));
	if (attr) {
		copy(info->device, sizeof(info->device), attr->device);
		info->link_bps = attr->link_bps;
	}
	info->rsize = mount->rsize;
	info->wsize = mount->wsize;
	info->inline_size = mount->opts.inline_size ? mount->opts.inline_size : 4096;
	info->slots = mount->window / mount->opts.nconnect;
	copy(info->mr_mode, sizeof(info->mr_mode), mr_mode_name(mr_pool_mode(pool)));
	mr_pool_describe(pool, info->pool, sizeof(info->pool));
	if (mr_pool_mode(pool) == MR_MODE_WINDOW)
		copy(info->invalidations, sizeof(info->invalidations), mr_pool_batching(pool)->why);
}

static void info_iommu(struct nfsrdma_info *info)
{
	struct iommu_facts facts;
	struct iommu_device dev;

	iommu_probe(&facts, NULL);
	if (info->device[0])
		iommu_probe_device(&dev, info->device, NULL);
	iommu_summary(&facts, info->device[0] ? &dev : NULL, info->iommu, sizeof(info->iommu));
}

/* The one of the iwarp fabric is named beside the machine's. */
static void info_software_iommu(const struct nfsrdma *mount, struct nfsrdma_info *info)
{
	const struct client_options *o = &mount->opts;
	size_t len = strlen(info->iommu);

	if (o->iommu == IOMMU_SW_OFF || strcmp(info->fabric, "iwarp") != 0)
		return;
	snprintf(info->iommu + len, sizeof(info->iommu) - len, "; software IOMMU %s",
		 iommu_sw_policy_name((enum iommu_sw_policy)o->iommu));
	len = strlen(info->iommu);
	if (o->iommu_inval_ns)
		snprintf(info->iommu + len, sizeof(info->iommu) - len,
			 ", invalidations modelled to take %u ns", o->iommu_inval_ns);
}

int nfsrdma_info(struct nfsrdma *mount, struct nfsrdma_info *info)
{
	struct nfsrdma_info full = {.size = sizeof(full)};
	size_t size = info->size;

	if (size < sizeof(info->size))
		return client_fail(-EINVAL, "describe the mount", NULL, NULL, 0);
	info_fill(mount, &full);
	info_iommu(&full);
	info_software_iommu(mount, &full);
	memcpy(info, &full, size < sizeof(full) ? size : sizeof(full));
	info->size = size;
	return 0;
}

/* For -v: what the pool is made like and why, and what to mind about machine and device. */
void client_log_policy(struct nfsrdma *mount)
{
	const struct fabric_attr *attr = transport_client_attr(mount->conn[0]);
	const struct mr_pool *pool = transport_client_pool(mount->conn[0]);
	char words[sizeof(((struct nfsrdma_info *)0)->pool)];

	if (!mount->log.fn || mount->log.level < UTIL_LOG_INFO)
		return;
	util_log(&mount->log, UTIL_LOG_INFO, "pool: %s",
		 mr_pool_describe(pool, words, sizeof(words)));
	if (mr_pool_mode(pool) == MR_MODE_WINDOW)
		util_log(&mount->log, UTIL_LOG_INFO, "invalidations: %s",
			 mr_pool_batching(pool)->why);
	if (attr) /* tcp registers nothing */
		iommu_warnings_log(&mount->log, attr->device);
}

/* ---- counters ----------------------------------------------------------------------------- */

static void stats_ledger(struct nfsrdma *mount,
			 void (*fn)(void *arg, const char *name, uint64_t value), void *arg)
{
	struct mr_ledger_snapshot snap;
	const char *name;
	uint64_t value;

	mr_ledger_read(mr_pool_ledger(transport_client_pool(mount->conn[0])), &snap);
	for (unsigned i = 0; (name = mr_ledger_field(&snap, i, &value)); i++)
		fn(arg, name, value);
}

static void stats_transport(struct nfsrdma *mount,
			    void (*fn)(void *arg, const char *name, uint64_t value), void *arg)
{
	struct transport_counters sum = {0}, one;

	for (unsigned i = 0; i < mount->nconns; i++) {
		transport_client_counters(mount->conn[i], &one);
		sum.rpcs += one.rpcs;
		sum.doorbells += one.doorbells;
		sum.progress_sends += one.progress_sends;
		sum.receive_calls += one.receive_calls;
		sum.completions_signalled += one.completions_signalled;
		sum.credit_waits += one.credit_waits;
		sum.retransmits += one.retransmits;
		sum.reconnects += one.reconnects;
		sum.bytes_sent += one.bytes_sent;
		sum.bytes_received += one.bytes_received;
	}
	fn(arg, "rpcs", sum.rpcs);
	fn(arg, "doorbells", sum.doorbells);
	fn(arg, "progress_sends", sum.progress_sends);
	fn(arg, "receive_calls", sum.receive_calls);
	fn(arg, "completions_signalled", sum.completions_signalled);
	fn(arg, "credit_waits", sum.credit_waits);
	fn(arg, "retransmits", sum.retransmits);
	fn(arg, "reconnects", sum.reconnects);
	fn(arg, "bytes_sent", sum.bytes_sent);
	fn(arg, "bytes_received", sum.bytes_received);
}

void nfsrdma_stats(struct nfsrdma *mount, enum nfsrdma_stats_group group,
		   void (*fn)(void *arg, const char *name, uint64_t value), void *arg)
{
	if (group == NFSRDMA_STATS_LEDGER)
		stats_ledger(mount, fn, arg);
	else if (group == NFSRDMA_STATS_TRANSPORT)
		stats_transport(mount, fn, arg);
}

/* ---- without a mount ---------------------------------------------------------------------- */

int nfsrdma_options_check(const char *opts)
{
	struct client_options o;
	struct util_err err;
	int ret;

	util_err_clear(&err);
	client_options_init(&o);
	ret = client_options_parse(&o, opts, &err);
	if (!ret)
		ret = client_options_agree(&o, &err);
	return ret ? client_fail_err(ret, &err) : 0;
}

int nfsrdma_target_is_remote(const char *target)
{
	struct client_options opts;
	struct client_target t;
	struct util_err err;
	int ret;

	util_err_clear(&err);
	ret = client_target_parse(&t, target, &err);
	if (ret == -ENOTTY)
		return 0;
	if (!ret) {
		client_options_init(&opts);
		ret = client_target_query(&t, &opts, &err);
	}
	return ret ? client_fail_err(ret, &err) : 1;
}
