/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detects LuaJIT and finds what differs between its builds. The interpreter is one block of
 * assembly, the function with most jumps through the dispatch table, which is in %r14. The
 * global_State is at a constant distance from that table, so the interpreter's own accesses have
 * the offsets: an entry computes the table's address, a call of C stores the state of the virtual
 * machine, and an entry to a trace reads the array of traces and stores the base.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "elf/gnuhash.h"
#include "elf/image.h"
#include "elf/rawsym.h"
#include "lang/find.h"
#include "lang/luajit/luajit.h"

enum { JUMPS_MIN = 16, VERSION_MAX = 24, OFFSET_MAX = 1 << 14, ENTRY_BYTES = 32 };

/* Instructions with a displacement or a constant of four bytes at the end of their pattern. */
static const uint8_t set_state[] = { 0x41, 0xc7, 0x86 }; /* movl $N,DISP(%r14) */
static const uint8_t load_mcode[] = { 0x48, 0x8b, 0x40, LUAJIT_TRACE_MCODE };
static const uint8_t set_base[] = { 0x49, 0x89, 0x96 }; /* mov %rdx,DISP(%r14) */
static const uint8_t load_global[] = { 0x10, 0x49, 0x81,
				       0xc6 }; /* the end of mov 0x10(%reg),%r14 */

/* Counts jmp *(%r14,%reg,8). */
static size_t count_jumps(const struct elf_span *code)
{
	size_t n = 0;

	for (size_t i = 0; i + 4 <= code->len; i++)
		n += code->data[i] == 0x41 && code->data[i + 1] == 0xff &&
		     code->data[i + 2] == 0x24 && (code->data[i + 3] & 0xc7) == 0xc6;
	return n;
}

/* Returns where @pattern is in the code between @from and @to; 0: nowhere. */
static size_t find(const struct elf_span *code, size_t from, size_t to, const uint8_t *pattern,
		   size_t len)
{
	for (size_t i = from; i + len + 4 <= code->len && i < to; i++)
		if (!memcmp(code->data + i, pattern, len))
			return i;
	return 0;
}

static int32_t number_at(const struct elf_span *code, size_t at)
{
	int32_t v;

	memcpy(&v, code->data + at, sizeof(v));
	return v;
}

/* Sets *@out to the offset from the global_State of what @disp addresses. */
static int set_offset(int64_t distance, int32_t disp, __u32 *out)
{
	if (distance + disp <= 0 || distance + disp > OFFSET_MAX)
		return -ENOENT;
	*out = (__u32)(distance + disp);
	return 0;
}

/*
 * Finds the entry to a trace: mov DISP(%r14),%REG; mov (%REG,%INDEX,8),%rax; mov 0x58(%rax),%rax;
 * then, after the lua_State was loaded, mov %rdx,DISP(%r14).
 */
static int find_traces(const struct elf_span *code, int64_t distance, struct luajit_vm *vm)
{
	size_t at = 0, base;

	while ((at = find(code, at + 1, code->len, load_mcode, sizeof(load_mcode)))) {
		base = find(code, at, at + ENTRY_BYTES, set_base, sizeof(set_base));
		if (!base || at < 11 || code->data[at - 11] != 0x49 ||
		    code->data[at - 10] != 0x8b || (code->data[at - 9] & 0xc7) != 0x86)
			continue;
		if (set_offset(distance, number_at(code, at - 8), &vm->traces) == 0 &&
		    set_offset(distance, number_at(code, base + 3), &vm->jit_base) == 0)
			return 0;
	}
	return -ENOENT;
}

/* The state of the virtual machine while C runs is ~1. */
static int find_state(const struct elf_span *code, int64_t distance, struct luajit_vm *vm)
{
	size_t at = 0;

	while ((at = find(code, at + 1, code->len, set_state, sizeof(set_state))))
		if (at + 11 <= code->len && number_at(code, at + 7) == ~1)
			return set_offset(distance, number_at(code, at + 3), &vm->vmstate);
	return -ENOENT;
}

/* Return: 0; -ENOENT if references have 32 bits, or the code is not known. */
static int describe(const struct elf_span *code, struct luajit_vm *vm)
{
	size_t at = find(code, 1, code->len, load_global, sizeof(load_global));
	int64_t distance;

	if (!at)
		return -ENOENT;
	distance = number_at(code, at + sizeof(load_global));
	/* a build without the compiler has no traces */
	if (find_traces(code, distance, vm) < 0 || find_state(code, distance, vm) < 0)
		*vm = (struct luajit_vm){ 0 };
	return 0;
}

/* Reads "LuaJIT 2.1.0-beta3" or "LuaJIT 2.1.TIME", where TIME is that of the commit. */
static void read_version(const struct elf_image *img, char out[VERSION_MAX])
{
	if (lang_find_text(img, "LuaJIT 2.", out + 2, VERSION_MAX - 2) < 0) {
		out[0] = '\0';
		return;
	}
	memcpy(out, "2.", 2);
	out[2 + strcspn(out + 2, " -\n")] = '\0';
}

static int luajit_detect(const struct elf_image *img, const struct vm_tables *tables, uint32_t vm,
			 struct lang_detected *d)
{
	struct luajit_vm own = { 0 };
	struct elf_rawsym sym;
	struct elf_span code;
	uint64_t off;

	if (elf_gnuhash_lookup(img, "luaJIT_setmode", &sym) < 0)
		return -ENOENT;
	d->runtime = "LuaJIT";
	read_version(img, d->version);
	if (lang_find_function(img, count_jumps, JUMPS_MIN, &sym) < 0 ||
	    elf_image_at_vaddr(img, sym.vaddr, sym.size, &code) < 0 ||
	    elf_image_offset_of(img, sym.vaddr, &off) < 0) {
		d->problem = LANG_NO_LOOP;
		return -ENOTSUP;
	}
	d->loop_vaddr = sym.vaddr;
	d->code.loop[0] = (struct vm_range){ off, off + sym.size };
	if (describe(&code, &own) < 0) {
		d->problem = "its references have 32 bits";
		return -ENOTSUP;
	}
	d->code.stepped[0] = d->code.loop[0];
	d->code.generated = VM_GENERATED_STEPPED;
	tables->luajit[vm] = own;
	return 0;
}

const struct lang luajit_lang = {
	.name_part = "lua",
	.detect = luajit_detect,
	.expand = luajit_expand,
	.read = luajit_read,
	.line = luajit_line,
	.named_by_caller = true,
};
