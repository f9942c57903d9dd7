/* SPDX-License-Identifier: BSD-2-Clause */
/* test_faults.c - lost connections, silence, time-outs, and replies made of anything. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "tests/client/fake_nfs.h"
#include "tests/client/wrap.h"
#include "util/util.h"

static struct fake_nfs *f;

static void setup(void)
{
	f = fake_start_furnished();
}

static void teardown(void)
{
	fake_stop(f);
}

TestSuite(client_faults, .init = setup, .fini = teardown, .timeout = 120);

Test(client_faults, connections_cut_in_the_middle_of_io_do_not_show)
{
	struct nfsrdma *mount = fake_mount(f, "rsize=4k&wsize=4k");
	struct nfsrdma_file *file;
	uint8_t *mem = malloc(1 << 20);

	cr_assert_eq(nfsrdma_open(mount, &file, "/dir/file", O_RDWR, 0), 0);
	fake_rule(f, WIRE_NFS3_READ, 20, 1, FAKE_CUT, 0);
	fake_rule(f, WIRE_NFS3_READ, 50, 1, FAKE_RUN_AND_CUT, 0);
	fake_rule(f, WIRE_NFS3_READ, 50, 1, FAKE_CUT, 0);
	cr_assert_eq(nfsrdma_pread_copy(file, mem, 1 << 20, 0), 1 << 20, "%s",
		     nfsrdma_strerror_last());
	for (size_t i = 0; i < 1 << 20; i++)
		cr_assert_eq(mem[i], fake_byte(i));
	fake_rule(f, WIRE_NFS3_WRITE, 20, 1, FAKE_CUT, 0);
	fake_rule(f, WIRE_NFS3_WRITE, 50, 1, FAKE_RUN_AND_CUT, 0);
	fake_rule(f, WIRE_NFS3_COMMIT, 0, 1, FAKE_RUN_AND_CUT, 0);
	cr_assert_eq(nfsrdma_pwrite_copy(file, mem, 1 << 20, 4096), 1 << 20);
	cr_assert_eq(nfsrdma_close(file), 0);
	cr_assert(fake_holds(f, "/dir/file", 4096, mem, 1 << 20, true));
	free(mem);
	nfsrdma_umount(mount);
}

Test(client_faults, a_soft_mount_gives_up_on_silence)
{
	struct nfsrdma *mount = fake_mount(f, "soft&timeo=2&retrans=1");
	struct nfsrdma_file *file;
	char byte;

	cr_assert_eq(nfsrdma_open(mount, &file, "/dir/file", O_RDONLY, 0), 0);
	fake_rule(f, WIRE_NFS3_READ, 0, UINT32_MAX, FAKE_SILENT, 0);
	cr_assert_eq(nfsrdma_pread_copy(file, &byte, 1, 0), -ETIMEDOUT);
	cr_assert(strstr(nfsrdma_strerror_last(), "read /dir/file"));
	nfsrdma_umount(mount);
}

Test(client_faults, a_hard_mount_waits_through_silence)
{
	struct nfsrdma *mount = fake_mount(f, "timeo=3&retrans=1");
	struct nfsrdma_file *file;
	char byte = 0;

	cr_assert_eq(nfsrdma_open(mount, &file, "/dir/file", O_RDONLY, 0), 0);
	fake_rule(f, WIRE_NFS3_READ, 0, 2, FAKE_SILENT, 0);
	cr_assert_eq(nfsrdma_pread_copy(file, &byte, 1, 5), 1, "%s", nfsrdma_strerror_last());
	cr_assert_eq((uint8_t)byte, fake_byte(5));
	nfsrdma_umount(mount);
}

Test(client_faults, rpc_errors_have_names)
{
	struct nfsrdma *mount = fake_mount(f, "");
	struct stat st;

	fake_rule(f, WIRE_NFS3_LOOKUP, 0, 1, FAKE_RPC_ERROR, WIRE_PROC_UNAVAIL);
	cr_assert_eq(nfsrdma_stat(mount, "/dir", &st), -EOPNOTSUPP);
	fake_rule(f, WIRE_NFS3_LOOKUP, 0, 1, FAKE_RPC_ERROR, WIRE_PROG_UNAVAIL);
	cr_assert_eq(nfsrdma_stat(mount, "/dir", &st), -EPROTONOSUPPORT);
	fake_rule(f, WIRE_NFS3_LOOKUP, 0, 1, FAKE_RPC_ERROR, WIRE_GARBAGE_ARGS);
	cr_assert_eq(nfsrdma_stat(mount, "/dir", &st), -EREMOTEIO);
	cr_assert_eq(nfsrdma_stat(mount, "/dir", &st), 0);
	nfsrdma_umount(mount);
}

/* One of each call; whatever comes of them. */
static void some_of_everything(struct nfsrdma *mount)
{
	struct nfsrdma_statfs fs;
	struct nfsrdma_dirent ent;
	struct nfsrdma_file *file;
	struct nfsrdma_dir *dir;
	char mem[9000];
	struct stat st;

	nfsrdma_stat(mount, "/link", &st);
	nfsrdma_lstat(mount, "/link", &st);
	nfsrdma_access(mount, "/dir/file", R_OK);
	nfsrdma_mkdir(mount, "/new", 0755);
	nfsrdma_rmdir(mount, "/new");
	nfsrdma_symlink(mount, "x", "/sym");
	nfsrdma_readlink(mount, "/link", mem, sizeof(mem));
	nfsrdma_unlink(mount, "/sym");
	nfsrdma_link(mount, "/dir/file", "/hard");
	nfsrdma_rename(mount, "/hard", "/hard2");
	nfsrdma_unlink(mount, "/hard2");
	nfsrdma_mknod(mount, "/fifo", S_IFIFO | 0600, 0);
	nfsrdma_unlink(mount, "/fifo");
	nfsrdma_chmod(mount, "/dir/file", 0600);
	nfsrdma_statfs(mount, "/", &fs);
	if (!nfsrdma_open(mount, &file, "/made", O_RDWR | O_CREAT, 0600)) {
		nfsrdma_pwrite_copy(file, mem, sizeof(mem), 0);
		nfsrdma_pread_copy(file, mem, sizeof(mem), 0);
		nfsrdma_fsync(file);
		nfsrdma_fstat(file, &st);
		nfsrdma_close(file);
	}
	if (!nfsrdma_opendir(mount, &dir, "/")) {
		for (int i = 0; i < 100 && nfsrdma_readdir(dir, &ent) == 1; i++)
			;
		nfsrdma_closedir(dir);
	}
}

