/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lengths of x86-64 instructions, and the effects of the few that move the stack or branch (Intel
 * SDM vol. 2, chapter 2 and appendix A). The two opcode maps that compilers use most are tables of
 * what follows the opcode; the others are regular. Only writes to rsp and rbp as whole registers
 * count as effects: 8- and 16-bit forms do not occur in compiled code.
 */
#include "elf/x86_insn.h"

#include <string.h>

enum operand {
	PLAIN,    /* nothing follows */
	MODRM,    /* an operand byte (ModRM), perhaps with an address */
	MODRM_I1, /* the same and 1 byte */
	MODRM_IV, /* the same and 4 bytes, or 2 with an operand size prefix */
	IMM1,
	IMM2,
	IMM3, /* 3 bytes (enter) */
	IMMV,
	REL4,
	IMM_FULL, /* 8 bytes with REX.W */
	OFFSET,   /* an address of 8 bytes */
	INVALID,
};

/* One letter per opcode: . plain, m modrm, b modrm+1, v modrm+v, 1 2 3 imm, i immv, r rel4, ... */
static const char one_byte_map[] = "mmmm1ixxmmmm1ixx" /* 00 */
				   "mmmm1ixxmmmm1ixx"
				   "mmmm1ixxmmmm1ixx" /* 20; 26, 2e, 36 and 3e are prefixes */
				   "mmmm1ixxmmmm1ixx"
				   "xxxxxxxxxxxxxxxx" /* 40: REX, a prefix */
				   "................"
				   "xxxmxxxxiv1b...." /* 60; 62 is EVEX */
				   "1111111111111111"
				   "bvxbmmmmmmmmmmmm" /* 80 */
				   "..........x....."
				   "oooo....1i......" /* a0 */
				   "11111111ffffffff"
				   "bb2.xxbv3.2..1x." /* c0; c4 and c5 are VEX */
				   "mmmmxxx.mmmmmmmm"
				   "11111111rrx1...." /* e0 */
				   "x.xx..mm......mm";

static const char two_byte_map[] = "mmmmx.....x.xm.b" /* 00 */
				   "mmmmmmmmmmmmmmmm"
				   "mmmmxxxxmmmmmmmm" /* 20 */
				   "......x.xxxxxxxx" /* 38 and 3a: further maps */
				   "mmmmmmmmmmmmmmmm" /* 40 */
				   "mmmmmmmmmmmmmmmm"
				   "mmmmmmmmmmmmmmmm" /* 60 */
				   "bbbbmmm.mmmmmmmm"
				   "rrrrrrrrrrrrrrrr" /* 80 */
				   "mmmmmmmmmmmmmmmm"
				   "...mbmmm...mbmmm" /* a0 */
				   "mmmmmmmmmmbmmmmm"
				   "mmbmbbbm........" /* c0 */
				   "mmmmmmmmmmmmmmmm"
				   "mmmmmmmmmmmmmmmm" /* e0 */
				   "mmmmmmmmmmmmmmmm";

/* XOP's maps, apart from those of VEX that have the same numbers (AMD64 manual vol. 3, 1.2.9). */
enum { MAP_XOP = 0x20, MAP_XOP_8 = MAP_XOP + 8, MAP_XOP_9, MAP_XOP_A };

struct decoder {
	const uint8_t *p, *end;
	bool bad;
	bool word;      /* 66 */
	bool addr32;    /* 67 */
	uint8_t rex;    /* REX, or the same bits of VEX */
	uint8_t map;    /* 0 one-byte, 1 0f, 2 0f 38, 3 0f 3a; more with EVEX and XOP */
	bool is_vector; /* VEX, EVEX or XOP: writes no rsp, does not branch */
	uint8_t opcode;
	uint8_t mod, reg, rm; /* with REX's bits */
	bool rip_relative;
	uint8_t base;
	bool has_index;
	int32_t disp, imm;
};

static uint8_t take(struct decoder *d)
{
	if (d->p == d->end) {
		d->bad = true;
		return 0;
	}
	return *d->p++;
}

