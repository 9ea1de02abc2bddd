/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the function that a PLT stub calls. Linkers arrange stubs in several ways (.plt alone;
 * .plt.sec after a lazy .plt with -z ibtplt; .plt.got; lld's and mold's own), and their order need
 * not be that of the relocations. So each stub is decoded: all of them jump through a slot of the
 * GOT (arch_is_jump_through()), and the relocation of that slot names the function. An IRELATIVE
 * relocation, of an indirect function of the same file (memcpy in libc and in static programs), has
 * the address of the resolver instead, which is that of the function's symbols. Stubs that jump
 * through no known slot (the first entry of lazy binding, functions without a symbol) are omitted.
 */
#include "elf/plt.h"

#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/vec.h"

enum { PLT_ENTRY_LEN = 16, JMP_LEN = 6 };

struct slot {
	uint64_t vaddr;
	uint32_t name_off;
};

struct slots {
	VEC(struct slot);
};

static void slots_fini(struct slots *s)
{
	vec_fini(s);
}

static int slot_cmp(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;

	return x->vaddr < y->vaddr ? -1 : x->vaddr > y->vaddr;
}

/* Reads the GOT slots that @section's relocations bind to functions with a name. */
static int read_slots(struct slots *slots, const struct elf_image *img,
		      const struct elf_rawsyms *dynsym, const char *section)
{
	struct elf_span s;

	if (elf_image_section(img, section, &s) < 0)
		return 0;
	for (size_t i = 0; i < s.len / sizeof(Elf64_Rela); i++) {
		struct elf_rawsym sym;
		Elf64_Rela rela;
		int r;

		memcpy(&rela, s.data + i * sizeof(rela), sizeof(rela));
		if (ELF64_R_TYPE(rela.r_info) != ARCH_JUMP_SLOT &&
		    ELF64_R_TYPE(rela.r_info) != ARCH_GLOB_DAT)
			continue;
		if (ELF64_R_SYM(rela.r_info) >= dynsym->n)
			continue;
		elf_rawsyms_get(dynsym, ELF64_R_SYM(rela.r_info), &sym);
		if (!sym.name_off)
			continue;
		r = vec_push(slots, (struct slot){ rela.r_offset, sym.name_off });
		if (r < 0)
			return r;
	}
	return 0;
}

/* The slot through which the stub of @len bytes at @code jumps; NULL if there is none. */
static const struct slot *slot_of(const struct slots *slots, const uint8_t *code, size_t len,
				  uint64_t vaddr)
{
	for (size_t i = 0; i + JMP_LEN <= len; i++) {
		struct slot key = { 0 };
		const struct slot *found;
		int32_t disp;

		if (code[i] != 0xff || code[i + 1] != 0x25)
			continue;
		memcpy(&disp, code + i + 2, sizeof(disp));
		key.vaddr = vaddr + i + JMP_LEN + (uint64_t)(int64_t)disp;
		found = bsearch(&key, slots->data, slots->len, sizeof(key), slot_cmp);
		if (found)
			return found;
	}
	return NULL;
}

static int walk_section(const struct elf_image *img, const char *name, const struct slots *slots,
			elf_plt_fn fn, void *ctx)
{
	struct elf_section sec;
	struct elf_span s;
	uint32_t index;
	size_t step = PLT_ENTRY_LEN;

	if (elf_image_section_index(img, name, &index) < 0 ||
	    elf_image_section_header(img, index, &sec) < 0 ||
	    elf_image_section_at(img, index, &s) < 0)
		return 0;
	/* linkers disagree on the entry size of .plt: 16, 4 or 0 */
	if (sec.entsize == 8 || sec.entsize == 32)
		step = sec.entsize;
	for (size_t at = 0; s.len - at >= step; at += step) {
		const struct slot *slot = slot_of(slots, s.data + at, step, s.vaddr + at);
		struct elf_plt_entry e = { s.vaddr + at, (uint32_t)step, 0 };
		int r;

		if (!slot)
			continue;
		e.name_off = slot->name_off;
		r = fn(ctx, &e);
		if (r)
			return r;
	}
	return 0;
}

/* .rela.dyn, which may be large, only binds slots of stubs in .plt.got. */
const char *elf_plt_section(const struct elf_image *img, size_t i)
{
	static const char *const names[] = { ".rela.plt", ".plt", ".plt.sec", ".plt.got",
					     ".rela.dyn" };
	enum { N = sizeof(names) / sizeof(*names), WITHOUT_PLT_GOT = 3 };
	uint32_t index;

	if (i >= N ||
	    (i >= WITHOUT_PLT_GOT && elf_image_section_index(img, ".plt.got", &index) < 0))
		return NULL;
	return names[i];
}

static bool is_relocations(const char *name)
{
	return !strncmp(name, ".rela", 5);
}

int elf_plt_walk(const struct elf_image *img, const struct elf_rawsyms *dynsym, elf_plt_fn fn,
		 void *ctx)
{
	_cleanup_(slots_fini) struct slots slots = { 0 };
	const char *name;
	int r = 0;

	if (!ARCH_READS_CODE || elf_image_machine(img) != ARCH_ELF_MACHINE)
		return 0;
	for (size_t i = 0; r == 0 && (name = elf_plt_section(img, i)); i++)
		if (is_relocations(name))
			r = read_slots(&slots, img, dynsym, name);
	if (r < 0 || !slots.len)
		return r;
	qsort(slots.data, slots.len, sizeof(*slots.data), slot_cmp);
	for (size_t i = 0; r == 0 && (name = elf_plt_section(img, i)); i++)
		if (!is_relocations(name))
			r = walk_section(img, name, &slots, fn, ctx);
	return r;
}
