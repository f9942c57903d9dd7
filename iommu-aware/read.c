/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * read.c - small text files below a root, read without trust.
 *
 * sysfs and procfs are friendly, but the root is a parameter: people hand in trees saved on other
 * machines, and tests hand in broken ones.  So each read is bounded by the caller's buffer, a file
 * that is no regular file (a FIFO would block, a device might do worse) is as good as missing, and
 * control characters become '?', because what is read here ends up in one-line reports.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "iommu-aware/internal.h"

static bool iommu_path(char *path, const char *root, const char *fmt, va_list ap)
{
	int head = snprintf(path, IOMMU_PATH_MAX, "%s", root ? root : "");
	int tail;

	if (head < 0 || head >= IOMMU_PATH_MAX)
		return false;
	tail = vsnprintf(path + head, IOMMU_PATH_MAX - (size_t)head, fmt, ap);
	return tail >= 0 && tail < IOMMU_PATH_MAX - head;
}

static int iommu_open_regular(const char *path)
{
	struct stat st;
	int fd;

	/* Asked before it is opened, for opening alone does something to some devices; and after it,
	 * for it may have become another. */
	if (stat(path, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return -EINVAL;
	}
	return fd;
}

/* Fill buf with at most len - 1 bytes, -errno; always terminates. */
static ssize_t iommu_read_text(char *buf, size_t len, const char *root, const char *fmt, va_list ap)
{
	char path[IOMMU_PATH_MAX];
	size_t have = 0;
	int fd;

	buf[0] = '\0';
	if (!iommu_path(path, root, fmt, ap))
		return -ENAMETOOLONG;
	fd = iommu_open_regular(path);
	if (fd < 0)
		return fd;
	while (have < len - 1) {
		ssize_t n = read(fd, buf + have, len - 1 - have);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		have += (size_t)n;
	}
	close(fd);
	buf[have] = '\0';
	return (ssize_t)have;
}

/* Returns bytes read (a longer file is cut), or -errno; buf is terminated in any case. */
ssize_t iommu_read_bytes(char *buf, size_t len, const char *root, const char *fmt, ...)
{
	va_list ap;
	ssize_t n;

	va_start(ap, fmt);
	n = iommu_read_text(buf, len, root, fmt, ap);
	va_end(ap);
	return n;
}

/* The first line, printable, without blanks at its end. */
static void iommu_line_clean(char *buf)
{
	size_t len = strcspn(buf, "\n");

	while (len > 0 && isspace((unsigned char)buf[len - 1]))
		len--;
	buf[len] = '\0';
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)buf[i] < 0x20 || (unsigned char)buf[i] > 0x7e)
			buf[i] = '?';
}

bool iommu_read_line(char *buf, size_t len, const char *root, const char *fmt, ...)
{
	va_list ap;
	ssize_t n;

	va_start(ap, fmt);
	n = iommu_read_text(buf, len, root, fmt, ap);
	va_end(ap);
	if (n < 0)
		return false;
	iommu_line_clean(buf);
	return buf[0] != '\0';
}

bool iommu_read_u64(uint64_t *valuep, const char *root, const char *fmt, ...)
{
	char text[32];
	va_list ap;
	ssize_t n;

	*valuep = 0;
	va_start(ap, fmt);
	n = iommu_read_text(text, sizeof(text), root, fmt, ap);
	va_end(ap);
	if (n < 0)
		return false;
	iommu_line_clean(text);
	return util_u64_parse(text, UINT64_MAX, valuep) == 0;
}

bool iommu_read_link_name(char *buf, size_t len, const char *root, const char *fmt, ...)
{
	char path[IOMMU_PATH_MAX], target[IOMMU_PATH_MAX];
	const char *name;
	va_list ap;
	ssize_t n;
	bool fits;

	buf[0] = '\0';
	va_start(ap, fmt);
	fits = iommu_path(path, root, fmt, ap);
	va_end(ap);
	if (!fits)
		return false;
	n = readlink(path, target, sizeof(target) - 1);
	if (n <= 0)
		return false;
	target[n] = '\0';
	name = strrchr(target, '/') ? strrchr(target, '/') + 1 : target;
	if (!iommu_name_valid(name) || strlen(name) >= len)
		return false;
	memcpy(buf, name, strlen(name) + 1);
	iommu_line_clean(buf);
	return true;
}

bool iommu_read_real_name(char *buf, size_t len, const char *root, const char *fmt, ...)
{
	char path[IOMMU_PATH_MAX], *real;
	const char *name;
	va_list ap;
	bool fits;

	buf[0] = '\0';
	va_start(ap, fmt);
	fits = iommu_path(path, root, fmt, ap);
	va_end(ap);
	real = fits ? realpath(path, NULL) : NULL;
	if (!real)
		return false;
	name = strrchr(real, '/') + 1;
	fits = strlen(name) < len;
	if (fits)
		memcpy(buf, name, strlen(name) + 1);
	free(real);
	iommu_line_clean(buf);
	return fits;
}

bool iommu_read_dir(void (*fn)(void *arg, const char *name), void *arg, const char *root,
		    const char *fmt, ...)
{
	char path[IOMMU_PATH_MAX];
	struct dirent *ent;
	unsigned left = IOMMU_DIR_MAX;
	va_list ap;
	bool fits;
	DIR *dir;

	va_start(ap, fmt);
	fits = iommu_path(path, root, fmt, ap);
	va_end(ap);
	if (!fits)
		return false;
	dir = opendir(path);
	if (!dir)
		return false;
	while (left-- > 0 && (ent = readdir(dir)))
		if (ent->d_name[0] != '.')
			fn(arg, ent->d_name);
	closedir(dir);
	return true;
}

/* Digits only: no sign, no overflow; what follows the digits is the caller's business. */
static bool iommu_digits(const char *p, unsigned base, uint64_t *valuep)
{
	uint64_t value = 0;
	bool any = false;

	for (; isxdigit((unsigned char)*p); p++) {
		unsigned digit = isdigit((unsigned char)*p)
					 ? (unsigned)(*p - '0')
					 : (unsigned)(tolower((unsigned char)*p) - 'a' + 10);

		if (digit >= base)
			break;
		if (value > (UINT64_MAX - digit) / base)
			return false;
		value = value * base + digit;
		any = true;
	}
	if (any)
		*valuep = value;
	return any;
}

bool iommu_text_number(const char *text, const char *key, unsigned base, uint64_t *valuep)
{
	size_t key_len = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		if (*line == '\n')
			line++;
		if (strncmp(line, key, key_len))
			continue;
		return iommu_digits(line + key_len + strspn(line + key_len, " \t"), base, valuep);
	}
	return false;
}

bool iommu_name_valid(const char *name)
{
	return name[0] != '\0' && !strchr(name, '/') && strcmp(name, ".") && strcmp(name, "..");
}