/* Reads a signed number of 1, 2 or 4 bytes; of 8 bytes, the lower half. */
static int32_t take_signed(struct decoder *d, size_t n)
{
	uint32_t v = 0;

	if ((size_t)(d->end - d->p) < n) {
		d->bad = true;
		return 0;
	}
	memcpy(&v, d->p, n < sizeof(v) ? n : sizeof(v));
	d->p += n;
	return n == 1 ? (int8_t)v : n == 2 ? (int16_t)v : (int32_t)v;
}

static bool is_prefix(uint8_t b)
{
	return b == 0x66 || b == 0x67 || b == 0xf0 || b == 0xf2 || b == 0xf3 || b == 0x2e ||
	       b == 0x36 || b == 0x3e || b == 0x26 || b == 0x64 || b == 0x65;
}

static void take_prefixes(struct decoder *d)
{
	while (d->p != d->end && is_prefix(*d->p)) {
		d->word |= *d->p == 0x66;
		d->addr32 |= *d->p == 0x67;
		d->p++;
	}
	if (d->p != d->end && (*d->p & 0xf0) == 0x40)
		d->rex = *d->p++;
}

/*
 * Reads the rest of a VEX prefix of two or three bytes, of XOP, or of EVEX: they select the opcode
 * map.
 */
static void take_vector_prefix(struct decoder *d, uint8_t first)
{
	uint8_t b = take(d);

	d->is_vector = true;
	d->map = 1;
	if (first == 0xc4) {
		d->map = b & 0x1f;
		take(d);
	} else if (first == 0x8f) {
		d->map = MAP_XOP | (b & 0x1f);
		take(d);
	} else if (first == 0x62) {
		d->map = b & 7;
		take(d);
		take(d);
	}
	d->opcode = take(d);
}

/* True if 8f begins a prefix: the only other instruction, pop, has zeros in these bits. */
static bool is_xop(const struct decoder *d)
{
	return d->p != d->end && (*d->p & 0x1f) >= 8;
}

static void take_opcode(struct decoder *d)
{
	uint8_t b = take(d);

	if (b == 0xc4 || b == 0xc5 || b == 0x62 || (b == 0x8f && is_xop(d))) {
		take_vector_prefix(d, b);
		return;
	}
	d->opcode = b;
	if (b != 0x0f)
		return;
	d->map = 1;
	d->opcode = take(d);
	if (d->opcode == 0x38 || d->opcode == 0x3a) {
		d->map = d->opcode == 0x38 ? 2 : 3;
		d->opcode = take(d);
	}
}

static enum operand operand_of(const struct decoder *d)
{
	static const uint8_t of_letter[128] = {
		['.'] = PLAIN, ['m'] = MODRM,    ['b'] = MODRM_I1, ['v'] = MODRM_IV,
		['1'] = IMM1,  ['2'] = IMM2,     ['3'] = IMM3,     ['i'] = IMMV,
		['r'] = REL4,  ['f'] = IMM_FULL, ['o'] = OFFSET,   ['x'] = INVALID,
	};

	if (d->map >= MAP_XOP)
		return d->map == MAP_XOP_8   ? MODRM_I1
		       : d->map == MAP_XOP_9 ? MODRM
		       : d->map == MAP_XOP_A ? MODRM_IV
					     : INVALID;
	if (d->map >= 2)
		return d->map == 3 ? MODRM_I1 : d->map <= 6 && d->map != 4 ? MODRM : INVALID;
	if (d->map == 1)
		return d->is_vector && d->opcode == 0x77
			       ? PLAIN
			       : of_letter[(unsigned char)two_byte_map[d->opcode]];
	if (d->is_vector)
		return INVALID;
	if ((d->opcode & 0xfe) == 0xf6) { /* test has an immediate, its neighbours do not */
		bool test = d->p != d->end && !(*d->p & 0x30);

		return !test ? MODRM : d->opcode & 1 ? MODRM_IV : MODRM_I1;
	}
	return of_letter[(unsigned char)one_byte_map[d->opcode]];
}

