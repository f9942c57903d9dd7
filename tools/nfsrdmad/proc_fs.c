/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * proc_fs.c - FSSTAT, FSINFO, PATHCONF (RFC 1813 sections 3.3.18 to 3.3.20).
 */
#include "tools/nfsrdmad/server.h"

#include <errno.h>
#include <limits.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "tools/nfsrdmad/proc_fs.h"
#include "wire/nfs3_xdr.h"

/* Resolve the only argument; false: answered. */
static bool fs_begin(struct server_op *op)
{
	struct wire_fh fh;

	wire_get_fh(&op->req->args, &fh);
	return server_target(op, &fh);
}

void server_fsinfo_put(const struct server *srv, struct wire_enc *e)
{
	wire_put_u32(e, (uint32_t)srv->max_data); /* rtmax, rtpref, rtmult */
	wire_put_u32(e, (uint32_t)srv->max_data);
	wire_put_u32(e, 4096);
	wire_put_u32(e, (uint32_t)srv->max_data); /* wtmax, wtpref, wtmult */
	wire_put_u32(e, (uint32_t)srv->max_data);
	wire_put_u32(e, 4096);
	wire_put_u32(e, SERVER_DIR_DATA); /* dtpref */
	wire_put_u64(e, INT64_MAX);	  /* maxfilesize */
	wire_put_u32(e, 0);		  /* time_delta: 1 ns */
	wire_put_u32(e, 1);
	wire_put_u32(e, FSF3_LINK | FSF3_SYMLINK | FSF3_HOMOGENEOUS | FSF3_CANSETTIME);
}

void server_fsstat_put(const struct server_fsstat *fs, struct wire_enc *e)
{
	wire_put_u64(e, fs->total_bytes);
	wire_put_u64(e, fs->free_bytes);
	wire_put_u64(e, fs->avail_bytes);
	wire_put_u64(e, fs->total_files);
	wire_put_u64(e, fs->free_files);
	wire_put_u64(e, fs->avail_files);
	wire_put_u32(e, 0); /* invarsec: may change at any time */
}

void server_pathconf_put(uint32_t link_max, uint32_t name_max, struct wire_enc *e)
{
	wire_put_u32(e, link_max);
	wire_put_u32(e, name_max);
	wire_put_bool(e, true);	 /* no_trunc */
	wire_put_bool(e, true);	 /* chown_restricted */
	wire_put_bool(e, false); /* case_insensitive */
	wire_put_bool(e, true);	 /* case_preserving */
}

static void put_attributes(struct server_op *op)
{
	struct wire_post_attr post;

	server_post(op->obj->exp, &op->st, &post);
	wire_put_post_attr(&op->req->results, &post);
}

void server_proc_fsinfo(struct server_op *op)
{
	if (!fs_begin(op) || !server_begin(op, 160))
		return;
	put_attributes(op);
	server_fsinfo_put(op->srv, &op->req->results);
	server_reply(op);
}

void server_proc_fsstat(struct server_op *op)
{
	struct server_fsstat fs;
	struct statvfs sv;

	if (!fs_begin(op))
		return;
	if (fstatvfs(op->obj->path_fd, &sv)) {
		server_fail(op, -errno);
		return;
	}
	fs = (struct server_fsstat){
		.total_bytes = (uint64_t)sv.f_blocks * sv.f_frsize,
		.free_bytes = (uint64_t)sv.f_bfree * sv.f_frsize,
		.avail_bytes = (uint64_t)sv.f_bavail * sv.f_frsize,
		.total_files = sv.f_files,
		.free_files = sv.f_ffree,
		.avail_files = sv.f_favail,
	};
	if (!server_begin(op, 160))
		return;
	put_attributes(op);
	server_fsstat_put(&fs, &op->req->results);
	server_reply(op);
}

void server_proc_pathconf(struct server_op *op)
{
	struct statvfs sv;
	long link_max;
	uint32_t name_max = NAME_MAX;

	if (!fs_begin(op))
		return;
	link_max = fpathconf(op->obj->path_fd, _PC_LINK_MAX);
	if (!fstatvfs(op->obj->path_fd, &sv) && sv.f_namemax < NAME_MAX)
		name_max = (uint32_t)sv.f_namemax;
	if (!server_begin(op, 160))
		return;
	put_attributes(op);
	server_pathconf_put(link_max > 0 && link_max < INT32_MAX ? (uint32_t)link_max : 32000,
			    name_max, &op->req->results);
	server_reply(op);
}
