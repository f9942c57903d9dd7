/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pieces.h - the parts most messages are made of (RFC 1813 section 2.6), as hexadecimal text.
 */
#ifndef TESTS_WIRE_PIECES_H
#define TESTS_WIRE_PIECES_H

#define YES "00000001 "
#define NO "00000000 "
#define OK3 "00000000 "

/* handles of 4 and of 5 bytes */
#define FH "00000004 a1b2c3d4 "
#define FH5 "00000005 01020304 05000000 "
/* names "a" and "hello" */
#define NAME_A "00000001 61000000 "
#define NAME_HELLO "00000005 68656c6c 6f000000 "

/* fattr3: a regular file, 0644, 1 link, uid 1000, gid 100 */
#define ATTR                                                                                       \
	"00000001 000001a4 00000001 000003e8 00000064 "                                            \
	"00000001 00000002 " /* size 4 GiB + 2 */                                                  \
	"00000000 00001000 " /* used 4096 */                                                       \
	"00000008 00000001 " /* rdev 8:1 */                                                        \
	"11223344 55667788 " /* fsid */                                                            \
	"00000000 0000002a " /* fileid 42 */                                                       \
	"5f000001 00000001 5f000002 00000002 5f000003 1dcd6500 "
#define POST_ATTR YES ATTR
/* size 1024, mtime, ctime */
#define PRE_ATTR YES "00000000 00000400 5f000010 00000000 5f000011 00000007 "
#define WCC PRE_ATTR POST_ATTR
#define WCC_NONE NO NO
/* mode 0777, uid 1000, gid left, size 8192, atime the client's, mtime the server's */
#define SATTR                                                                                      \
	YES "000001ff " YES "000003e8 " NO YES "00000000 00002000 "                                \
	    "00000002 5f000020 00000001 00000001 "
#define SATTR_NONE NO NO NO NO "00000000 00000000 "
#define VERF "01234567 89abcdef "

#endif
