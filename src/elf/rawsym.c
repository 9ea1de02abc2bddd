/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads Elf64_Sym entries. Each entry is copied out, and each name is bounded by its string table
 * and by ELF_NAME_MAX, because a file may give a million symbols one name of many megabytes.
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

size_t elf_rawsyms_name(const struct elf_rawsyms *syms, uint32_t name_off, size_t max,
			const char **out)
{
	size_t left;

	*out = "";
	if (name_off >= syms->strs.len)
		return 0;
	left = syms->strs.len - name_off;
	*out = (const char *)syms->strs.data + name_off;
	return strnlen(*out, left < max ? left : max);
}

size_t elf_name_unversioned(const char *name, size_t len)
{
	const char *at = len > 1 ? memchr(name + 1, '@', len - 1) : NULL;

	return at ? (size_t)(at - name) : len;
}

/* True if a symbol has this name, optionally followed by a version. */
static bool name_is(const struct elf_rawsyms *syms, uint32_t name_off, const char *name,
		    size_t name_len)
{
	const char *got;
	size_t len = elf_rawsyms_name(syms, name_off, name_len + 1, &got);

	return len >= name_len && !memcmp(got, name, name_len) &&
	       (len == name_len || got[name_len] == '@');
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

			elf_rawsyms_get(&syms, i, &sym);
			if (sym.shndx != SHN_UNDEF && name_is(&syms, sym.name_off, name, want)) {
				*out = sym;
				return 0;
			}
		}
	}
	return -ENOENT;
}
