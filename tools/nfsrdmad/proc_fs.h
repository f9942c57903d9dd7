/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * proc_fs.h - results of FSSTAT, FSINFO and PATHCONF, which the null export answers as well.
 */
#ifndef NFSRDMAD_PROC_FS_H
#define NFSRDMAD_PROC_FS_H

#include <stdint.h>

struct server;
struct wire_enc;

struct server_fsstat {
	uint64_t total_bytes, free_bytes, avail_bytes, total_files, free_files, avail_files;
};

/* Each what follows the attributes. */
void server_fsstat_put(const struct server_fsstat *fs, struct wire_enc *e);
void server_fsinfo_put(const struct server *srv, struct wire_enc *e);
void server_pathconf_put(uint32_t link_max, uint32_t name_max, struct wire_enc *e);

#endif
