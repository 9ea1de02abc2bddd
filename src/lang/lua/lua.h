/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The implementation of Lua 5.1 to 5.5 in its parts: the layouts of the versions (layout.c),
 * detection of the file (detect.c), functions (code.c), the names that calls use (call.c) and the
 * objects that these read (objects.c). A place is the position of the next instruction in its
 * prototype, or LUA_PLACE_C.
 */
#include "bpf/shared/lua.h"
#include "lang/lang.h"

/* The functions of lua_lang; struct lang describes them. */
int lua_detect(const struct elf_image *img, const struct vm_tables *tables, uint32_t vm,
	       struct lang_detected *d);

int lua_read(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
	     uint64_t addr, uint32_t cookie, struct lang_function *out);

/* Returns the layout of Lua 5.4.2, for example: @version 504, @release 2. NULL: not supported. */
const struct lua_vm *lua_layout(uint32_t version, uint32_t release);

/* The fields of a prototype that are used; counts and addresses. @lua is borrowed. */
struct lua_proto {
	const struct lua_vm *lua;
	uint64_t at, cookie;
	uint32_t n_constants, n_code, n_lines, n_locals, n_marks, first_line;
	uint64_t constants, code, upvalues, lines, marks, locals, source;
};

/* Return: 0, or -ESTALE if there is no prototype at @at. Counts that are implausible become 0. */
int lua_read_proto(const struct lua_vm *lua, const struct lang_process *p, uint64_t at,
		   struct lua_proto *out);

/* Reads the text of a string object; the caller frees *@out. Return: 0 or -errno. */
int lua_read_string(const struct lua_vm *lua, const struct lang_process *p, uint64_t at,
		    char **out);

/*
 * Reads the name by which instruction @pc of @caller calls a function, as Lua's own tracebacks show
 * it, except for parameters. The caller frees *@out. Return: an enum by_caller; -ENOENT if the
 * function has no name there; -ENODATA if it is a parameter; another -errno.
 */
int lua_call_name(const struct lang_process *p, const struct lua_proto *caller, uint32_t pc,
		  char **out);
