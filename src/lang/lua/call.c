/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the name by which a call instruction of Lua (lopcodes.h) calls a function. The register
 * that the call uses was filled shortly before, from a global, a field, a method or another
 * variable, whose name is among the constants or in the debug information. The search ends at the
 * nearest instruction that fills the register: a function that a condition selected or that another
 * call returned has no name. Lua's own tracebacks do the same (funcnamefromcode() in ldebug.c).
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "lang/by_caller.h"
#include "lang/find.h"
#include "lang/lua/lua.h"

enum {
	CODE_BACK_MAX = 64, /* instructions searched before a call */
	LOCALS_MAX = 256,
	VALUE_BYTES = 16,
	LOCAL_BYTES = 16, /* a local variable has a name and the range of pc in which it exists */
	OP_MOVE = 0,      /* in all versions */
	OPS_MAX = 128,
};

/* A field of an instruction. */
struct bits {
	uint8_t shift, n;
};

/* The instructions of one version; an opcode that it lacks is OPS_MAX. */
struct code {
	uint32_t version;
	struct bits op, a, b, c;
	uint8_t load_nil, get_upvalue, get_global, get_in_upvalue, get_field, self, call, tail_call,
		for_call;
	uint8_t capturing_closure; /* is followed by moves to register 0: what it captures */
	uint16_t constant_bit;     /* set in field c if that is a constant; 0: it always is one */
	/* Bit i of the first, bit i - 64 of the second: opcode i does not write register a. */
	uint64_t not_to_a[2];
};

#define BIT(i)            (1ULL << (i))
#define BITS(first, last) ((BIT((last) - (first)) * 2 - 1) << (first))

#define UNTIL_5_3 .op = { 0, 6 }, .a = { 6, 8 }, .b = { 23, 9 }, .c = { 14, 9 }, .constant_bit = 256

#define FROM_5_4                                                                                   \
	.op = { 0, 7 }, .a = { 7, 8 }, .b = { 16, 8 }, .c = { 24, 8 }, .load_nil = 8,              \
	.get_upvalue = 9, .get_global = OPS_MAX, .get_in_upvalue = 11, .get_field = 14,            \
	.self = 20, .call = 68, .tail_call = 69, .for_call = 76, .capturing_closure = OPS_MAX,     \
	.not_to_a = { BIT(10) | BITS(15, 18) | BITS(46, 48) | BITS(54, 63),                        \
		      BITS(0, 2) | BITS(6, 8) | BITS(11, 12) | BIT(14) | BIT(18) | BIT(20) }

static const struct code versions[] = {
	{ 501, UNTIL_5_3, .load_nil = 3, .get_upvalue = 4, .get_global = 5,
	  .get_in_upvalue = OPS_MAX, .get_field = 6, .self = 11, .call = 28, .tail_call = 29,
	  .for_call = 33, .capturing_closure = 36,
	  .not_to_a = { BITS(7, 9) | BITS(22, 25) | BIT(30) | BITS(33, 35) } },
	{ 502, UNTIL_5_3, .load_nil = 4, .get_upvalue = 5, .get_global = OPS_MAX,
	  .get_in_upvalue = 6, .get_field = 7, .self = 12, .call = 29, .tail_call = 30,
	  .for_call = 34, .capturing_closure = OPS_MAX,
	  .not_to_a = { BITS(8, 10) | BITS(23, 27) | BIT(31) | BIT(34) | BIT(36) | BIT(39) } },
	{ 503, UNTIL_5_3, .load_nil = 4, .get_upvalue = 5, .get_global = OPS_MAX,
	  .get_in_upvalue = 6, .get_field = 7, .self = 12, .call = 36, .tail_call = 37,
	  .for_call = 41, .capturing_closure = OPS_MAX,
	  .not_to_a = { BITS(8, 10) | BITS(30, 34) | BIT(38) | BIT(41) | BIT(43) | BIT(46) } },
	{ 504, FROM_5_4 },
	{ 505, FROM_5_4 },
};

static const struct code *code_of(uint32_t version)
{
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++)
		if (versions[i].version == version)
			return &versions[i];
	return NULL;
}

static uint32_t get(uint32_t code, const struct bits *field)
{
	return code >> field->shift & ((1u << field->n) - 1);
}

/* Reads the string that the pointer at @at refers to. */
static int read_name(const struct lang_process *p, const struct lua_vm *lua, uint64_t at,
		     char **out)
{
	uint64_t name;

	return lang_read_u64(p, at, &name) < 0 ? -ENOENT : lua_read_string(lua, p, name, out);
}

