/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * What names a function of Lua: its prototype, source and lines. The name that its caller uses is
 * read from the process, if that exists for long enough.
 */
#include "bpf/lib/copy.h"

/* Copies a string (TString). */
WALK_FN int lua_copy_string(__u32 which, __u64 at)
{
	__u64 type = copy_word(at + LUA_TYPE), len = copy_word(at + LUA_STRING_LONG_LEN);

	if ((type & 0xff) != LUA_STRING_LONG)
		len = type >> 8 * (LUA_STRING_SHORT_LEN - LUA_TYPE) & 0xff;
	return len > COPY_TEXT_MAX ? -1 : copy_range(which, at, LUA_STRING_TEXT + (__u32)len);
}

WALK_FN int lua_copy(__u32 which, __u32 vm, __u64 addr)
{
	struct walk *w = lang_walk_get(LANG_LUA, which);
	__u64 n_lines, n_marks;

	/* Callers leave the register of an unused argument undefined, which verifiers refuse. */
	asm volatile("" : : "r"(vm));
	if (!w || w->function.words[1] >> 32 == LUA_PLACE_C)
		return WALK_STOP; /* a function written in C has only the name that its caller uses
				   */
	if (!addr || copy_range(which, addr, LUA_PROTO_BYTES))
		return WALK_OTHER;
	(void)lua_copy_string(which, copy_word(addr + LUA_PROTO_SOURCE));
	n_lines = (__u32)copy_word(addr + LUA_PROTO_N_LINES);
	n_marks = (__u32)copy_word(addr + LUA_PROTO_N_MARKS);
	if (n_lines <= FUNCTION_RANGE_BYTES)
		(void)copy_range(which, copy_word(addr + LUA_PROTO_LINES), (__u32)n_lines);
	if (n_marks <= FUNCTION_RANGE_BYTES / LUA_MARK_BYTES)
		(void)copy_range(which, copy_word(addr + LUA_PROTO_MARKS),
				 LUA_MARK_BYTES * (__u32)n_marks);
	return WALK_CONTINUE;
}
