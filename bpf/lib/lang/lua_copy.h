/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Copies the memory that names a function of Lua: its prototype, source and lines. The name that
 * its caller uses is read from the process, if that exists for long enough.
 */
#include "bpf/lib/copy.h"

/* Copies a string (TString); the other parameters are fields of struct lua_vm. */
WALK_FN int lua_copy_string(__u32 which, __u64 at, __u32 short_len, __u32 is_external)
{
	__u64 type = copy_word(at + LUA_TYPE), len = copy_word(at + LUA_STRING_LEN);
	__u32 is_long = (type & 0xff) == LUA_STRING_LONG;

	if (!is_long && short_len)
		len = type >> 8 * (short_len & 7) & 0xff;
	if (len > COPY_TEXT_MAX)
		return -1;
	if (!is_long || !is_external)
		return copy_range(which, at, LUA_STRING_TEXT + (__u32)len);
	if (copy_range(which, at, LUA_STRING_TEXT + 8))
		return -1;
	return copy_range(which, copy_word(at + LUA_STRING_TEXT), (__u32)len);
}

WALK_FN int lua_copy(__u32 which, __u32 vm, __u64 addr)
{
	struct walk *w = lang_walk_get(LANG_LUA, which);
	const struct lua_vm *lua = lua_get(vm);
	__u64 n_lines, n_marks;

	if (!w || !lua || w->function.words[1] >> 32 == LUA_PLACE_C)
		return WALK_STOP; /* a C function has only the name that its caller uses */
	if (!addr || copy_range(which, addr, LUA_PROTO_BYTES))
		return WALK_OTHER;
	(void)lua_copy_string(which, copy_word(addr + lua->proto_source), lua->string_short_len,
			      lua->string_is_external);
	n_lines = (__u64)(__u32)copy_word(addr + lua->proto_n_lines) * lua->line_bytes;
	n_marks = lua->proto_n_marks ? (__u32)copy_word(addr + lua->proto_n_marks) : 0;
	if (n_lines <= FUNCTION_RANGE_BYTES)
		(void)copy_range(which, copy_word(addr + lua->proto_lines), (__u32)n_lines);
	if (n_marks <= FUNCTION_RANGE_BYTES / LUA_MARK_BYTES)
		(void)copy_range(which, copy_word(addr + lua->proto_marks),
				 LUA_MARK_BYTES * (__u32)n_marks);
	return WALK_CONTINUE;
}
