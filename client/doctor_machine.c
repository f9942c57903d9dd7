/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * doctor_machine.c - what can be found out before anything is sent to the server.
 *
 * Facts come from sysfs, /dev and the routing table.  An RDMA device that is missing is a failure
 * only for who insists on one (fabric=verbs): otherwise the software RNIC does the work, and the
 * finding says so.
 */
#include <dirent.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "client/doctor.h"

#define MEMLOCK_LOW ((uint64_t)4 << 20) /* below that a pool is a few small slabs */
#define MEMLOCK_REMEDY                                                                             \
	"raise it: ulimit -l, LimitMEMLOCK= of a service, or memlock in /etc/security/limits.conf"

void client_doctor_limits(struct doctor *d)
{
	const struct iommu_facts *f = &d->facts;
	char limit[32] = "unlimited";
	bool low = f->memlock_soft < MEMLOCK_LOW && !f->ipc_lock && !d->tcp;

	if (f->memlock_soft != UINT64_MAX)
		util_size_format(f->memlock_soft, limit, sizeof(limit));
	client_doctor_say(
		d, low ? NFSRDMA_WARN : NFSRDMA_OK, "limits", low ? MEMLOCK_REMEDY : NULL,
		"memlock %s%s, huge pages of 2 MiB %llu of %llu free, transparent ones: %s", limit,
		f->ipc_lock ? " (not binding: CAP_IPC_LOCK)" : "",
		(unsigned long long)f->huge_2m_free, (unsigned long long)f->huge_2m_total,
		f->thp[0] ? f->thp : "no");
}

/* ---- devices ----------------------------------------------------------------------------- */

/* The first line of a small file, "" when it cannot be read. */
static void read_line(char *out, size_t len, const char *fmt, ...)
{
	char path[512];
	va_list ap;
	FILE *f;

	out[0] = '\0';
	va_start(ap, fmt);
	vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	f = fopen(path, "re");
	if (!f)
		return;
	if (!fgets(out, (int)len, f))
		out[0] = '\0';
	fclose(f);
	out[strcspn(out, "\n")] = '\0';
}

/* "rxe0 (Ethernet, port ACTIVE, 2.5 Gb/sec (1X SDR))"; whether the port is up. */
static bool describe_device(const char *root, const char *name, char *out, size_t len)
{
	char state[64], layer[64], rate[64];
	const char *word;

	read_line(state, sizeof(state), "%s/sys/class/infiniband/%s/ports/1/state", root, name);
	read_line(layer, sizeof(layer), "%s/sys/class/infiniband/%s/ports/1/link_layer", root,
		  name);
	read_line(rate, sizeof(rate), "%s/sys/class/infiniband/%s/ports/1/rate", root, name);
	word = strchr(state, ':'); /* "4: ACTIVE" */
	word = word ? word + 2 : state;
	snprintf(out, len, "%.40s (%s, port %s%s%s)", name, layer[0] ? layer : "unknown link",
		 word[0] ? word : "unknown", rate[0] ? ", " : "", rate);
	return !strcmp(word, "ACTIVE");
}

static int no_device(struct doctor *d)
{
	struct util_err err;

	if (d->iwarp_possible) {
		client_doctor_say(d, NFSRDMA_OK, "device", NULL,
				  "no RDMA device; the iwarp fabric does it in software");
		return 0;
	}
	util_err_set(&err, -ENODEV, "no RDMA device on this machine, and fabric=verbs needs one");
	util_err_hint(&err, "load its driver ('rdma link' lists devices; 'rdma link add rxe0 type "
			    "rxe netdev eth0' makes one in software), or use fabric=iwarp");
	return client_doctor_fail(d, "device", &err);
}

int client_doctor_device(struct doctor *d, const char *root)
{
	char path[256], one[256];
	struct dirent *ent;
	DIR *dir;

	if (d->tcp) {
		client_doctor_say(d, NFSRDMA_OK, "device", NULL, "none needed (proto=tcp)");
		return 0;
	}
	snprintf(path, sizeof(path), "%s/sys/class/infiniband", root);
	dir = opendir(path);
	while (dir && (ent = readdir(dir))) {
		bool up;

		if (ent->d_name[0] == '.')
			continue;
		d->devices++;
		up = describe_device(root, ent->d_name, one, sizeof(one));
		client_doctor_say(d, up ? NFSRDMA_OK : NFSRDMA_WARN, "device",
				  up ? NULL
				     : "bring its link up: ip link set dev ... up, cable, switch, "
				       "subnet manager (InfiniBand)",
				  "%s", one);
	}
	if (dir)
		closedir(dir);
	d->verbs_possible = d->devices && (d->verbs_wanted || d->iwarp_possible) &&
			    d->mount->opts.fabric != TRANSPORT_FABRIC_IWARP;
	return d->devices ? 0 : no_device(d);
}

