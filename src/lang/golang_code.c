/* SPDX-License-Identifier: Apache-2.0 */
#include "lang/golang_code.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "elf/gopclntab.h"
#include "elf/image.h"
#include "elf/x86_insn.h"

enum { CODE_MAX = 512 }; /* bytes of a function that are searched */

/* The loads that are searched for, and those that were found. */
struct search {
	uint32_t bytes;
	uint64_t *out;
	size_t n, max;
};

static int find_function(const struct gopclntab *t, const char *name, struct gopclntab_func *out)
{
	for (size_t i = 0; i < gopclntab_count(t); i++)
		if (gopclntab_func_at(t, i, out) == 0 && !strcmp(out->name, name))
			return 0;
	return -ENOENT;
}

bool golang_code_has(const struct gopclntab *table, const char *name)
{
	struct gopclntab_func f;

	return find_function(table, name, &f) == 0;
}

/*
 * Returns the number of bytes that @code loads if it is a MOV from an address relative to the
 * program counter, else 0.
 */
static uint32_t x86_load_bytes(const uint8_t *code, size_t len, int32_t *out)
{
	size_t prefix = len == 7;
	bool wide = prefix && (code[0] & 0xfb) == 0x48;

	if ((len != 6 && len != 7) || (prefix && !wide && code[0] != 0x44) ||
	    code[prefix] != 0x8b || (code[prefix + 1] & 0xc7) != 0x05)
		return 0;
	memcpy(out, code + prefix + 2, sizeof(*out));
	return wide ? 8 : 4;
}

static void x86_loads(const struct elf_span *code, uint64_t start, struct search *s)
{
	struct x86_insn insn;
	int32_t rel = 0;

	for (size_t at = 0; at < code->len && s->n < s->max; at += insn.len) {
		if (!x86_decode(code->data + at, code->len - at, &insn) || !insn.len)
			break;
		if (x86_load_bytes(code->data + at, insn.len, &rel) == s->bytes)
			s->out[s->n++] = start + at + insn.len + (uint64_t)(int64_t)rel;
	}
}

static uint64_t arm64_page(uint32_t w, uint64_t pc)
{
	int64_t page = (int64_t)((uint64_t)((w >> 5 & 0x7ffff) << 2 | (w >> 29 & 3)) << 43) >> 31;

	return (pc & ~0xfffULL) + (uint64_t)page;
}

/*
 * Returns the number of bytes that @w loads from a fixed address of the program; 0 for other
 * instructions.
 */
static uint32_t arm64_load_bytes(uint32_t w, const uint64_t regs[32], uint64_t *out)
{
	uint64_t base = regs[w >> 5 & 31], imm = w >> 10 & 0xfff;
	uint32_t bytes = w >> 30 & 1 ? 8 : 4;

	if (!base)
		return 0;
	*out = base;
	if ((w & 0xbffffc00) == 0x88dffc00) /* LDAR */
		return bytes;
	*out = base + imm * bytes;
	return (w & 0xbfc00000) == 0xb9400000 ? bytes : 0; /* LDR */
}

/*
 * Finds loads from a register that ADRP, and often an ADD after it, has set. Any other instruction
 * is assumed to change the register in its lowest bits, which is the destination of most.
 */
static void arm64_loads(const struct elf_span *code, uint64_t start, struct search *s)
{
	uint64_t regs[32] = { 0 }, vaddr = 0;
	uint32_t w;

	for (size_t at = 0; at + 4 <= code->len && s->n < s->max; at += 4) {
		memcpy(&w, code->data + at, 4);
		if (arm64_load_bytes(w, regs, &vaddr) == s->bytes)
			s->out[s->n++] = vaddr;
		if ((w & 0x9f000000) == 0x90000000) /* ADRP */
			regs[w & 31] = arm64_page(w, start + at);
		else if ((w & 0xffc00000) == 0x91000000 && regs[w >> 5 & 31]) /* ADD, immediate */
			regs[w & 31] = regs[w >> 5 & 31] + (w >> 10 & 0xfff);
		else
			regs[w & 31] = 0;
	}
}

size_t golang_code_loads(const struct elf_image *img, const struct gopclntab *table,
			 const char *name, uint32_t bytes, uint64_t *out, size_t max)
{
	struct search s = { .bytes = bytes, .out = out, .max = max };
	struct gopclntab_func f;
	struct elf_span code;
	size_t n;

	if (find_function(table, name, &f) < 0 || f.end <= f.start)
		return 0;
	n = f.end - f.start < CODE_MAX ? f.end - f.start : CODE_MAX;
	if (elf_image_at_vaddr(img, f.start, n, &code) < 0)
		return 0;
	code.len = n;
	if (elf_image_machine(img) == EM_AARCH64)
		arm64_loads(&code, f.start, &s);
	else
		x86_loads(&code, f.start, &s);
	return s.n;
}
