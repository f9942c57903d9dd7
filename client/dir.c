/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dir.c - READDIRPLUS and READDIR (RFC 1813 sections 3.3.17 and 3.3.16), a page at a time.
 *
 * Normal operation.  A page is the reply, copied into the directory's buffer; entries are parsed
 * out of it one by one, so a million of them cost one page of memory.
 *
 * Servers differ, and directories change under the reader:
 *   - READDIRPLUS unknown (NFS3ERR_NOTSUPP): READDIR from then on, for the whole mount.
 *   - TOOSMALL: ask for twice as much.
 *   - No entries and no end: ask for more once, then it is an error, not a loop.
 *   - A page that breaks off: its whole entries are good, the rest is asked for again.
 *   - Cookies that lead back to where we were: -ELOOP.  (Brent's way of finding a cycle: remember
 *     the cookie of a page, and remember anew after 1, 2, 4, 8... pages.)
 *   - BAD_COOKIE (the directory changed and the verifier with it): begin again with cookie 0 and
 *     pass over what was told already: up to the last name told, or, when that name is gone, as
 * many entries.
 *   - Entries without attributes say so; they are never zeros.
 */
#include <stdlib.h>
#include <string.h>

#include "client/internal.h"

#define PAGE_MAX (1u << 20)
#define PAGE_SLACK 1024 /* head, and servers that count generously */
#define MAX_RESTARTS 3	/* without a new entry between them */

struct nfsrdma_dir {
	struct util_list node; /* mount->dirs */
	struct nfsrdma *mount;
	struct wire_fh fh;
	char *path;
	/* where we are */
	uint64_t cookie; /* of the last entry parsed */
	uint8_t verf[8];
	bool end;
	uint64_t told;		      /* entries handed out */
	char name[WIRE_NAME_MAX + 1]; /* of the last one */
	/* the page */
	uint8_t *page;
	size_t page_room;
	uint32_t page_count; /* what we ask for */
	struct wire_dec dec;
	bool have_page, plus;
	unsigned page_entries, empty_pages;
	/* loops */
	uint64_t mark, pages, next_mark;
	/* after BAD_COOKIE */
	unsigned restarts;
	bool skip_to_name;
	uint64_t skip;
};

static int dir_room(struct nfsrdma_dir *dir, uint32_t count)
{
	uint8_t *page;

	if (count > PAGE_MAX)
		count = PAGE_MAX;
	if (dir->page_room >= count + PAGE_SLACK) {
		dir->page_count = count;
		return 0;
	}
	page = realloc(dir->page, count + PAGE_SLACK);
	if (!page)
		return client_error(dir->mount, -ENOMEM, "out of memory");
	dir->page = page;
	dir->page_room = count + PAGE_SLACK;
	dir->page_count = count;
	return 0;
}

static void dir_begin(struct nfsrdma_dir *dir)
{
	dir->cookie = 0;
	memset(dir->verf, 0, sizeof(dir->verf));
	dir->end = dir->have_page = false;
	dir->mark = UINT64_MAX;
	dir->pages = 0;
	dir->next_mark = 1;
	dir->empty_pages = 0;
}

static void dir_free(struct nfsrdma_dir *dir)
{
	util_list_del(&dir->node);
	free(dir->page);
	free(dir->path);
	free(dir);
}

int nfsrdma_opendir(struct nfsrdma *mount, struct nfsrdma_dir **dirp, const char *path)
{
	struct client_walk walk;
	struct nfsrdma_dir *dir;
	int err = client_enter(mount, "open directory", path);

	if (err)
		return err;
	err = client_walk(mount, path, CLIENT_WALK_FOLLOW, &walk);
	if (!err)
		err = client_node_attr(mount, &walk.node);
	if (!err && walk.node.attr.attr.type != CLIENT_DIR)
		err = client_error(mount, -ENOTDIR, "%s", strerror(ENOTDIR));
	if (err)
		return client_fail_mount(mount, err, "open directory", path);
	dir = calloc(1, sizeof(*dir));
	if (!dir)
		return client_fail(-ENOMEM, "open directory", path, NULL, 0);
	dir->mount = mount;
	dir->fh = walk.node.fh;
	dir->path = strdup(path);
	util_list_add(&mount->dirs, &dir->node);
	if (!dir->path || dir_room(dir, mount->dtsize)) {
		dir_free(dir);
		return client_fail(-ENOMEM, "open directory", path, NULL, 0);
	}
	dir_begin(dir);
	*dirp = dir;
	return 0;
}

