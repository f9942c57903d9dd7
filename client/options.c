/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * options.c - the table of mount options.
 *
 * Every option of nfs(5), of mount(8)'s generic set and of our own has one row.  A row stores a
 * value, or accepts a word that asks for what happens anyway (there is no attribute cache, so
 * "noac" is how things are), or refuses it by name with the reason.  A word without a row is an
 * error that lists the rows it resembles: a misspelt option that is silently ignored is worse than
 * a failed mount.
 *
 * Later options win.  Nothing here touches the network or the process.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "client/options.h"

enum kind {
	FLAG,	/* no value; stores number */
	NUMBER, /* decimal, min..max */
	SIZE,	/* k, m, g; min..max */
	WORD,	/* one of choices */
	TEXT,	/* into a char array of max bytes */
	NODE,	/* "auto" or a number */
	ACCEPT, /* asks for what happens anyway; a value is allowed */
	REFUSE, /* reason says why */
	PREFIX, /* as ACCEPT, for every name that begins so */
};

struct choice {
	const char *word;
	uint32_t value;
	const char *refused; /* NULL: taken */
};

struct option {
	const char *name;
	enum kind kind;
	size_t offset;	 /* of a field in struct client_options */
	size_t width;	 /* of that field in bytes */
	uint64_t number; /* FLAG: the value */
	uint64_t min, max;
	const struct choice *choices;
	const char *reason;
	size_t also; /* offset of a bool set with it, 0: none (offset 0 is proto) */
};

#define FIELD(f)                                                                                   \
	.offset = offsetof(struct client_options, f),                                              \
	.width = sizeof(((struct client_options *)0)->f)
#define ALSO(f) .also = offsetof(struct client_options, f)

#define NOT_YET "not implemented in this version"

static const struct choice proto_words[] = {
	{"rdma", CLIENT_PROTO_RDMA, NULL},
	{"tcp", CLIENT_PROTO_TCP, NULL},
	{"rdma6", CLIENT_PROTO_RDMA, NULL},
	{"tcp6", CLIENT_PROTO_TCP, NULL},
	{"udp", 0, "NFS over UDP corrupts data when fragments are reused; use tcp"},
	{"udp6", 0, "NFS over UDP corrupts data when fragments are reused; use tcp6"},
	{NULL, 0, NULL},
};

static const struct choice mountproto_words[] = {
	{"tcp", CLIENT_MOUNT_TCP, NULL},
	{"tcp6", CLIENT_MOUNT_TCP, NULL},
	{"rdma", CLIENT_MOUNT_NFS_CONN, NULL},
	{"rdma6", CLIENT_MOUNT_NFS_CONN, NULL},
	{"udp", CLIENT_MOUNT_UDP, NULL},
	{"udp6", CLIENT_MOUNT_UDP, NULL},
	{NULL, 0, NULL},
};

static const struct choice vers_words[] = {
	{"3", 3, NULL},
	{"3.0", 3, NULL},
	{"2", 0, "only NFS version 3 is spoken here"},
	{"4", 0, "only NFS version 3 is spoken here"},
	{"4.0", 0, "only NFS version 3 is spoken here"},
	{"4.1", 0, "only NFS version 3 is spoken here"},
	{"4.2", 0, "only NFS version 3 is spoken here"},
	{NULL, 0, NULL},
};

static const struct choice sec_words[] = {
	{"sys", 1, NULL},
	{"none", 0, NOT_YET},
	{"krb5", 0, "there is no Kerberos here; export with sec=sys"},
	{"krb5i", 0, "there is no Kerberos here; export with sec=sys"},
	{"krb5p", 0, "there is no Kerberos here; export with sec=sys"},
	{NULL, 0, NULL},
};

static const struct choice fabric_words[] = {
	{"auto", TRANSPORT_FABRIC_AUTO, NULL},
	{"verbs", TRANSPORT_FABRIC_VERBS, NULL},
	{"iwarp", TRANSPORT_FABRIC_IWARP, NULL},
	{NULL, 0, NULL},
};

