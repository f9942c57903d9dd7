/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * options.h - how to mount, as parsed: from "-o" lists and URL queries to one plain struct.
 *
 * Private to client/.  Everything here is pure: text in, structs out.
 */
#ifndef NFSRDMA_CLIENT_OPTIONS_H
#define NFSRDMA_CLIENT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/transport.h"
#include "util/util.h"
#include "wire/wire.h"

enum client_proto { CLIENT_PROTO_AUTO, CLIENT_PROTO_RDMA, CLIENT_PROTO_TCP };

struct client_options {
	uint32_t proto;	       /* enum client_proto; auto: rdma */
	uint32_t family;       /* 0: what the name resolves to, else AF_INET6 (rdma6, tcp6) */
	uint32_t port;	       /* 0: 20049 rdma, 2049 tcp */
	uint32_t mountport;    /* 0: ask rpcbind */
	uint32_t mountproto;   /* enum client_mountproto */
	char mounthost[256];   /* "": the server */
	uint64_t rsize, wsize; /* 0: what the server prefers */
	uint32_t timeo_ds;     /* tenths of a second */
	uint32_t retrans;
	bool soft;
	uint32_t retry_min; /* keep trying to mount, minutes */
	uint32_t nconnect;
	bool resvport;
	bool read_only;
	bool file_sync; /* write=filesync, sync */
	bool no_readdirplus;
	bool set_uid, set_gid;
	uint32_t uid, gid;
	uint32_t fabric;     /* enum transport_fabric */
	uint32_t mr_mode;    /* enum mr_mode */
	uint32_t mr_monitor; /* enum mr_monitor_wish */
	bool mr_verify;
	uint64_t max_pinned;
	uint32_t hugepages; /* enum mr_hugepages */
	int32_t numa_node;  /* -1: the device's */
	uint32_t inline_size, slots;
	uint32_t crc;	/* enum fabric_crc */
	uint32_t iommu; /* enum iommu_sw_policy */
	uint32_t iommu_inval_ns;
	bool fallback_tcp;
};

enum client_mountproto {
	CLIENT_MOUNT_AUTO,
	CLIENT_MOUNT_TCP,
	CLIENT_MOUNT_UDP,
	CLIENT_MOUNT_NFS_CONN,
};

void client_options_init(struct client_options *o);
/* A comma list, as after -o.  NULL is an empty one.  -EINVAL with err. */
int client_options_parse(struct client_options *o, const char *list, struct util_err *err);
/* Options that contradict each other.  -EINVAL with err. */
int client_options_agree(const struct client_options *o, struct util_err *err);
/* One option; value NULL: none was given. */
int client_options_apply(struct client_options *o, const char *name, const char *value,
			 struct util_err *err);

/* ---- near misses ---- */

/* Edits (insert, delete, replace, swap neighbours) that turn a into b; SIZE_MAX when either is
 * longer than 63. */
size_t client_suggest_distance(const char *a, const char *b);
/* "rsize, wsize": those of names[] within reach of word, nearest first, at most three; "" when
 * none. */
const char *client_suggest(const char *word, const char *const *names, size_t n, char *out,
			   size_t out_len);

/* ---- targets ---- */

struct client_target {
	char host[256];		      /* without brackets */
	uint32_t port;		      /* 0: none given */
	char path[WIRE_PATH_MAX + 1]; /* starts with '/' */
	char query[2048];	      /* as given, still escaped; "" none */
};

/* 0; -EINVAL with err; -ENOTTY: a local path. */
int client_target_parse(struct client_target *t, const char *target, struct util_err *err);
/* A bare server ("host", "[v6]", "host:/path", "nfs://host:port"); the path is "/" when none is
 * given. */
int client_target_parse_server(struct client_target *t, const char *server, struct util_err *err);
/* Apply the query's options in turn. */
int client_target_query(const struct client_target *t, struct client_options *o,
			struct util_err *err);

#endif
