/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Only this user writes to the directory. The random key of the hash is stored there, too.
 */
#include "symbol/symbol_cache.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/err.h"
#include "roles/memfd.h"
#include "symbol/cache_dir.h"
#include "symbol/table_cache.h"

#define KEY_NAME "key"

static const uint64_t DEFAULT_BYTES = 256 << 20;

struct symbol_cache {
	struct cache_dir *dir;
	struct siphash_key key;
};

static int read_key(struct symbol_cache *c)
{
	_cleanup_(closep) int fd = cache_dir_get(c->dir, KEY_NAME);

	if (fd < 0)
		return fd;
	return pread(fd, &c->key, sizeof(c->key), 0) == sizeof(c->key) ? 0 : -EBADMSG;
}

static int make_key(struct symbol_cache *c)
{
	_cleanup_(closep) int fd = cache_dir_create_unnamed(c->dir);

	if (fd < 0)
		return fd;
	if (getrandom(&c->key, sizeof(c->key), 0) != sizeof(c->key) ||
	    write(fd, &c->key, sizeof(c->key)) != sizeof(c->key))
		return -EIO;
	return cache_dir_publish(c->dir, fd, KEY_NAME);
}

/* If another process creates the key at the same time, its key is used. */
static int open_key(struct symbol_cache *c)
{
	int r = read_key(c);

	if (r == -EBADMSG)
		cache_dir_remove(c->dir, KEY_NAME);
	if (r == -EBADMSG || r == -ENOENT)
		r = make_key(c);
	return r == -EEXIST ? read_key(c) : r;
}

int symbol_cache_open(struct symbol_cache **out, const char *dir, uint64_t max_bytes,
		      struct err *err)
{
	_cleanup_(symbol_cache_freep) struct symbol_cache *c = calloc(1, sizeof(*c));
	const struct cache_dir_opts opts = { dir, TABLE_CACHE_SUFFIX,
					     max_bytes ? max_bytes : DEFAULT_BYTES };
	int r;

	if (!c)
		return -ENOMEM;
	r = cache_dir_open(&c->dir, &opts, err);
	if (r < 0)
		return r;
	r = open_key(c);
	if (r < 0)
		return err_set(err, r, "cannot open symbol cache \"%.100s\": %s", dir,
			       strerror(-r));
	*out = steal_ptr(&c);
	return 0;
}

void symbol_cache_free(struct symbol_cache *c)
{
	if (!c)
		return;
	cache_dir_free(c->dir);
	free(c);
}

int symbol_cache_check(const char *dir, struct err *err)
{
	_cleanup_(symbol_cache_freep) struct symbol_cache *c = NULL;

	return symbol_cache_open(&c, dir, 0, err);
}

const struct siphash_key *symbol_cache_key(const struct symbol_cache *c)
{
	return &c->key;
}

/* True for a name as table_cache.c makes them: nothing else in the directory can be reached. */
static bool is_table(const char *name)
{
	size_t n = strspn(name, "0123456789abcdef");

	return n == 2 * sizeof(struct siphash_value) && !strcmp(name + n, TABLE_CACHE_SUFFIX);
}

int symbol_cache_get(struct symbol_cache *c, const char *name)
{
	return is_table(name) ? cache_dir_get(c->dir, name) : -EINVAL;
}

static int write_all(int fd, const void *data, size_t len)
{
	const uint8_t *p = data;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n <= 0)
			return -EIO;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int symbol_cache_put(struct symbol_cache *c, const char *name, int fd)
{
	_cleanup_(closep) int out = -1;
	struct role_memfd m;
	int r = is_table(name) ? role_memfd_map(&m, fd, TABLE_CACHE_FILE_MAX) : -EINVAL;

	if (r < 0)
		return r;
	out = cache_dir_create_unnamed(c->dir);
	r = out < 0 ? out : write_all(out, m.data, m.len);
	role_memfd_unmap(&m);
	if (r < 0)
		return r;
	cache_dir_remove(c->dir, name);
	return cache_dir_publish(c->dir, out, name);
}
