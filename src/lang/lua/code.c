/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A function of Lua by its prototype: file and lines. Functions have no names
 * in Lua; one has the name by which it was called when it was first seen, else
 * that of its file and line. What is written in C has its name alone.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "lang/find.h"
#include "lang/lua/lua.h"

enum {
	STRING_SHORT = 4, /* types of objects */
	STRING_LONG = 0x14,
	STRING_SHORT_LEN = 11,
	STRING_LONG_LEN = 16,
	STRING_TEXT = 24,
	MARK_BYTES = 8, /* an instruction and its line */
	LINE_IS_MARKED = -128,
	LINES_MAX = LANG_LINES_MAX / 4,
	NAMES_ASKED = 16, /* callers that are asked for a name */
};

int lua_read_string(const struct lang_process *p, uint64_t at, char **out)
{
	uint8_t head[STRING_TEXT];
	uint64_t len;

	if (!at || p->read(p->ctx, at, head, sizeof(head)))
		return -EFAULT;
	len = head[STRING_SHORT_LEN];
	if (head[LUA_TYPE] == STRING_LONG)
		memcpy(&len, head + STRING_LONG_LEN, sizeof(len));
	else if (head[LUA_TYPE] != STRING_SHORT)
		return -ESTALE;
	return lang_read_text(p, at + STRING_TEXT, len, out);
}

int lua_read_proto(const struct lang_process *p, uint64_t at, struct lua_proto *out)
{
	uint8_t head[LUA_PROTO_BYTES];
	const struct {
		uint32_t at;
		uint32_t *to;
	} numbers[] = {
		{ 20, &out->n_constants }, { LUA_PROTO_N_CODE, &out->n_code },
		{ 28, &out->n_lines },     { 36, &out->n_locals },
		{ 40, &out->n_marks },     { LUA_PROTO_LINE, &out->first_line },
	};
	const struct {
		uint32_t at;
		uint64_t *to;
	} pointers[] = {
		{ 56, &out->constants },
		{ LUA_PROTO_CODE, &out->code },
		{ 80, &out->upvalues },
		{ 88, &out->lines },
		{ 96, &out->marks },
		{ 104, &out->locals },
		{ LUA_PROTO_SOURCE, &out->source },
	};

	if (p->read(p->ctx, at, head, sizeof(head)) || head[LUA_TYPE] != LUA_PROTO)
		return -ESTALE;
	out->at = at;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		memcpy(numbers[i].to, head + numbers[i].at, sizeof(uint32_t));
		if (*numbers[i].to > INT32_MAX)
			*numbers[i].to = 0;
	}
	for (size_t i = 0; i < sizeof(pointers) / sizeof(pointers[0]); i++)
		memcpy(pointers[i].to, head + pointers[i].at, sizeof(uint64_t));
	return 0;
}

/* One line for each instruction: the step from the one before, or what a mark says. */
static int read_lines(const struct lang_process *p, const struct lua_proto *proto,
		      struct lang_function *out)
{
	uint32_t n = proto->n_lines, line = proto->first_line, n_marked = 0, marked;
	_cleanup_(freep) int8_t *steps = NULL;

	if (!n || n > LINES_MAX)
		return 0;
	steps = malloc(n);
	out->lines = calloc(n, 4);
	if (!steps || !out->lines)
		return -ENOMEM;
	if (p->read(p->ctx, proto->lines, steps, n))
		return 0;
	for (uint32_t i = 0; i < n; i++) {
		line += (uint32_t)steps[i];
		if (steps[i] == LINE_IS_MARKED && n_marked < proto->n_marks &&
		    !p->read(p->ctx, proto->marks + (uint64_t)MARK_BYTES * n_marked++ + 4, &marked,
			     sizeof(marked)))
			line = marked;
		if (line <= INT32_MAX)
			memcpy(out->lines + (size_t)4 * i, &line, 4);
	}
	out->n_lines = 4 * n;
	return 0;
}

/* By whom it was called, as far as that is known. */
static int name_by_caller(const struct lang_process *p, char **out)
{
	struct lua_proto caller;
	uint32_t place = p->caller ? p->caller[1] >> 32 : LUA_PLACE_C;

	if (place == LUA_PLACE_C || !place ||
	    lua_read_proto(p, VM_FRAME_ADDR(p->caller[0]), &caller) < 0)
		return -ENOENT;
	return lua_call_name(p, &caller, place - 1, out);
}

/* "@dir/file.lua" is a file; else it is code that was not of a file. */
static int read_file(const struct lang_process *p, uint64_t source, char **out)
{
	int r = lua_read_string(p, source, out);

	if (r == 0 && (*out)[0] == '@')
		memmove(*out, *out + 1, strlen(*out));
	else if (r == 0)
		snprintf(*out, strlen(*out) + 1, "%s", "");
	return r;
}

static int make_name(const struct lang_process *p, const struct lua_proto *proto,
		     struct lang_function *out)
{
	const char *base = strrchr(out->file, '/');
	int r = -ENOENT;

	base = base ? base + 1 : out->file;
	if (proto->first_line)
		r = name_by_caller(p, &out->name);
	if (r == 0 || r == -ENOMEM)
		return r;
	out->unnamed = proto->first_line ? NAMES_ASKED : 0;
	r = proto->first_line ? asprintf(&out->name, "<%s:%u>", base, proto->first_line)
			      : asprintf(&out->name, "<%s>", base);
	return r < 0 ? -ENOMEM : 0;
}

static int read_c(const struct lang_process *p, struct lang_function *out)
{
	int r = name_by_caller(p, &out->name);

	if (r == -ENOMEM)
		return r;
	if (r < 0)
		out->name = strdup("[C function]");
	if (r < 0)
		out->unnamed = NAMES_ASKED;
	out->file = strdup("");
	return out->name && out->file ? 0 : -ENOMEM;
}

int lua_read(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
	     uint64_t addr, uint32_t cookie, struct lang_function *out)
{
	struct lua_proto proto;
	int r;

	(void)tables;
	(void)vm;
	if (out->place == LUA_PLACE_C)
		return read_c(p, out);
	r = lua_read_proto(p, addr, &proto);
	if (r == 0)
		r = lang_check_cookie(cookie, LUA_COOKIE_BYTES((uint64_t)proto.first_line,
							       proto.code, proto.source));
	if (r == 0)
		r = read_file(p, proto.source, &out->file);
	if (r == 0)
		r = make_name(p, &proto, out);
	if (r < 0)
		return r == -ENOMEM ? r : -ESTALE;
	out->first_line = proto.first_line;
	return read_lines(p, &proto, out);
}
