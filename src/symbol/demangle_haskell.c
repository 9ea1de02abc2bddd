/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A symbol is [PACKAGE_]MODULE_NAME[_UNIQUE]_KIND, in which underscores separate the parts only: in
 * a part, "z" or "Z" and a character stand for one that linkers do not accept. The main program has
 * no package. UNIQUE distinguishes functions that are not exported. KIND distinguishes the code
 * of a function from data, whose symbols are not decoded.
 */
#include "symbol/demangle_haskell.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"

enum { PARTS_MAX = 4, TUPLE_MAX = 64, UNICODE_MAX = 0x10ffff, HEX_MAX = 6 };

struct part {
	const char *at;
	size_t len;
};

static const char escapes[][2] = {
	{ 'a', '&' }, { 'b', '|' }, { 'c', '^' },  { 'd', '$' },  { 'e', '=' },
	{ 'g', '>' }, { 'h', '#' }, { 'i', '.' },  { 'l', '<' },  { 'm', '-' },
	{ 'n', '!' }, { 'p', '+' }, { 'q', '\'' }, { 'r', '\\' }, { 's', '/' },
	{ 't', '*' }, { 'u', '_' }, { 'v', '%' },  { 'z', 'z' },
};
static const char upper_escapes[][2] = { { 'L', '(' }, { 'R', ')' }, { 'M', '[' },
					 { 'N', ']' }, { 'C', ':' }, { 'Z', 'Z' } };

static char find_escape(const char (*table)[2], size_t n, char c)
{
	for (size_t i = 0; i < n; i++)
		if (table[i][0] == c)
			return table[i][1];
	return 0;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Decodes z1f600U: a character by its number. Returns the length of the escape; 0: it is none. */
static size_t decode_character(const struct part *p, size_t at, struct buf *out)
{
	uint32_t v = 0;
	size_t i = at + 1;

	for (; i < p->len && i <= at + 1 + HEX_MAX && p->at[i] != 'U'; i++) {
		char c = p->at[i];

		if (!is_digit(c) && !(c >= 'a' && c <= 'f'))
			return 0;
		v = v << 4 | (uint32_t)(is_digit(c) ? c - '0' : c - 'a' + 10);
	}
	if (i >= p->len || p->at[i] != 'U' || v < 0x20 || v > UNICODE_MAX)
		return 0;
	if (v < 0x80) {
		buf_put_byte(out, (uint8_t)v);
		return i + 1 - at;
	}
	if (v >= 0x10000)
		buf_put_byte(out, (uint8_t)(0xf0 | v >> 18));
	if (v >= 0x800)
		buf_put_byte(out,
			     (uint8_t)(v >= 0x10000 ? 0x80 | (v >> 12 & 0x3f) : 0xe0 | v >> 12));
	buf_put_byte(out, (uint8_t)(v >= 0x800 ? 0x80 | (v >> 6 & 0x3f) : 0xc0 | v >> 6));
	buf_put_byte(out, (uint8_t)(0x80 | (v & 0x3f)));
	return i + 1 - at;
}

/* Decodes Z3T, a tuple, and Z3H, an unboxed one. Returns the length; 0: it is none. */
static size_t decode_tuple(const struct part *p, size_t at, struct buf *out)
{
	uint32_t n = 0;
	size_t i = at + 1;
	bool unboxed;

	for (; i < p->len && is_digit(p->at[i]) && n <= TUPLE_MAX; i++)
		n = 10 * n + (uint32_t)(p->at[i] - '0');
	if (i >= p->len || n > TUPLE_MAX || (p->at[i] != 'T' && p->at[i] != 'H'))
		return 0;
	unboxed = p->at[i] == 'H';
	buf_put_str(out, unboxed ? "(#" : "(");
	for (uint32_t k = 1; k < n; k++)
		buf_put_byte(out, ',');
	buf_put_str(out, unboxed ? "#)" : ")");
	return i + 1 - at;
}

/* Decodes the escape at @at. Returns its length; 0: it is none. */
static size_t decode_escape(const struct part *p, size_t at, struct buf *out)
{
	bool upper = p->at[at] == 'Z';
	char c = at + 1 < p->len ? p->at[at + 1] : 0, found;

	if (is_digit(c))
		return upper ? decode_tuple(p, at, out) : decode_character(p, at, out);
	found = upper ? find_escape(upper_escapes, sizeof(upper_escapes) / 2, c)
		      : find_escape(escapes, sizeof(escapes) / 2, c);
	if (found)
		buf_put_byte(out, (uint8_t)found);
	return found ? 2 : 0;
}

static bool decode(const struct part *p, struct buf *out)
{
	for (size_t at = 0; at < p->len;) {
		size_t n = 1;

		if (p->at[at] == 'z' || p->at[at] == 'Z')
			n = decode_escape(p, at, out);
		else
			buf_put_byte(out, (uint8_t)p->at[at]);
		if (!n)
			return false;
		at += n;
	}
	return p->len > 0;
}

/* Removes _KIND. Returns the length without it; 0 if it is not that of a function. */
static size_t len_without_kind(const char *raw)
{
	static const char *const kinds[] = { "_con_info",  "_static_info", "_info",
					     "_con_entry", "_entry",       "_slow" };
	size_t len = strlen(raw);

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t n = strlen(kinds[i]);

		if (len > n && !strcmp(raw + len - n, kinds[i]))
			return len - n;
	}
	return 0;
}

static size_t split(const char *raw, size_t len, struct part parts[PARTS_MAX])
{
	size_t n = 0, from = 0;

	for (size_t i = 0; i <= len; i++) {
		if (i < len && raw[i] != '_')
			continue;
		if (n == PARTS_MAX || i == from)
			return 0;
		parts[n++] = (struct part){ raw + from, i - from };
		from = i + 1;
	}
	return n;
}

static bool is_module(const struct part *p)
{
	return p->at[0] >= 'A' && p->at[0] <= 'Z';
}

char *demangle_haskell(const char *raw, bool with_package)
{
	_cleanup_(buf_fini) struct buf out = { 0 };
	struct part parts[PARTS_MAX], *module = parts;
	size_t n = split(raw, len_without_kind(raw), parts);
	bool has_package = n > 2 && !is_module(&parts[0]);
	bool ok = true;

	module += has_package;
	if (n < 2 || n - has_package > 3 || !is_module(module))
		return NULL;
	if (has_package && with_package) {
		ok = decode(&parts[0], &out);
		buf_put_byte(&out, ':');
	}
	ok = ok && decode(module, &out);
	buf_put_byte(&out, '.');
	ok = ok && decode(module + 1, &out);
	buf_put_byte(&out, '\0');
	return ok && !buf_error(&out) ? strdup((const char *)out.data) : NULL;
}
