/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cred.c - who the server is told we are (AUTH_SYS, RFC 5531 appendix A).
 *
 * Effective ids and up to 16 groups.  With uid= or gid= the process's own groups are somebody
 * else's and are left out.  The machine name is cut at 64 bytes, which keeps every call inline.
 */
#include <grp.h>
#include <string.h>
#include <unistd.h>

#include "client/internal.h"

static void cred_groups(struct wire_cred *cred)
{
	gid_t groups[1024];
	int n = getgroups(UTIL_ARRAY_SIZE(groups), groups);

	for (int i = 0; i < n && cred->ngroups < WIRE_MAX_GROUPS; i++)
		if (groups[i] != cred->gid)
			cred->groups[cred->ngroups++] = groups[i];
}

void client_cred_init(struct wire_cred *cred, const struct client_options *o)
{
	memset(cred, 0, sizeof(*cred));
	if (gethostname(cred->machine, sizeof(cred->machine)))
		strcpy(cred->machine, "localhost");
	cred->machine[WIRE_MAX_MACHINE] = '\0';
	cred->uid = o->set_uid ? o->uid : geteuid();
	cred->gid = o->set_gid ? o->gid : getegid();
	if (!o->set_uid && !o->set_gid)
		cred_groups(cred);
}
