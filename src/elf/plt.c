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
#include "base/bisect.h"
#include "base/vec.h"

enum { PLT_ENTRY_LEN = 16, PLT_SHORT_LEN = 8 };

struct slot {
	uint64_t vaddr;
	uint32_t name_off;
	uint8_t bind; /* STB_* */
};

/* A slot whose function a resolver chooses when the program starts. */
struct resolved {
	uint64_t resolver;
	uint64_t vaddr;
};

struct slots {
	VEC(struct slot);
	struct {
		VEC(struct resolved);
	} resolved;
};

static void slots_fini(struct slots *s)
{
	vec_fini(&s->resolved);
	vec_fini(s);
}

static int slot_cmp(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;

	if (x->vaddr != y->vaddr)
		return x->vaddr < y->vaddr ? -1 : 1;
	return x->name_off < y->name_off ? -1 : x->name_off > y->name_off;
}

static int resolved_cmp(const void *a, const void *b)
{
	const struct resolved *x = a, *y = b;

	return x->resolver < y->resolver ? -1 : x->resolver > y->resolver;
}

static int read_slot(struct slots *slots, const Elf64_Rela *rela, const struct elf_rawsyms *syms,
		     enum elf_symtab_source source)
{
	const uint32_t type = ELF64_R_TYPE(rela->r_info);
	struct elf_rawsym sym;

	if (type == ARCH_IRELATIVE)
		return vec_push(&slots->resolved,
				(struct resolved){ (uint64_t)rela->r_addend, rela->r_offset });
	if (source != ELF_DYNSYM || (type != ARCH_JUMP_SLOT && type != ARCH_GLOB_DAT) ||
	    ELF64_R_SYM(rela->r_info) >= syms->n)
		return 0;
	elf_rawsyms_get(syms, ELF64_R_SYM(rela->r_info), &sym);
	if (!sym.name_off)
		return 0;
	return vec_push(slots, (struct slot){ rela->r_offset, sym.name_off, sym.bind });
}

/* Reads the GOT slots that @section's relocations bind to functions. */
static int read_slots(struct slots *slots, const struct elf_image *img,
		      const struct elf_rawsyms *syms, enum elf_symtab_source source,
		      const char *section)
{
	struct elf_span s;
	int r = 0;

	if (elf_image_section(img, section, &s) < 0)
		return 0;
	for (size_t i = 0; r == 0 && i < s.len / sizeof(Elf64_Rela); i++) {
		Elf64_Rela rela;

		memcpy(&rela, s.data + i * sizeof(rela), sizeof(rela));
		r = read_slot(slots, &rela, syms, source);
	}
	return r;
}

/*
 * Adds a slot for each symbol at the resolver of a slot, and at most @max together: a false file
 * may have many slots with one resolver, and many symbols there.
 */
static int name_resolved(struct slots *slots, const struct elf_rawsyms *syms, size_t max)
{
	const struct resolved *data = slots->resolved.data;
	const size_t n = slots->resolved.len;

	if (!n)
		return 0;
	qsort(slots->resolved.data, n, sizeof(*data), resolved_cmp);
	for (size_t i = 0; i < syms->n; i++) {
		struct elf_rawsym sym;

		elf_rawsyms_get(syms, i, &sym);
		if (sym.type != STT_GNU_IFUNC || sym.shndx == SHN_UNDEF || !sym.name_off)
			continue;
		for (size_t k = bisect(n, m, data[m].resolver < sym.vaddr);
		     k < n && data[k].resolver == sym.vaddr && slots->len < max; k++) {
			int r = vec_push(slots,
					 (struct slot){ data[k].vaddr, sym.name_off, sym.bind });

			if (r < 0)
				return r;
		}
	}
	return 0;
}

/* The first slot through which the stub of @len bytes at @code jumps; NULL if there is none. */
static const struct slot *slot_of(const struct slots *slots, const uint8_t *code, size_t len,
				  uint64_t vaddr)
{
	for (size_t i = 0; i + ARCH_SLOT_BYTES <= len; i += ARCH_CODE_ALIGN) {
		uint64_t slot;
		size_t at;

		if (!arch_is_jump_through(code + i, vaddr + i, &slot))
			continue;
		at = bisect(slots->len, m, slots->data[m].vaddr < slot);
		if (at < slots->len && slots->data[at].vaddr == slot)
			return &slots->data[at];
	}
	return NULL;
}

