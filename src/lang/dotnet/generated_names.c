/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Undoes the names that compilers make (Roslyn's GeneratedNameKind, and those of mcs). A name in
 * angle brackets is that of the method in the source for which a type or method was made; the
 * letter after it is the purpose.
 *
 *   <Fetch>d__3, <Fetch>c__async0, <Items>c__Iterator0   a state machine: the code is in MoveNext
 *   <>c, <>c__DisplayClass3_0, <Run>c__AnonStorey0       what lambdas share
 *   <Run>b__3_0, <Run>m__0, <>m__0                       a lambda
 *   <Run>g__Inner|3_0                                    a local function
 *   <<Run>b__3_0>d                                       the state machine of a lambda
 */
#include <string.h>

#include "base/buf.h"
#include "lang/dotnet/dotnet.h"

enum { DEPTH_MAX = 4 };

/* The length of the text in the brackets with which @name begins; 0 also if there are none. */
static size_t bracketed(const char *name, size_t len)
{
	int depth = 0;

	for (size_t i = 0; i < len; i++) {
		depth += (name[i] == '<') - (name[i] == '>');
		if (!depth)
			return i ? i - 1 : 0;
	}
	return 0;
}

static void put_part(struct buf *out, const char *part, size_t len)
{
	if (!len)
		return;
	if (out->len && out->data[out->len - 1] != '.')
		buf_put_byte(out, '.');
	buf_put(out, part, len);
}

/* Appends a method's name, or what is within the brackets of a type's. */
static void put_method(struct buf *out, const char *name, size_t len, int depth)
{
	size_t in = bracketed(name, len), tail = in + 2;
	const char *end;

	if (len < 2 || name[0] != '<' || tail >= len || depth > DEPTH_MAX) {
		put_part(out, name, len);
		return;
	}
	put_method(out, name + 1, in, depth + 1);
	if (name[tail] == 'b' || name[tail] == 'm') {
		put_part(out, "<lambda>", 8);
	} else if (name[tail] == 'g' && len - tail > 3) {
		end = memchr(name + tail, '|', len - tail);
		put_part(out, name + tail + 3, (end ? (size_t)(end - name) : len) - tail - 3);
	} else if (!in) {
		put_part(out, name, len);
	}
}

void dotnet_put_type(struct buf *out, const char *name)
{
	size_t len = strlen(name);

	if (name[0] == '<')
		put_method(out, name + 1, bracketed(name, len), 1);
	else
		put_part(out, name, len);
}

void dotnet_put_method(struct buf *out, const char *name, const char *type)
{
	/* a state machine has the function's name already */
	if (bracketed(type, strlen(type)) && !strcmp(name, "MoveNext"))
		return;
	put_method(out, name, strlen(name), 0);
}
