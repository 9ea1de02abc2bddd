/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/file_set.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/regular_file.h"
#include "symbol/symbolizer_file.h"

static void file_free(struct file_set_entry *f)
{
	if (!f)
		return;
	closep(&f->fd);
	closep(&f->root_fd);
	closep(&f->debug_fd);
	free(f->facts);
	free(f->path);
	free(f);
}

void file_set_fini(struct file_set *set)
{
	for (size_t i = 0; i < set->files.len; i++)
		file_free(set->files.data[i]);
	vec_fini(&set->files);
	vec_fini(&set->free_ids);
	index_fini(&set->by_inode);
}

/* A changed size or time of modification makes the same inode another file. */
static bool same_inode(const struct file_set_entry *f, const struct stat *st)
{
	return f->dev == st->st_dev && f->ino == st->st_ino && f->size == st->st_size &&
	       f->mtime.tv_sec == st->st_mtim.tv_sec && f->mtime.tv_nsec == st->st_mtim.tv_nsec;
}

struct inode_key {
	const struct file_set *set;
	const struct stat *st;
};

static bool inode_eq(const void *ctx, uint32_t id)
{
	const struct inode_key *k = ctx;

	return same_inode(k->set->files.data[id], k->st);
}

static uint32_t inode_hash(const struct file_set_entry *f)
{
	return hash_pair(f->ino, f->dev);
}

/* Returns a duplicate of @fd, or -1 if there is none. */
static int duplicate(int fd)
{
	return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

static int file_new(struct file_set_entry **out, const struct symbolizer_file *in,
		    const struct stat *st)
{
	struct file_set_entry *f = calloc(1, sizeof(*f));
	int r = 0;

	if (!f)
		return -ENOMEM;
	f->root_fd = duplicate(in->root_fd);
	f->debug_fd = duplicate(in->debug_fd);
	f->user = in->user;
	f->dev = st->st_dev;
	f->ino = st->st_ino;
	f->size = st->st_size;
	f->mtime = st->st_mtim;
	f->path = strdup(in->path ? in->path : "");
	f->fd = duplicate(in->fd);
	if (f->fd < 0)
		r = -errno;
	else if (!f->path)
		r = -ENOMEM;
	if (r < 0) {
		file_free(f);
		return r;
	}
	*out = f;
	return 0;
}

static int new_id(struct file_set *set, uint32_t *out)
{
	int r;

	if (set->free_ids.len) {
		*out = set->free_ids.data[--set->free_ids.len];
		return 0;
	}
	r = vec_push(&set->files, NULL);
	*out = (uint32_t)set->files.len - 1;
	/* With this reserve, releasing a file cannot fail. */
	return r < 0 ? r : vec_reserve(&set->free_ids, set->files.len);
}

/* Enters a new file and owns it. Returns 0 or -ENOMEM. */
static int register_file(struct file_set *set, struct file_set_entry *f, uint32_t *out_id)
{
	int r = new_id(set, out_id);

	if (r < 0) {
		file_free(f);
		return r;
	}
	set->files.data[*out_id] = f;
	f->n_users = 1;
	f->key = ++set->n_added; /* never reused */
	set->n_live++;
	return index_add(&set->by_inode, inode_hash(f), *out_id);
}

void file_set_release(struct file_set *set, uint32_t id)
{
	struct file_set_entry *f = set->files.data[id];

	if (--f->n_users)
		return;
	index_remove(&set->by_inode, inode_hash(f), id);
	file_free(f);
	set->files.data[id] = NULL;
	set->free_ids.data[set->free_ids.len++] = id;
	set->n_live--;
}

int file_set_add(struct file_set *set, const struct symbolizer_file *in, uint32_t *out_id)
{
	struct stat st;
	const struct inode_key inode = { set, &st };
	struct file_set_entry *f;
	int r;

	r = regular_file_stat(in->fd, &st);
	if (r < 0)
		return r;
	r = file_new(&f, in, &st);
	if (r < 0)
		return r;
	if (!index_find(&set->by_inode, inode_hash(f), inode_eq, &inode, out_id))
		return register_file(set, f, out_id);
	file_free(f);
	set->files.data[*out_id]->n_users++;
	return 0;
}

struct file_set_entry *file_set_get(const struct file_set *set, uint32_t id)
{
	return id < set->files.len ? set->files.data[id] : NULL;
}
