/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_rpcbind.c - results of rpcbind, and universal addresses (RFC 5665 section 5.2.3).
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "cases.h"

Test(wire_rpcbind, a_port_has_sixteen_bits)
{
	uint8_t msg[4];
	struct wire_dec d;
	uint16_t port;

	wire_dec_init(&d, msg, case_hex("0000ffff", msg, 4));
	cr_assert_eq(wire_rpcbind_port_decode(&d, &port), 0);
	cr_assert_eq(port, 65535);
	wire_dec_init(&d, msg, case_hex("00010000", msg, 4));
	cr_assert_eq(wire_rpcbind_port_decode(&d, &port), -EBADMSG);
	cr_assert_eq(port, 0);
	wire_dec_init(&d, msg, 3);
	cr_assert_eq(wire_rpcbind_port_decode(&d, &port), -EBADMSG);
}

Test(wire_rpcbind, an_answer_is_yes_or_no)
{
	uint8_t msg[4];
	struct wire_dec d;
	bool ok = false;

	wire_dec_init(&d, msg, case_hex("00000001", msg, 4));
	cr_assert_eq(wire_rpcbind_bool_decode(&d, &ok), 0);
	cr_assert(ok);
	wire_dec_init(&d, msg, case_hex("00000002", msg, 4));
	cr_assert_eq(wire_rpcbind_bool_decode(&d, &ok), -EBADMSG);
}

Test(wire_rpcbind, an_address_that_does_not_fit_or_holds_a_nul_is_refused)
{
	char uaddr[WIRE_RPCBIND_UADDR_MAX + 1];
	uint8_t msg[128] = {0, 0, 0, 64};
	struct wire_dec d;

	memset(msg + 4, '1', 64);
	wire_dec_init(&d, msg, sizeof(msg));
	cr_assert_eq(wire_rpcbind_uaddr_decode(&d, uaddr), -EBADMSG);
	cr_assert_str_empty(uaddr);
	msg[3] = 63;
	wire_dec_init(&d, msg, sizeof(msg));
	cr_assert_eq(wire_rpcbind_uaddr_decode(&d, uaddr), 0);
	cr_assert_eq(strlen(uaddr), 63);
	msg[10] = 0;
	wire_dec_init(&d, msg, sizeof(msg));
	cr_assert_eq(wire_rpcbind_uaddr_decode(&d, uaddr), -EBADMSG);
	msg[3] = 0;
	wire_dec_init(&d, msg, sizeof(msg));
	cr_assert_eq(wire_rpcbind_uaddr_decode(&d, uaddr), 0, "empty: not registered");
	cr_assert_str_empty(uaddr);
}

static const struct address {
	char text[48];
	int err;
	uint16_t port;
} addresses[] = {
	{"10.0.0.1.78.53", 0, 20021},  {"::1.8.1", 0, 2049},	{"0.0.0.0.0.111", 0, 111},
	{"1.2.3.4.255.255", 0, 65535}, {"", -EINVAL, 0},	{"10", -EINVAL, 0},
	{"8.1", -EINVAL, 0},	       {".8.1", -EINVAL, 0},	{"h.8.", -EINVAL, 0},
	{"h.256.1", -EINVAL, 0},       {"h.8.0x1", -EINVAL, 0}, {"h.-1.1", -EINVAL, 0},
	{"h.8.0001", -EINVAL, 0},
};

Test(wire_rpcbind, a_port_is_the_last_two_bytes_of_a_universal_address)
{
	for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
		const struct address *a = &addresses[i];
		uint16_t port = 0;

		cr_assert_eq(wire_rpcbind_uaddr_port(a->text, &port), a->err, "'%s'", a->text);
		cr_assert_eq(port, a->port, "'%s'", a->text);
	}
}

Test(wire_rpcbind, an_address_formats_to_what_parses)
{
	char uaddr[WIRE_RPCBIND_UADDR_MAX + 1];
	uint16_t port;

	cr_assert(wire_rpcbind_uaddr_format("fe80::1", 20049, uaddr));
	cr_assert_str_eq(uaddr, "fe80::1.78.81");
	cr_assert_eq(wire_rpcbind_uaddr_port(uaddr, &port), 0);
	cr_assert_eq(port, 20049);
	cr_assert_not(wire_rpcbind_uaddr_format(
		"0123456789012345678901234567890123456789012345678901234567890123", 1, uaddr));
}
