/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the name by which a call instruction of LuaJIT 2.1 (lj_bc.h) calls a function. The slot
 * that the call uses was filled shortly before: from a global, a field, a method, an upvalue or a
 * local variable, whose name is among the constants or in the debug information. The search ends at
 * the nearest instruction that fills the slot; LuaJIT's own tracebacks do the same
 * (lj_debug_slotname() in lj_debug.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lang/by_caller.h"
#include "lang/find.h"
#include "lang/luajit/luajit.h"

enum opcode {
	OP_ISTC = 12,
	OP_ISFC = 13,
	OP_MOV = 18,
	OP_FIRST_TO_A =
		18, /* from here to OP_LAST_TO_A, instructions fill slot A, except OP_KNIL */
	OP_LAST_TO_A = 43,
	OP_KNIL = 44,
	OP_UGET = 45,
	OP_FNEW = 51,
	OP_GGET = 54,
	OP_TGETV = 56,
	OP_TGETS = 57,
	OP_TGETR = 59,
	OP_TSETM = 63,
	OP_CALLM = 65, /* from here to OP_JFORL, slots from A on are filled */
	OP_CALLT = 68,
	OP_ITERC = 69,
	OP_ITERN = 70,
	OP_JFORL = 81,
};

enum {
	CODE_BACK_MAX = 64, /* instructions searched before a call */
	TEXT_MAX = 4096,    /* bytes of debug information that are read */
	NAMES_MAX = 7, /* smaller first bytes stand for names of the compiler's own variables */
	PROTO_SIZE = 56,
	MOVES_MAX = 8,
};

static uint32_t op(uint32_t code)
{
	return code & 0xff;
}

static uint32_t arg_a(uint32_t code)
{
	return code >> 8 & 0xff;
}

static uint32_t arg_c(uint32_t code)
{
	return code >> 16 & 0xff;
}

static uint32_t arg_d(uint32_t code)
{
	return code >> 16;
}

/* Debug information of a prototype, which is bytes at the end of its memory. */
struct text {
	uint8_t data[TEXT_MAX];
	size_t len, at;
};

/* Reads the debug information to which field @field points. */
static int read_debug(const struct lang_process *p, const struct luajit_proto *f, size_t field,
		      struct text *out)
{
	uint64_t from = f->words[field / 8], to = f->at + (uint32_t)f->words[PROTO_SIZE / 8];

	out->at = 0;
	if (from < f->at || from >= to)
		return -ENOENT;
	out->len = to - from < TEXT_MAX ? to - from : TEXT_MAX;
	return p->read(p->ctx, from, out->data, out->len) ? -ENOENT : 0;
}

/* Skips a text that ends with a zero. Returns it, or NULL at the end. */
static const char *next_text(struct text *t)
{
	const char *start = (const char *)t->data + t->at;
	const uint8_t *end = memchr(start, 0, t->len - t->at);

	if (!end)
		return NULL;
	t->at = (size_t)(end - t->data) + 1;
	return start;
}

static int next_uleb(struct text *t, uint32_t *out)
{
	uint32_t v = 0;

	for (unsigned int shift = 0; t->at < t->len && shift < 32; shift += 7) {
		uint8_t byte = t->data[t->at++];

		v |= (uint32_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*out = v;
			return 0;
		}
	}
	return -ENOENT;
}

static int copy_text(const char *text, char **out)
{
	if (!text || !*text)
		return -ENOENT;
	*out = strndup(text, LANG_NAME_MAX);
	return *out ? 0 : -ENOMEM;
}

/*
 * Reads the name of the local variable in @slot at instruction @pc. A parameter, which exists from
 * the first instruction on, is -ENODATA.
 */
static int local(const struct lang_process *p, const struct luajit_proto *f, uint32_t slot,
		 uint32_t pc, char **out)
{
	uint32_t start = 0, delta, length;
	struct text t;

	if (read_debug(p, f, LUAJIT_PROTO_VARIABLES, &t) < 0)
		return -ENOENT;
	while (t.at < t.len && t.data[t.at]) {
		const char *name = "";

		if (t.data[t.at] < NAMES_MAX)
			t.at++;
		else if (!(name = next_text(&t)))
			return -ENOENT;
		if (next_uleb(&t, &delta) < 0 || next_uleb(&t, &length) < 0)
			return -ENOENT;
		start += delta;
		if (start > pc)
			return -ENOENT;
		if (pc < start + length && !slot--)
			return start ? by_caller_grade(BY_LOCAL, copy_text(name, out)) : -ENODATA;
	}
	return -ENOENT;
}

static int upvalue(const struct lang_process *p, const struct luajit_proto *f, uint32_t i,
		   char **out)
{
	const char *name = NULL;
	struct text t;

	if (read_debug(p, f, LUAJIT_PROTO_UPVALUES, &t) < 0)
		return -ENOENT;
	for (uint32_t k = 0; k <= i; k++) {
		name = t.at < t.len ? next_text(&t) : NULL;
		if (!name)
			return -ENOENT;
	}
	return copy_text(name, out);
}

/* Reads the string among the constants, which are below the pointer to them. */
static int constant(const struct lang_process *p, const struct luajit_proto *f, uint32_t i,
		    char **out)
{
	uint64_t name, at = f->words[LUAJIT_PROTO_CONSTANTS / 8] - 8 * ((uint64_t)i + 1);

	return lang_read_u64(p, at, &name) < 0 ? -ENOENT : luajit_read_string(p, name, out);
}

/* Returns true if an instruction fills @slot among others, so that it has no name. */
static bool overwrites(uint32_t code, uint32_t slot)
{
	uint32_t o = op(code);

	if (o == OP_KNIL)
		return slot >= arg_a(code) && slot <= arg_d(code);
	return (o == OP_TSETM || (o >= OP_CALLM && o <= OP_JFORL)) && slot >= arg_a(code);
}

/* Returns true if an instruction fills @slot alone. */
static bool fills(uint32_t code, uint32_t slot)
{
	uint32_t o = op(code);

	return arg_a(code) == slot &&
	       (o == OP_ISTC || o == OP_ISFC || (o >= OP_FIRST_TO_A && o <= OP_LAST_TO_A) ||
		o == OP_UGET || (o >= OP_FNEW && o <= OP_GGET) || (o >= OP_TGETV && o <= OP_TGETR));
}

/*
 * Reads the name of the value that @code loads. Return: an enum by_caller; -ENOENT if it has none;
 * -EAGAIN if @code copies another slot.
 */
static int name_of_load(const struct lang_process *p, const struct luajit_proto *f, uint32_t code,
			char **out)
{
	switch (op(code)) {
	case OP_MOV:
		return -EAGAIN;
	case OP_GGET:
		return by_caller_grade(BY_GLOBAL, constant(p, f, arg_d(code), out));
	case OP_TGETS:
		return by_caller_grade(BY_FIELD, constant(p, f, arg_c(code), out));
	case OP_UGET:
		return by_caller_grade(BY_FIELD, upvalue(p, f, arg_d(code), out));
	default:
		return -ENOENT;
	}
}

/* Names the function in @slot; @codes are the @n instructions before instruction @pc. */
static int slot_name(const struct lang_process *p, const struct luajit_proto *f,
		     const uint32_t *codes, uint32_t n, uint32_t pc, uint32_t slot, char **out)
{
	int r = local(p, f, slot, pc, out), moves = 0;

	while (r == -ENOENT && n > 0) {
		uint32_t code = codes[--n];

		pc--;
		if (overwrites(code, slot))
			return -ENOENT;
		if (!fills(code, slot))
			continue;
		r = name_of_load(p, f, code, out);
		if (r != -EAGAIN || ++moves > MOVES_MAX)
			return r == -EAGAIN ? -ENOENT : r;
		slot = arg_d(code);
		r = local(p, f, slot, pc, out);
	}
	return r;
}

int luajit_call_name(const struct lang_process *p, const struct luajit_proto *caller, uint32_t pc,
		     char **out)
{
	uint32_t codes[CODE_BACK_MAX], n = pc < CODE_BACK_MAX ? pc + 1 : CODE_BACK_MAX, call, slot;

	if (pc >= luajit_proto_n_code(caller) ||
	    luajit_read_code(p, caller, pc + 1 - n, n, codes) < 0)
		return -ENOENT;
	call = codes[n - 1];
	if (op(call) < OP_CALLM || op(call) > OP_ITERN)
		return -ENOENT;
	slot = arg_a(call);
	if (op(call) >= OP_ITERC)
		slot -= 3;
	return slot_name(p, caller, codes, n - 1, pc, slot, out);
}
