/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One flag determines whether a comma is due: it is not after an opening brace or bracket, and is
 * after any value or closing one. No stack of open objects is needed for that, so only
 * json_read_skip() recurses, to a limited depth.
 */
#include "base/json_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { JSON_NUMBER_MAX = 64 };

void json_read_init(struct json_read *j, const void *data, size_t len)
{
	*j = (struct json_read){ .p = data, .start = data, .first = true };
	j->end = len ? j->p + len : j->p;
}

void json_read_fini(struct json_read *j)
{
	buf_fini(&j->text);
}

size_t json_read_at(const struct json_read *j)
{
	return (size_t)(j->p - j->start);
}

static void skip_space(struct json_read *j)
{
	while (j->p < j->end && (*j->p == ' ' || *j->p == '\n' || *j->p == '\t' || *j->p == '\r'))
		j->p++;
}

/* Peeks at the next character after white space; -EBADMSG at the end. */
static int next_char(struct json_read *j)
{
	skip_space(j);
	return j->p < j->end ? (unsigned char)*j->p : -EBADMSG;
}

static bool take(struct json_read *j, char c)
{
	if (next_char(j) != c)
		return false;
	j->p++;
	return true;
}

int json_read_peek(struct json_read *j)
{
	int c = next_char(j);

	if (c < 0)
		return c;
	if (c == '-' || (c >= '0' && c <= '9'))
		return 0;
	return strchr("{[\"tfn", c) ? c : -EBADMSG;
}

int json_read_open(struct json_read *j, char c)
{
	if (!take(j, c))
		return -EBADMSG;
	j->first = true;
	return 0;
}

/* Consumes four hexadecimal digits. */
static int take_hex(struct json_read *j, uint32_t *out)
{
	uint32_t v = 0;

	if (j->end - j->p < 4)
		return -EBADMSG;
	for (unsigned int i = 0; i < 4; i++) {
		char c = *j->p++;

		if (c >= '0' && c <= '9')
			v = v << 4 | (uint32_t)(c - '0');
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			v = v << 4 | (uint32_t)((c | 0x20) - 'a' + 10);
		else
			return -EBADMSG;
	}
	*out = v;
	return 0;
}

static void put_utf8(struct buf *b, uint32_t code)
{
	if (code < 0x80) {
		buf_put_byte(b, (uint8_t)code);
		return;
	}
	if (code < 0x800) {
		buf_put_byte(b, (uint8_t)(0xc0 | code >> 6));
	} else {
		if (code < 0x10000) {
			buf_put_byte(b, (uint8_t)(0xe0 | code >> 12));
		} else {
			buf_put_byte(b, (uint8_t)(0xf0 | code >> 18));
			buf_put_byte(b, (uint8_t)(0x80 | (code >> 12 & 0x3f)));
		}
		buf_put_byte(b, (uint8_t)(0x80 | (code >> 6 & 0x3f)));
	}
	buf_put_byte(b, (uint8_t)(0x80 | (code & 0x3f)));
}

/* Consumes what follows \u. An unpaired surrogate becomes U+FFFD. */
static int take_unicode(struct json_read *j)
{
	uint32_t code, low;
	int r = take_hex(j, &code);

	if (r < 0)
		return r;
	if (code >= 0xd800 && code < 0xe000) {
		if (code >= 0xdc00 || j->end - j->p < 6 || j->p[0] != '\\' || j->p[1] != 'u') {
			put_utf8(&j->text, 0xfffd);
			return 0;
		}
		j->p += 2;
		r = take_hex(j, &low);
		if (r < 0)
			return r;
		code = low >= 0xdc00 && low < 0xe000
			       ? 0x10000 + ((code & 0x3ff) << 10 | (low & 0x3ff))
			       : 0xfffd;
	}
	put_utf8(&j->text, code);
	return 0;
}

