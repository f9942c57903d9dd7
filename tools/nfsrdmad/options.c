/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * options.c - nfsrdmad's command line.
 */
#include "tools/nfsrdmad/options.h"

#include <errno.h>
#include <getopt.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>

const char options_help[] =
	"usage: nfsrdmad --export DIR[=/NAME] [--export ...] [OPTIONS]\n"
	"Serve folders by NFSv3 over RDMA and TCP.\n"
	"\n"
	"  --export DIR[=/NAME]  serve DIR, under its own path or as /NAME\n"
	"  --null                add an export /null: files read as zeros, writes are swallowed\n"
	"  --ro                  refuse every change\n"
	"  --allow NET           only these may come in (address or ADDR/BITS); repeatable\n"
	"  --root-squash         treat callers' root as nobody (default)\n"
	"  --no-root-squash      let callers' root be root\n"
	"  --listen ADDR         listen here (default 127.0.0.1; repeatable; 0.0.0.0 or :: for "
	"all)\n"
	"  --port N              RDMA port (20049; 0: any free one)\n"
	"  --tcp-port N          TCP port (2049; 0: any free one)\n"
	"  --iwarp-port N        another port for the iwarp fabric\n"
	"  --fabric WHICH        iwarp, verbs or all (default)\n"
	"  --no-rpcbind          do not register with rpcbind\n"
	"  --no-io-uring         do without io_uring\n"
	"  --threads N           worker threads (default: one per CPU)\n"
	"  --state DIR           where the handle key is kept\n"
	"  -v, --verbose         say more; twice: everything\n"
	"  --help, --version\n"
	"\n"
	"When it serves it prints one line: "
	"{\"ready\":true,\"rdma_port\":N,\"tcp_port\":N,\"exports\":[...]}\n"
	"SIGTERM and SIGINT stop it.  See nfsrdmad(8).\n";

enum {
	OPT_EXPORT = 256,
	OPT_NULL,
	OPT_RO,
	OPT_ALLOW,
	OPT_SQUASH,
	OPT_NO_SQUASH,
	OPT_LISTEN,
	OPT_PORT,
	OPT_TCP_PORT,
	OPT_IWARP_PORT,
	OPT_FABRIC,
	OPT_NO_RPCBIND,
	OPT_NO_IO_URING,
	OPT_THREADS,
	OPT_STATE,
	OPT_HELP,
	OPT_VERSION,
};

static const struct option long_options[] = {
	{"export", required_argument, NULL, OPT_EXPORT},
	{"null", no_argument, NULL, OPT_NULL},
	{"ro", no_argument, NULL, OPT_RO},
	{"allow", required_argument, NULL, OPT_ALLOW},
	{"root-squash", no_argument, NULL, OPT_SQUASH},
	{"no-root-squash", no_argument, NULL, OPT_NO_SQUASH},
	{"listen", required_argument, NULL, OPT_LISTEN},
	{"port", required_argument, NULL, OPT_PORT},
	{"tcp-port", required_argument, NULL, OPT_TCP_PORT},
	{"iwarp-port", required_argument, NULL, OPT_IWARP_PORT},
	{"fabric", required_argument, NULL, OPT_FABRIC},
	{"no-rpcbind", no_argument, NULL, OPT_NO_RPCBIND},
	{"no-io-uring", no_argument, NULL, OPT_NO_IO_URING},
	{"threads", required_argument, NULL, OPT_THREADS},
	{"state", required_argument, NULL, OPT_STATE},
	{"verbose", no_argument, NULL, 'v'},
	{"help", no_argument, NULL, OPT_HELP},
	{"version", no_argument, NULL, OPT_VERSION},
	{NULL, 0, NULL, 0},
};

static int parse_port(const char *text, int *portp, struct util_err *err)
{
	uint64_t value;

	if (util_u64_parse(text, 65535, &value))
		return util_err_set(err, -EINVAL, "'%s' is no port", text);
	*portp = (int)value;
	return 0;
}

static int parse_threads(struct options *o, const char *text, struct util_err *err)
{
	uint64_t value;

	if (util_u64_parse(text, 256, &value) || value == 0)
		return util_err_set(err, -EINVAL, "--threads: '%s' is not 1 to 256", text);
	o->threads = (unsigned)value;
	return 0;
}

static int parse_fabric(struct options *o, const char *text, struct util_err *err)
{
	bool all = !strcmp(text, "all");

	o->fabric_iwarp = all || !strcmp(text, "iwarp");
	o->fabric_verbs = all || !strcmp(text, "verbs");
	if (!o->fabric_iwarp && !o->fabric_verbs)
		return util_err_set(err, -EINVAL, "--fabric: '%s' is not iwarp, verbs or all",
				    text);
	return 0;
}

