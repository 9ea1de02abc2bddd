/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names may contain spaces, so the count is the number after the last space. A frame that is not
 * inlined starts a location; the inlined frames after it are further lines of that location. A name
 * may contain everything but a semicolon; a line without a count is an error rather than a count of
 * 1, since it is more likely a file of another kind.
 */
#include "codec/text/text.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "codec/common/text_read.h"
#include "profile/profile.h"

enum { FOLDED_MARK_LEN = 4, FOLDED_MAX_LINES = 1024 };

struct folded_reader {
	struct text_read at; /* lines: outermost first; ids: root first */
	uint8_t kind;        /* of the current location */
};

/* Removes the number after the last space from @line. */
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

/* Removes `_[x]` from the end of @name. Returns x, or 0 if there is none. */
static char take_mark(struct text *name)
{
	const char *m = name->s + name->len - FOLDED_MARK_LEN;

	if (name->len <= FOLDED_MARK_LEN || m[0] != '_' || m[1] != '[' || m[3] != ']' ||
	    !strchr("kij", m[2]) || !m[2])
		return 0;
	name->len -= FOLDED_MARK_LEN;
	return m[2];
}

/* Adds a location of the lines collected so far, if there are any. */
static int end_location(struct folded_reader *rd)
{
	struct profile_location l = { .mapping = PROFILE_NONE, .kind = rd->kind };

	if (!rd->at.lines.len)
		return 0;
	vec_reverse(&rd->at.lines);
	return text_read_add_location(&rd->at, &l);
}

/*
 * The marks are those of FlameGraph's scripts: _[k] for the kernel, _[i] for an inlined call, _[j]
 * for code compiled at run time, which is read as Java's.
 */
static int read_frame(struct folded_reader *rd, struct text name)
{
	char mark = take_mark(&name);
	int r;

	if (mark != 'i' || rd->at.lines.len == FOLDED_MAX_LINES) {
		r = end_location(rd);
		if (r < 0)
			return r;
		rd->kind = mark == 'k'   ? PROFILE_FRAME_KERNEL
			   : mark == 'j' ? PROFILE_FRAME_JVM
					 : PROFILE_FRAME_UNKNOWN;
	}
	if (rd->at.ids.len == rd->at.limits.depth)
		return text_read_error(&rd->at, -EFBIG, "stack with more than %u frames",
				       rd->at.limits.depth);
	return text_read_add_line(&rd->at, name);
}

static int read_stack(struct folded_reader *rd, struct text line)
{
	int64_t count;
	struct profile_sample s = { .values = &count };
	int r;

	if (take_count(&line, &count) < 0)
		return text_read_error(&rd->at, -EBADMSG,
				       "expected a count at the end of the line");
	rd->at.ids.len = 0;
	rd->kind = PROFILE_FRAME_UNKNOWN;
	while (line.len) {
		r = read_frame(rd, text_take_until(&line, ';'));
		if (r < 0)
			return r;
	}
	r = end_location(rd);
	if (r < 0)
		return r;
	vec_reverse(&rd->at.ids);
	return text_read_add_sample(&rd->at, &s, "stacks");
}

static int read_lines(struct folded_reader *rd, struct text text)
{
	while (text.len) {
		struct text line = text_take_line(&text);
		int r;

		rd->at.line_num++;
		r = line.len ? read_stack(rd, line) : 0;
		if (r < 0)
			return r;
	}
	return 0;
}

static void reader_fini(struct folded_reader *rd)
{
	text_read_fini(&rd->at);
}

int folded_read(struct profile **out, const void *data, size_t len,
		const struct codec_limits *limits, struct err *err)
{
	_cleanup_(reader_fini) struct folded_reader rd = { 0 };
	int r = text_read_init(&rd.at, len, limits, err);

	if (r == 0 && profile_add_sample_type(rd.at.p, "samples", "count") < 0)
		r = text_read_no_memory(&rd.at);
	if (r == 0)
		r = read_lines(&rd, (struct text){ data, len });
	if (r < 0)
		return r;
	*out = steal_ptr(&rd.at.p);
	return 0;
}
