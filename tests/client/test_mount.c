/* SPDX-License-Identifier: BSD-2-Clause */
/* test_mount.c - mounting: exports, MOUNT's ways, failures and their words, the end. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "tests/client/fake_nfs.h"

#define TIMEOUT .timeout = 60

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* The last error's words hold text. */
static void assert_words(const char *text)
{
	cr_assert(strstr(nfsrdma_strerror_last(), text), "\"%s\" is not in \"%s\"", text,
		  nfsrdma_strerror_last());
}

static void assert_hint(const char *text)
{
	cr_assert(strstr(nfsrdma_hint_last(), text), "\"%s\" is not in \"%s\"", text,
		  nfsrdma_hint_last());
}

Test(client_mount, finds_the_export_and_tells_about_it, TIMEOUT)
{
	struct fake_nfs *f = fake_start();
	struct nfsrdma *mount = fake_mount(f, "");
	struct nfsrdma_info info = {.size = sizeof(info)};
	char address[64];

	cr_assert_eq(nfsrdma_info(mount, &info), 0);
	snprintf(address, sizeof(address), "127.0.0.1:%u", fake_port(f));
	cr_assert_str_eq(info.server, "127.0.0.1");
	cr_assert_str_eq(info.address, address);
	cr_assert_str_eq(info.export_path, "/export");
	cr_assert_str_eq(info.root_path, "/");
	cr_assert_str_eq(info.proto, "tcp");
	cr_assert_str_eq(info.mr_mode, "pool");
	cr_assert_eq(info.rsize, 65536u);
	cr_assert_eq(info.wsize, 65536u);
	nfsrdma_umount(mount);
	fake_stop(f);
}

Test(client_mount, takes_the_longest_export_and_walks_the_rest, TIMEOUT)
{
	struct fake_nfs *f = fake_start();
	struct nfsrdma_info info = {.size = sizeof(info)};
	struct nfsrdma *mount;
	struct stat st;

	fake_dir(f, "/inner");
	fake_dir(f, "/inner/deep");
	fake_file(f, "/inner/deep/file", 17);
	cr_assert_eq(nfsrdma_mount(&mount, fake_url(f, "//inner///deep/", ""), NULL), 0, "%s",
		     nfsrdma_strerror_last());
	cr_assert_eq(nfsrdma_info(mount, &info), 0);
	cr_assert_str_eq(info.export_path, "/export/inner");
	cr_assert_str_eq(info.root_path, "/deep");
	cr_assert_eq(nfsrdma_stat(mount, "/file", &st), 0, "%s", nfsrdma_strerror_last());
	cr_assert_eq(st.st_size, 17);
	cr_assert_eq(nfsrdma_stat(mount, "../../../file", &st), 0);
	nfsrdma_umount(mount);
	fake_stop(f);
}

Test(client_mount, at_the_export_leaves_the_rest_to_the_caller, TIMEOUT)
{
	struct fake_nfs *f = fake_start();
	struct nfsrdma_options opts = NFSRDMA_OPTIONS_INIT;
	struct nfsrdma_info info = {.size = sizeof(info)};
	struct nfsrdma *mount;

	opts.flags = NFSRDMA_AT_EXPORT;
	cr_assert_eq(nfsrdma_mount(&mount, fake_url(f, "/not/there%3f", ""), &opts), 0, "%s",
		     nfsrdma_strerror_last());
	cr_assert_eq(nfsrdma_info(mount, &info), 0);
	cr_assert_str_eq(info.export_path, "/export");
	cr_assert_str_eq(info.root_path, "/not/there?");
	nfsrdma_umount(mount);
	cr_assert_eq(nfsrdma_mount(&mount, fake_url(f, "//not//there//", ""), &opts), 0);
	cr_assert_eq(nfsrdma_info(mount, &info), 0);
	cr_assert_str_eq(info.root_path, "/not/there/", "it asks for a directory");
	nfsrdma_umount(mount);
	fake_stop(f);
}

Test(client_mount, tries_the_path_and_its_parents_without_a_list, TIMEOUT)
{
	struct fake_nfs *f = fake_start();
	struct nfsrdma_info info = {.size = sizeof(info)};
	struct nfsrdma *mount;

	fake_hide_exports(f);
	fake_dir(f, "/sub");
	cr_assert_eq(nfsrdma_mount(&mount, fake_url(f, "/sub", ""), NULL), 0, "%s",
		     nfsrdma_strerror_last());
	cr_assert_eq(nfsrdma_info(mount, &info), 0);
	cr_assert_str_eq(info.export_path, "/export");
	cr_assert_str_eq(info.root_path, "/sub");
	nfsrdma_umount(mount);
	fake_stop(f);
}

