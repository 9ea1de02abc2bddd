/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds two tables in V8's file: the names of its builtins, and the sizes of its byte codes. If
 * the file has no symbols for them, the former is found in the code of the exported function
 * Builtins::name(), which reads it. The latter is recognized by its content: each of its three
 * rows begins with the prefixes and byte codes with a rising number of operands.
 */
#include <string.h>

#include "elf/gnuhash.h"
#include "elf/image.h"
#include "elf/rawsym.h"
#include "lang/v8/heap.h"

enum {
	NAME_CODE_MAX = 64,
	NAME_CODE_INSN = 8,
	SIZES_ROW_MIN = 128, /* number of byte codes */
	SIZES_ROW_MAX = 255,
	SIZES_HEAD = 11,
};

/* Returns the first symbol that the file has, or an empty one. */
static struct elf_rawsym find_table(const struct elf_image *img, const char *const names[])
{
	struct elf_rawsym sym;

	for (size_t i = 0; names[i]; i++)
		if (elf_gnuhash_lookup(img, names[i], &sym) == 0 ||
		    elf_symbol_lookup(img, ELF_SYMTAB, names[i], &sym) == 0)
			return sym;
	return (struct elf_rawsym){ 0 };
}

/* Recognizes lea (%rdi,%rdi,2), %reg, which multiplies an index by three. */
static bool is_tripled(const uint8_t *c)
{
	return (c[0] & 0xf8) == 0x48 && c[1] == 0x8d && (c[2] & 0xc7) == 0x04 && c[3] == 0x7f;
}

/*
 * Returns the address that the instruction at @c, linked at @vaddr, refers to, or 0 if there is
 * none.
 */
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

/* Returns the address of the table of names, derived from the code that reads it, or 0. */
static uint64_t find_names_by_code(const struct elf_image *img)
{
	static const char *const functions[] = {
		"_ZN2v88internal8Builtins4nameENS0_7BuiltinE", /* until 9.2 with an int */
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

/* ---- sizes of byte codes ------------------------------------------------------ */

/* Prefixes, then a byte code for each number of operands, which have one, two or four bytes. */
static const uint8_t sizes_heads[V8_SCALES][SIZES_HEAD] = {
	{ 1, 1, 1, 1, 1, 2, 3, 4, 5, 6, 7 },
	{ 1, 1, 1, 1, 1, 3, 5, 7, 9, 11, 13 },
	{ 1, 1, 1, 1, 1, 5, 9, 13, 17, 21, 25 },
};

/* Returns the number of byte codes if the table begins at @at, or 0. */
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
	/* Only baseline code requires the sizes. */
	if (!sym.vaddr && out->major >= V8_BASELINE_SINCE)
		search_sizes(img, out);
	out->builtin_names = find_table(img, names).vaddr;
	if (!out->builtin_names)
		out->builtin_names = find_names_by_code(img);
}