Test(client_faults, results_of_any_bytes_never_break_the_client)
{
	struct nfsrdma *mount = fake_mount(f, "rsize=4k&wsize=4k&soft&timeo=2&retrans=1");
	struct stat st;

	for (uint64_t seed = 1; seed <= 60; seed++) {
		fake_clear_rules(f);
		for (uint32_t proc = 1; proc < WIRE_NFS3_PROC_COUNT; proc++)
			fake_rule(f, proc, (unsigned)(seed % 3), 1000,
				  seed % 2 ? FAKE_RANDOM : FAKE_RANDOM_OK, seed);
		some_of_everything(mount);
	}
	fake_clear_rules(f);
	cr_assert_eq(nfsrdma_stat(mount, "/dir", &st), 0, "%s", nfsrdma_strerror_last());
	nfsrdma_umount(mount);
}

Test(client_faults, results_cut_anywhere_never_break_the_client)
{
	struct nfsrdma *mount = fake_mount(f, "rsize=4k&wsize=4k");
	struct stat st;

	for (unsigned len = 0; len < 300; len += 7) {
		fake_clear_rules(f);
		for (uint32_t proc = 1; proc < WIRE_NFS3_PROC_COUNT; proc++)
			fake_rule(f, proc, len % 2, 100, FAKE_CUT_REPLY, len);
		some_of_everything(mount);
	}
	fake_clear_rules(f);
	cr_assert_eq(nfsrdma_stat(mount, "/dir", &st), 0, "%s", nfsrdma_strerror_last());
	nfsrdma_umount(mount);
}