static const struct choice mr_words[] = {
	{"pool", MR_MODE_POOL, NULL},	{"window", MR_MODE_WINDOW, NULL},
	{"cache", MR_MODE_CACHE, NULL}, {"per-io", MR_MODE_PER_IO, NULL},
	{"odp", MR_MODE_ODP, NULL},	{NULL, 0, NULL},
};

static const struct choice monitor_words[] = {
	{"auto", MR_MONITOR_AUTO, NULL},
	{"on", MR_MONITOR_ON, NULL},
	{"off", MR_MONITOR_OFF, NULL},
	{NULL, 0, NULL},
};

static const struct choice huge_words[] = {
	{"auto", MR_HUGE_AUTO, NULL}, {"2m", MR_HUGE_2M, NULL}, {"1g", MR_HUGE_1G, NULL},
	{"off", MR_HUGE_OFF, NULL},   {NULL, 0, NULL},
};

static const struct choice crc_words[] = {
	{"auto", FABRIC_CRC_AUTO, NULL},
	{"on", FABRIC_CRC_ON, NULL},
	{"off", FABRIC_CRC_OFF, NULL},
	{NULL, 0, NULL},
};

static const struct choice iommu_words[] = {
	{"off", IOMMU_SW_OFF, NULL},
	{"passthrough", IOMMU_SW_PASSTHROUGH, NULL},
	{"lazy", IOMMU_SW_LAZY, NULL},
	{"strict", IOMMU_SW_STRICT, NULL},
	{NULL, 0, NULL},
};

static const struct choice fallback_words[] = {
	{"tcp", true, NULL},
	{NULL, 0, NULL},
};

static const struct choice write_words[] = {
	{"unstable", false, NULL},
	{"filesync", true, NULL},
	{NULL, 0, NULL},
};

static const struct choice lookupcache_words[] = {
	{"all", 0, NULL},      {"none", 0, NULL}, {"pos", 0, NULL},
	{"positive", 0, NULL}, {NULL, 0, NULL},
};

static const struct choice local_lock_words[] = {
	{"none", 0, NULL},
	{"all", 0, "no locks are kept here, neither locally nor on the server"},
	{"flock", 0, "no locks are kept here, neither locally nor on the server"},
	{"posix", 0, "no locks are kept here, neither locally nor on the server"},
	{NULL, 0, NULL},
};

