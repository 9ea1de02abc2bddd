/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/perfmap.h"

#include <stdbool.h>
#include <string.h>

#include "symbol/jit_input.h"

enum { LINE_MAX_LEN = JIT_NAME_MAX + 64 };

/* Parses a hexadecimal number and the space after it, and advances *@s. */
static bool parse_hex(const char **s, const char *end, uint64_t *out)
{
	const char *p = *s;
	uint64_t v = 0;
	int digits = 0;

	if (end - p > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
		p += 2;
	for (; p < end && digits <= 16; p++, digits++) {
		char c = *p;

		if (c >= '0' && c <= '9')
			v = v << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			v = v << 4 | (uint64_t)(c - 'a' + 10);
		else if (c >= 'A' && c <= 'F')
			v = v << 4 | (uint64_t)(c - 'A' + 10);
		else
			break;
	}
	if (!digits || digits > 16 || p == end || *p != ' ')
		return false;
	*s = p + 1;
	*out = v;
	return true;
}

/* Applies the line of @len bytes at @off. */
static void apply_line(struct jit_places *places, const char *line, size_t len, uint64_t off)
{
	const char *s = line, *end = line + len;
	uint64_t start, size;
	struct jit_text name;

	if (!parse_hex(&s, end, &start) || !parse_hex(&s, end, &size) || s == end ||
	    memchr(s, 0, (size_t)(end - s)))
		return;
	name.off = off + (uint64_t)(s - line);
	name.len = (uint32_t)(end - s < JIT_NAME_MAX ? end - s : JIT_NAME_MAX);
	jit_places_put(places, start, size, &name);
}

void perfmap_scan(struct jit_input *in, uint64_t *at, struct jit_places *places)
{
	uint64_t off = *at; /* of what was not looked at yet; differs from *at in a long line */

	for (;;) {
		size_t n;
		const char *p = (const char *)jit_input_at(in, off, LINE_MAX_LEN, &n);
		const char *nl = memchr(p, '\n', n < LINE_MAX_LEN ? n : LINE_MAX_LEN);

		if (nl) {
			if (off == *at)
				apply_line(places, p, (size_t)(nl - p), off);
			off += (uint64_t)(nl - p) + 1;
			*at = off;
		} else if (n < LINE_MAX_LEN) {
			return;
		} else {
			off += LINE_MAX_LEN;
		}
	}
}
