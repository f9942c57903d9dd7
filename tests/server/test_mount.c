/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_mount.c - MOUNT, exports, networks, the command line, the key.
 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/server/double.h"
#include "tools/nfsrdmad/key.h"
#include "tools/nfsrdmad/options.h"
#include "wire/mount_xdr.h"

static uint32_t mnt(struct fixture *f, const char *path, struct wire_fh *fh)
{
	struct wire_mnt_res res;

	f->prog = WIRE_MOUNT_PROG;
	wire_mnt_args_encode(fixture_args(f), path);
	fixture_call_bare(f, WIRE_MOUNT_MNT);
	cr_assert(f->reply);
	cr_assert_eq(wire_mnt_res_decode(&f->res, &res), 0);
	if (!res.status) {
		cr_expect(res.nflavors == 1 && res.flavors[0] == WIRE_AUTH_SYS);
		*fh = res.fh;
	}
	f->prog = WIRE_NFS_PROG;
	return res.status;
}

Test(server_mount, gives_the_root_or_a_folder_below_it)
{
	struct fixture *f = fixture_open(FIXTURE_NULL, NULL);
	struct wire_fh dir, sub, got;

	cr_assert_eq(fixture_mkdir(f, &f->root, "dir", 0700, &dir), NFS3_OK);
	cr_assert_eq(fixture_mkdir(f, &dir, "sub", 0777, &sub), NFS3_OK);
	fixture_file(f, "file", "");
	cr_assert_eq(symlink("/etc", fixture_path(f, "evil")), 0);
	cr_assert_eq(mnt(f, "/export", &got), MNT3_OK);
	cr_expect(got.len == f->root.len && !memcmp(got.data, f->root.data, got.len));
	cr_expect_eq(mnt(f, "/export/", &got), MNT3_OK);
	cr_assert_eq(mnt(f, "//export//dir/sub/", &got), MNT3_OK);
	cr_expect(got.len == sub.len && !memcmp(got.data, sub.data, got.len));
	cr_expect_eq(mnt(f, "/export/none", &got), MNT3ERR_NOENT);
	cr_expect_eq(mnt(f, "/export/file", &got), MNT3ERR_NOTDIR);
	cr_expect_eq(mnt(f, "/export/evil", &got), MNT3ERR_NOTDIR);
	cr_expect_eq(mnt(f, "/export/evil/passwd", &got), MNT3ERR_NOTDIR);
	cr_expect_eq(mnt(f, "/export/../export", &got), MNT3ERR_INVAL);
	cr_expect_eq(mnt(f, "/exporter", &got), MNT3ERR_NOENT);
	cr_expect_eq(mnt(f, "/", &got), MNT3ERR_NOENT);
	cr_expect_eq(mnt(f, "export", &got), MNT3ERR_INVAL);
	cr_expect_eq(mnt(f, "", &got), MNT3ERR_INVAL);
	cr_expect_eq(mnt(f, "/null", &got), MNT3_OK);
	cr_expect_eq(mnt(f, "/null/x", &got), MNT3ERR_NOENT);
	fixture_close(f, false);
}

Test(server_mount, dump_lists_until_umnt)
{
	struct fixture *f = fixture_open(FIXTURE_NULL, NULL);
	struct wire_mountent m;
	struct wire_fh fh;

	cr_assert_eq(mnt(f, "/export", &fh), MNT3_OK);
	cr_assert_eq(mnt(f, "/null", &fh), MNT3_OK);
	f->prog = WIRE_MOUNT_PROG;
	fixture_args(f);
	fixture_call_bare(f, WIRE_MOUNT_DUMP);
	cr_assert_eq(wire_mountent_next(&f->res, &m), 1);
	cr_expect(m.host_len == 9 && !memcmp(m.host, "127.0.0.1", 9));
	cr_expect(m.path_len == 7 && !memcmp(m.path, "/export", 7));
	cr_assert_eq(wire_mountent_next(&f->res, &m), 1);
	cr_expect_eq(wire_mountent_next(&f->res, &m), 0);
	wire_mnt_args_encode(fixture_args(f), "/export");
	fixture_call_bare(f, WIRE_MOUNT_UMNT);
	cr_expect(f->reply);
	fixture_args(f);
	fixture_call_bare(f, WIRE_MOUNT_DUMP);
	cr_assert_eq(wire_mountent_next(&f->res, &m), 1);
	cr_expect(m.path_len == 5 && !memcmp(m.path, "/null", 5));
	cr_expect_eq(wire_mountent_next(&f->res, &m), 0);
	fixture_args(f);
	fixture_call_bare(f, WIRE_MOUNT_UMNTALL);
	fixture_args(f);
	fixture_call_bare(f, WIRE_MOUNT_DUMP);
	cr_expect_eq(wire_mountent_next(&f->res, &m), 0);
	fixture_close(f, false);
}

