/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the name by which a call instruction of Lua (lopcodes.h) calls a function. The register
 * that the call uses was filled shortly before, from a global, a field, a method or another
 * variable, whose name is among the constants or in the debug information. The search ends at the
 * nearest instruction that fills the register: a function that a condition selected or that another
 * call returned has no name. Lua's own tracebacks do the same (funcnamefromcode() in ldebug.c).
 */
#include <errno.h>

#include "lang/find.h"
#include "lang/lua/lua.h"

enum opcode {
	OP_MOVE = 0,
	OP_GETUPVAL = 9,
	OP_SETUPVAL = 10,
	OP_GETTABUP = 11,
	OP_GETFIELD = 14,
	OP_SETTABUP = 15,
	OP_SETFIELD = 18,
	OP_SELF = 20,
	OP_TEST_FIRST = 57, /* OP_EQ; from here to OP_TESTSET, A is not written */
	OP_TEST_LAST = 66,
	OP_CALL = 68,
	OP_TAILCALL = 69,
	OP_TFORCALL = 76,
};

enum {
	CODE_BACK_MAX = 64, /* instructions searched before a call */
	LOCALS_MAX = 256,
	VALUE_BYTES = 16,
	UPVALUE_BYTES = 16, /* an upvalue's name is its first field */
	LOCAL_BYTES = 16,   /* a local variable has a name and the range of pc in which it exists */
};

/* The fields of an instruction: opcode 7 bits, A 8, k 1, B 8, C 8. */
static uint32_t op(uint32_t code)
{
	return code & 0x7f;
}

static uint32_t arg_a(uint32_t code)
{
	return code >> 7 & 0xff;
}

static uint32_t arg_b(uint32_t code)
{
	return code >> 16 & 0xff;
}

static uint32_t arg_c(uint32_t code)
{
	return code >> 24;
}

/* Reads the string that the pointer at @at refers to. */
static int read_name(const struct lang_process *p, uint64_t at, char **out)
{
	uint64_t name;

	return lang_read_u64(p, at, &name) < 0 ? -ENOENT : lua_read_string(p, name, out);
}

static int constant(const struct lang_process *p, const struct lua_proto *f, uint32_t i, char **out)
{
	return i < f->n_constants ? read_name(p, f->constants + (uint64_t)VALUE_BYTES * i, out)
				  : -ENOENT;
}

/* Reads the name of the local variable in register @reg at @pc. */
static int local(const struct lang_process *p, const struct lua_proto *f, uint32_t reg, uint32_t pc,
		 char **out)
{
	for (uint32_t i = 0; i < f->n_locals && i < LOCALS_MAX; i++) {
		uint64_t at = f->locals + (uint64_t)LOCAL_BYTES * i;
		uint32_t range[2];

		if (p->read(p->ctx, at + 8, range, sizeof(range)) || range[0] > pc)
			return -ENOENT;
		if (pc < range[1] && !reg--)
			return read_name(p, at, out);
	}
	return -ENOENT;
}

/* Returns true if an instruction writes register @reg. */
static bool fills(uint32_t code, uint32_t reg)
{
	uint32_t o = op(code), a = arg_a(code);

	if (o == OP_CALL || o == OP_TFORCALL)
		return reg >= a;
	if (o == OP_SELF)
		return reg == a || reg == a + 1;
	if (o == OP_SETUPVAL || (o >= OP_SETTABUP && o <= OP_SETFIELD) ||
	    (o >= OP_TEST_FIRST && o <= OP_TEST_LAST))
		return false;
	return reg == a;
}

int lua_call_name(const struct lang_process *p, const struct lua_proto *caller, uint32_t pc,
		  char **out)
{
	uint32_t codes[CODE_BACK_MAX], n = pc + 1 < CODE_BACK_MAX ? pc + 1 : CODE_BACK_MAX;
	uint32_t call, i, reg;

	if (pc >= caller->n_code ||
	    p->read(p->ctx, caller->code + 4 * (uint64_t)(pc + 1 - n), codes, 4 * n))
		return -ENOENT;
	call = codes[n - 1];
	reg = arg_a(call);
	if (op(call) != OP_CALL && op(call) != OP_TAILCALL)
		return -ENOENT;
	for (i = n - 1; i > 0 && !fills(codes[i - 1], reg); i--)
		;
	if (!i)
		return -ENOENT;
	pc -= n - i;
	switch (op(codes[i - 1])) {
	case OP_MOVE:
		return local(p, caller, arg_b(codes[i - 1]), pc, out);
	case OP_GETUPVAL:
		return read_name(
			p, caller->upvalues + (uint64_t)UPVALUE_BYTES * arg_b(codes[i - 1]), out);
	case OP_GETTABUP:
	case OP_GETFIELD:
	case OP_SELF:
		return constant(p, caller, arg_c(codes[i - 1]), out);
	}
	return -ENOENT;
}
