/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_sock.c - what stays on the host is known, and is not paced.
 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include "util/util.h"

static struct sockaddr_storage address(const char *text)
{
	struct sockaddr_storage ss = {0};
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&ss;
	struct sockaddr_in *in = (struct sockaddr_in *)&ss;

	if (inet_pton(AF_INET, text, &in->sin_addr) == 1) {
		ss.ss_family = AF_INET;
	} else {
		cr_assert_eq(inet_pton(AF_INET6, text, &in6->sin6_addr), 1);
		ss.ss_family = AF_INET6;
	}
	return ss;
}

Test(util_sock, knows_loopback_in_each_family)
{
	static const struct {
		char text[40];
		bool loopback;
	} cases[] = {
		{"127.0.0.1", true},	    {"127.255.3.4", true},	{"::1", true},
		{"::ffff:127.1.2.3", true}, {"128.0.0.1", false},	{"10.0.0.1", false},
		{"0.0.0.0", false},	    {"::ffff:10.0.0.1", false}, {"::", false},
		{"fe80::1", false},
	};

	for (size_t i = 0; i < UTIL_ARRAY_SIZE(cases); i++) {
		struct sockaddr_storage ss = address(cases[i].text);

		cr_expect_eq(util_addr_is_loopback(&ss), cases[i].loopback, "%s", cases[i].text);
	}
}

Test(util_sock, same_host_is_the_address_alone)
{
	struct sockaddr_storage a = address("10.0.0.1"), b = address("10.0.0.1");
	struct sockaddr_storage c = address("10.0.0.2"), d = address("fe80::1");

	((struct sockaddr_in *)&b)->sin_port = htons(7);
	cr_expect(util_addr_same_host(&a, &b));
	cr_expect_not(util_addr_same_host(&a, &c));
	cr_expect_not(util_addr_same_host(&a, &d));
	cr_expect(util_addr_same_host(&d, &d));
}

static void congestion(int fd, char name[17])
{
	socklen_t len = 16;

	memset(name, 0, 17);
	cr_assert_eq(getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &len), 0);
}

static int tcp_socket(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	cr_assert_geq(fd, 0);
	return fd;
}

Test(util_sock, both_ends_within_the_host_use_reno)
{
	struct sockaddr_in addr = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int listener = tcp_socket(), client = tcp_socket(), server;
	socklen_t len = sizeof(addr);
	char name[17];

	util_sock_unpaced(listener);
	util_sock_unpaced(client);
	cr_assert_eq(bind(listener, (struct sockaddr *)&addr, sizeof(addr)), 0);
	cr_assert_eq(listen(listener, 1), 0);
	cr_assert_eq(getsockname(listener, (struct sockaddr *)&addr, &len), 0);
	cr_assert_eq(connect(client, (struct sockaddr *)&addr, sizeof(addr)), 0);
	server = accept(listener, NULL, NULL);
	cr_assert_geq(server, 0);
	util_sock_accepted(server);
	congestion(client, name);
	cr_expect_str_eq(name, "reno");
	congestion(server, name);
	cr_expect_str_eq(name, "reno");
	close(server);
	close(client);
	close(listener);
}

/* A socket whose peer is not known to be here counts as one from the network. */
Test(util_sock, others_are_given_the_systems_choice)
{
	int fresh = tcp_socket(), fd = tcp_socket();
	char want[17], name[17];

	congestion(fresh, want);
	util_sock_unpaced(fd);
	congestion(fd, name);
	cr_expect_str_eq(name, "reno");
	util_sock_accepted(fd);
	congestion(fd, name);
	cr_expect_str_eq(name, want);
	close(fd);
	close(fresh);
}