Test(server_mount, export_lists_names_and_networks)
{
	struct fixture *f = fixture_open(FIXTURE_NULL, NULL);
	struct wire_export x;
	struct util_err err;

	cr_assert_eq(server_exports_allow(&f->srv->exports, "127.0.0.0/8", &err), 0);
	cr_assert_eq(server_exports_allow(&f->srv->exports, "fd00::/8", &err), 0);
	f->prog = WIRE_MOUNT_PROG;
	fixture_args(f);
	fixture_call_bare(f, WIRE_MOUNT_EXPORT);
	cr_assert_eq(wire_export_next(&f->res, &x), 1);
	cr_expect(x.path_len == 7 && !memcmp(x.path, "/export", 7));
	cr_expect_eq(x.ngroups, 2);
	cr_expect(x.group_len == 11 && !memcmp(x.group, "127.0.0.0/8", 11));
	cr_assert_eq(wire_export_next(&f->res, &x), 1);
	cr_expect_eq(wire_export_next(&f->res, &x), 0);
	fixture_close(f, false);
}

/* ---- exports ---------------------------------------------------------------------------- */

Test(server_exports, the_longest_name_wins)
{
	struct server_exports *exports = calloc(1, sizeof(*exports));
	static const struct {
		const char *path, *name, *rest;
	} cases[] = {
		{"/a", "/a", ""},	{"/a/b", "/a/b", ""}, {"/a/b/c", "/a/b", "/c"},
		{"/a/bc", "/a", "/bc"}, {"/b", "/", "b"},     {"/", "/", ""},
	};
	struct util_err err;
	const char *rest;

	cr_assert_eq(server_exports_add(exports, "/tmp=/", &err), 0);
	cr_assert_eq(server_exports_add(exports, "/tmp=/a", &err), 0);
	cr_assert_eq(server_exports_add(exports, "/tmp=/a/b/", &err), 0);
	cr_expect_eq(server_exports_add(exports, "/tmp=/a", &err), -EEXIST);
	for (size_t i = 0; i < UTIL_ARRAY_SIZE(cases); i++) {
		struct server_export *exp = server_exports_match(exports, cases[i].path, &rest);

		cr_assert(exp);
		cr_expect_str_eq(exp->name, cases[i].name);
		cr_expect_str_eq(rest, cases[i].rest);
	}
	server_exports_close(exports);
	free(exports);
}

Test(server_exports, ids_do_not_depend_on_order)
{
	struct server_exports *one = calloc(1, sizeof(*one)), *two = calloc(1, sizeof(*two));
	static const uint8_t key[16] = {3};
	struct util_err err;

	cr_assert_eq(server_exports_add(one, "/tmp=/a", &err), 0);
	cr_assert_eq(server_exports_add(one, "/tmp=/b", &err), 0);
	cr_assert_eq(server_exports_add(two, "/tmp=/b", &err), 0);
	cr_assert_eq(server_exports_add(two, "/tmp=/a", &err), 0);
	cr_assert_eq(server_exports_prepare(one, key, false, &err), 0);
	cr_assert_eq(server_exports_prepare(two, key, false, &err), 0);
	cr_expect_eq(one->list[0].id, two->list[1].id);
	cr_expect_eq(one->list[1].id, two->list[0].id);
	cr_expect_neq(one->list[0].id, one->list[1].id);
	server_exports_close(one);
	server_exports_close(two);
	free(one);
	free(two);
}

