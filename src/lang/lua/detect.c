/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detects Lua. A file is Lua if it defines lua_ident, which contains the version. The loop,
 * luaV_execute(), is not exported: without a symbol table it is the largest function that extracts
 * opcodes from instructions and jumps by them. LuaJIT has a folder of its own.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "elf/gnuhash.h"
#include "elf/image.h"
#include "elf/rawsym.h"
#include "lang/find.h"
#include "lang/lua/lua.h"

enum {
	LOOP_MIN = 4096, /* bytes */
	IDENT_MAX = 64,
	LUA_CODE_BYTES_MAX = 512 << 10,
	/* Bytes from the instruction that extracts an opcode to the jump by it, at most. */
	DISPATCH_MAX = 64,
};

/* Returns true if `and $@mask,%reg` begins at @code, which has three bytes. */
static bool is_mask(const uint8_t *code, uint8_t mask)
{
	return code[0] == 0x83 && (code[1] & 0xf8) == 0xe0 && code[2] == mask;
}

/* Returns true if `jmp *%reg` or `jmp *(%reg,%reg,8)` begins in the @n bytes at @code. */
static bool has_jump(const uint8_t *code, size_t n)
{
	for (size_t i = 0; i + 2 <= n && i < DISPATCH_MAX; i++)
		if (code[i] == 0xff && ((code[i + 1] & 0xf8) == 0xe0 || code[i + 1] == 0x24))
			return true;
	return false;
}

/* Returns the size of a function that jumps by @mask of a word, and 0 for others. */
static size_t score(const struct elf_span *code, uint8_t mask)
{
	for (size_t i = 0; i + 3 <= code->len; i++)
		if (is_mask(code->data + i, mask) &&
		    has_jump(code->data + i + 3, code->len - i - 3))
			return code->len;
	return 0;
}

static size_t score_6_bits(const struct elf_span *code)
{
	return score(code, 0x3f);
}

static size_t score_7_bits(const struct elf_span *code)
{
	return score(code, 0x7f);
}

static int find_loop(const struct elf_image *img, uint32_t version, struct elf_rawsym *out)
{
	if (elf_symbol_lookup(img, ELF_SYMTAB, "luaV_execute", out) == 0 && out->size)
		return 0;
	return lang_find_function(img, version < 504 ? score_6_bits : score_7_bits, LOOP_MIN, out);
}

/* Parses lua_ident, which contains "Lua 5.4.4  Copyright"; @out is { 5, 4, 4 }. */
static int find_version(const struct elf_image *img, unsigned int out[3])
{
	struct elf_rawsym sym;
	struct elf_span span;
	char text[IDENT_MAX + 1] = "";
	const char *at;

	if (elf_gnuhash_lookup(img, "lua_ident", &sym) < 0 &&
	    elf_symbol_lookup(img, ELF_SYMTAB, "lua_ident", &sym) < 0)
		return -ENOENT;
	if (elf_image_at_vaddr(img, sym.vaddr, IDENT_MAX, &span) < 0)
		return -ENOENT;
	memcpy(text, span.data, IDENT_MAX);
	at = strstr(text, "Lua 5");
	return at && sscanf(at, "Lua %1u.%1u.%1u", &out[0], &out[1], &out[2]) >= 2 ? 0 : -ENOENT;
}

/*
 * A file of more code is a program that contains Lua, such as a server. Its own functions that call
 * Lua must be in its stacks.
 */
static bool is_program(const struct elf_image *img)
{
	const struct elf_segment *seg;
	size_t n = elf_image_segments(img, &seg);
	uint64_t bytes = 0;

	for (size_t i = 0; i < n; i++)
		bytes += seg[i].exec ? seg[i].filesz : 0;
	return bytes > LUA_CODE_BYTES_MAX;
}

int lua_detect(const struct elf_image *img, const struct vm_tables *tables, uint32_t vm,
	       struct lang_detected *d)
{
	struct elf_rawsym loop;
	const struct lua_vm *layout;
	unsigned int v[3] = { 0 };

	if (elf_gnuhash_lookup(img, "luaJIT_setmode", &loop) == 0)
		return -ENOENT;
	if (find_version(img, v) < 0)
		return -ENOENT;
	d->runtime = "Lua";
	layout = lua_layout(100 * v[0] + v[1], v[2]);
	/* the release matters only where it decides that the version is not supported */
	if (layout)
		snprintf(d->version, sizeof(d->version), "%u.%u", v[0], v[1]);
	else
		snprintf(d->version, sizeof(d->version), "%u.%u.%u", v[0], v[1], v[2]);
	if (find_loop(img, 100 * v[0] + v[1], &loop) < 0 || lang_set_loop(img, &loop, d) < 0) {
		d->problem = LANG_NO_LOOP;
		return -ENOTSUP;
	}
	if (!layout)
		return -ENOTSUP;
	if (is_program(img))
		d->code.fold = 0;
	tables->lua[vm] = *layout;
	return 0;
}

/* The place is the position of the next instruction, so the running one precedes it. */
static uint32_t lua_line(const struct lang_function *f, uint32_t place)
{
	size_t at = place ? 4 * ((size_t)place - 1) : 0;
	uint32_t line;

	if (at + 4 > f->n_lines)
		return f->first_line;
	memcpy(&line, f->lines + at, sizeof(line));
	return line;
}

const struct lang lua_lang = {
	.name_part = "lua",
	.detect = lua_detect,
	.read = lua_read,
	.line = lua_line,
};
