/* SPDX-License-Identifier: Apache-2.0 */
#include "lang/context/tls_variable.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "arch/arch.h"
#include "elf/gnuhash.h"
#include "elf/image.h"
#include "elf/rawsym.h"

enum { DYNAMIC_MAX = 256 }; /* entries of PT_DYNAMIC that are read */

/* The entries of PT_DYNAMIC that matter here. */
struct dynamic {
	struct elf_span tables[2]; /* of relocations: DT_RELA, DT_JMPREL */
	bool is_musl;
};

int tls_offset_in_program(const struct elf_image *img, uint64_t value, int64_t *out)
{
	struct elf_span headers;
	Elf64_Ehdr head;
	Elf64_Phdr p;

	if (elf_image_at_offset(img, 0, sizeof(head), &headers) < 0)
		return -ENOENT;
	memcpy(&head, headers.data, sizeof(head));
	for (uint64_t i = 0; i < head.e_phnum; i++) {
		if (elf_image_at_offset(img, head.e_phoff + i * sizeof(p), sizeof(p), &headers) < 0)
			return -ENOENT;
		memcpy(&p, headers.data, sizeof(p));
		if (p.p_type != PT_TLS || p.p_memsz > INT32_MAX || value > p.p_memsz)
			continue;
		if (!p.p_align)
			p.p_align = 1;
		/* the block ends at the thread pointer, which is aligned (variant II of the ABI) */
		*out = (int64_t)(value - p.p_memsz -
				 ((0 - p.p_vaddr - p.p_memsz) & (p.p_align - 1)));
		return 0;
	}
	return -ENOENT;
}

static bool is_program(const struct elf_image *img)
{
	struct elf_span interpreter;

	return elf_image_type(img) == ET_EXEC || elf_image_phdr(img, PT_INTERP, &interpreter) == 0;
}

/* Returns true for the names that distributions give musl's libc.so; glibc's is libc.so.6. */
static bool is_musl_name(const char *name)
{
	return !strcmp(name, "libc.so") || !strncmp(name, "libc.musl", strlen("libc.musl"));
}

static void find_libc(const struct elf_image *img, const struct elf_span *dynamic, size_t n,
		      uint64_t strings_vaddr, struct dynamic *out)
{
	enum { NAME_BYTES = 16 };
	struct elf_span name;
	char text[NAME_BYTES] = "";
	Elf64_Dyn d;

	for (size_t i = 0; i < n; i++) {
		memcpy(&d, dynamic->data + i * sizeof(d), sizeof(d));
		if (d.d_tag != DT_NEEDED || elf_image_at_vaddr(img, strings_vaddr + d.d_un.d_val,
							       sizeof(text) - 1, &name) < 0)
			continue;
		memcpy(text, name.data, sizeof(text) - 1);
		out->is_musl |= is_musl_name(text);
	}
}

static int read_dynamic(const struct elf_image *img, struct dynamic *out)
{
	uint64_t at[2] = { 0 }, len[2] = { 0 }, strings_vaddr = 0;
	struct elf_span dynamic;
	size_t n;
	Elf64_Dyn d;

	*out = (struct dynamic){ 0 };
	if (elf_image_phdr(img, PT_DYNAMIC, &dynamic) < 0)
		return -ENOENT;
	n = dynamic.len / sizeof(d) < DYNAMIC_MAX ? dynamic.len / sizeof(d) : DYNAMIC_MAX;
	for (size_t i = 0; i < n; i++) {
		memcpy(&d, dynamic.data + i * sizeof(d), sizeof(d));
		at[0] = d.d_tag == DT_RELA ? d.d_un.d_ptr : at[0];
		at[1] = d.d_tag == DT_JMPREL ? d.d_un.d_ptr : at[1];
		len[0] = d.d_tag == DT_RELASZ ? d.d_un.d_val : len[0];
		len[1] = d.d_tag == DT_PLTRELSZ ? d.d_un.d_val : len[1];
		strings_vaddr = d.d_tag == DT_STRTAB ? d.d_un.d_ptr : strings_vaddr;
	}
	for (size_t i = 0; i < 2; i++)
		if (elf_image_at_vaddr(img, at[i], len[i], &out->tables[i]) < 0)
			out->tables[i].len = 0;
	find_libc(img, &dynamic, n, strings_vaddr, out);
	return 0;
}

/* The kind of words that a relocation fills in; CONTEXT_TLS_MAX if it is another one. */
static enum context_tls kind_of(const Elf64_Rela *rela)
{
	switch (ELF64_R_TYPE(rela->r_info)) {
	case ARCH_TLS_DESCRIPTOR:
		return CONTEXT_TLS_GOT_DESCRIPTOR;
	case ARCH_TLS_MODULE:
		return CONTEXT_TLS_GOT_INDEX;
	case ARCH_TLS_OFFSET:
		return CONTEXT_TLS_GOT_OFFSET;
	default:
		return CONTEXT_TLS_MAX;
	}
}

/*
 * True if the relocation is for @sym. One without a symbol is for a variable of this file: its
 * addend, or the word that the linker left for the offset, is the variable's.
 */
static bool is_for(const struct elf_image *img, const struct elf_rawsyms *syms,
		   const Elf64_Rela *rela, const struct elf_rawsym *sym)
{
	uint64_t i = ELF64_R_SYM(rela->r_info), left;
	struct elf_rawsym other;
	struct elf_span word;

	if (i) {
		if (i >= syms->n)
			return false;
		elf_rawsyms_get(syms, i, &other);
		return other.name_off == sym->name_off;
	}
	if (kind_of(rela) != CONTEXT_TLS_GOT_INDEX)
		return (uint64_t)rela->r_addend == sym->vaddr;
	if (elf_image_at_vaddr(img, rela->r_offset + sizeof(left), sizeof(left), &word) < 0)
		return false;
	memcpy(&left, word.data, sizeof(left));
	return left == sym->vaddr;
}

static int find_relocation(const struct elf_image *img, const struct elf_span *table,
			   const struct elf_rawsym *sym, struct context_layout *out)
{
	struct elf_rawsyms syms;
	Elf64_Rela rela;

	if (elf_rawsyms_open(img, ELF_DYNSYM, &syms) < 0)
		return -ENOENT;
	for (size_t at = 0; table->len - at >= sizeof(rela); at += sizeof(rela)) {
		memcpy(&rela, table->data + at, sizeof(rela));
		if (kind_of(&rela) == CONTEXT_TLS_MAX || !is_for(img, &syms, &rela, sym))
			continue;
		out->tls = (uint8_t)kind_of(&rela);
		out->at = (int64_t)rela.r_offset;
		return 0;
	}
	return -ENOENT;
}

int tls_variable_find(const struct elf_image *img, const char *name, struct context_layout *out)
{
	struct elf_rawsym sym;
	struct dynamic dynamic;
	int64_t at;
	int r;

	if (elf_gnuhash_lookup(img, name, &sym) < 0 || sym.type != STT_TLS ||
	    read_dynamic(img, &dynamic) < 0)
		return -ENOENT;
	out->is_musl = dynamic.is_musl;
	if (is_program(img)) {
		out->tls = CONTEXT_TLS_OFFSET;
		r = tls_offset_in_program(img, sym.vaddr, &at);
		out->at = r < 0 ? 0 : at;
		return r;
	}
	r = find_relocation(img, &dynamic.tables[0], &sym, out);
	return r < 0 ? find_relocation(img, &dynamic.tables[1], &sym, out) : r;
}
