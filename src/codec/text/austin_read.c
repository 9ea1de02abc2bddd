/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file is `# key: value` lines followed by samples, `P123;T0:456;file.py:function:12 1000`.
 * The metric is microseconds, or bytes in mode memory. In mode full there are three,
 * `time,idle,memory`, where idle is 0 or 1: time that was not idle is CPU time.
 */
#include "codec/text/text.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "codec/common/text_read.h"
#include "profile/profile.h"

enum { VALUES_MAX = 3, NS_PER_US = 1000 };
static const char magic[] = "# austin: ";

enum mode { MODE_WALL, MODE_CPU, MODE_MEMORY, MODE_FULL };

struct reader {
	struct text_read at;
	enum mode mode;
	bool begun; /* sample types exist: the mode cannot change any more */
	uint32_t key_pid, key_tid;
};

static void reader_fini(struct reader *rd)
{
	text_read_fini(&rd->at);
}

enum format_match austin_detect(const void *data, size_t len)
{
	if (len < sizeof(magic) - 1 || memcmp(data, magic, sizeof(magic) - 1) != 0)
		return FORMAT_MATCH_NONE;
	return FORMAT_MATCH_CERTAIN;
}

static bool number(struct text t, int64_t *out)
{
	int64_t v = 0;

	for (size_t i = 0; i < t.len; i++)
		if (t.s[i] < '0' || t.s[i] > '9' || __builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, t.s[i] - '0', &v))
			return false;
	*out = v;
	return t.len > 0;
}

/* Removes the last @sep and the text after it, which is returned; without one, all of @t. */
static struct text take_last(struct text *t, char sep)
{
	const char *at = memrchr(t->s, sep, t->len);
	struct text last = *t;

	if (!at) {
		t->len = 0;
		return last;
	}
	last.s = at + 1;
	last.len = t->len - (size_t)(at + 1 - t->s);
	t->len = (size_t)(at - t->s);
	return last;
}

/* ---- metrics ------------------------------------------------------------------------ */

/* Reads a `# key: value` line; only the mode matters. */
static void read_comment(struct reader *rd, struct text line)
{
	static const char *const modes[] = { "# mode: wall", "# mode: cpu", "# mode: memory",
					     "# mode: full" };

	for (unsigned int i = 0; i < sizeof(modes) / sizeof(modes[0]) && !rd->begun; i++)
		if (text_is(line, modes[i]))
			rd->mode = i;
}

/*
 * Adds the sample types when the first stack arrives, because the mode precedes all stacks; at the
 * end for a file without any.
 */
static int begin(struct reader *rd)
{
	struct profile *p = rd->at.p;
	int r = 0;

	if (rd->begun)
		return 0;
	rd->begun = true;
	if (rd->mode == MODE_WALL || rd->mode == MODE_FULL)
		r = profile_add_sample_type(p, "wall", "nanoseconds");
	if (r == 0 && (rd->mode == MODE_CPU || rd->mode == MODE_FULL))
		r = profile_add_sample_type(p, "cpu", "nanoseconds");
	if (r == 0 && (rd->mode == MODE_MEMORY || rd->mode == MODE_FULL))
		r = profile_add_sample_type(p, "memory", "bytes");
	if (r == 0 && rd->mode == MODE_FULL)
		r = profile_add_string(p, "wall", 4, &profile_meta(p)->default_sample_type);
	if (r == 0)
		r = profile_add_string(p, "pid", 3, &rd->key_pid);
	if (r == 0)
		r = profile_add_string(p, "tid", 3, &rd->key_tid);
	return r < 0 ? text_read_no_memory(&rd->at) : 0;
}

/* Removes the metrics from the end of @line; the names before them may contain spaces. */
static int take_values(struct reader *rd, struct text *line, int64_t out[VALUES_MAX])
{
	struct text metrics = take_last(line, ' ');
	int64_t v[VALUES_MAX] = { 0 };
	size_t n = 0, expected = rd->mode == MODE_FULL ? 3 : 1;

	while (metrics.len && n < VALUES_MAX) {
		struct text one = text_take_until(&metrics, ',');

		/* A negative number is memory that was freed, which is not counted. */
		if (one.len && one.s[0] == '-')
			one = (struct text){ "0", 1 };
		if (!number(one, &v[n++]))
			return text_read_error(&rd->at, -EBADMSG,
					       "expected a number at the end of the line");
	}
	if (n != expected || metrics.len)
		return text_read_error(&rd->at, -EBADMSG,
				       "number of metrics does not match the mode");
	if (rd->mode != MODE_MEMORY && __builtin_mul_overflow(v[0], NS_PER_US, &v[0]))
		return text_read_error(&rd->at, -EBADMSG, "time is out of range");
	out[0] = v[0];
	out[1] = v[1] ? 0 : v[0];
	out[2] = v[2];
	return 0;
}

