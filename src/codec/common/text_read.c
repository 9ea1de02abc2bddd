/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names are interned as they arrive. A function that text_read_add_line() adds is its name alone;
 * readers of formats with files and lines add functions themselves.
 */
#include "codec/common/text_read.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"

bool text_is(struct text t, const char *s)
{
	return t.len == strlen(s) && !memcmp(t.s, s, t.len);
}

bool text_is_printable(const void *data, size_t len)
{
	enum { INSPECTED = 512 };
	const uint8_t *p = data;
	bool visible = false;

	for (size_t i = 0; i < len && i < INSPECTED; i++) {
		if (p[i] == 0x7f || (p[i] < ' ' && !(p[i] >= '\t' && p[i] <= '\r')))
			return false;
		visible |= p[i] > ' ';
	}
	return visible;
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

int text_read_init(struct text_read *at, size_t len, const struct codec_limits *limits,
		   struct err *err)
{
	*at = (struct text_read){
		.limits = limits ? *limits : codec_limits_default(),
		.err = err,
	};
	if (len > at->limits.bytes)
		return err_set(err, -EFBIG, "file exceeds the limit of %zu bytes",
			       at->limits.bytes);
	return profile_new(&at->p) < 0 ? text_read_no_memory(at) : 0;
}

void text_read_fini(struct text_read *at)
{
	vec_fini(&at->lines);
	vec_fini(&at->ids);
	profile_free(at->p);
}

int text_read_no_memory(struct text_read *at)
{
	return err_set(at->err, -ENOMEM, "out of memory while reading the profile");
}

int text_read_error(struct text_read *at, int code, const char *fmt, ...)
{
	char why[160];
	va_list args;

	va_start(args, fmt);
	vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	return err_set(at->err, code, "line %zu: %s", at->line_num, why);
}

int text_read_add_line(struct text_read *at, struct text name)
{
	struct profile_function f = { 0 };
	struct profile_line line = { 0 };

	if (profile_add_string(at->p, name.s, name.len, &f.name) < 0)
		return text_read_no_memory(at);
	f.system_name = f.name;
	if (profile_add_function(at->p, &f, &line.function) < 0 || vec_push(&at->lines, line) < 0)
		return text_read_no_memory(at);
	return 0;
}

int text_read_add_location(struct text_read *at, struct profile_location *l)
{
	uint32_t id;

	l->n_lines = (uint32_t)at->lines.len;
	l->lines = at->lines.data;
	at->lines.len = 0;
	if (profile_add_location(at->p, l, &id) < 0 || vec_push(&at->ids, id) < 0)
		return text_read_no_memory(at);
	return 0;
}

/* The limit is checked after the sample was added, because equal samples are merged into one. */
int text_read_add_sample(struct text_read *at, struct profile_sample *s, const char *what)
{
	if (profile_add_stack(at->p, at->ids.data, at->ids.len, &s->stack) < 0 ||
	    profile_add_sample(at->p, s) < 0)
		return text_read_no_memory(at);
	if (profile_n_samples(at->p) > at->limits.samples)
		return text_read_error(at, -EFBIG, "more than %u %s", at->limits.samples, what);
	return codec_account(&at->account, &at->limits, at->p, at->err);
}