Test(server_exports, networks_match_to_the_bit)
{
	static const struct {
		const char *net, *addr;
		bool in;
	} cases[] = {
		{"10.1.2.3", "10.1.2.3", true},		 {"10.1.2.3", "10.1.2.4", false},
		{"10.0.0.0/8", "10.255.0.1", true},	 {"10.0.0.0/8", "11.0.0.1", false},
		{"10.0.0.128/25", "10.0.0.129", true},	 {"10.0.0.128/25", "10.0.0.127", false},
		{"0.0.0.0/0", "1.2.3.4", true},		 {"0.0.0.0/0", "fd00::1", false},
		{"fd00::/8", "fd12::1", true},		 {"fd00::/8", "fe00::1", false},
		{"10.0.0.0/8", "::ffff:10.0.0.1", true}, {"::/0", "fd00::1", true},
	};
	static const char bad[][24] = {"10.0.0", "10.0.0.0/33", "10.0.0.0/",  "x",
				       "",	 "fd00::/129",	"10.0.0.0/-1"};
	struct server_exports *exports = calloc(1, sizeof(*exports));
	struct util_err err;

	for (size_t i = 0; i < UTIL_ARRAY_SIZE(cases); i++) {
		struct sockaddr_storage peer = {.ss_family = AF_UNSPEC};
		struct sockaddr_in6 *in6 = (void *)&peer;
		struct sockaddr_in *in = (void *)&peer;

		exports->nnets = 0;
		cr_assert_eq(server_exports_allow(exports, cases[i].net, &err), 0);
		if (inet_pton(AF_INET, cases[i].addr, &in->sin_addr) == 1)
			peer.ss_family = AF_INET;
		else if (inet_pton(AF_INET6, cases[i].addr, &in6->sin6_addr) == 1)
			peer.ss_family = AF_INET6;
		cr_expect_eq(server_exports_allowed(exports, &peer), cases[i].in, "%s in %s",
			     cases[i].addr, cases[i].net);
	}
	for (size_t i = 0; i < UTIL_ARRAY_SIZE(bad); i++)
		cr_expect_eq(server_exports_allow(exports, bad[i], &err), -EINVAL, "'%s'", bad[i]);
	free(exports);
}

/* ---- the command line ------------------------------------------------------------------- */

static enum options_result parse(struct options *o, const char *line, struct util_err *err)
{
	static char copy[512];
	char *argv[32] = {"nfsrdmad"}, *save = NULL;
	int argc = 1;

	snprintf(copy, sizeof(copy), "%s", line);
	for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
		argv[argc++] = word;
	o->exports = calloc(1, sizeof(*o->exports));
	optind = 0;
	memset(err, 0, sizeof(*err));
	return options_parse(o, argc, argv, err);
}

static void parse_free(struct options *o)
{
	server_exports_close(o->exports);
	free(o->exports);
}

Test(server_options, what_is_wrong_is_said_in_one_line)
{
	static const struct {
		char line[64];
		enum options_result result;
		char what[40];
	} cases[] = {
		{"", OPTIONS_BAD, "nothing to serve"},
		{"--export", OPTIONS_BAD, "--export needs a value"},
		{"--nonsense", OPTIONS_BAD, "unknown option --nonsense"},
		{"-x", OPTIONS_BAD, "unknown option"},
		{"--null extra", OPTIONS_BAD, "'extra' is no option"},
		{"--null --port 65536", OPTIONS_BAD, "'65536' is no port"},
		{"--null --port -1", OPTIONS_BAD, "'-1' is no port"},
		{"--null --tcp-port x", OPTIONS_BAD, "'x' is no port"},
		{"--null --fabric ib", OPTIONS_BAD, "'ib' is not"},
		{"--null --threads 0", OPTIONS_BAD, "--threads"},
		{"--null --allow 10.0.0.0/99", OPTIONS_BAD, "is no network"},
		{"--export /no/such/folder", OPTIONS_FAIL, "/no/such/folder: No such file"},
		{"--export /etc/passwd", OPTIONS_FAIL, "/etc/passwd: Not a directory"},
		{"--export /tmp --export /tmp", OPTIONS_BAD, "two exports are named /tmp"},
		{"--help", OPTIONS_HELP, ""},
		{"--version", OPTIONS_VERSION, ""},
		{"--export /tmp=/x --null --ro", OPTIONS_RUN, ""},
	};

	for (size_t i = 0; i < UTIL_ARRAY_SIZE(cases); i++) {
		struct util_err err;
		struct options o;

		cr_expect_eq(parse(&o, cases[i].line, &err), cases[i].result, "%s", cases[i].line);
		cr_expect(strstr(err.what, cases[i].what), "%s: %s", cases[i].line, err.what);
		cr_expect(!strchr(err.what, '\n'));
		parse_free(&o);
	}
}

