/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `P123;T0:456;file.py:function:12;... 1000`, behind lines `# key: value`. In mode full what
 * was measured is `time,idle,memory`: of the time, what was not idle is the CPU's.
 */
#include "codec/austin_read.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "codec/text_reading.h"
#include "profile/profile.h"

enum { VALUES_MAX = 3, NS_PER_US = 1000 };
static const char magic[] = "# austin: ";

enum mode { MODE_WALL, MODE_CPU, MODE_MEMORY, MODE_FULL };

struct reader {
	struct text_reading at;
	enum mode mode;
	bool begun; /* the sample types are told: there was a stack */
	uint32_t key_pid, key_tid;
};

static void reader_fini(struct reader *rd)
{
	text_reading_fini(&rd->at);
}

bool austin_is(const void *data, size_t len)
{
	return len >= sizeof(magic) - 1 && !memcmp(data, magic, sizeof(magic) - 1);
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

/* What follows the last @sep, which is cut off with it; all of it, if there is none. */
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

/* ---- what is measured --------------------------------------------------------------- */

/* `# mode: wall` is the only remark that matters. */
static void read_remark(struct reader *rd, struct text line)
{
	static const char *const modes[] = { "# mode: wall", "# mode: cpu", "# mode: memory",
					     "# mode: full" };

	for (unsigned int i = 0; i < sizeof(modes) / sizeof(modes[0]) && !rd->begun; i++)
		if (text_is(line, modes[i]))
			rd->mode = i;
}

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
	return r < 0 ? text_reading_no_memory(&rd->at) : 0;
}

/* What is in front of the sample's metrics has names only, which may have spaces. */
static int take_values(struct reader *rd, struct text *line, int64_t out[VALUES_MAX])
{
	struct text metrics = take_last(line, ' ');
	int64_t v[VALUES_MAX] = { 0 };
	size_t n = 0, want = rd->mode == MODE_FULL ? 3 : 1;

	while (metrics.len && n < VALUES_MAX) {
		struct text one = text_take_until(&metrics, ',');

		/* memory that was given back is none */
		if (one.len && one.s[0] == '-')
			one = (struct text){ "0", 1 };
		if (!number(one, &v[n++]))
			return text_reading_bad(&rd->at, -EBADMSG, "it does not end in a number");
	}
	if (n != want || metrics.len)
		return text_reading_bad(&rd->at, -EBADMSG,
					"it does not end in what its mode measures");
	if (rd->mode != MODE_MEMORY && __builtin_mul_overflow(v[0], NS_PER_US, &v[0]))
		return text_reading_bad(&rd->at, -EBADMSG, "its time is too long");
	out[0] = v[0];
	out[1] = v[1] ? 0 : v[0];
	out[2] = v[2];
	return 0;
}

/* ---- stacks --------------------------------------------------------------------------- */

/*
 * FILE:FUNCTION:LINE, from its end, as files may have colons in their names. Others are names:
 * :GC:, :INVALID:.
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
		return text_reading_bad(&rd->at, -EFBIG, "it has too many frames");
	if (profile_add_string(rd->at.p, name.s, name.len, &f.name) < 0 ||
	    profile_add_string(rd->at.p, file.s, file.len, &f.file) < 0)
		return text_reading_no_memory(&rd->at);
	f.system_name = f.name;
	if (profile_add_function(rd->at.p, &f, &line.function) < 0 ||
	    vec_push(&rd->at.lines, line) < 0)
		return text_reading_no_memory(&rd->at);
	return text_reading_end_location(&rd->at, &l);
}

/* P123 and T456, T0:456 (with the interpreter's number) or T0x1c8. */
static int read_head(struct reader *rd, struct text *line, struct profile_label labels[2])
{
	struct text pid = text_take_until(line, ';'), tid = text_take_until(line, ';');

	labels[0] = (struct profile_label){ .key = rd->key_pid };
	labels[1] = (struct profile_label){ .key = rd->key_tid };
	if (pid.len < 2 || pid.s[0] != 'P' || tid.len < 2 || tid.s[0] != 'T' ||
	    !number((struct text){ pid.s + 1, pid.len - 1 }, &labels[0].num))
		return text_reading_bad(&rd->at, -EBADMSG,
					"it does not begin with process and thread");
	tid = (struct text){ tid.s + 1, tid.len - 1 };
	tid = take_last(&tid, ':');
	if (!number(tid, &labels[1].num) &&
	    profile_add_string(rd->at.p, tid.s, tid.len, &labels[1].str) < 0)
		return text_reading_no_memory(&rd->at);
	return 0;
}

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
	return text_reading_end_stack(&rd->at, &s, "stacks");
}

int austin_read(struct profile **out, const void *data, size_t len,
		const struct codec_limits *limits, struct err *err)
{
	_cleanup_(reader_fini) struct reader rd = { 0 };
	struct text text = { data, len };
	int r = text_reading_init(&rd.at, len, limits, err);

	while (r == 0 && text.len) {
		struct text line = text_take_line(&text);

		rd.at.line_num++;
		if (line.len && line.s[0] == '#')
			read_remark(&rd, line);
		else if (line.len)
			r = read_stack(&rd, line);
	}
	if (r == 0)
		r = begin(&rd);
	if (r == 0)
		*out = steal_ptr(&rd.at.p);
	return r;
}
