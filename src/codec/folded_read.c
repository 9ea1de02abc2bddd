/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line is read from its end: the count is what follows the last space, as
 * names may have spaces. A frame that is not inlined begins a location; the
 * inlined ones after it are further lines of the same.
 */
#include "codec/folded_read.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/vec.h"
#include "codec/limits.h"
#include "profile/profile.h"

enum { FOLDED_MARK_LEN = 4, FOLDED_MAX_LINES = 1024 };

struct text {
	const char *s;
	size_t len;
};

struct folded_reader {
	struct profile *p;
	struct codec_limits limits;
	struct err *err;
	size_t line_num;
	struct {
		VEC(struct profile_line);
	} lines; /* of the location being read, the outermost first */
	uint8_t kind;
	struct {
		VEC(uint32_t);
	} ids; /* the root first */
};

static void reader_fini(struct folded_reader *rd)
{
	vec_fini(&rd->lines);
	vec_fini(&rd->ids);
	profile_free(rd->p);
}

static int no_memory(struct folded_reader *rd)
{
	return err_set(rd->err, -ENOMEM, "no memory to read the profile");
}

static int bad(struct folded_reader *rd, int code, const char *why)
{
	return err_set(rd->err, code, "line %zu: %s", rd->line_num, why);
}

/* Take @text's first piece, which ends at @sep or with it. */
static struct text take_until(struct text *text, char sep)
{
	const char *end = memchr(text->s, sep, text->len);
	struct text piece = { text->s, end ? (size_t)(end - text->s) : text->len };
	size_t used = piece.len + (end ? 1 : 0);

	text->s += used;
	text->len -= used;
	return piece;
}

/* The digits after the last space, which are cut off. */
static int take_count(struct text *line, int64_t *out)
{
	const char *space = memrchr(line->s, ' ', line->len);
	const char *end = line->s + line->len, *p = space ? space + 1 : end;
	int64_t v = 0;

	if (p == end)
		return -EBADMSG;
	for (; p < end; p++) {
		if (*p < '0' || *p > '9' || __builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, *p - '0', &v))
			return -EBADMSG;
	}
	line->len = (size_t)(space - line->s);
	*out = v;
	return 0;
}

/* Cut off `_[x]`: x, or 0. */
static char take_mark(struct text *name)
{
	const char *m = name->s + name->len - FOLDED_MARK_LEN;

	if (name->len <= FOLDED_MARK_LEN || m[0] != '_' || m[1] != '[' || m[3] != ']' ||
	    !strchr("kij", m[2]) || !m[2])
		return 0;
	name->len -= FOLDED_MARK_LEN;
	return m[2];
}

/* The location that the collected lines are. */
static int end_location(struct folded_reader *rd)
{
	struct profile_location l = { .mapping = PROFILE_NONE, .kind = rd->kind };
	struct profile_line *lines = rd->lines.data;
	size_t n = rd->lines.len;
	uint32_t id;

	if (!n)
		return 0;
	for (size_t i = 0; i < n / 2; i++) {
		struct profile_line swap = lines[i];

		lines[i] = lines[n - 1 - i];
		lines[n - 1 - i] = swap;
	}
	l.n_lines = (uint32_t)n;
	l.lines = lines;
	rd->lines.len = 0;
	if (profile_add_location(rd->p, &l, &id) < 0 || vec_push(&rd->ids, id) < 0)
		return no_memory(rd);
	return 0;
}

static int read_frame(struct folded_reader *rd, struct text name)
{
	char mark = take_mark(&name);
	struct profile_function f = { 0 };
	struct profile_line line = { 0 };
	int r;

	if (mark != 'i' || rd->lines.len == FOLDED_MAX_LINES) {
		r = end_location(rd);
		if (r < 0)
			return r;
		rd->kind = mark == 'k'   ? PROFILE_FRAME_KERNEL
			   : mark == 'j' ? PROFILE_FRAME_JVM
					 : PROFILE_FRAME_UNKNOWN;
	}
	if (rd->ids.len == rd->limits.depth)
		return bad(rd, -EFBIG, "it has too many frames");
	if (profile_add_string(rd->p, name.s, name.len, &f.name) < 0)
		return no_memory(rd);
	f.system_name = f.name;
	if (profile_add_function(rd->p, &f, &line.function) < 0 || vec_push(&rd->lines, line) < 0)
		return no_memory(rd);
	return 0;
}

static int end_stack(struct folded_reader *rd, int64_t count)
{
	struct profile_sample s = { .values = &count };
	uint32_t *ids = rd->ids.data;
	size_t n = rd->ids.len;

	for (size_t i = 0; i < n / 2; i++) {
		uint32_t swap = ids[i];

		ids[i] = ids[n - 1 - i];
		ids[n - 1 - i] = swap;
	}
	if (profile_add_stack(rd->p, ids, n, &s.stack) < 0 || profile_add_sample(rd->p, &s) < 0)
		return no_memory(rd);
	if (profile_n_samples(rd->p) > rd->limits.samples)
		return bad(rd, -EFBIG, "there are too many stacks");
	return 0;
}

static int read_stack(struct folded_reader *rd, struct text line)
{
	int64_t count;
	int r;

	if (take_count(&line, &count) < 0)
		return bad(rd, -EBADMSG, "it does not end in a count");
	rd->ids.len = 0;
	rd->kind = PROFILE_FRAME_UNKNOWN;
	while (line.len) {
		r = read_frame(rd, take_until(&line, ';'));
		if (r < 0)
			return r;
	}
	r = end_location(rd);
	return r < 0 ? r : end_stack(rd, count);
}

static int read_lines(struct folded_reader *rd, struct text text)
{
	while (text.len) {
		struct text line = take_until(&text, '\n');
		int r;

		rd->line_num++;
		if (line.len && line.s[line.len - 1] == '\r')
			line.len--;
		r = line.len ? read_stack(rd, line) : 0;
		if (r < 0)
			return r;
	}
	return 0;
}

int folded_read(struct profile **out, const void *data, size_t len,
		const struct codec_limits *limits, struct err *err)
{
	_cleanup_(reader_fini) struct folded_reader rd = {
		.limits = limits ? *limits : codec_limits_default(),
		.err = err,
	};
	int r;

	if (len > rd.limits.bytes)
		return err_set(err, -EFBIG, "it has more than %zu bytes", rd.limits.bytes);
	if (profile_new(&rd.p) < 0 || profile_add_sample_type(rd.p, "samples", "count") < 0)
		return no_memory(&rd);
	r = read_lines(&rd, (struct text){ data, len });
	if (r < 0)
		return r;
	*out = steal_ptr(&rd.p);
	return 0;
}
