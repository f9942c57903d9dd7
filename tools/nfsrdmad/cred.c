/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cred.c - on whose behalf a thread touches files.
 *
 * Privileged, the server asks the kernel to do each operation as the caller: file system user,
 * file system group and supplementary groups of this one thread are set by the bare system calls
 * (glibc's setgroups would change all threads).  The kernel drops CAP_DAC_OVERRIDE, CAP_CHOWN,
 * CAP_FOWNER, CAP_FSETID, CAP_MKNOD and their kin from the effective set when the file system user
 * goes from 0 to another, and takes them back on the way home, so every permission check, setgid
 * inheritance, quota and set-user-id stripping is the kernel's own.  What is left besides is given
 * up once at the start.
 *
 * The present identity is remembered: a client that streams costs no switch at all.
 *
 * Unprivileged there is nothing to switch: everything is done as the server's own user.
 */
#include "tools/nfsrdmad/cred.h"

#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BIT(cap) (UINT64_C(1) << (cap))

/* To act as callers. */
#define CAPS_NEEDED                                                                                \
	(BIT(CAP_SETUID) | BIT(CAP_SETGID) | BIT(CAP_CHOWN) | BIT(CAP_DAC_OVERRIDE) |              \
	 BIT(CAP_FOWNER) | BIT(CAP_FSETID))
/* Useful besides: handles, device nodes, pinned memory, rpcbind's privileged ports. */
#define CAPS_KEPT                                                                                  \
	(CAPS_NEEDED | BIT(CAP_DAC_READ_SEARCH) | BIT(CAP_MKNOD) | BIT(CAP_IPC_LOCK) |             \
	 BIT(CAP_NET_BIND_SERVICE))

struct caps {
	uint64_t effective, permitted, inheritable;
};

static int caps_get(struct caps *caps)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &head, data))
		return -errno;
	caps->effective = (uint64_t)data[1].effective << 32 | data[0].effective;
	caps->permitted = (uint64_t)data[1].permitted << 32 | data[0].permitted;
	caps->inheritable = (uint64_t)data[1].inheritable << 32 | data[0].inheritable;
	return 0;
}

static int caps_set(const struct caps *caps)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {
		{(uint32_t)caps->effective, (uint32_t)caps->permitted, (uint32_t)caps->inheritable},
		{(uint32_t)(caps->effective >> 32), (uint32_t)(caps->permitted >> 32),
		 (uint32_t)(caps->inheritable >> 32)},
	};

	return syscall(SYS_capset, &head, data) ? -errno : 0;
}

bool server_cred_privileged(void)
{
	struct caps caps;

	return geteuid() == 0 && !caps_get(&caps) && (caps.effective & CAPS_NEEDED) == CAPS_NEEDED;
}

int server_cred_limit(void)
{
	struct caps caps;
	int err;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	err = caps_get(&caps);
	if (err)
		return err;
	caps.effective &= CAPS_KEPT;
	caps.permitted &= CAPS_KEPT;
	caps.inheritable = 0;
	return caps_set(&caps);
}

static uint32_t squash(uint32_t id)
{
	return id ? id : SERVER_NOBODY;
}

void server_cred_from_call(struct server_cred *cred, const struct wire_rpc_call *call,
			   bool root_squash)
{
	const struct wire_cred *from = &call->cred;

	memset(cred, 0, sizeof(*cred));
	cred->uid = cred->gid = SERVER_NOBODY;
	if (!call->has_cred)
		return;
	cred->uid = from->uid;
	cred->gid = from->gid;
	cred->ngroups = from->ngroups < WIRE_MAX_GROUPS ? from->ngroups : WIRE_MAX_GROUPS;
	memcpy(cred->groups, from->groups, cred->ngroups * sizeof(cred->groups[0]));
	if (!root_squash)
		return;
	cred->uid = squash(cred->uid);
	cred->gid = squash(cred->gid);
	for (uint32_t i = 0; i < cred->ngroups; i++)
		cred->groups[i] = squash(cred->groups[i]);
}

static bool groups_equal(const struct server_cred *a, const struct server_cred *b)
{
	return a->ngroups == b->ngroups &&
	       !memcmp(a->groups, b->groups, a->ngroups * sizeof(a->groups[0]));
}

bool server_cred_equal(const struct server_cred *a, const struct server_cred *b)
{
	return a->uid == b->uid && a->gid == b->gid && groups_equal(a, b);
}

void server_identity_init(struct server_identity *id, bool privileged)
{
	memset(id, 0, sizeof(*id));
	id->switches = privileged;
	id->own = true;
	id->self.uid = geteuid();
	id->self.gid = getegid();
}

/* Linux, 64 bit: these three system calls change the calling thread only. */
static int thread_setgroups(const struct server_cred *cred)
{
	return syscall(SYS_setgroups, (size_t)cred->ngroups, cred->groups) ? -EACCES : 0;
}

/* setfsuid and setfsgid tell no errors: asking with -1 changes nothing and says what is set. */
static int thread_set_ids(const struct server_cred *cred)
{
	if (cred->uid == UINT32_MAX || cred->gid == UINT32_MAX)
		return -EACCES;
	setfsgid(cred->gid);
	if ((uint32_t)setfsgid((gid_t)-1) != cred->gid)
		return -EACCES;
	setfsuid(cred->uid);
	if ((uint32_t)setfsuid((uid_t)-1) != cred->uid)
		return -EACCES;
	return 0;
}

int server_identity_become(struct server_identity *id, const struct server_cred *cred)
{
	const struct server_cred *now = id->own ? &id->self : &id->now;
	int err = 0;

	if (!id->switches || (!id->own && server_cred_equal(&id->now, cred)))
		return 0;
	if (!groups_equal(now, cred))
		err = thread_setgroups(cred);
	if (!err && (now->uid != cred->uid || now->gid != cred->gid))
		err = thread_set_ids(cred);
	id->own = false;
	id->now = *cred;
	if (err)
		server_identity_self(id);
	return err;
}

/*
 * Back to the server's own identity, whose supplementary groups are none: root needs none, and the
 * main thread gives them up before others start.
 */
void server_identity_self(struct server_identity *id)
{
	if (!id->switches || id->own)
		return;
	setfsuid(id->self.uid);
	setfsgid(id->self.gid);
	thread_setgroups(&id->self);
	id->own = true;
}
