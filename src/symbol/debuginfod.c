/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For each server, the parent opens an unnamed file in the cache directory and
 * starts a child that downloads into it with libcurl. The file gets its name
 * in the cache once the parent has verified that it is an ELF file with the
 * right build id.
 *
 * Each download has its own child, so a compromise of the HTTP or TLS code
 * ends with that child and affects no other file.
 */
#include "symbol/debuginfod.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/vec.h"
#include "roles/sandbox.h"
#include "symbol/cache_dir.h"
#include "symbol/debugfile.h"

extern char **environ;

#define CHILD_ARGV0 "cameo-debuginfod"

enum {
	CHILD_FD = 3,
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

/* Opens the cached file. One with a wrong build id is removed. */
static int open_cached(const struct debuginfod *d, const struct elf_build_id *id)
{
	char name[2 * ELF_BUILD_ID_MAX + 8];
	int fd;

	if (!d->cache)
		return -ENOENT;
	cache_name(id, name, sizeof(name));
	fd = cache_dir_get(d->cache, name);
	if (fd < 0 || debugfile_check(fd, id))
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

/* The child is this program again; debuginfod_child_main() recognizes it by argv[0]. */
static int spawn_child(const struct debuginfod *d, const char *url, int fd, pid_t *out)
{
	char arg0[] = CHILD_ARGV0, url_text[URL_CAP], size[24], ms[16];
	char *argv[] = { arg0, url_text, size, ms, NULL };
	posix_spawn_file_actions_t actions;
	int r;

	snprintf(url_text, sizeof(url_text), "%s", url);
	snprintf(size, sizeof(size), "%llu", (unsigned long long)d->opts.file_bytes);
	snprintf(ms, sizeof(ms), "%u", d->opts.timeout_ms);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fd, CHILD_FD);
	r = posix_spawn(out, "/proc/self/exe", &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return -r;
}

/* Waits for @pid and kills it after the timeout. Returns its wait status or -ETIMEDOUT. */
static int wait_child(const struct debuginfod *d, pid_t pid)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0), status = 0;
	struct pollfd p = { .fd = pidfd, .events = POLLIN };
	bool late = pidfd >= 0 && poll(&p, 1, (int)d->opts.timeout_ms) == 0;

	if (late)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pidfd >= 0)
		close(pidfd);
	return late ? -ETIMEDOUT : status;
}

/* Downloads from one server. Returns a new descriptor, -ENOENT, -ETIMEDOUT or -errno. */
static int fetch(struct debuginfod *d, const char *server, size_t server_len,
		 const struct elf_build_id *id)
{
	char hex[2 * ELF_BUILD_ID_MAX + 1], url[URL_CAP];
	_cleanup_(closep) int fd = open_unnamed(d);
	pid_t pid;
	int r;

	if (fd < 0)
		return fd;
	while (server_len && server[server_len - 1] == '/')
		server_len--;
	elf_build_id_hex(id, hex);
	if (snprintf(url, sizeof(url), "%.*s/buildid/%s/debuginfo", (int)server_len, server, hex) >=
	    URL_CAP)
		return -ENOENT;
	r = spawn_child(d, url, fd, &pid);
	if (r < 0)
		return r;
	r = wait_child(d, pid);
	if (r == 0)
		r = debugfile_check(fd, id) ? 0 : -ENOENT;
	if (r < 0)
		return r;
	if (r)
		return WIFEXITED(r) && WEXITSTATUS(r) == 2 ? -ETIMEDOUT : -ENOENT;
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

struct sink {
	uint64_t left;
};

/* libcurl aborts the transfer if fewer bytes are returned than it passed. */
static size_t write_piece(char *data, size_t size, size_t n, void *ctx)
{
	struct sink *s = ctx;
	size_t len = size * n, done = 0;

	if (len > s->left)
		return 0;
	while (done < len) {
		ssize_t w = write(CHILD_FD, data + done, len - done);

		if (w <= 0)
			return 0;
		done += (size_t)w;
	}
	s->left -= len;
	return len;
}

/*
 * The exit status, which fetch() interprets, is 0 after a download, 2 after a timeout and 1
 * otherwise.
 */
void debuginfod_child_main(int argc, char **argv)
{
	struct sink sink;
	CURL *curl;
	CURLcode r;

	if (argc != 4 || strcmp(argv[0], CHILD_ARGV0))
		return;
	sink.left = strtoull(argv[2], NULL, 10);
	sandbox_drop_privileges(CHILD_FD);
	curl = curl_easy_init();
	if (!curl)
		_exit(1);
	curl_easy_setopt(curl, CURLOPT_URL, argv[1]);
	curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
	curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
	curl_easy_setopt(curl, CURLOPT_MAXREDIRS, 3L);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, strtol(argv[3], NULL, 10));
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, write_piece);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, &sink);
	r = curl_easy_perform(curl);
	_exit(r == CURLE_OK ? 0 : r == CURLE_OPERATION_TIMEDOUT ? 2 : 1);
}
