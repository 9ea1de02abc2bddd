/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of V8's own that names and lines are read by: what its builtins are called, and how many
 * bytes each byte code has. Where the file has no symbols for them, the former is what a function
 * looks into that is exported; the latter is known by its content, as it begins with byte codes
 * that do nothing, with rising numbers of operands, in each of its three rows.
 */
#include <string.h>

#include "elf/gnuhash.h"
#include "elf/image.h"
#include "elf/rawsym.h"
#include "lang/v8/heap.h"

enum {
	NAME_CODE_MAX = 64,
	NAME_CODE_INSN = 8,
	SIZES_ROW_MIN = 128, /* byte codes */
	SIZES_ROW_MAX = 255,
	SIZES_HEAD = 11,
};

/* The first one that the file has; else all zero. */
static struct elf_rawsym find_table(const struct elf_image *img, const char *const names[])
{
	struct elf_rawsym sym;

	for (size_t i = 0; names[i]; i++)
		if (elf_gnuhash_lookup(img, names[i], &sym) == 0 ||
		    elf_symbol_lookup(img, ELF_SYMTAB, names[i], &sym) == 0)
			return sym;
	return (struct elf_rawsym){ 0 };
}

/* lea (%rdi,%rdi,2), %reg: a number, times three */
static bool is_tripled(const uint8_t *c)
{
	return (c[0] & 0xf8) == 0x48 && c[1] == 0x8d && (c[2] & 0xc7) == 0x04 && c[3] == 0x7f;
}

/* The address that the instruction at @c, linked at @vaddr, has; 0: it has none. */
static uint64_t table_at(const uint8_t *c, uint64_t vaddr)
{
	int32_t disp;

	/* lea disp(%rip), %reg */
	if ((c[0] & 0xfb) == 0x48 && c[1] == 0x8d && (c[2] & 0xc7) == 0x05) {
		memcpy(&disp, c + 3, sizeof(disp));
		return vaddr + 7 + (uint64_t)(int64_t)disp;
	}
	/* mov disp(,%reg,8), %rax */
	if (c[0] == 0x48 && c[1] == 0x8b && c[2] == 0x04 && (c[3] & 0xc7) == 0xc5) {
		memcpy(&disp, c + 4, sizeof(disp));
		return (uint64_t)(int64_t)disp;
	}
	return 0;
}

/* The table of names, which is V8's own, by the code of the function that looks into it. */
static uint64_t find_names_by_code(const struct elf_image *img)
{
	static const char *const functions[] = {
		"_ZN2v88internal8Builtins4nameENS0_7BuiltinE", /* by number, until 9.2 */
		"_ZN2v88internal8Builtins4nameEi", NULL
	};
	struct elf_rawsym sym = find_table(img, functions);
	uint64_t table = 0;
	struct elf_span code;
	bool tripled = false;

	if (sym.size > NAME_CODE_MAX || elf_image_at_vaddr(img, sym.vaddr, sym.size, &code) < 0)
		return 0;
	for (size_t i = 0; i + NAME_CODE_INSN <= sym.size; i++) {
		tripled |= is_tripled(code.data + i);
		if (!table)
			table = table_at(code.data + i, sym.vaddr + i);
	}
	return tripled ? table : 0;
}

/* ---- sizes -------------------------------------------------------------------- */

/* Prefixes, then one with each number of operands: of one, two or four bytes. */
static const uint8_t sizes_heads[V8_SCALES][SIZES_HEAD] = {
	{ 1, 1, 1, 1, 1, 2, 3, 4, 5, 6, 7 },
	{ 1, 1, 1, 1, 1, 3, 5, 7, 9, 11, 13 },
	{ 1, 1, 1, 1, 1, 5, 9, 13, 17, 21, 25 },
};

/* How many byte codes there are, if the table begins at @at; 0: it does not. */
static uint32_t sizes_row(const uint8_t *at, size_t left)
{
	for (uint32_t n = SIZES_ROW_MIN; n <= SIZES_ROW_MAX && V8_SCALES * n <= left; n++)
		if (!memcmp(at + n, sizes_heads[1], SIZES_HEAD) &&
		    !memcmp(at + 2ULL * n, sizes_heads[2], SIZES_HEAD))
			return n;
	return 0;
}

static void search_sizes(const struct elf_image *img, struct v8_vm *out)
{
	const uint8_t *at, *end;
	struct elf_span span;

	if (elf_image_section(img, ".rodata", &span) < 0)
		return;
	at = span.data;
	end = span.data + span.len;
	while ((at = memmem(at, (size_t)(end - at), sizes_heads[0], SIZES_HEAD))) {
		uint32_t n = sizes_row(at, (size_t)(end - at));

		if (n) {
			out->bytecode_sizes = span.vaddr + (uint64_t)(at - span.data);
			out->bytecode_sizes_bytes = V8_SCALES * n;
			return;
		}
		at++;
	}
}

void v8_find_tables(const struct elf_image *img, struct v8_vm *out)
{
	static const char *const sizes[] = {
		"_ZN2v88internal11interpreter9Bytecodes14kBytecodeSizesE", NULL
	};
	static const char *const names[] = { "_ZN2v88internal12_GLOBAL__N_1L16builtin_metadataE",
					     "_ZN2v88internal12_GLOBAL__N_116builtin_metadataE",
					     NULL };
	struct elf_rawsym sym = find_table(img, sizes);

	out->bytecode_sizes = sym.vaddr;
	out->bytecode_sizes_bytes = sym.size < UINT16_MAX ? (uint32_t)sym.size : 0;
	/* no other code is compiled byte code for byte code */
	if (!sym.vaddr && out->major >= V8_BASELINE_SINCE)
		search_sizes(img, out);
	out->builtin_names = find_table(img, names).vaddr;
	if (!out->builtin_names)
		out->builtin_names = find_names_by_code(img);
}
