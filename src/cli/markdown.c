/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A code span is as long as the run of backticks that it begins with, so one more backtick than the
 * longest run of the text is enough. A vertical bar ends a cell even in a code span; its escape
 * depends on what precedes it, so text with a bar becomes <code> with character references.
 */
#include "cli/markdown.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/utf8.h"

enum { TEXT_MAX = 200 };

/* The longest run of backticks in @s. */
static size_t longest_run(const char *s, size_t len)
{
	size_t longest = 0, run = 0;

	for (size_t i = 0; i < len; i++) {
		run = s[i] == '`' ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	return longest;
}

static void put_span(struct buf *out, const char *s, size_t len)
{
	size_t fence = longest_run(s, len) + 1;
	/* One space at both ends is removed, so text that begins or ends with a backtick has one.
	 */
	bool pad = s[0] == '`' || s[len - 1] == '`' || s[0] == ' ' || s[len - 1] == ' ';

	for (size_t i = 0; i < fence; i++)
		buf_put_byte(out, '`');
	if (pad)
		buf_put_byte(out, ' ');
	buf_put(out, s, len);
	if (pad)
		buf_put_byte(out, ' ');
	for (size_t i = 0; i < fence; i++)
		buf_put_byte(out, '`');
}

/* Bytes beyond ASCII are part of valid UTF-8 and have no meaning in Markdown. */
static void put_references(struct buf *out, const char *s, size_t len)
{
	buf_put_str(out, "<code>");
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c >= 0x80 || isalnum(c) || c == ' ')
			buf_put_byte(out, c);
		else
			buf_printf(out, "&#%u;", c);
	}
	buf_put_str(out, "</code>");
}

/* The length of the longest prefix of valid UTF-8 within TEXT_MAX bytes. */
static size_t cut(const struct buf *line)
{
	return utf8_valid((const char *)line->data, line->len < TEXT_MAX ? line->len : TEXT_MAX);
}

void markdown_code(struct buf *out, const char *text)
{
	_cleanup_(buf_fini) struct buf line = { 0 };
	const char *s;
	size_t len;

	utf8_put_line(&line, text, strnlen(text, 4 * TEXT_MAX));
	if (!line.len) {
		buf_put_str(out, "(no name)");
		return;
	}
	s = (const char *)line.data;
	len = cut(&line);
	if (memchr(s, '|', len))
		put_references(out, s, len);
	else
		put_span(out, s, len);
	if (len < line.len)
		buf_put_str(out, "…");
}