/* ---- modules and permissions -------------------------------------------------------------- */

/* The first /dev/infiniband/uverbsN that there is. */
static bool find_uverbs(char *path, size_t len)
{
	for (unsigned i = 0; i < 64; i++) {
		snprintf(path, len, "/dev/infiniband/uverbs%u", i);
		if (!access(path, F_OK))
			return true;
	}
	return false;
}

/* 0, or what is wrong with the door at path that module makes. */
static int check_door(const char *path, const char *module, struct util_err *err)
{
	if (!access(path, R_OK | W_OK))
		return 0;
	if (errno == ENOENT) {
		util_err_set(err, -ENODEV, "%s is not there", path);
		util_err_hint(err, "modprobe %s (and, in a container, pass /dev/infiniband in)",
			      module);
	} else {
		util_err_set(err, -errno, "%s: %s", path, strerror(errno));
		util_err_hint(err, "give this user read and write access to it (the group of "
				   "Debian's rdma-core is rdma)");
	}
	return err->code;
}

static int verbs_module(struct doctor *d)
{
	char uverbs[64];
	struct util_err err;
	int code = check_door("/dev/infiniband/rdma_cm", "rdma_ucm", &err);

	if (!code && !find_uverbs(uverbs, sizeof(uverbs)))
		code = check_door("/dev/infiniband/uverbs0", "ib_uverbs", &err);
	else if (!code)
		code = check_door(uverbs, "ib_uverbs", &err);
	if (!code) {
		client_doctor_say(d, NFSRDMA_OK, "module", NULL,
				  "/dev/infiniband/rdma_cm and %s can be opened", uverbs);
		return 0;
	}
	if (d->verbs_wanted)
		return client_doctor_fail(d, "module", &err);
	d->verbs_possible = false;
	client_doctor_say(d, NFSRDMA_WARN, "module", err.hint, "%s: the device cannot be used",
			  err.what);
	return 0;
}

/* The iwarp fabric needs no module; what helps it is io_uring. */
static void iwarp_module(struct doctor *d)
{
	/* No entries: refused as such where io_uring may be used at all. */
	long ret = syscall(SYS_io_uring_setup, 0, NULL);
	int code = ret < 0 ? errno : 0;

	if (ret >= 0)
		close((int)ret);
	if (code != EPERM && code != ENOSYS && code != EACCES) {
		client_doctor_say(d, NFSRDMA_OK, "module", NULL,
				  "iwarp needs none; io_uring is allowed");
		return;
	}
	client_doctor_say(
		d, NFSRDMA_WARN, "module",
		"allow io_uring (kernel.io_uring_disabled, the container's seccomp profile)",
		"io_uring is forbidden (%s): the iwarp fabric uses plain sockets and locks its "
		"memory instead of pinning it",
		strerror(code));
}

int client_doctor_module(struct doctor *d)
{
	int err = 0;

	if (d->tcp) {
		client_doctor_say(d, NFSRDMA_OK, "module", NULL, "none needed (proto=tcp)");
		return 0;
	}
	if (d->verbs_possible)
		err = verbs_module(d);
	if (!err && !d->verbs_possible)
		iwarp_module(d);
	return err;
}

/* ---- address and route -------------------------------------------------------------------- */

int client_doctor_address(struct doctor *d, struct client_addrs *addrs)
{
	const struct client_options *o = &d->mount->opts;
	uint32_t port = d->mount->target.port ? d->mount->target.port : o->port;
	char shown[CLIENT_MAX_ADDRS * 56], *p = shown;
	struct util_err err;
	int code;

	if (!port)
		port = d->tcp ? CLIENT_PORT_TCP : CLIENT_PORT_RDMA;
	util_err_clear(&err);
	code = client_resolve(addrs, d->mount->target.host, (int)o->family, (uint16_t)port, &err);
	if (code)
		return client_doctor_fail(d, "address", &err);
	for (unsigned i = 0; i < addrs->n; i++) {
		if (i)
			p = stpcpy(p, ", ");
		client_addr_format(&addrs->addr[i], p, 54);
		p += strlen(p);
	}
	client_doctor_say(d, NFSRDMA_OK, "address", NULL, "%s is %s", d->mount->target.host, shown);
	return 0;
}