/*
 * The offset of the first stub in section @name, after the code of lazy binding, which static
 * programs do not have.
 */
static size_t first_stub(const char *name, const struct elf_span *s, const struct slots *slots)
{
	const size_t header = ARCH_PLT_HEADER;

	if (strcmp(name, ".plt") != 0 || s->len <= header)
		return 0;
	return slot_of(slots, s->data, header, s->vaddr) ? 0 : header;
}

/* The size of the stubs that begin at @at. Linkers disagree on the entry size of .plt. */
static size_t stub_size(const struct elf_section *sec, const struct elf_span *s, size_t at,
			const struct slots *slots)
{
	if (sec->entsize == 8 || sec->entsize == 24 || sec->entsize == 32)
		return sec->entsize;
	/* a static program's .plt, whose entry size is 0 */
	for (size_t i = 0; i < 2; i++, at += PLT_SHORT_LEN)
		if (s->len - at < PLT_SHORT_LEN ||
		    !slot_of(slots, s->data + at, PLT_SHORT_LEN, s->vaddr + at))
			return PLT_ENTRY_LEN;
	return PLT_SHORT_LEN;
}

/* Calls @fn for each name of @slot's function. */
static int report(const struct slots *slots, const struct slot *slot, struct elf_plt_entry e,
		  elf_plt_fn fn, void *ctx)
{
	const struct slot *end = slots->data + slots->len;
	const uint64_t vaddr = slot->vaddr;
	int r = 0;

	for (; r == 0 && slot < end && slot->vaddr == vaddr; slot++) {
		e.name_off = slot->name_off;
		e.bind = slot->bind;
		r = fn(ctx, &e);
	}
	return r;
}

static int walk_section(const struct elf_image *img, const char *name, const struct slots *slots,
			elf_plt_fn fn, void *ctx)
{
	struct elf_section sec;
	struct elf_span s;
	uint32_t index;
	size_t step, at;
	int r = 0;

	if (elf_image_section_index(img, name, &index) < 0 ||
	    elf_image_section_header(img, index, &sec) < 0 ||
	    elf_image_section_at(img, index, &s) < 0)
		return 0;
	at = first_stub(name, &s, slots);
	step = stub_size(&sec, &s, at, slots);
	for (; r == 0 && s.len - at >= step; at += step) {
		const struct slot *slot = slot_of(slots, s.data + at, step, s.vaddr + at);

		if (slot)
			r = report(slots, slot,
				   (struct elf_plt_entry){ s.vaddr + at, (uint32_t)step, 0, 0 }, fn,
				   ctx);
	}
	return r;
}

static bool has_section(const struct elf_image *img, const char *name)
{
	uint32_t index;

	return elf_image_section_index(img, name, &index) == 0;
}

/* .rela.dyn, which may be large, only binds slots of stubs in .plt.got, and in lld's .iplt. */
const char *elf_plt_section(const struct elf_image *img, size_t i)
{
	static const char *const names[] = { ".rela.plt", ".plt",  ".plt.sec",
					     ".plt.got",  ".iplt", ".rela.dyn" };
	enum { N = sizeof(names) / sizeof(*names), WITHOUT_DYN = 3 };

	if (i >= N ||
	    (i >= WITHOUT_DYN && !has_section(img, ".plt.got") && !has_section(img, ".iplt")))
		return NULL;
	return names[i];
}

static bool is_relocations(const char *name)
{
	return !strncmp(name, ".rela", 5);
}

int elf_plt_walk(const struct elf_image *img, const struct elf_rawsyms *syms,
		 enum elf_symtab_source source, elf_plt_fn fn, void *ctx)
{
	_cleanup_(slots_fini) struct slots slots = { 0 };
	const char *name;
	int r = 0;

	if (elf_image_machine(img) != ARCH_ELF_MACHINE)
		return 0;
	for (size_t i = 0; r == 0 && (name = elf_plt_section(img, i)); i++)
		if (is_relocations(name))
			r = read_slots(&slots, img, syms, source, name);
	if (r == 0)
		r = name_resolved(&slots, syms, slots.len + slots.resolved.len + syms->n);
	if (r < 0 || !slots.len)
		return r;
	qsort(slots.data, slots.len, sizeof(*slots.data), slot_cmp);
	for (size_t i = 0; r == 0 && (name = elf_plt_section(img, i)); i++)
		if (!is_relocations(name))
			r = walk_section(img, name, &slots, fn, ctx);
	return r;
}