static void take_modrm(struct decoder *d)
{
	uint8_t b = take(d), low = b & 7;

	d->mod = b >> 6;
	d->reg = (uint8_t)((b >> 3 & 7) | (d->rex & 4) << 1);
	d->rm = d->base = (uint8_t)(low | (d->rex & 1) << 3);
	if (d->mod == 3)
		return;
	if (low == 4) {
		uint8_t sib = take(d);

		d->has_index = (sib >> 3 & 7) != 4 || (d->rex & 2);
		low = sib & 7;
		d->base = (uint8_t)(low | (d->rex & 1) << 3);
	} else if (low == 5 && !d->mod) {
		d->rip_relative = true;
	}
	if (d->mod == 1)
		d->disp = take_signed(d, 1);
	else if (d->mod == 2 || low == 5)
		d->disp = take_signed(d, 4);
	/* without a base register the address does not depend on rsp or rbp */
	if (low == 5 && !d->mod)
		d->base = X86_NO_REG;
}

static void take_operands(struct decoder *d, enum operand op)
{
	size_t word = d->word && !(d->rex & 8) ? 2 : 4;

	if (op >= MODRM && op <= MODRM_IV)
		take_modrm(d);
	switch (op) {
	case PLAIN:
	case MODRM:
		return;
	case MODRM_I1:
	case IMM1:
		d->imm = take_signed(d, 1);
		return;
	case MODRM_IV:
	case IMMV:
		d->imm = take_signed(d, word);
		return;
	case IMM2:
		d->imm = take_signed(d, 2);
		return;
	case IMM3:
		take_signed(d, 2);
		take(d);
		return;
	case REL4:
		d->imm = take_signed(d, 4);
		return;
	case IMM_FULL:
		d->imm = take_signed(d, d->rex & 8 ? 8 : word);
		return;
	case OFFSET:
		take_signed(d, d->addr32 ? 4 : 8);
		return;
	case INVALID:
		d->bad = true;
		return;
	}
}

/* ---- effects ---- */

static void writes(struct x86_insn *out, uint8_t reg)
{
	if (reg == X86_RSP)
		out->kind = X86_RSP_LOST;
	else if (reg == X86_RBP)
		out->kind = X86_RBP_LOST;
}

/* The effect of mov and lea between rsp, rbp and others: @to = @from + @value. */
static void moves(struct x86_insn *out, uint8_t to, uint8_t from, int32_t value)
{
	out->value = value;
	if (to == X86_RSP && from == X86_RSP) {
		out->kind = X86_RSP_ADD;
	} else if (to == X86_RSP && from == X86_RBP) {
		out->kind = X86_RSP_FROM_RBP;
	} else if (to == X86_RBP && from == X86_RSP) {
		out->kind = X86_RBP_FROM_RSP;
	} else if (to == X86_RSP && from != X86_NO_REG && !value) {
		out->kind = X86_RSP_FROM_REG;
		out->reg = from;
	} else if (from == X86_RSP && !value) {
		out->kind = X86_REG_FROM_RSP;
		out->reg = to;
	} else {
		writes(out, to);
	}
}

/* The effect of a move of a whole register to (@to_memory) or from memory at rsp + value. */
static void moves_memory(const struct decoder *d, struct x86_insn *out, bool to_memory)
{
	bool at_rsp = (d->rex & 8) && d->base == X86_RSP && !d->has_index;

	if (at_rsp && to_memory)
		out->kind = X86_STORE;
	else if (at_rsp && d->reg == X86_RSP)
		out->kind = X86_RSP_LOAD;
	else if (!to_memory)
		writes(out, d->reg);
	out->reg = d->reg;
	out->value = d->disp;
}

