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

int lua_read_string(const struct lua_vm *lua, const struct lang_process *p, uint64_t at, char **out)
{
	uint8_t head[LUA_STRING_TEXT];
	uint64_t len, text = at + LUA_STRING_TEXT;
	bool is_long;

	if (!at || p->read(p->ctx, at, head, sizeof(head)))
		return -EFAULT;
	is_long = head[LUA_TYPE] == LUA_STRING_LONG;
	if (!is_long && head[LUA_TYPE] != STRING_SHORT)
		return -ESTALE;
	memcpy(&len, head + LUA_STRING_LEN, sizeof(len));
	if (!is_long && lua->string_short_len)
		len = head[lua->string_short_len];
	if (is_long && lua->string_is_external && lang_read_u64(p, text, &text) < 0)
		return -EFAULT;
	return lang_read_text(p, text, len, out);
}

int lua_read_proto(const struct lua_vm *lua, const struct lang_process *p, uint64_t at,
		   struct lua_proto *out)
{
	union {
		__u64 words[LUA_PROTO_BYTES / 8];
		uint8_t bytes[LUA_PROTO_BYTES];
	} head;
	const struct {
		uint32_t at;
		uint32_t *to;
	} numbers[] = {
		{ lua->proto_n_constants, &out->n_constants },
		{ lua->proto_n_code, &out->n_code },
		{ lua->proto_n_lines, &out->n_lines },
		{ lua->proto_n_locals, &out->n_locals },
		{ lua->proto_n_marks, &out->n_marks },
		{ lua->proto_line, &out->first_line },
	};
	const struct {
		uint32_t at;
		uint64_t *to;
	} pointers[] = {
		{ lua->proto_constants, &out->constants }, { lua->proto_code, &out->code },
		{ lua->proto_upvalues, &out->upvalues },   { lua->proto_lines, &out->lines },
		{ lua->proto_marks, &out->marks },         { lua->proto_locals, &out->locals },
		{ lua->proto_source, &out->source },
	};

	if (!lua->version || p->read(p->ctx, at, &head, sizeof(head)) ||
	    head.bytes[LUA_TYPE] != lua->proto_type)
		return -ESTALE;
	out->lua = lua;
	out->at = at;
	out->cookie = lua_cookie_of(lua, head.words);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		memcpy(numbers[i].to, head.bytes + numbers[i].at, sizeof(uint32_t));
		if (*numbers[i].to > INT32_MAX)
			*numbers[i].to = 0;
	}
	for (size_t i = 0; i < sizeof(pointers) / sizeof(pointers[0]); i++)
		memcpy(pointers[i].to, head.bytes + pointers[i].at, sizeof(uint64_t));
	if (!lua->proto_n_marks)
		out->n_marks = 0;
	return 0;
}