/* ---- pages -------------------------------------------------------------------------------- */

static int page_call(struct nfsrdma_dir *dir, struct wire_readdir_head *head)
{
	struct wire_readdir_args args = {
		.dir = dir->fh,
		.cookie = dir->cookie,
		.dircount = dir->page_count,
		.maxcount = dir->page_count,
	};
	struct client_proc p;
	int err;

	dir->plus = !dir->mount->opts.no_readdirplus;
	memcpy(args.verf, dir->verf, sizeof(args.verf));
	client_proc_init(&p, dir->mount, dir->plus ? WIRE_NFS3_READDIRPLUS : WIRE_NFS3_READDIR);
	p.results = dir->page;
	p.results_size = p.reply_max = dir->page_count + PAGE_SLACK;
	wire_readdir_args_encode(&p.args, &args, dir->plus);
	err = client_proc_run(&p);
	if (err)
		return err;
	wire_dec_init(&dir->dec, p.results, p.results_len);
	if (wire_readdir_head_decode(&dir->dec, head)) {
		p.res.bad = true;
		return client_proc_check(&p);
	}
	return 0;
}

/* Cookie 0 again; entries told already are passed over. */
static int dir_restart(struct nfsrdma_dir *dir)
{
	if (++dir->restarts > MAX_RESTARTS)
		return client_error(dir->mount, -EIO,
				    "the directory keeps changing: the server refuses every place "
				    "in it (NFS3ERR_BAD_COOKIE)");
	dir_begin(dir);
	/* the name may have gone meanwhile; then the second time counting has to do */
	dir->skip_to_name = dir->told && dir->restarts == 1;
	dir->skip = dir->skip_to_name ? 0 : dir->told;
	return 0;
}

/* What to do about a page that was refused: 0 try again. */
static int page_refused(struct nfsrdma_dir *dir, int err)
{
	if (err == wire_nfs3_errno(10004) && dir->plus) { /* NFS3ERR_NOTSUPP */
		dir->mount->opts.no_readdirplus = true;
		return 0;
	}
	if (dir->mount->nfs_status == 10005 && dir->page_count < PAGE_MAX) /* TOOSMALL */
		return dir_room(dir, dir->page_count * 2);
	if (dir->mount->nfs_status == 10003) /* BAD_COOKIE */
		return dir_restart(dir);
	return err;
}

static int page_loop_check(struct nfsrdma_dir *dir)
{
	if (dir->pages && dir->cookie == dir->mark)
		return client_error(dir->mount, -ELOOP,
				    "the server's directory cookies go round in a circle");
	if (++dir->pages >= dir->next_mark) {
		dir->mark = dir->cookie;
		dir->next_mark *= 2;
	}
	return 0;
}

static int page_get(struct nfsrdma_dir *dir)
{
	struct wire_readdir_head head;
	int err;

	do {
		err = page_call(dir, &head);
		if (!err)
			break;
		err = page_refused(dir, err);
	} while (!err);
	if (err)
		return err;
	memcpy(dir->verf, head.verf, sizeof(dir->verf));
	dir->have_page = true;
	dir->page_entries = 0;
	return page_loop_check(dir);
}

