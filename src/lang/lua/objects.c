/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the two kinds of objects of Lua (lobject.h) that naming a function requires: prototypes and
 * strings. The objects may have been freed since the sample was taken, so each is checked for its
 * type, and lengths are bounded.
 */
#include <errno.h>
#include <string.h>

#include "lang/find.h"
#include "lang/lua/lua.h"

/* The type of a string whose length is one byte. */
enum { STRING_SHORT = 4 };

int lua_read_string(const struct lang_process *p, uint64_t at, char **out)
{
	uint8_t head[LUA_STRING_TEXT];
	uint64_t len;

	if (!at || p->read(p->ctx, at, head, sizeof(head)))
		return -EFAULT;
	len = head[LUA_STRING_SHORT_LEN];
	if (head[LUA_TYPE] == LUA_STRING_LONG)
		memcpy(&len, head + LUA_STRING_LONG_LEN, sizeof(len));
	else if (head[LUA_TYPE] != STRING_SHORT)
		return -ESTALE;
	return lang_read_text(p, at + LUA_STRING_TEXT, len, out);
}

int lua_read_proto(const struct lang_process *p, uint64_t at, struct lua_proto *out)
{
	union {
		__u64 words[LUA_PROTO_BYTES / 8];
		uint8_t bytes[LUA_PROTO_BYTES];
	} head;
	const struct {
		uint32_t at;
		uint32_t *to;
	} numbers[] = {
		{ 20, &out->n_constants },
		{ LUA_PROTO_N_CODE, &out->n_code },
		{ LUA_PROTO_N_LINES, &out->n_lines },
		{ 36, &out->n_locals },
		{ LUA_PROTO_N_MARKS, &out->n_marks },
		{ LUA_PROTO_LINE, &out->first_line },
	};
	const struct {
		uint32_t at;
		uint64_t *to;
	} pointers[] = {
		{ 56, &out->constants },
		{ LUA_PROTO_CODE, &out->code },
		{ 80, &out->upvalues },
		{ LUA_PROTO_LINES, &out->lines },
		{ LUA_PROTO_MARKS, &out->marks },
		{ 104, &out->locals },
		{ LUA_PROTO_SOURCE, &out->source },
	};

	if (p->read(p->ctx, at, &head, sizeof(head)) || head.bytes[LUA_TYPE] != LUA_PROTO)
		return -ESTALE;
	out->at = at;
	out->cookie = lua_cookie_of(head.words);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		memcpy(numbers[i].to, head.bytes + numbers[i].at, sizeof(uint32_t));
		if (*numbers[i].to > INT32_MAX)
			*numbers[i].to = 0;
	}
	for (size_t i = 0; i < sizeof(pointers) / sizeof(pointers[0]); i++)
		memcpy(pointers[i].to, head.bytes + pointers[i].at, sizeof(uint64_t));
	return 0;
}