Test(client_faults, mount_replies_of_any_bytes_only_fail_the_mount)
{
	struct nfsrdma *mount;

	for (uint64_t seed = 1; seed <= 40; seed++) {
		fake_clear_rules(f);
		fake_mount_rule(f, seed % 2 ? WIRE_MOUNT_MNT : WIRE_MOUNT_EXPORT, 0, UINT32_MAX,
				seed % 3 ? FAKE_RANDOM : FAKE_RANDOM_OK, seed);
		if (!nfsrdma_mount(&mount, fake_url(f, "", ""), NULL))
			nfsrdma_umount(mount);
		else
			cr_assert_gt(strlen(nfsrdma_strerror_last()), 0u);
	}
	for (unsigned len = 0; len < 60; len += 4) {
		fake_clear_rules(f);
		fake_mount_rule(f, WIRE_MOUNT_MNT, 0, UINT32_MAX, FAKE_CUT_REPLY, len);
		fake_mount_rule(f, WIRE_MOUNT_EXPORT, 0, UINT32_MAX, FAKE_CUT_REPLY, len);
		if (!nfsrdma_mount(&mount, fake_url(f, "", ""), NULL))
			nfsrdma_umount(mount);
	}
}

/* ---- where MOUNT is ----------------------------------------------------------------------- */

Test(client_faults, mountport_sends_mount_elsewhere)
{
	struct fake_nfs *mountd = fake_start();
	struct nfsrdma *mount;
	char more[64];

	/* the NFS server would refuse, so only the other one can have answered */
	fake_mount_rule(f, WIRE_MOUNT_MNT, 0, UINT32_MAX, FAKE_STATUS, 13);
	snprintf(more, sizeof(more), "mountport=%u&mounthost=localhost", fake_port(mountd));
	cr_assert_eq(nfsrdma_mount(&mount, fake_url(f, "", more), NULL), 0, "%s",
		     nfsrdma_strerror_last());
	nfsrdma_umount(mount);
	fake_stop(mountd);
	cr_assert_lt(nfsrdma_mount(&mount, fake_url(f, "", more), NULL), 0);
	cr_assert(strstr(nfsrdma_strerror_last(), "MOUNT"), "%s", nfsrdma_strerror_last());
}

/* MOUNT over UDP: hands datagrams to a fake over TCP, but for the first few, which get lost. */
struct relay {
	pthread_t thread;
	int fd; /* the UDP socket */
	uint16_t port, tcp_port;
	unsigned lose;	  /* so many more */
	unsigned seen;	  /* datagrams */
	uint16_t from[8]; /* ... and the ports they came from */
};

static size_t relay_ask(uint16_t port, const uint8_t *call, size_t len, uint8_t *reply, size_t size)
{
	const struct sockaddr_in to = {.sin_family = AF_INET,
				       .sin_port = htons(port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	uint8_t mark[4];
	ssize_t n;

	cr_assert_eq(connect(fd, (const struct sockaddr *)&to, sizeof(to)), 0);
	util_put_be32(mark, 0x80000000u | (uint32_t)len);
	cr_assert_eq(send(fd, mark, 4, MSG_MORE), 4);
	cr_assert_eq(send(fd, call, len, 0), (ssize_t)len);
	cr_assert_eq(recv(fd, mark, 4, MSG_WAITALL), 4);
	n = recv(fd, reply, size, 0);
	close(fd);
	return n > 0 ? (size_t)n : 0;
}

static void *relay_run(void *arg)
{
	struct relay *r = arg;
	uint8_t call[2048], reply[2048];

	for (;;) {
		struct sockaddr_in from;
		socklen_t from_len = sizeof(from);
		ssize_t n =
			recvfrom(r->fd, call, sizeof(call), 0, (struct sockaddr *)&from, &from_len);

		if (n <= 0)
			return NULL;
		r->from[r->seen++ % 8] = from.sin_port;
		if (r->lose > 0) {
			r->lose--;
			continue;
		}
		n = (ssize_t)relay_ask(r->tcp_port, call, (size_t)n, reply, sizeof(reply));
		/* something nobody asked for goes before */
		sendto(r->fd, "stray words", 11, 0, (struct sockaddr *)&from, from_len);
		sendto(r->fd, reply, (size_t)n, 0, (struct sockaddr *)&from, from_len);
	}
}

static void relay_start(struct relay *r, struct fake_nfs *mountd, unsigned lose)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);

	*r = (struct relay){
		.fd = socket(AF_INET, SOCK_DGRAM, 0), .tcp_port = fake_port(mountd), .lose = lose};
	cr_assert_eq(bind(r->fd, (struct sockaddr *)&at, sizeof(at)), 0);
	cr_assert_eq(getsockname(r->fd, (struct sockaddr *)&at, &len), 0);
	r->port = ntohs(at.sin_port);
	cr_assert_eq(pthread_create(&r->thread, NULL, relay_run, r), 0);
}