/* The page is used up and was not the last. */
static int page_over(struct nfsrdma_dir *dir)
{
	dir->have_page = false;
	if (dir->page_entries) {
		dir->empty_pages = 0;
		return 0;
	}
	if (++dir->empty_pages > 1)
		return client_error(dir->mount, -EIO,
				    "the server sends neither entries nor the directory's end");
	dir->mark = UINT64_MAX; /* asking again for the same place is no circle */
	return dir_room(dir, dir->page_count * 2);
}

/* ---- entries ------------------------------------------------------------------------------ */

/* The next entry on the wire: 1, 0 at the directory's end, -errno. */
static int entry_next(struct nfsrdma_dir *dir, struct wire_dirent *ent)
{
	for (;;) {
		bool eof = false;
		int got, err;

		if (dir->end)
			return 0;
		if (!dir->have_page) {
			err = page_get(dir);
			if (err)
				return err;
		}
		got = wire_dirent_next(&dir->dec, ent, dir->plus, &eof);
		if (got == 1) {
			dir->page_entries++;
			dir->cookie = ent->cookie;
			return 1;
		}
		if (!got && eof) {
			dir->end = true;
			continue;
		}
		err = page_over(dir);
		if (err)
			return err;
	}
}

/* Was this one told before a restart? */
static bool entry_known(struct nfsrdma_dir *dir, const struct wire_dirent *ent)
{
	if (dir->skip) {
		dir->skip--;
		return true;
	}
	if (!dir->skip_to_name)
		return false;
	if (strlen(dir->name) == ent->name_len && !memcmp(dir->name, ent->name, ent->name_len))
		dir->skip_to_name = false;
	return true;
}

static int entry_check(struct nfsrdma_dir *dir, const struct wire_dirent *ent)
{
	if (ent->name_len && ent->name_len <= WIRE_NAME_MAX &&
	    !memchr(ent->name, '/', ent->name_len) && !memchr(ent->name, '\0', ent->name_len))
		return 0;
	return client_error(dir->mount, -EIO, "the server sends an impossible name");
}

static int dir_next(struct nfsrdma_dir *dir, struct wire_dirent *ent)
{
	int got;

	for (;;) {
		got = entry_next(dir, ent);
		if (!got && dir->skip_to_name) {
			/* the last name told is gone: once more, by counting */
			got = dir_restart(dir);
			if (got)
				return got;
			continue;
		}
		if (got <= 0)
			return got;
		got = entry_check(dir, ent);
		if (got)
			return got;
		if (!entry_known(dir, ent))
			return 1;
	}
}

int nfsrdma_readdir(struct nfsrdma_dir *dir, struct nfsrdma_dirent *ent)
{
	struct nfsrdma *mount = dir->mount;
	struct wire_dirent wire;
	int got = client_enter(mount, "list", dir->path);

	if (got)
		return got;
	got = dir_next(dir, &wire);
	if (got < 0)
		return client_fail_mount(mount, got, "list", dir->path);
	if (!got)
		return 0;
	memcpy(dir->name, wire.name, wire.name_len);
	dir->name[wire.name_len] = '\0';
	dir->told++;
	dir->restarts = 0;
	memset(ent, 0, sizeof(*ent));
	ent->name = dir->name;
	ent->fileid = wire.fileid;
	ent->cookie = wire.cookie;
	ent->has_stat = dir->plus && wire.attr.present;
	if (ent->has_stat) {
		client_attr_stat(&wire.attr.attr, &ent->st);
		ent->st.st_blksize = mount->rsize;
	}
	return 1;
}

void nfsrdma_rewinddir(struct nfsrdma_dir *dir)
{
	dir_begin(dir);
	dir->told = 0;
	dir->restarts = 0;
	dir->skip = 0;
	dir->skip_to_name = false;
}

void nfsrdma_closedir(struct nfsrdma_dir *dir)
{
	if (dir)
		dir_free(dir);
}

void client_dirs_free(struct nfsrdma *mount)
{
	while (!util_list_empty(&mount->dirs))
		dir_free(UTIL_LIST_ENTRY(mount->dirs.next, struct nfsrdma_dir, node));
}
