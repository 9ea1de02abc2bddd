/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search knows the forms that compilers put before the first push or branch: endbr64, and
 * moves, comparisons and arithmetic of registers that hold no argument. Any other instruction ends
 * the search, so an unknown one costs time, and never a wrong argument.
 */
#include "elf/probe_insn.h"

#include <elf.h>
#include <string.h>

#include "elf/x86_insn.h"

/* Registers by the processor's numbers. */
enum { RAX, RCX, RDX, RSP = 4, RBP, RSI, RDI };

enum { INSNS_MAX = 12 }; /* instructions before the place of the probe */

static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };

static bool has_argument(uint8_t reg)
{
	return reg == RCX || reg == RDX || reg == RSI || reg == RDI || reg == RSP || reg == RBP;
}

static bool is_emulated(const uint8_t *p, size_t len)
{
	if (p[0] == 0x41)
		return len == 2 && (p[1] & 0xf8) == 0x50;
	if (p[0] == 0x0f)
		return len == 6 && (p[1] & 0xf0) == 0x80;
	return (p[0] & 0xf8) == 0x50 || (p[0] & 0xf0) == 0x70 || p[0] == 0x90 || p[0] == 0xe9 ||
	       p[0] == 0xeb;
}

/* An instruction with a ModRM byte, after an optional REX. */
struct form {
	uint8_t opcode, extension; /* extension: the reg field without REX */
	uint8_t reg, rm;           /* with REX */
	bool is_register;          /* rm is a register, not memory */
};

static bool read_form(const uint8_t *p, size_t len, struct form *out)
{
	uint8_t rex = (p[0] & 0xf0) == 0x40 ? p[0] : 0, modrm;
	size_t at = rex ? 1 : 0;

	if (len < at + 2)
		return false;
	modrm = p[at + 1];
	*out = (struct form){
		.opcode = p[at],
		.extension = modrm >> 3 & 7,
		.reg = (uint8_t)((modrm >> 3 & 7) | (rex & 4) << 1),
		.rm = (uint8_t)((modrm & 7) | (rex & 1) << 3),
		.is_register = modrm >> 6 == 3,
	};
	return true;
}

/* Returns true if the instruction only reads arguments, and leaves the stack unchanged. */
static bool is_harmless(const uint8_t *p, size_t len)
{
	struct form f;

	if (len == sizeof(endbr64) && !memcmp(p, endbr64, len))
		return true;
	if ((p[0] & 0xf8) == 0xb8) /* mov reg, imm */
		return !has_argument(p[0] & 7);
	if (!read_form(p, len, &f))
		return false;
	switch (f.opcode) {
	case 0x84: /* test */
	case 0x85:
	case 0x38: /* cmp */
	case 0x39:
	case 0x3a:
	case 0x3b:
		return true;
	case 0x80: /* cmp with a constant */
	case 0x81:
	case 0x83:
		return f.extension == 7 || (f.is_register && !has_argument(f.rm));
	case 0x31: /* xor, or, and, add, sub, mov: to rm */
	case 0x09:
	case 0x21:
	case 0x01:
	case 0x29:
	case 0x89:
		return f.is_register && !has_argument(f.rm);
	case 0x33: /* the same, and lea: to reg */
	case 0x0b:
	case 0x23:
	case 0x03:
	case 0x2b:
	case 0x8b:
	case 0x8d:
		return !has_argument(f.reg);
	}
	return false;
}

bool probe_insn_knows(uint16_t machine)
{
	return machine == EM_X86_64;
}

bool probe_insn_find(const uint8_t *code, size_t len, uint32_t *out_off)
{
	size_t at = 0;

	for (int i = 0; i < INSNS_MAX && at < len; i++) {
		struct x86_insn insn;

		if (!x86_decode(code + at, len - at, &insn) || !insn.len || insn.len > len - at)
			return false;
		if (is_emulated(code + at, insn.len)) {
			*out_off = (uint32_t)at;
			return true;
		}
		if (!is_harmless(code + at, insn.len))
			return false;
		at += insn.len;
	}
	return false;
}

bool probe_insn_forwards(const uint8_t *code, size_t len, probe_insn_jump_fn fn, void *ctx)
{
	struct x86_insn insn;
	bool found = false;

	for (size_t at = 0; at < len; at += insn.len) {
		int64_t away;

		if (!x86_decode(code + at, len - at, &insn) || insn.kind == X86_RET ||
		    insn.kind == X86_JUMP_INDIRECT)
			return false;
		if (insn.kind != X86_JUMP && insn.kind != X86_JUMP_IF)
			continue;
		away = (int64_t)at + insn.len + insn.value;
		found |= (away < 0 || away >= (int64_t)len) && fn(ctx, away);
	}
	return found;
}