static const struct option options[] = {
	/* which transport */
	{"rdma", FLAG, FIELD(proto), .number = CLIENT_PROTO_RDMA},
	{"tcp", FLAG, FIELD(proto), .number = CLIENT_PROTO_TCP},
	{"proto", WORD, FIELD(proto), .choices = proto_words},
	{"udp", REFUSE, .reason = "NFS over UDP corrupts data when fragments are reused; use tcp"},
	{"port", NUMBER, FIELD(port), .min = 0, .max = 65535},
	{"fabric", WORD, FIELD(fabric), .choices = fabric_words},
	{"fallback", WORD, FIELD(fallback_tcp), .choices = fallback_words},
	{"nconnect", NUMBER, FIELD(nconnect), .min = 1, .max = 16},
	{"resvport", FLAG, FIELD(resvport), .number = true},
	{"noresvport", FLAG, FIELD(resvport), .number = false},
	/* MOUNT */
	{"mountport", NUMBER, FIELD(mountport), .min = 0, .max = 65535},
	{"mountproto", WORD, FIELD(mountproto), .choices = mountproto_words},
	{"mounthost", TEXT, FIELD(mounthost)},
	{"mountvers", WORD, .choices = vers_words},
	{"retry", NUMBER, FIELD(retry_min), .min = 0, .max = 100000},
	{"fg", ACCEPT},
	{"bg", REFUSE, .reason = "nothing stays behind to go on trying; use retry=MINUTES"},
	/* protocol */
	{"vers", WORD, .choices = vers_words},
	{"nfsvers", WORD, .choices = vers_words},
	{"v3", ACCEPT},
	{"minorversion", REFUSE, .reason = "only NFS version 3 is spoken here"},
	{"sec", WORD, .choices = sec_words},
	{"uid", NUMBER, FIELD(uid), .max = UINT32_MAX - 1, ALSO(set_uid)},
	{"gid", NUMBER, FIELD(gid), .max = UINT32_MAX - 1, ALSO(set_gid)},
	{"nolock", ACCEPT},
	{"lock", REFUSE, .reason = "there is no NLM here; use nolock"},
	{"local_lock", WORD, .choices = local_lock_words},
	{"acl", REFUSE, .reason = "the NFSACL side protocol is not spoken here; use noacl"},
	{"noacl", ACCEPT},
	/* calls */
	{"rsize", SIZE, FIELD(rsize), .min = 1, .max = UINT32_MAX},
	{"wsize", SIZE, FIELD(wsize), .min = 1, .max = UINT32_MAX},
	{"timeo", NUMBER, FIELD(timeo_ds), .min = 1, .max = 36000},
	{"retrans", NUMBER, FIELD(retrans), .min = 0, .max = 1000},
	{"hard", FLAG, FIELD(soft), .number = false},
	{"soft", FLAG, FIELD(soft), .number = true},
	{"softerr", FLAG, FIELD(soft), .number = true},
	{"intr", ACCEPT},
	{"nointr", ACCEPT},
	{"write", WORD, FIELD(file_sync), .choices = write_words},
	{"sync", FLAG, FIELD(file_sync), .number = true},
	{"async", FLAG, FIELD(file_sync), .number = false},
	{"dirsync", ACCEPT},
	{"ro", FLAG, FIELD(read_only), .number = true},
	{"rw", FLAG, FIELD(read_only), .number = false},
	{"rdirplus", FLAG, FIELD(no_readdirplus), .number = false},
	{"nordirplus", FLAG, FIELD(no_readdirplus), .number = true},
	/* caching: there is none, so every bound on its age is kept */
	{"ac", ACCEPT},
	{"noac", FLAG, FIELD(file_sync), .number = true},
	{"acregmin", ACCEPT},
	{"acregmax", ACCEPT},
	{"acdirmin", ACCEPT},
	{"acdirmax", ACCEPT},
	{"actimeo", ACCEPT},
	{"cto", ACCEPT},
	{"nocto", ACCEPT},
	{"lookupcache", WORD, .choices = lookupcache_words},
	{"sharecache", ACCEPT},
	{"nosharecache", ACCEPT},
	{"fsc", REFUSE, .reason = "there is no cache here"},
	{"nofsc", ACCEPT},
	/* memory */
	{"mr", WORD, FIELD(mr_mode), .choices = mr_words},
	{"mr-monitor", WORD, FIELD(mr_monitor), .choices = monitor_words},
	{"mr-verify", FLAG, FIELD(mr_verify), .number = true},
	{"max-pinned", SIZE, FIELD(max_pinned), .min = 4096, .max = UINT64_MAX},
	{"hugepages", WORD, FIELD(hugepages), .choices = huge_words},
	{"numa", NODE, FIELD(numa_node), .max = 1023},
	{"inline", SIZE, FIELD(inline_size), .min = 1024, .max = 65536},
	{"slots", NUMBER, FIELD(slots), .min = 1, .max = 16384},
	{"crc", WORD, FIELD(crc), .choices = crc_words},
	{"iommu", WORD, FIELD(iommu), .choices = iommu_words},
	{"iommu-inval-ns", NUMBER, FIELD(iommu_inval_ns), .max = 1000000000},
	/* mount(8) and fstab(5): about the mount point or about when to mount, not about NFS */
	{"defaults", ACCEPT},
	{"_netdev", ACCEPT},
	{"nofail", ACCEPT},
	{"auto", ACCEPT},
	{"noauto", ACCEPT},
	{"user", ACCEPT},
	{"users", ACCEPT},
	{"nouser", ACCEPT},
	{"owner", ACCEPT},
	{"group", ACCEPT},
	{"suid", ACCEPT},
	{"nosuid", ACCEPT},
	{"dev", ACCEPT},
	{"nodev", ACCEPT},
	{"exec", ACCEPT},
	{"noexec", ACCEPT},
	{"atime", ACCEPT},
	{"noatime", ACCEPT},
	{"diratime", ACCEPT},
	{"nodiratime", ACCEPT},
	{"relatime", ACCEPT},
	{"norelatime", ACCEPT},
	{"strictatime", ACCEPT},
	{"comment", ACCEPT},
	{"x-", PREFIX},
	{"X-", PREFIX},
};

