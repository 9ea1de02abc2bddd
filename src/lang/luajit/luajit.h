/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The implementation of LuaJIT in its parts: detection of the file (detect.c), prototypes and the
 * texts in them (proto.c), the names that calls use (call.c), traces (trace.c), and functions
 * (symbolize.c). A place is the number of the next instruction, or LUAJIT_PLACE_C.
 */
#include "bpf/shared/luajit.h"
#include "lang/lang.h"

/* A prototype as it was read; the words are those of GCproto. */
struct luajit_proto {
	uint64_t at;
	__u64 words[LUAJIT_PROTO_BYTES / 8];
};

/* Return: 0, or -ESTALE if there is no prototype at @at. */
int luajit_read_proto(const struct lang_process *p, uint64_t at, struct luajit_proto *out);

/*
 * Finds the prototype in whose code is the instruction before @pc: functions begin with an
 * instruction that occurs nowhere else. Return: 0, -ENOENT or -EFAULT.
 */
int luajit_proto_of(const struct lang_process *p, uint64_t pc, struct luajit_proto *out);

/* The fields of a prototype. */
uint32_t luajit_proto_n_code(const struct luajit_proto *f);
uint32_t luajit_proto_line(const struct luajit_proto *f);

/* Reads the string object at @at; the caller frees *@out. Return: 0 or -errno. */
int luajit_read_string(const struct lang_process *p, uint64_t at, char **out);

/* Reads instructions @first to @first + @n - 1 of a prototype. Return: 0 or -EFAULT. */
int luajit_read_code(const struct lang_process *p, const struct luajit_proto *f, uint32_t first,
		     uint32_t n, uint32_t *out);

/*
 * Reads the name by which instruction @pc of @caller calls a function, as LuaJIT's own tracebacks
 * show it, except for parameters. The caller frees *@out. Return: an enum by_caller; -ENOENT if the
 * function has no name there; -ENODATA if it is a parameter; another -errno.
 */
int luajit_call_name(const struct lang_process *p, const struct luajit_proto *caller, uint32_t pc,
		     char **out);

/*
 * Lists the functions that the trace at @at runs at offset @off of its code, innermost first.
 * Return: their number, at least 1; -ESTALE if @cookie shows that another trace is there now.
 */
int luajit_trace_calls(const struct lang_process *p, uint64_t at, uint32_t off, uint32_t cookie,
		       struct lang_call out[LANG_CALLS_MAX]);

/* The functions of luajit_lang that symbolize.c has; struct lang describes them. */
int luajit_expand(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
		  const uint64_t words[2], struct lang_call out[LANG_CALLS_MAX]);
int luajit_read(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
		uint64_t addr, uint32_t cookie, struct lang_function *out);
uint32_t luajit_line(const struct lang_function *f, uint32_t place);
