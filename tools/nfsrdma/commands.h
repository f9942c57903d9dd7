/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * commands.h - the commands there are; each lives in cmd_NAME.c.
 */
#ifndef TOOLS_NFSRDMA_COMMANDS_H
#define TOOLS_NFSRDMA_COMMANDS_H

#include "cli.h"

extern const struct cli_command cmd_cat, cmd_chmod, cmd_chown, cmd_cp, cmd_df, cmd_doctor,
	cmd_exports, cmd_ln, cmd_ls, cmd_mkdir, cmd_mv, cmd_readlink, cmd_rm, cmd_rmdir, cmd_stat,
	cmd_touch, cmd_truncate, cmd_write;

#endif