static void relay_stop(struct relay *r)
{
	shutdown(r->fd, SHUT_RDWR); /* recvfrom() returns 0 */
	pthread_join(r->thread, NULL);
	close(r->fd);
}

Test(client_faults, mount_goes_over_udp_and_is_asked_again)
{
	struct fake_nfs *mountd = fake_start();
	struct nfsrdma *mount;
	struct relay relay;
	char more[64];

	fake_mount_rule(f, WIRE_MOUNT_MNT, 0, UINT32_MAX, FAKE_STATUS, 13);
	for (unsigned lose = 0; lose < 3; lose++) {
		relay_start(&relay, mountd, lose);
		snprintf(more, sizeof(more), "mountproto=udp&mountport=%u", relay.port);
		cr_assert_eq(nfsrdma_mount(&mount, fake_url(f, "", more), NULL), 0, "%s",
			     nfsrdma_strerror_last());
		cr_expect_geq(relay.seen, lose + 1);
		/* the server knows a repetition by where it comes from */
		for (unsigned i = 1; i <= lose; i++)
			cr_expect_eq(relay.from[i], relay.from[0]);
		nfsrdma_umount(mount);
		relay_stop(&relay);
	}
	/* nobody there: said at once, by ICMP */
	cr_assert_eq(nfsrdma_mount(&mount, fake_url(f, "", more), NULL), -ECONNREFUSED, "%s",
		     nfsrdma_strerror_last());
	cr_assert(strstr(nfsrdma_strerror_last(), "refused"), "%s", nfsrdma_strerror_last());
	fake_stop(mountd);
}

Test(client_faults, rpcbind_is_asked_for_the_protocol_mount_goes_over)
{
	struct nfsrdma *mount;

	wrap.rpcbind_err = -ETIMEDOUT;
	cr_assert_eq(nfsrdma_mount(&mount, fake_url(f, "", "mountproto=udp"), NULL), 0);
	cr_assert_str_eq(wrap.rpcbind_netid, "udp");
	nfsrdma_umount(mount);
	cr_assert_eq(nfsrdma_mount(&mount, fake_url(f, "", ""), NULL), 0);
	cr_assert_str_eq(wrap.rpcbind_netid, "tcp");
	nfsrdma_umount(mount);
}

/* A mountd beside the server, where rpcbind sends us. */
static void check_rpcbind(enum fake_action action, uint64_t arg, unsigned expected_fsinfo)
{
	struct fake_nfs *mountd = fake_start();
	struct nfsrdma *mount;

	if (action == FAKE_STATUS)
		fake_mount_rule(mountd, WIRE_MOUNT_MNT, 0, UINT32_MAX, action, arg);
	wrap.rpcbind_port = fake_port(mountd);
	cr_assert_eq(nfsrdma_mount(&mount, fake_url(f, "", ""), NULL), 0, "%s",
		     nfsrdma_strerror_last());
	cr_assert_eq(fake_calls(f, WIRE_NFS3_FSINFO), expected_fsinfo);
	cr_assert_eq(wrap.rpcbind_timeout_ms, 2000);
	nfsrdma_umount(mount);
	fake_stop(mountd);
}

Test(client_faults, rpcbind_says_where_mountd_is)
{
	/* refusing here proves that the other one was asked */
	fake_mount_rule(f, WIRE_MOUNT_MNT, 0, UINT32_MAX, FAKE_STATUS, 13);
	check_rpcbind(FAKE_HOLD, 0, 1);
}

Test(client_faults, a_mountd_that_refuses_may_be_anothers)
{
	check_rpcbind(FAKE_STATUS, 2, 1);
	check_rpcbind(FAKE_STATUS, 13, 2);
}

Test(client_faults, a_handle_of_anothers_mountd_is_noticed)
{
	fake_rule(f, WIRE_NFS3_FSINFO, 0, 1, FAKE_STATUS, 10001);
	check_rpcbind(FAKE_HOLD, 0, 2);
}

