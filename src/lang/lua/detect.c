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

/* The one supported version, and sizes in bytes. */
enum { VERSION = 504, LOOP_MIN = 8192, JUMPS_MIN = 16, IDENT_MAX = 64 };

/* Returns the size of a function that has an instruction `and $0x7f,%reg`, and 0 for others. */
static size_t score(const struct elf_span *code)
{
	for (size_t i = 0; i + 3 <= code->len; i++)
		if (code->data[i] == 0x83 && (code->data[i + 1] & 0xf8) == 0xe0 &&
		    code->data[i + 2] == 0x7f)
			return code->len;
	return 0;
}

static int find_loop(const struct elf_image *img, struct elf_rawsym *out)
{
	if (elf_symbol_lookup(img, ELF_SYMTAB, "luaV_execute", out) == 0 && out->size)
		return 0;
	return lang_find_function(img, score, LOOP_MIN, out);
}

/* Parses lua_ident: "$LuaVersion: Lua 5.4.4  Copyright...". */
static int find_version(const struct elf_image *img, unsigned int out[2])
{
	struct elf_rawsym sym;
	struct elf_span span;
	char text[IDENT_MAX + 1] = "";
	const char *at;

	if (elf_gnuhash_lookup(img, "lua_ident", &sym) < 0 ||
	    elf_image_at_vaddr(img, sym.vaddr, IDENT_MAX, &span) < 0)
		return -ENOENT;
	memcpy(text, span.data, IDENT_MAX);
	at = strstr(text, "Lua 5");
	return at && sscanf(at, "Lua %1u.%1u", &out[0], &out[1]) == 2 ? 0 : -ENOENT;
}

/* Counts jmp *(%r14,%reg,8). */
static size_t count_jumps(const struct elf_span *code)
{
	size_t n = 0;

	for (size_t i = 0; i + 4 <= code->len; i++)
		n += code->data[i] == 0x41 && code->data[i + 1] == 0xff &&
		     code->data[i + 2] == 0x24 && (code->data[i + 3] & 0xc7) == 0xc6;
	return n;
}

static int detect_luajit(const struct elf_image *img, struct lang_detected *d)
{
	struct elf_rawsym loop;

	d->runtime = "LuaJIT";
	d->problem = "LuaJIT cannot be read";
	if (lang_find_function(img, count_jumps, JUMPS_MIN, &loop) == 0)
		(void)lang_set_loop(img, &loop, d);
	return -ENOTSUP;
}

int lua_detect(const struct elf_image *img, const struct vm_tables *tables, uint32_t vm,
	       struct lang_detected *d)
{
	struct elf_rawsym loop;
	unsigned int v[2];

	if (elf_gnuhash_lookup(img, "luaJIT_setmode", &loop) == 0)
		return detect_luajit(img, d);
	if (find_version(img, v) < 0)
		return -ENOENT;
	d->runtime = "Lua";
	snprintf(d->version, sizeof(d->version), "%u.%u", v[0], v[1]);
	if (find_loop(img, &loop) < 0 || lang_set_loop(img, &loop, d) < 0) {
		d->problem = LANG_NO_LOOP;
		return -ENOTSUP;
	}
	if (100 * v[0] + v[1] != VERSION)
		return -ENOTSUP;
	tables->lua[vm] = (struct lua_vm){ .version = VERSION };
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
