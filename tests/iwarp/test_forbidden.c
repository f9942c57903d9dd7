/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a seccomp filter forbids io_uring, as containers do: everything works, on plain sockets. */
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/iwarp/pair.h"
#include "transport/iwarp/internal.h"

/* From now on the three io_uring calls fail with code. */
static void forbid_io_uring(int code)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_io_uring_setup, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_io_uring_enter, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_io_uring_register, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)code),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog prog = {.len = UTIL_ARRAY_SIZE(filter), .filter = filter};

	cr_assert_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	cr_assert_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog), 0);
	cr_assert_eq(syscall(__NR_io_uring_setup, 1, NULL), -1);
	cr_assert_eq(errno, code);
}

static void exchange(void)
{
	const struct pair_options opts = {.crc = FABRIC_CRC_ON};
	struct memory data, region, sink, inbox;
	struct fabric_sge sge;
	struct pair pair;

	pair_open(&pair, &opts);
	memory_open(&data, &pair, 0, 100000, 0);
	memory_open(&sink, &pair, 0, 100000, MR_ACCESS_READ_SINK);
	memory_open(&region, &pair, 1, 100000, MR_ACCESS_REMOTE_WRITE | MR_ACCESS_REMOTE_READ);
	memory_open(&inbox, &pair, 1, 4096, 0);
	cr_expect_eq(region.reg.pages_charged, 0);
	cr_expect_eq(region.reg.locked_pages, 25);
	memory_fill(&data, 4);
	pair_recv(&pair, 1, &inbox, 0, 4096, 1);
	sge = memory_sge(&data, 0, 100000);
	cr_assert_eq(
		pair_post(&pair, 0, FABRIC_OP_WRITE, &sge, region.reg.iova, region.reg.rkey, 0, 1),
		0);
	sge = memory_sge(&sink, 0, 100000);
	cr_assert_eq(
		pair_post(&pair, 0, FABRIC_OP_READ, &sge, region.reg.iova, region.reg.rkey, 0, 2),
		0);
	sge = memory_sge(&data, 0, 50);
	cr_assert_eq(pair_post(&pair, 0, FABRIC_OP_SEND, &sge, 0, 0, 0, 3), 0);
	for (uint64_t i = 1; i <= 3; i++) {
		struct fabric_wc wc = pair_next(&pair, 0);

		cr_assert_eq(wc.wr_id, i);
		cr_assert_eq(wc.status, FABRIC_WC_OK);
	}
	cr_assert_eq(pair_next(&pair, 1).byte_len, 50);
	cr_expect(memory_is_filled(&sink, 0, 100000, 4));
	memory_close(&data);
	memory_close(&sink);
	memory_close(&region);
	memory_close(&inbox);
	pair_close(&pair);
}

Test(iwarp_forbidden, not_permitted)
{
	forbid_io_uring(EPERM);
	exchange();
}

Test(iwarp_forbidden, not_there)
{
	forbid_io_uring(ENOSYS);
	exchange();
}