Test(client_faults, without_rpcbind_the_nfs_connection_is_asked)
{
	struct nfsrdma *mount;

	wrap.rpcbind_err = -ETIMEDOUT;
	cr_assert_eq(nfsrdma_mount(&mount, fake_url(f, "", ""), NULL), 0);
	cr_assert_eq(wrap.rpcbind_asked, 1u);
	nfsrdma_umount(mount);
	wrap.rpcbind_err = 0;
	wrap.rpcbind_port = 1; /* nobody there */
	cr_assert_eq(nfsrdma_mount(&mount, fake_url(f, "", ""), NULL), 0);
	nfsrdma_umount(mount);
	wrap.rpcbind_asked = 0;
	cr_assert_eq(nfsrdma_mount(&mount, fake_url(f, "", "mountproto=rdma"), NULL), 0);
	cr_assert_eq(wrap.rpcbind_asked, 0u);
	nfsrdma_umount(mount);
}

Test(client_faults, every_address_of_a_name_is_tried)
{
	struct nfsrdma_info info = {.size = sizeof(info)};
	struct nfsrdma *mount;
	char url[128];

	snprintf(url, sizeof(url), "nfs://two.test:%u/export?tcp", fake_port(f));
	cr_assert_eq(nfsrdma_mount(&mount, url, NULL), 0, "%s", nfsrdma_strerror_last());
	cr_assert_eq(nfsrdma_info(mount, &info), 0);
	cr_assert(!strncmp(info.address, "127.0.0.1:", 10), "%s", info.address);
	cr_assert_str_eq(info.server, "two.test");
	nfsrdma_umount(mount);
	cr_assert_eq(nfsrdma_mount(&mount, "nfs://two.test:1/export?tcp", NULL), -ECONNREFUSED);
}

Test(client_faults, nobody_who_answers_mount_is_said_in_one_line)
{
	struct nfsrdma *mount;

	fake_mount_rule(f, WIRE_MOUNT_EXPORT, 0, UINT32_MAX, FAKE_RPC_ERROR, WIRE_PROG_UNAVAIL);
	cr_assert_eq(nfsrdma_mount(&mount, fake_url(f, "", ""), NULL), -EPROTONOSUPPORT, "%s",
		     nfsrdma_strerror_last());
	cr_assert(strstr(nfsrdma_strerror_last(), "nobody answers MOUNT"), "%s",
		  nfsrdma_strerror_last());
	cr_assert(strstr(nfsrdma_hint_last(), "mountport"), "%s", nfsrdma_hint_last());
}

static void *start_later(void *arg)
{
	poll(NULL, 0, 1500);
	return fake_start_at(*(uint16_t *)arg);
}

Test(client_faults, retry_outlasts_a_server_that_starts_late)
{
	struct fake_nfs *late = fake_start();
	uint16_t port = fake_port(late);
	struct nfsrdma *mount;
	pthread_t thread;
	char url[128];
	void *started;

	fake_stop(late);
	snprintf(url, sizeof(url), "nfs://127.0.0.1:%u/export?tcp&retry=1", port);
	cr_assert_eq(pthread_create(&thread, NULL, start_later, &port), 0);
	cr_assert_eq(nfsrdma_mount(&mount, url, NULL), 0, "%s", nfsrdma_strerror_last());
	pthread_join(thread, &started);
	nfsrdma_umount(mount);
	fake_stop(started);
}

Test(client_faults, a_large_write_moves_on_the_descriptors_word_alone)
{
	struct nfsrdma *mount = fake_mount(f, "");
	struct pollfd p = {.events = POLLIN};
	struct nfsrdma_file *file;
	struct nfsrdma_buf *buf;
	ssize_t done = 0;

	fake_set_sizes(f, 1 << 20, 1 << 20, 4096);
	nfsrdma_umount(mount);
	mount = fake_mount(f, "");
	cr_assert_eq(nfsrdma_open(mount, &file, "/big", O_CREAT | O_RDWR, 0644), 0);
	cr_assert_eq(nfsrdma_buf_get(mount, &buf, 8 << 20, NFSRDMA_BUF_WRITE), 0, "%s",
		     nfsrdma_strerror_last());
	p.fd = nfsrdma_fd(mount);
	cr_assert_eq(nfsrdma_pwrite_async(file, buf, 0, 8 << 20, 0, fake_store, &done), 0);
	while (!done) { /* more than the socket takes: somebody must watch for room in it */
		cr_assert_eq(poll(&p, 1, 20000), 1, "stuck");
		cr_assert_geq(nfsrdma_process(mount, 0), 0);
	}
	cr_assert_eq(done, 8 << 20);
	nfsrdma_umount(mount);
}
