/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two indexes find a file that is in the set: one by inode, which needs no read, and one by build
 * id, whose candidates are compared by content.
 */
#include "symbol/file_set.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "elf/note.h"
#include "symbol/file.h"
#include "symbol/same_file.h"
#include "symbol/symbolizer_file.h"

static void file_free(struct file_set_entry *f)
{
	if (!f)
		return;
	symbol_file_free(f->own);
	free(f->path);
	if (f->root_fd >= 0)
		close(f->root_fd);
	if (f->debug_fd >= 0)
		close(f->debug_fd);
	free(f);
}

void file_set_fini(struct file_set *set)
{
	for (size_t i = 0; i < set->files.len; i++)
		file_free(set->files.data[i]);
	vec_fini(&set->files);
	vec_fini(&set->free_ids);
	index_fini(&set->by_inode);
	index_fini(&set->by_build_id);
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
	return hash_u64(f->ino * 0x9e3779b97f4a7c15ULL + f->dev);
}

struct content_key {
	const struct file_set *set;
	const struct file_set_entry *f;
};

/* Compares the content as well, since any file can claim any build id. */
static bool content_eq(const void *ctx, uint32_t id)
{
	const struct content_key *k = ctx;
	const struct symbol_file *own = k->set->files.data[id]->own;
	const struct elf_build_id *a = symbol_file_build_id(own);
	const struct elf_build_id *b = symbol_file_build_id(k->f->own);

	return a->len == b->len && !memcmp(a->bytes, b->bytes, a->len) &&
	       same_file(symbol_file_fd(own), symbol_file_fd(k->f->own));
}

static uint32_t build_id_hash(const struct elf_build_id *id)
{
	return hash_bytes(id->bytes, id->len);
}

static int file_new(struct file_set_entry **out, const struct symbolizer_file *in,
		    struct symbol_cache *cache, const struct stat *st)
{
	struct file_set_entry *f = calloc(1, sizeof(*f));
	int fd, r = -ENOMEM;

	if (!f)
		return -ENOMEM;
	f->root_fd = in->root_fd < 0 ? -1 : fcntl(in->root_fd, F_DUPFD_CLOEXEC, 0);
	f->debug_fd = in->debug_fd < 0 ? -1 : fcntl(in->debug_fd, F_DUPFD_CLOEXEC, 0);
	f->debug_searched = f->debug_fd >= 0;
	f->dev = st->st_dev;
	f->ino = st->st_ino;
	f->size = st->st_size;
	f->mtime = st->st_mtim;
	f->path = strdup(in->path ? in->path : "");
	fd = fcntl(in->fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		r = -errno;
	else
		r = symbol_file_new(&f->own, fd, cache);
	if (r == 0 && !f->path)
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
	const struct elf_build_id *id = symbol_file_build_id(f->own);
	int r = new_id(set, out_id);

	if (r < 0) {
		file_free(f);
		return r;
	}
	set->files.data[*out_id] = f;
	f->n_users = 1;
	f->worker.key = ++set->n_added; /* never reused */
	set->n_live++;
	r = index_add(&set->by_inode, inode_hash(f), *out_id);
	return r == 0 && id->len ? index_add(&set->by_build_id, build_id_hash(id), *out_id) : r;
}

void file_set_release(struct file_set *set, uint32_t id)
{
	struct file_set_entry *f = set->files.data[id];
	const struct elf_build_id *build_id = symbol_file_build_id(f->own);

	if (--f->n_users)
		return;
	index_remove(&set->by_inode, inode_hash(f), id);
	index_remove(&set->by_build_id, build_id_hash(build_id), id);
	file_free(f);
	set->files.data[id] = NULL;
	set->free_ids.data[set->free_ids.len++] = id;
	set->n_live--;
}

int file_set_add(struct file_set *set, const struct symbolizer_file *in, struct symbol_cache *cache,
		 uint32_t *out_id)
{
	struct content_key content = { .set = set };
	struct stat st;
	const struct inode_key inode = { set, &st };
	struct file_set_entry *f;
	int r;

	if (fstat(in->fd, &st) < 0)
		return -errno;
	r = file_new(&f, in, cache, &st);
	if (r < 0)
		return r;
	content.f = f;
	if (!index_find(&set->by_inode, inode_hash(f), inode_eq, &inode, out_id) &&
	    !(symbol_file_build_id(f->own)->len &&
	      index_find(&set->by_build_id, build_id_hash(symbol_file_build_id(f->own)), content_eq,
			 &content, out_id)))
		return register_file(set, f, out_id);
	file_free(f);
	set->files.data[*out_id]->n_users++;
	return 0;
}

struct file_set_entry *file_set_get(const struct file_set *set, uint32_t id)
{
	return id < set->files.len ? set->files.data[id] : NULL;
}