/* IPv6 addresses may come in brackets, as in targets. */
static int parse_listen(struct options *o, const char *text, struct util_err *err)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
	char host[NI_MAXHOST];
	size_t len = strlen(text);
	struct addrinfo *found;
	int ret;

	if (o->nlisten == OPTIONS_MAX_LISTEN)
		return util_err_set(err, -E2BIG, "--listen: more than %d addresses",
				    OPTIONS_MAX_LISTEN);
	if (len > 2 && text[0] == '[' && text[len - 1] == ']')
		snprintf(host, sizeof(host), "%.*s", (int)len - 2, text + 1);
	else
		snprintf(host, sizeof(host), "%s", text);
	ret = getaddrinfo(host, NULL, &hints, &found);
	if (ret)
		return util_err_set(err, -EINVAL, "--listen %s: %s", text, gai_strerror(ret));
	memcpy(&o->listen[o->nlisten], found->ai_addr, found->ai_addrlen);
	o->listen_len[o->nlisten++] = found->ai_addrlen;
	freeaddrinfo(found);
	return 0;
}

/* 0 or -errno. */
static int parse_one(struct options *o, int opt, const char *arg, struct util_err *err)
{
	switch (opt) {
	case OPT_EXPORT:
		return server_exports_add(o->exports, arg, err);
	case OPT_ALLOW:
		return server_exports_allow(o->exports, arg, err);
	case OPT_LISTEN:
		return parse_listen(o, arg, err);
	case OPT_PORT:
		return parse_port(arg, &o->port, err);
	case OPT_TCP_PORT:
		return parse_port(arg, &o->tcp_port, err);
	case OPT_IWARP_PORT:
		return parse_port(arg, &o->iwarp_port, err);
	case OPT_FABRIC:
		return parse_fabric(o, arg, err);
	case OPT_THREADS:
		return parse_threads(o, arg, err);
	case OPT_NULL:
		o->null = true;
		break;
	case OPT_RO:
		o->read_only = true;
		break;
	case OPT_SQUASH:
	case OPT_NO_SQUASH:
		o->root_squash = opt == OPT_SQUASH;
		break;
	case OPT_NO_RPCBIND:
		o->rpcbind = false;
		break;
	case OPT_NO_IO_URING:
		o->no_io_uring = true;
		break;
	case OPT_STATE:
		o->state = arg;
		break;
	case 'v':
		o->level = o->level == UTIL_LOG_WARN ? UTIL_LOG_INFO : UTIL_LOG_DEBUG;
		break;
	}
	return 0;
}

static int finish(struct options *o, struct util_err *err)
{
	int ret = 0;

	if (o->null)
		ret = server_exports_add_null(o->exports, err);
	if (!ret && o->exports->count == 0)
		ret = util_err_set(err, -EINVAL, "nothing to serve: give --export DIR or --null");
	if (!ret && o->nlisten == 0)
		ret = parse_listen(o, "127.0.0.1", err);
	return ret;
}

/* An export or address that is well said but cannot be had is a failure, not bad usage. */
static enum options_result verdict(int ret)
{
	return ret == -EINVAL || ret == -E2BIG || ret == -EEXIST ? OPTIONS_BAD : OPTIONS_FAIL;
}

enum options_result options_parse(struct options *o, int argc, char **argv, struct util_err *err)
{
	struct server_exports *exports = o->exports;
	int opt, ret;

	*o = (struct options){
		.exports = exports,
		.port = 20049,
		.tcp_port = 2049,
		.iwarp_port = -1,
		.fabric_verbs = true,
		.fabric_iwarp = true,
		.root_squash = true,
		.rpcbind = true,
		.level = UTIL_LOG_WARN,
	};
	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":v", long_options, NULL)) != -1) {
		if (opt == OPT_HELP)
			return OPTIONS_HELP;
		if (opt == OPT_VERSION)
			return OPTIONS_VERSION;
		if (opt == ':') {
			util_err_set(err, -EINVAL, "option %s needs a value", argv[optind - 1]);
			return OPTIONS_BAD;
		}
		if (opt == '?') {
			util_err_set(err, -EINVAL, "unknown option %s", argv[optind - 1]);
			return OPTIONS_BAD;
		}
		ret = parse_one(o, opt, optarg, err);
		if (ret)
			return verdict(ret);
	}
	if (optind < argc) {
		util_err_set(err, -EINVAL, "'%s' is no option", argv[optind]);
		return OPTIONS_BAD;
	}
	ret = finish(o, err);
	return ret ? verdict(ret) : OPTIONS_RUN;
}
