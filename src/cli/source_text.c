/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/source_text.h"

#include <errno.h>
#include <fcntl.h>
#include <gnutls/crypto.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/regular_file.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "options/option.h"

enum { TAB = 8, LINE_MAX_BYTES = 2000, LINES_MAX = 4 << 20 };

struct source_text {
	struct buf text;
	struct {
		VEC(size_t);
	} lines; /* where each begins */
	enum source_state state;
};

void source_text_free(struct source_text *t)
{
	if (!t)
		return;
	buf_fini(&t->text);
	vec_fini(&t->lines);
	free(t);
}

/* ---- the path ---------------------------------------------------------------------------- */

int source_map_check(const struct option_texts *maps, struct err *err)
{
	for (size_t i = 0; i < maps->len; i++) {
		const char *equals = strchr(maps->data[i], '=');
		struct stat st;

		if (!equals || equals == maps->data[i])
			return err_set(err, -EINVAL, "--source-map \"%.100s\": expected FROM=TO",
				       maps->data[i]);
		if (stat(equals + 1, &st) < 0 || !S_ISDIR(st.st_mode))
			return err_set(err, -EINVAL,
				       "--source-map \"%.100s\": there is no directory \"%.60s\"",
				       maps->data[i], equals + 1);
	}
	return 0;
}

/* The length of FROM without a slash at its end if @path is in it, otherwise 0. */
static size_t match_map(const char *map, const char *path)
{
	const char *equals = strchr(map, '=');
	size_t len = equals ? (size_t)(equals - map) : 0;

	while (len > 1 && map[len - 1] == '/')
		len--;
	if (!len || strncmp(map, path, len) != 0)
		return 0;
	return path[len] == '/' || !path[len] || map[len - 1] == '/' ? len : 0;
}

/* Returns the map with the longest FROM, or NULL, and the rest of the path. */
static const char *find_map(const struct source_query *q, const char **out_rest)
{
	const char *best = NULL;
	size_t best_len = 0;

	for (size_t i = 0; q->maps && i < q->maps->len; i++) {
		size_t len = match_map(q->maps->data[i], q->path);

		if (len <= best_len)
			continue;
		best = q->maps->data[i];
		best_len = len;
	}
	*out_rest = q->path + best_len;
	return best;
}

/* An absolute path without a map is opened as this process sees it; all others inside a root. */
static int find_file(const struct source_query *q, struct regular_file_info *info)
{
	struct regular_file_query file = { .path = q->path,
					   .root = -1,
					   .copy_max = SOURCE_TEXT_MAX };
	const char *rest, *map = find_map(q, &rest);
	_cleanup_(closep) int root = -1;

	if (!map && q->path[0] == '/')
		return regular_file_find(&file, info);
	root = open(map ? strchr(map, '=') + 1 : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	file.root = root;
	file.path = rest + strspn(rest, "/");
	return *file.path ? regular_file_find(&file, info) : -ENOENT;
}

/* ---- the text ---------------------------------------------------------------------------- */

static int read_text(struct source_text *t, int fd)
{
	char block[64 << 10];
	ssize_t n;

	while ((n = read(fd, block, sizeof(block))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		buf_put(&t->text, block, (size_t)n);
		if (buf_error(&t->text))
			return -ENOMEM;
		if (t->text.len > SOURCE_TEXT_MAX)
			return -EFBIG;
	}
	return 0;
}

/* A file with a NUL is not a text and is refused. */
static int split_lines(struct source_text *t)
{
	const char *text = (const char *)t->text.data;
	size_t at = 0;

	if (t->text.len && memchr(text, '\0', t->text.len))
		return -EILSEQ;
	while (at < t->text.len && t->lines.len < LINES_MAX) {
		const char *eol = memchr(text + at, '\n', t->text.len - at);

		if (vec_push(&t->lines, at) < 0)
			return -ENOMEM;
		at = eol ? (size_t)(eol - text) + 1 : t->text.len;
	}
	return 0;
}

static bool has_md5(const struct source_text *t, const uint8_t *md5)
{
	uint8_t own[SOURCE_MD5_LEN];

	return gnutls_hash_fast(GNUTLS_DIG_MD5, t->text.data, t->text.len, own) == 0 &&
	       !memcmp(own, md5, sizeof(own));
}

static enum source_state judge(const struct source_text *t, const struct source_query *q,
			       const struct stat *st)
{
	int64_t modified_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;

	if (q->md5)
		return has_md5(t, q->md5) ? SOURCE_SAME : SOURCE_CHANGED;
	return q->recorded_ns && modified_ns > q->recorded_ns ? SOURCE_NEWER : SOURCE_UNKNOWN;
}

static int fail(struct err *err, int r)
{
	if (r == -ENOENT)
		return err_set(err, r, "no such file");
	if (r == -EFBIG)
		return err_set(err, r, "larger than %d MiB", SOURCE_TEXT_MAX >> 20);
	if (r == -EILSEQ)
		return err_set(err, r, "not a text");
	return err_set(err, r, "%s", strerror(-r));
}

int source_text_open(struct source_text **out, const struct source_query *q, struct err *err)
{
	_cleanup_(source_text_freep) struct source_text *t = calloc(1, sizeof(*t));
	struct regular_file_info info;
	_cleanup_(closep) int fd = -1;
	int r;

	if (!t)
		return fail(err, -ENOMEM);
	fd = find_file(q, &info);
	r = fd < 0 ? fd : read_text(t, fd);
	if (r == 0)
		r = split_lines(t);
	if (r < 0)
		return fail(err, r);
	t->state = judge(t, q, &info.st);
	*out = steal_ptr(&t);
	return 0;
}

enum source_state source_text_state(const struct source_text *t)
{
	return t->state;
}

uint32_t source_text_n_lines(const struct source_text *t)
{
	return (uint32_t)t->lines.len;
}

/* Tabs are expanded here, because utf8_put_line() turns control characters into one space. */
void source_text_put_line(const struct source_text *t, uint32_t n, struct buf *out)
{
	_cleanup_(buf_fini) struct buf line = { 0 };
	size_t at, end;

	if (!n || n > t->lines.len)
		return;
	at = t->lines.data[n - 1];
	end = n < t->lines.len ? t->lines.data[n] : t->text.len;
	while (end > at && (t->text.data[end - 1] == '\n' || t->text.data[end - 1] == '\r'))
		end--;
	if (end - at > LINE_MAX_BYTES)
		end = at + LINE_MAX_BYTES;
	for (; at < end; at++) {
		size_t spaces = t->text.data[at] == '\t' ? TAB - line.len % TAB : 0;

		for (size_t i = 0; i < spaces; i++)
			buf_put_byte(&line, ' ');
		if (!spaces)
			buf_put_byte(&line, t->text.data[at]);
	}
	if (!buf_error(&line))
		utf8_put_line(out, (const char *)line.data, line.len);
}
