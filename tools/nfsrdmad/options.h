/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * options.h - nfsrdmad's command line.
 */
#ifndef NFSRDMAD_OPTIONS_H
#define NFSRDMAD_OPTIONS_H

#include <stdbool.h>
#include <sys/socket.h>

#include "tools/nfsrdmad/exports.h"
#include "util/util.h"

#define OPTIONS_MAX_LISTEN 4

struct options {
	struct server_exports *exports; /* filled */
	struct sockaddr_storage listen[OPTIONS_MAX_LISTEN];
	socklen_t listen_len[OPTIONS_MAX_LISTEN];
	unsigned nlisten;
	int port, tcp_port, iwarp_port; /* -1 where not given (iwarp) */
	bool fabric_verbs, fabric_iwarp;
	bool read_only, root_squash, rpcbind, null, no_io_uring;
	unsigned threads;  /* 0: one per CPU */
	const char *state; /* NULL: the default */
	enum util_log_level level;
};

enum options_result {
	OPTIONS_RUN,
	OPTIONS_HELP,
	OPTIONS_VERSION,
	OPTIONS_BAD,  /* usage: exit 2 */
	OPTIONS_FAIL, /* an export that cannot be opened: exit 1 */
};

/* err has the line for OPTIONS_BAD and OPTIONS_FAIL. */
enum options_result options_parse(struct options *o, int argc, char **argv, struct util_err *err);
extern const char options_help[];

#endif
