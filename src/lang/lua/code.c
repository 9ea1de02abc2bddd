/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a function of Lua by its prototype, which has the file and the lines. Functions have no
 * names in Lua: a function is named as a caller names it (by_caller.h), or else after its file and
 * line. A function written in C has that name only.
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
};

/*
 * Adds up the differences to the previous line in @lines, which has one byte for each instruction.
 * Where a difference exceeds a byte, the next mark has the line.
 */
static void add_steps(const struct lang_process *p, const struct lua_proto *proto,
		      const int8_t *steps, uint32_t *lines)
{
	uint32_t line = proto->first_line, n_marked = 0, marked;

	for (uint32_t i = 0; i < proto->n_lines; i++) {
		line += (uint32_t)steps[i];
		if (steps[i] == LINE_IS_MARKED && n_marked < proto->n_marks &&
		    !p->read(p->ctx, proto->marks + (uint64_t)LUA_MARK_BYTES * n_marked++ + 4,
			     &marked, sizeof(marked)))
			line = marked;
		lines[i] = line;
	}
}

/* Reads one line for each instruction. Lines that cannot be read are 0. */
static int read_lines(const struct lang_process *p, const struct lua_proto *proto,
		      struct lang_function *out)
{
	uint32_t n = proto->n_lines, n_bytes = n * proto->lua->line_bytes;
	_cleanup_(freep) uint32_t *lines = NULL;
	_cleanup_(freep) uint8_t *table = NULL;

	if (!n || n > LINES_MAX)
		return 0;
	table = malloc(n_bytes);
	lines = calloc(n, sizeof(*lines));
	if (!table || !lines)
		return -ENOMEM;
	if (p->read(p->ctx, proto->lines, table, n_bytes))
		return 0;
	if (proto->lua->line_bytes == 1)
		add_steps(p, proto, (const int8_t *)table, lines);
	else
		memcpy(lines, table, n_bytes);
	for (uint32_t i = 0; i < n; i++)
		if (lines[i] > INT32_MAX)
			lines[i] = 0;
	out->lines = (uint8_t *)steal_ptr(&lines);
	out->n_lines = 4 * n;
	return 0;
}

/* Reads the name that the caller uses. Return: as by_caller_name() expects it. */
static int name_by_caller(const struct lua_vm *lua, const struct lang_process *p, char **out)
{
	struct lua_proto caller;
	uint32_t place = p->caller ? p->caller[1] >> 32 : LUA_PLACE_C;

	if (place == LUA_PLACE_C || !place ||
	    lua_read_proto(lua, p, VM_FRAME_ADDR(p->caller[0]), &caller) < 0 ||
	    lang_check_cookie((uint32_t)p->caller[1], caller.cookie) < 0)
		return -ENOENT;
	return lua_call_name(p, &caller, place - 1, out);
}

int lua_read(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
	     uint64_t addr, uint32_t cookie, struct lang_function *out)
{
	const struct lua_vm *lua = &tables->lua[vm];
	struct lua_proto proto;
	int r;

	if (out->place == LUA_PLACE_C)
		return by_caller_c(name_by_caller(lua, p, &out->name), out);
	r = lua_read_proto(lua, p, addr, &proto);
	if (r == 0)
		r = lang_check_cookie(cookie, proto.cookie);
	if (r == 0)
		r = lua_read_string(lua, p, proto.source, &out->file);
	if (r < 0)
		return r == -ENOMEM ? r : -ESTALE;
	by_caller_file(out->file);
	out->first_line = proto.first_line;
	r = out->first_line ? name_by_caller(lua, p, &out->name) : -ENOENT;
	r = by_caller_name(r, out->first_line, out);
	if (r < 0)
		return r;
	return read_lines(p, &proto, out);
}