void client_options_init(struct client_options *o)
{
	memset(o, 0, sizeof(*o));
	o->timeo_ds = 600;
	o->retrans = 2;
	o->nconnect = 1;
	o->numa_node = -1;
}

static const struct option *option_find(const char *name)
{
	for (size_t i = 0; i < UTIL_ARRAY_SIZE(options); i++) {
		const struct option *opt = &options[i];

		if (opt->kind == PREFIX ? !strncmp(name, opt->name, strlen(opt->name))
					: !strcmp(name, opt->name))
			return opt;
	}
	return NULL;
}

static int option_unknown(const char *name, struct util_err *err)
{
	const char *names[UTIL_ARRAY_SIZE(options)];
	char near[128], shown[96];
	size_t n = 0;

	for (size_t i = 0; i < UTIL_ARRAY_SIZE(options); i++)
		if (options[i].kind != PREFIX)
			names[n++] = options[i].name;
	client_suggest(name, names, n, near, sizeof(near));
	util_text_escape(name, strlen(name), shown, sizeof(shown));
	util_err_set(err, -EINVAL, "unknown option \"%s\"%s%s%s", shown,
		     *near ? " (did you mean " : "", near, *near ? "?)" : "");
	util_err_hint(err, "options are spelt as in nfs(5); the manual page lists them all");
	return -EINVAL;
}

static void option_store(struct client_options *o, const struct option *opt, uint64_t value)
{
	char *field = (char *)o + opt->offset;

	switch (opt->width) {
	case sizeof(bool):
		*(bool *)(void *)field = value;
		break;
	case sizeof(uint32_t):
		*(uint32_t *)(void *)field = (uint32_t)value;
		break;
	case sizeof(uint64_t):
		*(uint64_t *)(void *)field = value;
		break;
	default: /* a row that only checks its value */
		break;
	}
	if (opt->also)
		*(bool *)(void *)((char *)o + opt->also) = true;
}

static int option_bad_value(const struct option *opt, const char *value, struct util_err *err,
			    const char *why)
{
	char shown[96];

	util_text_escape(value, strlen(value), shown, sizeof(shown));
	return util_err_set(err, -EINVAL, "option %s=%s: %s", opt->name, shown, why);
}

static int option_word(struct client_options *o, const struct option *opt, const char *value,
		       struct util_err *err)
{
	const char *names[16] = {NULL};
	char near[96], why[256];
	size_t n = 0, used = 0;

	for (const struct choice *c = opt->choices; c->word; c++) {
		if (!strcmp(c->word, value)) {
			if (c->refused)
				return option_bad_value(opt, value, err, c->refused);
			option_store(o, opt, c->value);
			return 0;
		}
		names[n++] = c->word;
	}
	client_suggest(value, names, n, near, sizeof(near));
	used = (size_t)snprintf(why, sizeof(why), "not one of ");
	for (size_t i = 0; i < n && used < sizeof(why); i++)
		used += (size_t)snprintf(why + used, sizeof(why) - used, "%s%s", i ? ", " : "",
					 names[i]);
	if (*near && used < sizeof(why))
		snprintf(why + used, sizeof(why) - used, " (did you mean %s?)", near);
	return option_bad_value(opt, value, err, why);
}

static int option_number(struct client_options *o, const struct option *opt, const char *value,
			 struct util_err *err)
{
	uint64_t number;
	char why[96];
	int ret;

