/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a function of Lua by its prototype, which has the file and the lines. Functions have no
 * names in Lua: a function is named as its caller names it when it is first seen, or else after its
 * file and line. A function written in C has that name only.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "lang/by_caller.h"
#include "lang/find.h"
#include "lang/lua/lua.h"

enum {
	LINE_IS_MARKED = -128, /* ABSLINEINFO: the line is in the next mark */
	LINES_MAX = LANG_LINES_MAX / 4,
	CALLERS_TRIED = 16, /* callers that are tried before an unnamed function stays unnamed */
};

/*
 * Computes one line for each instruction. lineinfo has the difference to the previous instruction;
 * where that exceeds a byte, the next mark in abslineinfo has the line.
 */
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
		    !p->read(p->ctx, proto->marks + (uint64_t)LUA_MARK_BYTES * n_marked++ + 4,
			     &marked, sizeof(marked)))
			line = marked;
		if (line <= INT32_MAX)
			memcpy(out->lines + (size_t)4 * i, &line, 4);
	}
	out->n_lines = 4 * n;
	return 0;
}

/* Reads the name that the caller uses. Return: 0, -ENOENT if there is none, -ENOMEM. */
static int name_by_caller(const struct lang_process *p, char **out)
{
	struct lua_proto caller;
	uint32_t place = p->caller ? p->caller[1] >> 32 : LUA_PLACE_C;

	if (place == LUA_PLACE_C || !place ||
	    lua_read_proto(p, VM_FRAME_ADDR(p->caller[0]), &caller) < 0)
		return -ENOENT;
	return lua_call_name(p, &caller, place - 1, out);
}

/* Reads the source: "@dir/file.lua" is a file; other code was not read from a file and has none. */
static int read_file(const struct lang_process *p, uint64_t source, char **out)
{
	int r = lua_read_string(p, source, out);

	if (r == 0 && (*out)[0] == '@')
		memmove(*out, *out + 1, strlen(*out));
	else if (r == 0)
		snprintf(*out, strlen(*out) + 1, "%s", "");
	return r;
}

/*
 * Names a function of Lua: its caller's name for it, <FILE:LINE>, or <FILE> for a file's own code.
 */
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
	out->unnamed = proto->first_line ? CALLERS_TRIED : 0;
	r = proto->first_line ? asprintf(&out->name, "<%s:%u>", base, proto->first_line)
			      : asprintf(&out->name, "<%s>", base);
	return r < 0 ? -ENOMEM : 0;
}

/* Reads a function written in C, whose address does not lead to a name. */
static int read_c(const struct lang_process *p, struct lang_function *out)
{
	int r = name_by_caller(p, &out->name);

	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		out->name = strdup("[C function]");
		out->unnamed = CALLERS_TRIED;
	}
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
		r = lang_check_cookie(cookie, proto.cookie);
	if (r == 0)
		r = read_file(p, proto.source, &out->file);
	if (r == 0)
		r = make_name(p, &proto, out);
	if (r < 0)
		return r == -ENOMEM ? r : -ESTALE;
	out->first_line = proto.first_line;
	return read_lines(p, &proto, out);
}