/* ---- stacks --------------------------------------------------------------------------- */

/*
 * Reads FILE:FUNCTION:LINE from its end, as names of files may contain colons. Any other frame,
 * such as :GC: and :INVALID:, is just a name.
 */
static int read_frame(struct reader *rd, struct text frame)
{
	struct profile_location l = { .mapping = PROFILE_NONE, .kind = PROFILE_FRAME_PYTHON };
	struct profile_function f = { 0 };
	struct profile_line line = { 0 };
	struct text file = frame, digits = take_last(&file, ':'), name;
	int64_t n;

	if (digits.s > frame.s && number(digits, &n) && n <= INT32_MAX) {
		name = take_last(&file, ':');
		line.line = (uint32_t)n;
	} else {
		name = frame;
		file.len = 0;
	}
	if (rd->at.ids.len == rd->at.limits.depth)
		return text_read_error(&rd->at, -EFBIG, "stack with more than %u frames",
				       rd->at.limits.depth);
	if (profile_add_string(rd->at.p, name.s, name.len, &f.name) < 0 ||
	    profile_add_string(rd->at.p, file.s, file.len, &f.file) < 0)
		return text_read_no_memory(&rd->at);
	f.system_name = f.name;
	if (profile_add_function(rd->at.p, &f, &line.function) < 0 ||
	    vec_push(&rd->at.lines, line) < 0)
		return text_read_no_memory(&rd->at);
	return text_read_add_location(&rd->at, &l);
}

/* Removes P123 and T456 from @line; a thread may also be T0:456 (interpreter 0) or T0x1c8. */
static int read_head(struct reader *rd, struct text *line, struct profile_label labels[2])
{
	struct text pid = text_take_until(line, ';'), tid = text_take_until(line, ';');

	labels[0] = (struct profile_label){ .key = rd->key_pid };
	labels[1] = (struct profile_label){ .key = rd->key_tid };
	if (pid.len < 2 || pid.s[0] != 'P' || tid.len < 2 || tid.s[0] != 'T' ||
	    !number((struct text){ pid.s + 1, pid.len - 1 }, &labels[0].num))
		return text_read_error(&rd->at, -EBADMSG,
				       "expected P<pid>;T<tid>; at the start of the line");
	tid = (struct text){ tid.s + 1, tid.len - 1 };
	tid = take_last(&tid, ':');
	if (!number(tid, &labels[1].num) &&
	    profile_add_string(rd->at.p, tid.s, tid.len, &labels[1].str) < 0)
		return text_read_no_memory(&rd->at);
	return 0;
}

/* Frames come root first and are reversed at the end. */
static int read_stack(struct reader *rd, struct text line)
{
	struct profile_label labels[2];
	int64_t values[VALUES_MAX];
	struct profile_sample s = { .labels = labels, .n_labels = 2, .values = values };
	int r = begin(rd);

	if (r == 0)
		r = take_values(rd, &line, values);
	if (r == 0)
		r = read_head(rd, &line, labels);
	rd->at.ids.len = 0;
	while (r == 0 && line.len)
		r = read_frame(rd, text_take_until(&line, ';'));
	if (r < 0)
		return r;
	vec_reverse(&rd->at.ids);
	return text_read_add_sample(&rd->at, &s, "stacks");
}

int austin_read(struct profile **out, const void *data, size_t len,
		const struct codec_limits *limits, struct err *err)
{
	_cleanup_(reader_fini) struct reader rd = { 0 };
	struct text text = { data, len };
	int r = text_read_init(&rd.at, len, limits, err);

	while (r == 0 && text.len) {
		struct text line = text_take_line(&text);

		rd.at.line_num++;
		if (line.len && line.s[0] == '#')
			read_comment(&rd, line);
		else if (line.len)
			r = read_stack(&rd, line);
	}
	if (r == 0)
		r = begin(&rd);
	if (r == 0)
		*out = steal_ptr(&rd.at.p);
	return r;
}

const struct format_codec austin_codec = { .detect = austin_detect, .read = austin_read };