/* The interface that has this address, "" none; and its MTU. */
static void find_interface(const struct sockaddr_storage *addr, char name[IF_NAMESIZE], int *mtu)
{
	size_t off = addr->ss_family == AF_INET6 ? offsetof(struct sockaddr_in6, sin6_addr)
						 : offsetof(struct sockaddr_in, sin_addr);
	size_t len = addr->ss_family == AF_INET6 ? 16 : 4;
	struct ifaddrs *list = NULL;
	struct ifreq req = {0};
	int fd;

	name[0] = '\0';
	*mtu = 0;
	if (getifaddrs(&list))
		return;
	for (struct ifaddrs *i = list; i && !name[0]; i = i->ifa_next)
		if (i->ifa_addr && i->ifa_addr->sa_family == addr->ss_family &&
		    !memcmp((char *)i->ifa_addr + off, (const char *)addr + off, len))
			snprintf(name, IF_NAMESIZE, "%s", i->ifa_name);
	freeifaddrs(list);
	memcpy(req.ifr_name, name, IF_NAMESIZE);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	if (name[0] && !ioctl(fd, SIOCGIFMTU, &req))
		*mtu = req.ifr_mtu;
	close(fd);
}

/* Which of our addresses and interfaces leads there: asked of the routing table, nothing is sent.
 */
static int ip_route(struct doctor *d, const struct sockaddr_storage *addr, socklen_t len,
		    const char *why)
{
	struct sockaddr_storage local = {0};
	socklen_t local_len = sizeof(local);
	char name[IF_NAMESIZE], shown[80];
	struct util_err err;
	int fd = socket(addr->ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int mtu, code = 0;

	if (fd < 0 || connect(fd, (const struct sockaddr *)addr, len) ||
	    getsockname(fd, (struct sockaddr *)&local, &local_len))
		code = -errno;
	if (fd >= 0)
		close(fd);
	if (code) {
		util_err_set(&err, code, "no route to %s: %s",
			     client_addr_format(addr, shown, sizeof(shown)), strerror(-code));
		util_err_hint(&err, "ip route get shows what this machine knows");
		return client_doctor_fail(d, "route", &err);
	}
	find_interface(&local, name, &mtu);
	client_addr_set_port(&local, 0);
	client_addr_format(&local, shown, sizeof(shown));
	*strrchr(shown, ':') = '\0';
	client_doctor_say(d, NFSRDMA_OK, "route", NULL, "%s%sfrom %s by %s (MTU %d)", why,
			  why[0] ? ": " : "", shown, name[0] ? name : "an unknown interface", mtu);
	return 0;
}

static void describe_route(struct doctor *d, const struct fabric_attr *a)
{
	client_doctor_say(
		d, NFSRDMA_OK, "route", NULL,
		"by RDMA device %s: %.1f Gbit/s, node %d, %u SGEs (%u of a READ), %u bytes "
		"inline, messages up to %llu bytes, %s type-2 windows",
		a->device, (double)a->link_bps / 1e9, a->numa_node, a->max_sge, a->max_read_sge,
		a->max_inline, (unsigned long long)a->max_msg, a->windows ? "with" : "no");
}

int client_doctor_route(struct doctor *d, const struct sockaddr_storage *addr, socklen_t len)
{
	struct fabric *fabric = NULL;
	struct fabric_domain *domain;
	struct util_err err;
	int code;

	if (!d->verbs_possible)
		return ip_route(d, addr, len, "");
	util_err_clear(&err);
	code = verbs_fabric_ops.open(&fabric, NULL, &err);
	if (!code)
		code = verbs_fabric_ops.domain_open(fabric, (const struct sockaddr *)addr, len,
						    CLIENT_MOUNT_CALL_MS, &domain, &err);
	if (!code) {
		describe_route(d, &domain->attr);
		verbs_fabric_ops.domain_put(domain);
	}
	if (fabric)
		verbs_fabric_ops.close(fabric);
	if (!code)
		return 0;
	if (d->verbs_wanted)
		return client_doctor_fail(d, "route", &err);
	client_doctor_say(d, NFSRDMA_WARN, "route", err.hint, "no RDMA device leads there: %s",
			  err.what);
	return ip_route(d, addr, len, "iwarp in software instead");
}
