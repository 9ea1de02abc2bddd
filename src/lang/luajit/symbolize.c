/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names a function of LuaJIT and finds its lines. Functions have no names: a function has the name
 * by which a caller calls it (by_caller.h), or else that of its file and line.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lang/by_caller.h"
#include "lang/find.h"
#include "lang/luajit/luajit.h"

enum {
	LINES_MAX = LANG_LINES_MAX / 4,
};

/* Reads one word for each instruction, of @width bytes, and makes lines of them. */
static int read_steps(const struct lang_process *p, const struct luajit_proto *f, uint32_t n,
		      size_t width, uint32_t *out)
{
	uint8_t *raw = malloc(n * width);
	int r = 0;

	if (!raw)
		return -ENOMEM;
	if (p->read(p->ctx, f->words[LUAJIT_PROTO_LINES / 8], raw, n * width))
		r = -EFAULT;
	for (uint32_t i = 0; r == 0 && i < n; i++) {
		uint32_t step = 0;

		memcpy(&step, raw + i * width, width);
		out[i] = luajit_proto_line(f) + step;
	}
	free(raw);
	return r;
}

/*
 * Computes the lines of instructions, from the second on; the first one has the function's. They
 * are stored as distances, in as few bytes as the function has lines for.
 */
static int read_lines(const struct lang_process *p, const struct luajit_proto *f,
		      struct lang_function *out)
{
	uint32_t n = luajit_proto_n_code(f);
	uint32_t n_lines = (uint32_t)(f->words[LUAJIT_PROTO_N_LINES / 8] >> 32);
	uint32_t *lines;
	int r;

	if (n < 2 || n > LINES_MAX || !f->words[LUAJIT_PROTO_LINES / 8])
		return 0;
	lines = calloc(n - 1, sizeof(*lines));
	if (!lines)
		return -ENOMEM;
	r = read_steps(p, f, n - 1, n_lines < 256 ? 1 : n_lines < 65536 ? 2 : 4, lines);
	if (r < 0) {
		free(lines);
		return r == -ENOMEM ? r : 0;
	}
	out->lines = (uint8_t *)lines;
	out->n_lines = (n - 1) * (uint32_t)sizeof(*lines);
	return 0;
}

/* The place is the number of the next instruction, so the running one precedes it. */
uint32_t luajit_line(const struct lang_function *f, uint32_t place)
{
	size_t at = place >= 2 ? 4 * ((size_t)place - 2) : SIZE_MAX - 4;
	uint32_t line;

	if (place == LUAJIT_PLACE_C || at + 4 > f->n_lines)
		return f->first_line;
	memcpy(&line, f->lines + at, sizeof(line));
	return line;
}

/* Reads the name that the caller uses. Return: as by_caller_name() expects it. */
static int name_by_caller(const struct lang_process *p, char **out)
{
	struct luajit_proto caller;
	uint32_t place = p->caller ? VM_PLACE_OF(p->caller[1]) : LUAJIT_PLACE_C;

	if (place == LUAJIT_PLACE_C || !place ||
	    luajit_read_proto(p, VM_FRAME_ADDR(p->caller[0]), &caller) < 0 ||
	    lang_check_cookie((uint32_t)p->caller[1], luajit_proto_key(caller.words)) < 0)
		return -ENOENT;
	return luajit_call_name(p, &caller, place - 1, out);
}

int luajit_expand(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
		  const uint64_t words[2], struct lang_call out[LANG_CALLS_MAX])
{
	(void)tables;
	(void)vm;
	if (VM_FRAME_SLOT(words[0]) == LUAJIT_TRACE)
		return luajit_trace_calls(p, VM_FRAME_ADDR(words[0]), VM_PLACE_OF(words[1]),
					  (uint32_t)words[1], out);
	out[0] = (struct lang_call){
		.addr = VM_FRAME_ADDR(words[0]),
		.cookie = (uint32_t)words[1],
		.place = VM_PLACE_OF(words[1]),
	};
	return 1;
}

int luajit_read(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
		uint64_t addr, uint32_t cookie, struct lang_function *out)
{
	struct luajit_proto f;
	int r;

	(void)tables;
	(void)vm;
	if (!addr)
		return -ETIME;
	if (out->place == LUAJIT_PLACE_C)
		return by_caller_c(name_by_caller(p, &out->name), out);
	r = luajit_read_proto(p, addr, &f);
	if (r == 0)
		r = lang_check_cookie(cookie, luajit_proto_key(f.words));
	if (r == 0)
		r = luajit_read_string(p, f.words[LUAJIT_PROTO_SOURCE / 8], &out->file);
	if (r < 0)
		return r == -ENOMEM ? r : -ESTALE;
	by_caller_file(out->file);
	out->first_line = luajit_proto_line(&f);
	r = out->first_line ? name_by_caller(p, &out->name) : -ENOENT;
	r = by_caller_name(r, out->first_line, out);
	if (r < 0)
		return r;
	return read_lines(p, &f, out);
}
