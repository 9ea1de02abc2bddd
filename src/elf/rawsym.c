/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads Elf64_Sym entries. Each entry is copied out and each name is bounded
 * by its string table and by ELF_NAME_MAX, since a file may give a million
 * symbols one name of many megabytes.
 */
#include "elf/rawsym.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

int elf_rawsyms_open(const struct elf_image *img, enum elf_symtab_source source,
		     struct elf_rawsyms *out)
{
	uint32_t type = source == ELF_SYMTAB ? SHT_SYMTAB : SHT_DYNSYM;
	struct elf_rawsyms s;
	uint32_t link = 0;
	int r;

	r = elf_image_section_of_type(img, type, &s.entries, &link);
	if (r == -ENOENT || r == -ENODATA)
		return -ENOENT;
	if (r < 0)
		return r;
	r = elf_image_section_at(img, link, &s.strs);
	if (r < 0)
		return -EBADMSG;
	s.n = s.entries.len / sizeof(Elf64_Sym);
	*out = s;
	return 0;
}

void elf_rawsyms_get(const struct elf_rawsyms *syms, size_t i, struct elf_rawsym *out)
{
	Elf64_Sym sym;

	memcpy(&sym, syms->entries.data + i * sizeof(sym), sizeof(sym));
	*out = (struct elf_rawsym){
		.vaddr = sym.st_value,
		.size = sym.st_size,
		.name_off = sym.st_name,
		.shndx = sym.st_shndx,
		.type = ELF64_ST_TYPE(sym.st_info),
		.bind = ELF64_ST_BIND(sym.st_info),
	};
}

size_t elf_rawsyms_name(const struct elf_rawsyms *syms, uint32_t name_off, const char **out)
{
	const char *name, *at;
	size_t len;

	if (name_off >= syms->strs.len)
		return 0;
	name = (const char *)syms->strs.data + name_off;
	len = syms->strs.len - name_off;
	len = strnlen(name, len < ELF_NAME_MAX ? len : ELF_NAME_MAX);
	*out = name;
	/* "memcpy@@GLIBC_2.14": linkers write versions into .symtab, not into .dynsym */
	at = len > 1 ? memchr(name + 1, '@', len - 1) : NULL;
	return at ? (size_t)(at - name) : len;
}

int elf_symbol_lookup(const struct elf_image *img, unsigned int sources, const char *name,
		      struct elf_rawsym *out)
{
	size_t want = strlen(name);

	for (unsigned int source = ELF_SYMTAB; source <= ELF_DYNSYM; source <<= 1) {
		struct elf_rawsyms syms;

		if (!(sources & source) || elf_rawsyms_open(img, source, &syms) < 0)
			continue;
		for (size_t i = 0; i < syms.n; i++) {
			struct elf_rawsym sym;
			const char *got;

			elf_rawsyms_get(&syms, i, &sym);
			if (sym.shndx != SHN_UNDEF &&
			    elf_rawsyms_name(&syms, sym.name_off, &got) == want &&
			    !memcmp(got, name, want)) {
				*out = sym;
				return 0;
			}
		}
	}
	return -ENOENT;
}
