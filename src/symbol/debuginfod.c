/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files are downloaded by another process (fetch/fetcher.h) and written here, into an unnamed file
 * of the cache directory. It gets its name in the cache once it was verified to be an ELF file with
 * the right build id.
 */
#include "symbol/debuginfod.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/vec.h"
#include "fetch/fetcher.h"
#include "symbol/cache_dir.h"
#include "symbol/debugfile.h"

enum {
	DEFAULT_TIMEOUT_MS = 10000,
	TIMEOUTS_MAX = 3,         /* consecutive timeouts before requests pause */
	MISS_MS = 10 * 60 * 1000, /* time before a missing file is requested again */
	MISSES_MAX = 64 * 1024,
	URL_CAP = 1024,
};

static const uint64_t DEFAULT_BYTES = 1ULL << 30;

struct miss {
	struct elf_build_id id;
	int64_t until_ms;
};

struct debuginfod {
	struct debuginfod_opts opts;
	char *urls;
	struct cache_dir *cache; /* NULL: downloads are not cached */
	struct {
		VEC(struct miss);
	} misses;
	unsigned int n_timeouts; /* consecutive */
	int64_t paused_until_ms;
};

int debuginfod_new(struct debuginfod **out, const struct debuginfod_opts *opts, struct err *err)
{
	_cleanup_(debuginfod_freep) struct debuginfod *d = calloc(1, sizeof(*d));

	if (!d)
		return -ENOMEM;
	d->opts = *opts;
	if (!d->opts.cache_bytes)
		d->opts.cache_bytes = DEFAULT_BYTES;
	if (!d->opts.file_bytes)
		d->opts.file_bytes = DEFAULT_BYTES;
	if (!d->opts.timeout_ms)
		d->opts.timeout_ms = DEFAULT_TIMEOUT_MS;
	d->urls = strdup(opts->urls);
	if (!d->urls)
		return -ENOMEM;
	if (opts->cache_dir) {
		const struct cache_dir_opts cache = { opts->cache_dir, ".debug",
						      d->opts.cache_bytes };
		int r = cache_dir_open(&d->cache, &cache, err);

		if (r < 0)
			return r;
	}
	*out = steal_ptr(&d);
	return 0;
}

void debuginfod_free(struct debuginfod *d)
{
	if (!d)
		return;
	cache_dir_free(d->cache);
	vec_fini(&d->misses);
	free(d->urls);
	free(d);
}

/* Expired misses are removed by the same pass, so the list needs no other upkeep. */
static bool is_known_miss(struct debuginfod *d, const struct elf_build_id *id)
{
	int64_t now = clock_monotonic_ms();
	bool found = false;

	for (size_t i = 0; i < d->misses.len;) {
		const struct miss *m = &d->misses.data[i];

		if (m->until_ms <= now) {
			d->misses.data[i] = d->misses.data[--d->misses.len];
			continue;
		}
		found |= m->id.len == id->len && !memcmp(m->id.bytes, id->bytes, id->len);
		i++;
	}
	return found;
}

static void remember_miss(struct debuginfod *d, const struct elf_build_id *id)
{
	if (d->misses.len < MISSES_MAX)
		(void)vec_push(&d->misses, (struct miss){ *id, clock_monotonic_ms() + MISS_MS });
}

static void cache_name(const struct elf_build_id *id, char *out, size_t cap)
{
	char hex[2 * ELF_BUILD_ID_MAX + 1];

	elf_build_id_hex(id, hex);
	snprintf(out, cap, "%s.debug", hex);
}

static bool has_build_id(const struct debuginfod *d, int fd, const struct elf_build_id *id)
{
	return d->opts.has_build_id ? d->opts.has_build_id(d->opts.ctx, fd, id)
				    : debugfile_check(fd, id);
}

/* Opens the cached file. One with a wrong build id is removed. */
static int open_cached(const struct debuginfod *d, const struct elf_build_id *id)
{
	char name[2 * ELF_BUILD_ID_MAX + 8];
	int fd;

	if (!d->cache)
		return -ENOENT;
	cache_name(id, name, sizeof(name));
	fd = cache_dir_get(d->cache, name);
	if (fd < 0 || has_build_id(d, fd, id))
		return fd;
	close(fd);
	cache_dir_remove(d->cache, name);
	return -ENOENT;
}