Test(client_mount, a_missing_export_names_those_there_are, TIMEOUT)
{
	struct fake_nfs *f = fake_start();
	struct nfsrdma *mount;
	char url[128];

	snprintf(url, sizeof(url), "nfs://127.0.0.1:%u/exported?tcp", fake_port(f));
	cr_assert_eq(nfsrdma_mount(&mount, url, NULL), -ENOENT);
	assert_words("no such export");
	assert_hint("/export, /export/inner");
	fake_stop(f);
}

Test(client_mount, a_missing_directory_in_an_export_is_named, TIMEOUT)
{
	struct fake_nfs *f = fake_start();
	struct nfsrdma *mount;

	fake_file(f, "/file", 1);
	cr_assert_eq(nfsrdma_mount(&mount, fake_url(f, "/nope", ""), NULL), -ENOENT);
	assert_words("/nope in export /export");
	cr_assert_eq(nfsrdma_mount(&mount, fake_url(f, "/file", ""), NULL), -ENOTDIR);
	fake_stop(f);
}

Test(client_mount, a_refusal_hints_at_reserved_ports, TIMEOUT)
{
	struct fake_nfs *f = fake_start();
	struct nfsrdma *mount;

	fake_mount_rule(f, WIRE_MOUNT_MNT, 0, UINT32_MAX, FAKE_STATUS, 13);
	cr_assert_eq(nfsrdma_mount(&mount, fake_url(f, "", ""), NULL), -EACCES);
	assert_words("Permission denied");
	assert_hint("resvport");
	fake_stop(f);
}

Test(client_mount, a_closed_port_is_told_at_once, TIMEOUT)
{
	struct fake_nfs *f = fake_start();
	struct nfsrdma *mount;
	double start = seconds();
	char url[128];

	snprintf(url, sizeof(url), "nfs://127.0.0.1:%u/export?tcp", fake_port(f));
	fake_stop(f);
	cr_assert_eq(nfsrdma_mount(&mount, url, NULL), -ECONNREFUSED);
	assert_words("Connection refused");
	cr_assert_gt(strlen(nfsrdma_hint_last()), 0);
	cr_assert_lt(seconds() - start, 5.0);
}

