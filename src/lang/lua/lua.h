/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The parts of Lua's support. */
#include "bpf/shared/lua.h"
#include "lang/lang.h"

struct elf_image;

int lua_detect(const struct elf_image *img, const struct vm_tables *tables, uint32_t vm,
	       struct lang_detected *d);

int lua_read(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
	     uint64_t addr, uint32_t cookie, struct lang_function *out);

/* What of a prototype's header is read. */
struct lua_proto {
	uint64_t at;
	uint32_t n_constants, n_code, n_lines, n_locals, n_marks, first_line;
	uint64_t constants, code, upvalues, lines, marks, locals, source;
};

/* 0, or -ESTALE if there is none at @at. */
int lua_read_proto(const struct lang_process *p, uint64_t at, struct lua_proto *out);

/* The text of a string object, owned. */
int lua_read_string(const struct lang_process *p, uint64_t at, char **out);

/*
 * What the instruction @pc of @caller calls, by the name that it has there: as
 * Lua's own tracebacks have it. -ENOENT if it is no name.
 */
int lua_call_name(const struct lang_process *p, const struct lua_proto *caller, uint32_t pc,
		  char **out);