static bool is_identifier(const char *s)
{
	if (*s >= '0' && *s <= '9')
		return false;
	while ((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') ||
	       *s == '_')
		s++;
	return !*s;
}

/*
 * Reads the name of a variable. A text that is not an identifier comes from freed memory: an
 * allocator also writes to its end, so that the type and the first bytes may be intact.
 */
static int read_variable(const struct lang_process *p, const struct lua_vm *lua, uint64_t at,
			 char **out)
{
	int r = read_name(p, lua, at, out);

	if (r < 0 || is_identifier(*out))
		return r;
	free(*out);
	*out = NULL;
	return -ENOENT;
}

static int constant(const struct lang_process *p, const struct lua_proto *f, uint32_t i, char **out)
{
	return i < f->n_constants
		       ? read_name(p, f->lua, f->constants + (uint64_t)VALUE_BYTES * i, out)
		       : -ENOENT;
}

/*
 * Reads the name of the local variable in register @reg at @pc. A parameter, which exists from the
 * first instruction on, is -ENODATA.
 */
static int local(const struct lang_process *p, const struct lua_proto *f, uint32_t reg, uint32_t pc,
		 char **out)
{
	for (uint32_t i = 0; i < f->n_locals && i < LOCALS_MAX; i++) {
		uint64_t at = f->locals + (uint64_t)LOCAL_BYTES * i;
		uint32_t range[2];

		if (p->read(p->ctx, at + 8, range, sizeof(range)) || range[0] > pc)
			return -ENOENT;
		if (pc < range[1] && !reg--)
			return range[0] ? by_caller_grade(BY_LOCAL,
							  read_variable(p, f->lua, at, out))
					: -ENODATA;
	}
	return -ENOENT;
}

/* Reads the constant that is the key of an instruction of a table. */
static int key(const struct lang_process *p, const struct lua_proto *f, const struct code *v,
	       uint32_t code, char **out)
{
	uint32_t c = get(code, &v->c);

	return (c & v->constant_bit) == v->constant_bit ? constant(p, f, c - v->constant_bit, out)
							: -ENOENT;
}

/* Returns true if instruction @i of @codes belongs to the creation of a closure before it. */
static bool is_capture(const struct code *v, const uint32_t *codes, uint32_t i)
{
	uint32_t first = i;

	while (i > 0 && !get(codes[i], &v->a) &&
	       (get(codes[i], &v->op) == OP_MOVE || get(codes[i], &v->op) == v->get_upvalue))
		i--;
	return i < first && get(codes[i], &v->op) == v->capturing_closure;
}

/* Returns true if an instruction writes register @reg. */
static bool fills(const struct code *v, uint32_t code, uint32_t reg)
{
	uint32_t op = get(code, &v->op), a = get(code, &v->a);

	if (op == v->call || op == v->tail_call)
		return reg >= a;
	if (op == v->for_call)
		return reg >= a + 2;
	if (op == v->load_nil)
		return reg >= a && reg <= a + get(code, &v->b);
	if (op == v->self && reg == a + 1)
		return true;
	return reg == a && !(v->not_to_a[op / 64] >> op % 64 & 1);
}

/* Reads the name of the variable or field with which @code, the instruction at @pc, fills a
 * register. */
static int source_name(const struct lang_process *p, const struct lua_proto *f,
		       const struct code *v, uint32_t code, uint32_t pc, char **out)
{
	uint32_t op = get(code, &v->op), b = get(code, &v->b);

	if (op == OP_MOVE)
		return local(p, f, b, pc, out);
	if (op == v->get_upvalue)
		return by_caller_grade(
			BY_FIELD,
			read_variable(p, f->lua, f->upvalues + (uint64_t)f->lua->upvalue_bytes * b,
				      out));
	if (op == v->get_global) /* b and c are one field */
		return by_caller_grade(BY_GLOBAL,
				       constant(p, f, b << v->c.n | get(code, &v->c), out));
	if (op == v->get_in_upvalue) /* nearly always the table of globals */
		return by_caller_grade(BY_GLOBAL, key(p, f, v, code, out));
	if (op == v->get_field || op == v->self)
		return by_caller_grade(BY_FIELD, key(p, f, v, code, out));
	return -ENOENT;
}

int lua_call_name(const struct lang_process *p, const struct lua_proto *caller, uint32_t pc,
		  char **out)
{
	uint32_t codes[CODE_BACK_MAX], n = pc + 1 < CODE_BACK_MAX ? pc + 1 : CODE_BACK_MAX;
	const struct code *v = code_of(caller->lua->version);
	uint32_t op, i, reg;

	if (!v || pc >= caller->n_code ||
	    p->read(p->ctx, caller->code + 4 * (uint64_t)(pc + 1 - n), codes, 4 * n))
		return -ENOENT;
	op = get(codes[n - 1], &v->op);
	reg = get(codes[n - 1], &v->a);
	if (op != v->call && op != v->tail_call)
		return -ENOENT;
	for (i = n - 1; i > 0; i--)
		if (fills(v, codes[i - 1], reg) && !is_capture(v, codes, i - 1))
			break;
	return i ? source_name(p, caller, v, codes[i - 1], pc - (n - i), out) : -ENOENT;
}
