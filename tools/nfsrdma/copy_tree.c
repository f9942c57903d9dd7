/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * copy_tree.c - whatever a name stands for: file, link, directory.
 *
 * As cp(1) has it.  Without -r links are followed and directories left out; with -r links are
 * copied as links and special files made anew.  A directory is made with rights that let us fill
 * it, and gets its own when it is full.  An error is told, and the rest goes on.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "copy.h"

/* Deeper than any path a server takes (4096 bytes); keeps a hostile tree from the stack. */
#define DEPTH_MAX 2048

static bool same_side(const struct copy *copy, const struct place *a, const struct place *b)
{
	if (!a->mount || !b->mount)
		return !a->mount && !b->mount;
	return a->mount == b->mount || cli_same_server(copy->cli, a->mount, b->mount);
}

static bool same_object(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static void complain(struct copy *copy, const struct place *place, const char *what)
{
	char name[CLI_NAME_MAX];

	cli_error(copy->cli, "%s: %s", cli_safe(place->shown, name, sizeof(name)), what);
}

static void copy_link(struct copy *copy, const struct place *src, const struct place *dst,
		      const struct stat *src_st, const struct stat *dst_link_st)
{
	const struct timespec times[2] = {src_st->st_atim, src_st->st_mtim};
	char target[PATH_MAX + 1];
	int err = place_readlink(src, target, sizeof(target));

	if (err) {
		place_fail(copy->cli, src, "readlink", err);
		return;
	}
	if (dst_link_st && S_ISDIR(dst_link_st->st_mode)) {
		complain(copy, dst, "is a directory; not replaced by a symbolic link");
		return;
	}
	err = dst_link_st ? place_unlink(dst) : 0;
	if (!err)
		err = place_symlink(target, dst);
	if (err) {
		place_fail(copy->cli, dst, "symlink", err);
		return;
	}
	if (copy->preserve) {
		place_lchown(dst, src_st->st_uid, src_st->st_gid);
		err = place_lutimens(dst, times);
		if (err)
			place_fail(copy->cli, dst, "preserve the times of", err);
	}
}

static void copy_special(struct copy *copy, const struct place *dst, const struct stat *src_st,
			 const struct stat *dst_link_st)
{
	mode_t mode = (src_st->st_mode & S_IFMT) | (src_st->st_mode & 0777 & ~copy->umask_bits);
	int err = dst_link_st ? place_unlink(dst) : 0;

	if (!err)
		err = place_mknod(dst, mode, src_st->st_rdev);
	if (err)
		place_fail(copy->cli, dst, "mknod", err);
	else if (copy->preserve)
		copy_attributes(copy, dst, src_st);
}

static void copy_node(struct copy *copy, const struct place *src, const struct place *dst,
		      unsigned depth);

static int make_directory(struct copy *copy, const struct place *dst, const struct stat *src_st,
			  const struct stat *dst_st, unsigned depth)
{
	mode_t mode = (src_st->st_mode & 0777 & ~copy->umask_bits) | S_IRWXU;
	int err;

	if (dst_st && !S_ISDIR(dst_st->st_mode)) {
		complain(copy, dst, "is there already and no directory");
		return -ENOTDIR;
	}
	err = dst_st ? 0 : place_mkdir(dst, mode);
	if (err) {
		place_fail(copy->cli, dst, "mkdir", err);
		return err;
	}
	if (depth == 0)
		copy->made_top = place_stat(dst, &copy->top_st) == 0;
	return 0;
}

static void copy_children(struct copy *copy, const struct place *src, const struct place *dst,
			  unsigned depth)
{
	struct place_names names;
	int err = place_list(src, &names);

	if (err) {
		place_fail(copy->cli, src, "list", err);
		return;
	}
	for (size_t i = 0; i < names.count && !*copy->stop; i++) {
		struct place from, to = {.mount = NULL};

		if (place_child(src, names.names[i], &from)) {
			cli_error(copy->cli, "out of memory");
			break;
		}
		if (place_child(dst, names.names[i], &to))
			cli_error(copy->cli, "out of memory");
		else
			copy_node(copy, &from, &to, depth + 1);
		place_close(&to);
		place_close(&from);
	}
	place_names_free(&names);
}

static void copy_directory(struct copy *copy, const struct place *src, const struct place *dst,
			   const struct stat *src_st, const struct stat *dst_st, unsigned depth)
{
	mode_t mode = src_st->st_mode & 0777 & ~copy->umask_bits;
	int err;

	if (!copy->recursive) {
		complain(copy, src, "is a directory (left out without -r)");
		return;
	}
	if (depth > DEPTH_MAX) {
		complain(copy, src, "too many directories in each other");
		return;
	}
	if (copy->made_top && same_side(copy, src, copy->top) &&
	    same_object(src_st, &copy->top_st)) {
		complain(copy, src, "a directory is not copied into itself");
		return;
	}
	if (make_directory(copy, dst, src_st, dst_st, depth))
		return;
	copy_children(copy, src, dst, depth);
	if (copy->preserve) {
		copy_attributes(copy, dst, src_st);
	} else if (!dst_st && (mode & S_IRWXU) != S_IRWXU) {
		err = place_chmod(dst, mode);
		if (err)
			place_fail(copy->cli, dst, "set the mode of", err);
	}
}

/* What is to be known about the destination: behind a link, and the link itself. */
struct dst_facts {
	struct stat st, link_st;
	const struct stat *there, *link_there; /* NULL: nothing */
};

static int look_at_dst(struct copy *copy, const struct place *dst, struct dst_facts *f)
{
	int err = place_lstat(dst, &f->link_st);

	f->there = f->link_there = NULL;
	if (err == -ENOENT)
		return 0;
	if (err) {
		place_fail(copy->cli, dst, "stat", err);
		return err;
	}
	f->link_there = &f->link_st;
	err = place_stat(dst, &f->st);
	if (!err)
		f->there = &f->st;
	else if (err != -ENOENT && err != -ELOOP)
		place_fail(copy->cli, dst, "stat", err);
	return err == -ENOENT || err == -ELOOP ? 0 : err;
}

static void copy_contents(struct copy *copy, const struct place *src, const struct place *dst,
			  const struct stat *src_st, const struct dst_facts *f)
{
	if (f->there && S_ISDIR(f->there->st_mode)) {
		complain(copy, dst, "is a directory; not replaced by a file");
		return;
	}
	if (f->link_there && !f->there) {
		complain(copy, dst, "is a symbolic link that leads nowhere; not written through");
		return;
	}
	copy_regular(copy, src, src_st, dst, f->there);
}

static void copy_node(struct copy *copy, const struct place *src, const struct place *dst,
		      unsigned depth)
{
	struct dst_facts f;
	struct stat st;
	int err = copy->recursive ? place_lstat(src, &st) : place_stat(src, &st);

	if (err) {
		place_fail(copy->cli, src, "stat", err);
		return;
	}
	if (look_at_dst(copy, dst, &f))
		return;
	if (f.there && same_side(copy, src, dst) && same_object(&st, f.there) &&
	    !S_ISDIR(st.st_mode)) {
		complain(copy, dst, "is the same file as the source");
		return;
	}
	if (S_ISDIR(st.st_mode))
		copy_directory(copy, src, dst, &st, f.there, depth);
	else if (S_ISLNK(st.st_mode))
		copy_link(copy, src, dst, &st, f.link_there);
	else if (S_ISREG(st.st_mode) || !copy->recursive)
		copy_contents(copy, src, dst, &st, &f);
	else
		copy_special(copy, dst, &st, f.link_there);
}

void copy_any(struct copy *copy, const struct place *src, const struct place *dst)
{
	struct place top = *dst;

	copy->made_top = false;
	copy->top = &top;
	copy_node(copy, src, dst, 0);
	copy->top = NULL;
}
