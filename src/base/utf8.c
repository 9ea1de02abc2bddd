/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

#include <string.h>

#include "base/buf.h"

size_t utf8_at(const uint8_t *s, size_t len, uint32_t *out_code)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint8_t c = s[0];
	size_t n = c < 0x80                ? 1
		   : c >= 0xc0 && c < 0xe0 ? 2
		   : c >= 0xe0 && c < 0xf0 ? 3
		   : c >= 0xf0 && c < 0xf8 ? 4
					   : 0;
	uint32_t code = n == 1 ? c : c & (0x7fu >> n);

	if (!n || n > len)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (s[i] & 0x3f);
	}
	if (code < least[n] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return 0;
	*out_code = code;
	return n;
}

size_t utf8_valid(const char *s, size_t len)
{
	const uint8_t *p = (const uint8_t *)s;
	size_t i = 0, n = 1;
	uint32_t code;

	for (; i < len && n; i += n)
		n = p[i] < 0x80 ? 1 : utf8_at(p + i, len - i, &code);
	return i;
}

/*
 * Ranges that no name needs and that make a line look like another one: control characters, marks
 * and overrides of the direction, ends of lines and paragraphs, invisible characters and
 * noncharacters. Joiners (U+200C, U+200D) are not among them, because some scripts need them.
 */
static const struct {
	uint32_t first, last;
} unsafe[] = {
	{ 0x7f, 0x9f },     { 0xad, 0xad },     { 0x61c, 0x61c },     { 0x200b, 0x200b },
	{ 0x200e, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f },   { 0xfdd0, 0xfdef },
	{ 0xfeff, 0xfeff }, { 0xfff9, 0xfffb }, { 0xe0000, 0xe0fff },
};

static bool is_unsafe(uint32_t code)
{
	if (code >= 0x20 && code < 0x7f)
		return false;
	if (code < 0x20 || (code & 0xfffe) == 0xfffe)
		return true;
	for (size_t i = 0; i < sizeof(unsafe) / sizeof(unsafe[0]); i++)
		if (code <= unsafe[i].last)
			return code >= unsafe[i].first;
	return false;
}

/* True if eight bytes are all printable ASCII. May return false for some that are. */
static bool is_plain_word(const uint8_t *p)
{
	const uint64_t ones = 0x0101010101010101, highs = ones << 7;
	uint64_t word, del;

	memcpy(&word, p, sizeof(word));
	del = word ^ (ones * 0x7f);
	/* a byte below 0x20 borrows in the first term, a byte 0x7f in the second */
	return !((word | (word - ones * 0x20) | (del - ones)) & highs);
}

bool utf8_is_line(const char *s, size_t len)
{
	const uint8_t *p = (const uint8_t *)s;
	uint32_t code;

	for (size_t i = 0, n; i < len; i += n) {
		n = sizeof(uint64_t);
		if (len - i >= n && is_plain_word(p + i))
			continue;
		n = utf8_at(p + i, len - i, &code);
		if (!n || is_unsafe(code))
			return false;
	}
	return true;
}

void utf8_put_line(struct buf *out, const char *s, size_t len)
{
	const uint8_t *p = (const uint8_t *)s;
	uint32_t code;

	for (size_t i = 0, n; i < len && !buf_error(out); i += n) {
		n = utf8_at(p + i, len - i, &code);
		if (!n) {
			buf_put_str(out, "\xef\xbf\xbd");
			n = 1;
		} else if (is_unsafe(code)) {
			buf_put_byte(out, ' ');
		} else {
			buf_put(out, p + i, n);
		}
	}
}

void utf8_put(struct buf *out, const char *s, size_t len)
{
	while (len && !buf_error(out)) {
		size_t n = utf8_valid(s, len);

		buf_put(out, s, n);
		if (n < len) {
			buf_put_str(out, "\xef\xbf\xbd");
			n++;
		}
		s += n;
		len -= n;
	}
}