Test(client_mount, a_server_that_accepts_and_says_nothing_is_given_up, .timeout = 60)
{
	struct sockaddr_in addr = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(addr);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct nfsrdma *mount;
	char url[128];

	cr_assert_eq(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	cr_assert_eq(listen(fd, 8), 0);
	cr_assert_eq(getsockname(fd, (struct sockaddr *)&addr, &len), 0);
	snprintf(url, sizeof(url), "nfs://127.0.0.1:%u/export?tcp&mountproto=rdma",
		 ntohs(addr.sin_port));
	cr_assert_eq(nfsrdma_mount(&mount, url, NULL), -ETIMEDOUT, "%s", nfsrdma_strerror_last());
	close(fd);
}

Test(client_mount, a_name_that_does_not_resolve_says_so, TIMEOUT)
{
	struct nfsrdma *mount;

	cr_assert_lt(nfsrdma_mount(&mount, "no-such-host.invalid:/x", NULL), 0);
	assert_words("cannot resolve no-such-host.invalid");
}

Test(client_mount, local_paths_and_bad_options_are_errors_with_words, TIMEOUT)
{
	struct nfsrdma_options opts = NFSRDMA_OPTIONS_INIT;
	struct nfsrdma *mount;

	cr_assert_eq(nfsrdma_mount(&mount, "./a:/b", NULL), -EINVAL);
	assert_words("local path");
	cr_assert_eq(nfsrdma_mount(&mount, "nfs://127.0.0.1/x?rszie=4k", NULL), -EINVAL);
	assert_words("rsize");
	opts.opts = "hart";
	cr_assert_eq(nfsrdma_mount(&mount, "127.0.0.1:/x", &opts), -EINVAL);
	assert_words("hard");
	opts.size = 0;
	cr_assert_eq(nfsrdma_mount(&mount, "127.0.0.1:/x", &opts), -EINVAL);
}

Test(client_mount, the_url_overrides_the_option_string, TIMEOUT)
{
	struct fake_nfs *f = fake_start();
	struct nfsrdma_options opts = NFSRDMA_OPTIONS_INIT;
	struct nfsrdma_info info = {.size = sizeof(info)};
	struct nfsrdma *mount;

	opts.opts = "rsize=8k,wsize=8k";
	cr_assert_eq(nfsrdma_mount(&mount, fake_url(f, "", "rsize=16k"), &opts), 0);
	cr_assert_eq(nfsrdma_info(mount, &info), 0);
	cr_assert_eq(info.rsize, 16384u);
	cr_assert_eq(info.wsize, 8192u);
	nfsrdma_umount(mount);
	fake_stop(f);
}

Test(client_mount, sizes_stay_below_the_servers_maximum, TIMEOUT)
{
	struct fake_nfs *f = fake_start();
	struct nfsrdma_info info = {.size = sizeof(info)};
	struct nfsrdma *mount;

	fake_set_sizes(f, 10000, 512, 0);
	mount = fake_mount(f, "rsize=1m");
	cr_assert_eq(nfsrdma_info(mount, &info), 0);
	cr_assert_eq(info.rsize, 9216u, "%u", info.rsize);
	cr_assert_eq(info.wsize, 512u);
	nfsrdma_umount(mount);
	fake_stop(f);
}

Test(client_mount, ids_in_the_options_are_the_ids_on_the_wire, TIMEOUT)
{
	struct fake_nfs *f = fake_start();
	struct nfsrdma *mount = fake_mount(f, "uid=1234&gid=5678");
	struct wire_cred cred;
	struct stat st;

	cr_assert_eq(nfsrdma_stat(mount, "/", &st), 0);
	fake_cred(f, &cred);
	cr_assert_eq(cred.uid, 1234u);
	cr_assert_eq(cred.gid, 5678u);
	cr_assert_eq(cred.ngroups, 0u);
	nfsrdma_umount(mount);
	fake_stop(f);
}

struct listed {
	int n, stop_after;
	char paths[8][64], groups[8][64];
};

static int list_one(void *arg, const char *path, const char *groups)
{
	struct listed *l = arg;

	snprintf(l->paths[l->n], sizeof(l->paths[0]), "%s", path);
	snprintf(l->groups[l->n], sizeof(l->groups[0]), "%s", groups);
	return ++l->n == l->stop_after;
}

Test(client_mount, lists_exports_with_their_groups, TIMEOUT)
{
	struct fake_nfs *f = fake_start();
	struct listed l = {.stop_after = 0};
	struct nfsrdma_options opts = NFSRDMA_OPTIONS_INIT;
	char server[64];

	snprintf(server, sizeof(server), "nfs://127.0.0.1:%u", fake_port(f));
	opts.opts = "tcp";
	cr_assert_eq(nfsrdma_exports(server, &opts, list_one, &l), 0, "%s",
		     nfsrdma_strerror_last());
	cr_assert_eq(l.n, 2);
	cr_assert_str_eq(l.paths[0], "/export");
	cr_assert_str_eq(l.groups[0], "127.0.0.0/8,localhost");
	cr_assert_str_eq(l.groups[1], "*");
	l = (struct listed){.stop_after = 1};
	cr_assert_eq(nfsrdma_exports(server, &opts, list_one, &l), 0);
	cr_assert_eq(l.n, 1);
	fake_stop(f);
}

Test(client_mount, mounts_share_a_context_that_outlives_its_creator, TIMEOUT)
{
	struct fake_nfs *f = fake_start();
	struct nfsrdma_options opts = NFSRDMA_OPTIONS_INIT;
	struct nfsrdma *a, *b;
	struct nfsrdma_file *file;
	struct nfsrdma_buf *buf;

	fake_file(f, "/file", 10000);
	cr_assert_eq(nfsrdma_ctx_create(&opts.ctx), 0);
	cr_assert_eq(nfsrdma_mount(&a, fake_url(f, "", ""), &opts), 0);
	cr_assert_eq(nfsrdma_mount(&b, fake_url(f, "", ""), &opts), 0);
	nfsrdma_ctx_destroy(opts.ctx);
	cr_assert_eq(nfsrdma_buf_get(a, &buf, 10000, NFSRDMA_BUF_READ), 0);
	cr_assert_eq(nfsrdma_open(b, &file, "file", O_RDONLY, 0), 0);
	cr_assert_eq(nfsrdma_pread(file, buf, 0, 10000, 0), 10000, "%s", nfsrdma_strerror_last());
	cr_assert_eq(((uint8_t *)nfsrdma_buf_addr(buf))[9999], fake_byte(9999));
	nfsrdma_umount(b);
	nfsrdma_umount(a);
	fake_stop(f);
}

Test(client_mount, a_file_handle_the_server_does_not_know_fails_the_mount, TIMEOUT)
{
	struct fake_nfs *f = fake_start();
	struct nfsrdma *mount;

	fake_rule(f, WIRE_NFS3_FSINFO, 0, 1, FAKE_STATUS, 70);
	cr_assert_eq(nfsrdma_mount(&mount, fake_url(f, "", ""), NULL), -ESTALE);
	assert_words("FSINFO of /export");
	fake_stop(f);
}

Test(client_mount, unmounting_nothing_is_fine, TIMEOUT)
{
	nfsrdma_umount(NULL);
	nfsrdma_buf_put(NULL);
	nfsrdma_closedir(NULL);
	nfsrdma_ctx_destroy(NULL);
}