/* Publishes the verified file @fd in the cache. */
static void store(const struct debuginfod *d, int fd, const struct elf_build_id *id)
{
	char name[2 * ELF_BUILD_ID_MAX + 8];

	cache_name(id, name, sizeof(name));
	if (d->cache)
		(void)cache_dir_publish(d->cache, fd, name);
}

/* Without a cache the file has no name, so it vanishes when the last descriptor is closed. */
static int open_unnamed(const struct debuginfod *d)
{
	int fd = d->cache ? cache_dir_create_unnamed(d->cache) : -1;

	if (fd < 0)
		fd = open("/var/tmp", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : fd;
}

static int write_piece(void *ctx, const void *data, size_t len)
{
	const int *fd = ctx;

	for (size_t done = 0; done < len;) {
		ssize_t n = write(*fd, (const char *)data + done, len - done);

		if (n < 0 && errno != EINTR)
			return -errno;
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

/* Writes the response of @url to @fd. Returns 0, -ENOENT, -ETIMEDOUT or -errno. */
static int download(const struct debuginfod *d, const char *url, int fd)
{
	const struct fetch q = {
		.url = url,
		.ca_fd = -1,
		.any_redirect = true,
		.timeout_ms = d->opts.timeout_ms,
		.max_bytes = d->opts.file_bytes,
		.body = write_piece,
		.ctx = &fd,
	};
	int r = fetcher_get(d->opts.fetcher, &q, NULL);

	return r == 200 ? 0 : r == -ETIMEDOUT ? r : -ENOENT;
}

/* Downloads from one server. Returns a new descriptor, -ENOENT, -ETIMEDOUT or -errno. */
static int fetch(struct debuginfod *d, const char *server, size_t server_len,
		 const struct elf_build_id *id)
{
	char hex[2 * ELF_BUILD_ID_MAX + 1], url[URL_CAP];
	_cleanup_(closep) int fd = open_unnamed(d);
	int r;

	if (fd < 0)
		return fd;
	while (server_len && server[server_len - 1] == '/')
		server_len--;
	elf_build_id_hex(id, hex);
	if (snprintf(url, sizeof(url), "%.*s/buildid/%s/debuginfo", (int)server_len, server, hex) >=
	    URL_CAP)
		return -ENOENT;
	r = download(d, url, fd);
	if (r < 0)
		return r;
	if (!has_build_id(d, fd, id))
		return -ENOENT;
	store(d, fd, id);
	return steal_fd(&fd);
}

/* Tries every server in order. A timeout is remembered over a later -ENOENT. */
static int fetch_any(struct debuginfod *d, const struct elf_build_id *id)
{
	const char *s = d->urls;
	int result = -ENOENT;

	for (;;) {
		size_t len;
		int fd;

		s += strspn(s, " ");
		len = strcspn(s, " ");
		if (!len)
			return result;
		fd = fetch(d, s, len, id);
		if (fd >= 0)
			return fd;
		if (fd == -ETIMEDOUT)
			result = fd;
		s += len;
	}
}

/*
 * Several timeouts in a row pause all requests, so that an unreachable server does not delay every
 * file of a recording.
 */
int debuginfod_find(struct debuginfod *d, const struct elf_build_id *id)
{
	int fd;

	if (!id->len || id->len > ELF_BUILD_ID_MAX)
		return -ENOENT;
	fd = open_cached(d, id);
	if (fd >= 0 || clock_monotonic_ms() < d->paused_until_ms || is_known_miss(d, id))
		return fd >= 0 ? fd : -ENOENT;
	fd = fetch_any(d, id);
	if (fd < 0)
		remember_miss(d, id);
	d->n_timeouts = fd == -ETIMEDOUT ? d->n_timeouts + 1 : 0;
	if (d->n_timeouts >= TIMEOUTS_MAX) {
		d->paused_until_ms = clock_monotonic_ms() + MISS_MS;
		d->n_timeouts = 0;
	}
	return fd;
}