	if (opt->kind == SIZE)
		ret = util_size_parse(value, 1, &number);
	else
		ret = util_u64_parse(value, opt->max, &number);
	if (ret == -EINVAL)
		return option_bad_value(opt, value, err,
					opt->kind == SIZE ? "not a size (123, 64k, 1m, 2g)"
							  : "not a whole number");
	if (ret < 0 || number < opt->min || number > opt->max) {
		snprintf(why, sizeof(why), "out of range, %llu to %llu",
			 (unsigned long long)opt->min, (unsigned long long)opt->max);
		return option_bad_value(opt, value, err, why);
	}
	option_store(o, opt, number);
	return 0;
}

static int option_text(struct client_options *o, const struct option *opt, const char *value,
		       struct util_err *err)
{
	if (!*value)
		return option_bad_value(opt, value, err, "empty");
	if (strlen(value) >= opt->width)
		return option_bad_value(opt, value, err, "too long");
	memcpy((char *)o + opt->offset, value, strlen(value) + 1);
	return 0;
}

static int option_node(struct client_options *o, const struct option *opt, const char *value,
		       struct util_err *err)
{
	if (!strcmp(value, "auto")) {
		o->numa_node = -1;
		return 0;
	}
	return option_number(o, opt, value, err);
}

/* What "proto=tcp6" says beside the transport. */
static void option_family(struct client_options *o, const struct option *opt, const char *value)
{
	if (opt->kind == WORD && opt->choices == proto_words)
		o->family = value[strlen(value) - 1] == '6' ? AF_INET6 : 0;
}

int client_options_apply(struct client_options *o, const char *name, const char *value,
			 struct util_err *err)
{
	const struct option *opt = option_find(name);
	int ret;

	if (!opt)
		return option_unknown(name, err);
	if (opt->kind == REFUSE)
		return util_err_set(err, -EINVAL, "option %s: %s", name, opt->reason);
	if (opt->kind == ACCEPT || opt->kind == PREFIX)
		return 0;
	if (opt->kind == FLAG) {
		if (value)
			return util_err_set(err, -EINVAL, "option %s takes no value", name);
		option_store(o, opt, opt->number);
		return 0;
	}
	if (!value)
		return util_err_set(err, -EINVAL, "option %s needs a value: %s=...", name, name);
	if (opt->kind == WORD)
		ret = option_word(o, opt, value, err);
	else if (opt->kind == TEXT)
		ret = option_text(o, opt, value, err);
	else if (opt->kind == NODE)
		ret = option_node(o, opt, value, err);
	else
		ret = option_number(o, opt, value, err);
	if (!ret)
		option_family(o, opt, value);
	return ret;
}

int client_options_parse(struct client_options *o, const char *list, struct util_err *err)
{
	char one[512];
	const char *p = list;

	while (p && *p) {
		size_t len = strcspn(p, ",");
		char *value;
		int ret;

		if (len >= sizeof(one))
			return util_err_set(err, -EINVAL, "an option of %zu bytes is too long",
					    len);
		memcpy(one, p, len);
		one[len] = '\0';
		p += len + (p[len] == ',');
		if (!len) /* ",," and a trailing comma are harmless, mount(8) passes them too */
			continue;
		value = strchr(one, '=');
		if (value)
			*value++ = '\0';
		ret = client_options_apply(o, one, value, err);
		if (ret)
			return ret;
	}
	return 0;
}

int client_options_agree(const struct client_options *o, struct util_err *err)
{
	const char *other = NULL;

	if (o->iommu == IOMMU_SW_OFF)
		return 0;
	if (o->proto == CLIENT_PROTO_TCP)
		other = "proto=tcp";
	else if (o->fallback_tcp)
		other = "fallback=tcp";
	else if (o->fabric == TRANSPORT_FABRIC_VERBS)
		other = "fabric=verbs";
	if (!other)
		return 0;
	return util_err_set(err, -EINVAL,
			    "option iommu=%s: only fabric=iwarp is behind an IOMMU in software, "
			    "not %s",
			    iommu_sw_policy_name((enum iommu_sw_policy)o->iommu), other);
}