static int take_escape(struct json_read *j)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *known;
	char c;

	if (j->p == j->end)
		return -EBADMSG;
	c = *j->p++;
	if (c == 'u')
		return take_unicode(j);
	known = c ? strchr(from, c) : NULL;
	if (!known)
		return -EBADMSG;
	buf_put_byte(&j->text, (uint8_t)to[known - from]);
	return 0;
}

int json_read_string(struct json_read *j)
{
	j->text.len = 0;
	if (!take(j, '"'))
		return -EBADMSG;
	for (;;) {
		const char *run = j->p;

		while (j->p < j->end && *j->p != '"' && *j->p != '\\' &&
		       (unsigned char)*j->p >= ' ')
			j->p++;
		buf_put(&j->text, run, (size_t)(j->p - run));
		if (j->p == j->end || (unsigned char)*j->p < ' ')
			return -EBADMSG;
		if (*j->p++ == '"')
			break;
		if (take_escape(j) < 0)
			return -EBADMSG;
	}
	buf_put_byte(&j->text, 0);
	if (buf_error(&j->text))
		return -ENOMEM;
	j->text.len--;
	j->first = false;
	return 0;
}

int json_read_number(struct json_read *j, double *out)
{
	char text[JSON_NUMBER_MAX + 1], *end;
	size_t n = 0;

	if (json_read_peek(j) != 0)
		return -EBADMSG;
	while (j->p < j->end && n < JSON_NUMBER_MAX && strchr("+-.0123456789eE", *j->p) && *j->p)
		text[n++] = *j->p++;
	text[n] = '\0';
	*out = strtod(text, &end);
	j->first = false;
	return *end || end == text ? -EBADMSG : 0;
}

static int skip_word(struct json_read *j)
{
	static const char *const words[] = { "true", "false", "null" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t n = strlen(words[i]);

		if ((size_t)(j->end - j->p) >= n && !memcmp(j->p, words[i], n)) {
			j->p += n;
			j->first = false;
			return 0;
		}
	}
	return -EBADMSG;
}

static int skip_value(struct json_read *j, unsigned int depth)
{
	int c = json_read_peek(j), r;
	double number;

	switch (c) {
	case '"':
		return json_read_string(j);
	case 0:
		return json_read_number(j, &number);
	case '{':
	case '[':
		if (depth == JSON_READ_MAX_DEPTH)
			return -EBADMSG;
		json_read_open(j, (char)c);
		while ((r = c == '{' ? json_read_key(j) : json_read_item(j)) > 0) {
			r = skip_value(j, depth + 1);
			if (r < 0)
				return r;
		}
		return r;
	default:
		return c < 0 ? c : skip_word(j);
	}
}

int json_read_skip(struct json_read *j)
{
	return skip_value(j, 0);
}

int json_read_end(struct json_read *j)
{
	return next_char(j) < 0 ? 0 : -EBADMSG;
}

/* Returns 1 if another element follows, 0 after consuming @close, or -EBADMSG. */
static int next_element(struct json_read *j, char close)
{
	if (take(j, close)) {
		j->first = false;
		return 0;
	}
	if (!j->first && !take(j, ','))
		return -EBADMSG;
	j->first = true;
	return 1;
}

int json_read_item(struct json_read *j)
{
	return next_element(j, ']');
}

int json_read_key(struct json_read *j)
{
	int r = next_element(j, '}');

	if (r <= 0)
		return r;
	r = json_read_string(j);
	if (r < 0)
		return r;
	return take(j, ':') ? 1 : -EBADMSG;
}

int json_read_each(struct json_read *j, char open, json_read_fn fn, void *ctx)
{
	int r;

	if (json_read_peek(j) != open)
		return json_read_skip(j);
	r = json_read_open(j, open);
	if (r < 0)
		return r;
	while ((r = open == '{' ? json_read_key(j) : json_read_item(j)) > 0) {
		r = fn(j, ctx);
		if (r)
			return r;
	}
	return r;
}
