/* SPDX-License-Identifier: Apache-2.0 */
#include "tree.h"

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/test.h"

void tree_init(struct tree *t)
{
	snprintf(t->dir, sizeof(t->dir), "/tmp/cameo-target.XXXXXX");
	assert_non_null(mkdtemp(t->dir));
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

void tree_fini(struct tree *t)
{
	assert_int_equal(nftw(t->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static void make_above(char *path)
{
	for (char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = 0;
		(void)mkdir(path, 0755);
		*p = '/';
	}
}

void tree_file(const struct tree *t, const char *path, const void *data, unsigned long len)
{
	char full[PATH_MAX];
	int fd;

	snprintf(full, sizeof(full), "%s/%s", t->dir, path);
	make_above(full);
	fd = open(full, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
	close(fd);
}

void tree_text(const struct tree *t, const char *path, const char *text)
{
	tree_file(t, path, text, strlen(text));
}

void tree_dir(const struct tree *t, const char *path)
{
	char full[PATH_MAX];

	snprintf(full, sizeof(full), "%s/%s/", t->dir, path);
	make_above(full);
}