/* add, or, adc, sbb, and, sub, xor, cmp by an immediate (80-83) */
static void effect_of_arithmetic(const struct decoder *d, struct x86_insn *out)
{
	bool whole = d->mod == 3 && (d->rex & 8) && d->rm == X86_RSP;

	if (d->mod != 3 || (d->reg & 7) == 7 || d->opcode == 0x80)
		return;
	writes(out, d->rm);
	if (whole && (d->reg & 7) == 4 && d->imm < 0)
		out->kind = X86_RSP_ALIGN;
	if (!whole || ((d->reg & 7) != 0 && (d->reg & 7) != 5))
		return;
	if (d->imm == INT32_MIN)
		return;
	out->kind = X86_RSP_ADD;
	out->value = (d->reg & 7) == 5 ? -d->imm : d->imm;
}

static void effect_of_ff(const struct decoder *d, struct x86_insn *out)
{
	switch (d->reg & 7) {
	case 0:
	case 1:
		if (d->mod == 3)
			writes(out, d->rm);
		return;
	case 2:
	case 3:
		out->kind = X86_CALL_INDIRECT;
		return;
	case 4:
	case 5:
		out->kind = X86_JUMP_INDIRECT;
		return;
	case 6:
		out->kind = d->word ? X86_RSP_LOST : X86_PUSH;
		return;
	}
}

/* Groups of 8 opcodes with a register in their low bits. */
static bool effect_of_register_rows(const struct decoder *d, struct x86_insn *out)
{
	uint8_t reg = (uint8_t)((d->opcode & 7) | (d->rex & 1) << 3);

	switch (d->opcode & 0xf8) {
	case 0x50:
	case 0x58:
		out->kind = d->word ? X86_RSP_LOST : d->opcode < 0x58 ? X86_PUSH : X86_POP;
		out->reg = reg;
		if (out->kind == X86_POP && reg == X86_RSP)
			out->kind = X86_RSP_LOST;
		return true;
	case 0x70:
	case 0x78:
		out->kind = X86_JUMP_IF;
		out->value = d->imm;
		return true;
	case 0x90: /* xchg with rax */
	case 0xb8:
		writes(out, reg);
		return true;
	}
	return false;
}

static void effect_of_moves(const struct decoder *d, struct x86_insn *out)
{
	bool is_register = d->mod == 3, whole = d->rex & 8;

	switch (d->opcode) {
	case 0x89:
		if (is_register && whole)
			moves(out, d->rm, d->reg, 0);
		else if (is_register)
			writes(out, d->rm);
		else
			moves_memory(d, out, true);
		return;
	case 0x8b:
		if (is_register && whole)
			moves(out, d->reg, d->rm, 0);
		else if (is_register)
			writes(out, d->reg);
		else
			moves_memory(d, out, false);
		return;
	case 0x8d:
		if (whole && !d->has_index && !d->rip_relative)
			moves(out, d->reg, d->base, d->disp);
		else
			writes(out, d->reg);
		return;
	case 0x87:
		writes(out, d->reg);
		if (is_register && out->kind == X86_OTHER)
			writes(out, d->rm);
		return;
	case 0x63:
	case 0x69:
	case 0x6b:
		writes(out, d->reg);
		return;
	case 0xc1:
	case 0xc7:
	case 0xd1:
	case 0xd3:
		if (is_register)
			writes(out, d->rm);
		return;
	case 0xf7: /* not, neg */
		if (is_register && ((d->reg & 7) == 2 || (d->reg & 7) == 3))
			writes(out, d->rm);
		return;
	}
}