Test(server_options, defaults_are_those_of_the_manual)
{
	struct sockaddr_in *in;
	struct util_err err;
	struct options o;

	cr_assert_eq(parse(&o, "--null", &err), OPTIONS_RUN);
	in = (void *)&o.listen[0];
	cr_expect_eq(o.port, 20049);
	cr_expect_eq(o.tcp_port, 2049);
	cr_expect(o.root_squash && o.rpcbind && !o.read_only && o.fabric_iwarp && o.fabric_verbs);
	cr_expect(o.nlisten == 1 && in->sin_family == AF_INET &&
		  in->sin_addr.s_addr == htonl(INADDR_LOOPBACK));
	parse_free(&o);
}

/* ---- the key ---------------------------------------------------------------------------- */

Test(server_key, is_made_once_and_kept_private)
{
	char dir[] = "/tmp/nfsrdmad-key.XXXXXX", state[64], file[96], command[96];
	uint8_t one[16], two[16];
	struct util_err err;
	struct stat st;
	bool kept;

	cr_assert(mkdtemp(dir));
	snprintf(state, sizeof(state), "%s/a/b", dir);
	snprintf(file, sizeof(file), "%s/handle.key", state);
	cr_assert_eq(server_key_load(state, one, &kept, &err), 0);
	cr_expect(kept);
	cr_assert_eq(stat(file, &st), 0);
	cr_expect_eq(st.st_mode & 07777, 0600);
	cr_expect_eq(st.st_size, 16);
	cr_assert_eq(server_key_load(state, two, &kept, &err), 0);
	cr_expect_arr_eq(one, two, 16);
	/* nothing is left lying about */
	snprintf(command, sizeof(command), "test $(ls -A %s | wc -l) = 1", state);
	cr_expect_eq(system(command), 0);
	/* readable by others, or not ours: refused */
	cr_assert_eq(chmod(file, 0644), 0);
	cr_expect_eq(server_key_load(state, two, &kept, &err), -EPERM);
	cr_expect(strstr(err.what, "mode 0600"));
	cr_assert_eq(chmod(file, 0600), 0);
	cr_assert_eq(truncate(file, 15), 0);
	cr_expect_eq(server_key_load(state, two, &kept, &err), -EBADMSG);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	cr_expect_eq(system(command), 0);
}

Test(server_key, without_a_folder_it_is_for_this_run)
{
	uint8_t key[16] = {0}, none[16] = {0};
	struct util_err err;
	bool kept;

	if (geteuid() == 0)
		cr_assert(seteuid(65534) == 0);
	unsetenv("XDG_STATE_HOME");
	unsetenv("HOME");
	cr_assert_eq(server_key_load(NULL, key, &kept, &err), 0);
	cr_expect(!kept);
	cr_expect(memcmp(key, none, 16));
	setenv("XDG_STATE_HOME", "/proc/nowhere", 1);
	cr_assert_eq(server_key_load(NULL, key, &kept, &err), 0);
	cr_expect(!kept);
	cr_expect_neq(server_key_load("/proc/nowhere", key, &kept, &err), 0);
	/* leave the process as a leak checker wants it */
	if (getuid() == 0)
		cr_assert(seteuid(0) == 0);
	prctl(PR_SET_DUMPABLE, 1);
}
