/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/text_reading.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"

bool text_is(struct text t, const char *s)
{
	return t.len == strlen(s) && !memcmp(t.s, s, t.len);
}

struct text text_take_until(struct text *text, char sep)
{
	const char *end = memchr(text->s, sep, text->len);
	struct text piece = { text->s, end ? (size_t)(end - text->s) : text->len };
	size_t used = piece.len + (end ? 1 : 0);

	text->s += used;
	text->len -= used;
	return piece;
}

struct text text_take_line(struct text *text)
{
	struct text line = text_take_until(text, '\n');

	if (line.len && line.s[line.len - 1] == '\r')
		line.len--;
	return line;
}

int text_reading_init(struct text_reading *at, size_t len, const struct codec_limits *limits,
		      struct err *err)
{
	*at = (struct text_reading){
		.limits = limits ? *limits : codec_limits_default(),
		.err = err,
	};
	if (len > at->limits.bytes)
		return err_set(err, -EFBIG, "it has more than %zu bytes", at->limits.bytes);
	return profile_new(&at->p) < 0 ? text_reading_no_memory(at) : 0;
}

void text_reading_fini(struct text_reading *at)
{
	vec_fini(&at->lines);
	vec_fini(&at->ids);
	profile_free(at->p);
}

int text_reading_no_memory(struct text_reading *at)
{
	return err_set(at->err, -ENOMEM, "no memory to read the profile");
}

int text_reading_bad(struct text_reading *at, int code, const char *why)
{
	return err_set(at->err, code, "line %zu: %s", at->line_num, why);
}

int text_reading_add_line(struct text_reading *at, struct text name)
{
	struct profile_function f = { 0 };
	struct profile_line line = { 0 };

	if (profile_add_string(at->p, name.s, name.len, &f.name) < 0)
		return text_reading_no_memory(at);
	f.system_name = f.name;
	if (profile_add_function(at->p, &f, &line.function) < 0 || vec_push(&at->lines, line) < 0)
		return text_reading_no_memory(at);
	return 0;
}

int text_reading_end_location(struct text_reading *at, struct profile_location *l)
{
	uint32_t id;

	l->n_lines = (uint32_t)at->lines.len;
	l->lines = at->lines.data;
	at->lines.len = 0;
	if (profile_add_location(at->p, l, &id) < 0 || vec_push(&at->ids, id) < 0)
		return text_reading_no_memory(at);
	return 0;
}

int text_reading_end_stack(struct text_reading *at, struct profile_sample *s, const char *what)
{
	char why[64];

	if (profile_add_stack(at->p, at->ids.data, at->ids.len, &s->stack) < 0 ||
	    profile_add_sample(at->p, s) < 0)
		return text_reading_no_memory(at);
	if (profile_n_samples(at->p) <= at->limits.samples)
		return 0;
	snprintf(why, sizeof(why), "there are too many %s", what);
	return text_reading_bad(at, -EFBIG, why);
}