static void effect_of_branches(const struct decoder *d, struct x86_insn *out)
{
	out->value = d->imm;
	switch (d->opcode) {
	case 0x68:
	case 0x6a:
	case 0x9c:
		out->kind = X86_PUSH;
		return;
	case 0x9d:
		out->kind = X86_POP;
		return;
	case 0x8f:
		out->kind = d->mod == 3 && d->rm == X86_RSP ? X86_RSP_LOST : X86_POP;
		return;
	case 0xc2:
	case 0xc3:
	case 0xca:
	case 0xcb:
	case 0xcf:
		out->kind = X86_RET;
		return;
	case 0xc8:
		out->kind = X86_RSP_LOST;
		return;
	case 0xc9:
		out->kind = X86_LEAVE;
		return;
	case 0xcc:
	case 0xf4:
		out->kind = X86_TRAP;
		return;
	case 0xe0:
	case 0xe1:
	case 0xe2:
	case 0xe3:
		out->kind = X86_JUMP_IF;
		return;
	case 0xe8:
		out->kind = X86_CALL;
		return;
	case 0xe9:
	case 0xeb:
		out->kind = X86_JUMP;
		return;
	}
}

static void effect_of_one_byte(const struct decoder *d, struct x86_insn *out)
{
	uint8_t op = d->opcode;

	if (op < 0x40) {
		/* the eight operations; 38-3b only compare */
		if ((op & 7) == 1 && op < 0x38 && d->mod == 3)
			writes(out, d->rm);
		else if ((op & 7) == 3 && op < 0x38)
			writes(out, d->reg);
	} else if (op == 0x81 || op == 0x83) {
		effect_of_arithmetic(d, out);
	} else if (op == 0xff) {
		effect_of_ff(d, out);
	} else if (!effect_of_register_rows(d, out)) {
		effect_of_moves(d, out);
		if (out->kind == X86_OTHER)
			effect_of_branches(d, out);
	}
}

static void effect_of_two_bytes(const struct decoder *d, struct x86_insn *out)
{
	uint8_t op = d->opcode;

	if ((op & 0xf0) == 0x80) {
		out->kind = X86_JUMP_IF;
		out->value = d->imm;
	} else if (op == 0x0b || op == 0xb9 || op == 0xff) { /* ud2, ud1, ud0 */
		out->kind = X86_TRAP;
	} else if ((op & 0xf0) == 0x40 || op == 0xaf || op == 0xb6 || op == 0xb7 || op == 0xb8 ||
		   op == 0xbc || op == 0xbd || op == 0xbe || op == 0xbf) {
		writes(out, d->reg);           /* cmov, imul, movzx, popcnt, bsf, bsr, movsx */
	} else if (op == 0xa0 || op == 0xa8) { /* push %fs, %gs */
		out->kind = X86_PUSH;
	} else if (op == 0xa1 || op == 0xa9) {
		out->kind = X86_POP;
	}
}

bool x86_decode(const uint8_t *code, size_t len, struct x86_insn *out)
{
	struct decoder d = { .p = code, .end = code + (len < X86_LEN_MAX ? len : X86_LEN_MAX) };

	take_prefixes(&d);
	take_opcode(&d);
	if (d.bad)
		return false;
	take_operands(&d, operand_of(&d));
	if (d.bad)
		return false;
	*out = (struct x86_insn){ .len = (uint8_t)(d.p - code), .reg = X86_NO_REG };
	if (!d.is_vector && d.map == 0)
		effect_of_one_byte(&d, out);
	else if (!d.is_vector && d.map == 1)
		effect_of_two_bytes(&d, out);
	return true;
}

uint8_t x86_jump_register(const uint8_t *code, size_t len)
{
	bool is_high = len > 2 && (code[len - 3] & 0xf0) == 0x40 && (code[len - 3] & 1);

	if (len < 2 || code[len - 2] != 0xff || (code[len - 1] & 0xf8) != 0xe0)
		return X86_NO_REG;
	return (uint8_t)((is_high ? 8 : 0) | (code[len - 1] & 7));
}

uint8_t x86_sum_register(const uint8_t *code, size_t len)
{
	if (len != 3 || (code[0] & 0xf8) != 0x48 || code[2] < 0xc0)
		return X86_NO_REG;
	if (code[1] == 0x01)
		return (uint8_t)((code[0] & 1 ? 8 : 0) | (code[2] & 7));
	return code[1] == 0x03 ? (uint8_t)((code[0] & 4 ? 8 : 0) | (code[2] >> 3 & 7)) : X86_NO_REG;
}
