/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strings are copied in runs of plain characters; the characters between the runs are escaped.
 * These include `<`, because `</script` would end the element that holds the JSON; U+2028 and
 * U+2029, which JavaScript before ES2019 treats as line ends; and DEL and the C1 controls, which
 * a terminal may execute. Each byte that is not valid UTF-8 becomes U+FFFD.
 */
#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"

static void begin_value(struct json *j)
{
	if (j->comma)
		buf_put_byte(j->out, ',');
	j->comma = true;
}

static void open_with(struct json *j, uint8_t c)
{
	begin_value(j);
	buf_put_byte(j->out, c);
	j->comma = false;
}

static void close_with(struct json *j, uint8_t c)
{
	buf_put_byte(j->out, c);
	j->comma = true;
}

void json_object(struct json *j)
{
	open_with(j, '{');
}

void json_object_end(struct json *j)
{
	close_with(j, '}');
}

void json_array(struct json *j)
{
	open_with(j, '[');
}

void json_array_end(struct json *j)
{
	close_with(j, ']');
}

static bool is_plain(uint8_t c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\' && c != '<';
}

static void put_escaped(struct buf *b, uint32_t code)
{
	switch (code) {
	case '"':
		buf_put_str(b, "\\\"");
		break;
	case '\\':
		buf_put_str(b, "\\\\");
		break;
	case '\n':
		buf_put_str(b, "\\n");
		break;
	case '\t':
		buf_put_str(b, "\\t");
		break;
	default:
		buf_printf(b, "\\u%04x", code);
	}
}

/* Writes one character that is not plain. Returns its length in bytes. */
static size_t put_special(struct buf *b, const uint8_t *s, size_t len)
{
	uint32_t code;
	size_t n = utf8_at(s, len, &code);

	if (!n) {
		buf_put_str(b, "\xef\xbf\xbd");
		return 1;
	}
	if (code < 0xa0 || code == 0x2028 || code == 0x2029)
		put_escaped(b, code);
	else
		buf_put(b, s, n);
	return n;
}

static void put_string(struct buf *b, const char *text, size_t len)
{
	const uint8_t *s = (const uint8_t *)text;
	size_t i = 0;

	buf_put_byte(b, '"');
	while (i < len && !buf_error(b)) {
		size_t run = i;

		while (run < len && is_plain(s[run]))
			run++;
		buf_put(b, s + i, run - i);
		i = run;
		if (i < len)
			i += put_special(b, s + i, len - i);
	}
	buf_put_byte(b, '"');
}

void json_key(struct json *j, const char *key)
{
	begin_value(j);
	put_string(j->out, key, strlen(key));
	buf_put_byte(j->out, ':');
	j->comma = false;
}

void json_strn(struct json *j, const char *s, size_t len)
{
	begin_value(j);
	put_string(j->out, s, len);
}

void json_str(struct json *j, const char *s)
{
	json_strn(j, s, strlen(s));
}

/* Writes decimal digits with @sign in front and @quote around them; 0 omits either. */
static void put_number(struct buf *out, uint64_t v, char sign, char quote)
{
	char text[24];
	size_t at = sizeof(text);

	if (quote)
		text[--at] = quote;
	do {
		text[--at] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	if (sign)
		text[--at] = sign;
	if (quote)
		text[--at] = quote;
	buf_put(out, text + at, sizeof(text) - at);
}

static void put_int(struct json *j, int64_t v, char quote)
{
	begin_value(j);
	put_number(j->out, v < 0 ? -(uint64_t)v : (uint64_t)v, v < 0 ? '-' : 0, quote);
}

void json_uint(struct json *j, uint64_t v)
{
	begin_value(j);
	put_number(j->out, v, 0, 0);
}

void json_int(struct json *j, int64_t v)
{
	put_int(j, v, 0);
}

void json_int_text(struct json *j, int64_t v)
{
	put_int(j, v, '"');
}

void json_double(struct json *j, double v)
{
	char text[40];

	if (!isfinite(v)) {
		json_null(j);
		return;
	}
	begin_value(j);
	/* The shortest text that reads back as the same number; 17 digits always do. */
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, v);
		if (strtod(text, NULL) == v)
			break;
	}
	buf_put_str(j->out, text);
}

void json_bool(struct json *j, bool v)
{
	begin_value(j);
	buf_put_str(j->out, v ? "true" : "false");
}

void json_null(struct json *j)
{
	begin_value(j);
	buf_put_str(j->out, "null");
}
