/* SPDX-License-Identifier: Apache-2.0 */
/* Reads everything from an ELF file that is needed before its code. */
#include "elf/image.h"

#include <stdlib.h>
#include <string.h>

#include "elf/debuglink.h"
#include "elf/function_extents.h"
#include "elf/note.h"
#include "elf/symtab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Reads every byte, so that a sanitizer detects a span outside of the file. */
static void touch(const struct elf_span *s)
{
	volatile uint8_t sum = 0;

	for (size_t i = 0; i < s->len; i++)
		sum = (uint8_t)(sum + s->data[i]);
}

static void walk_sections(const struct elf_image *img)
{
	size_t n = elf_image_n_sections(img);

	for (uint32_t i = 0; i < n; i++) {
		struct elf_section sec;
		struct elf_span s;

		if (elf_image_section_header(img, i, &sec) < 0)
			abort();
		if (elf_image_section_at(img, i, &s) == 0 && i < 64)
			touch(&s);
	}
}

static void walk_segments(const struct elf_image *img)
{
	const struct elf_segment *segs;
	size_t n = elf_image_segments(img, &segs);

	for (size_t i = 0; i < n; i++) {
		uint64_t off = 0, vaddr = 0;
		struct elf_span s;

		if (!segs[i].filesz)
			continue;
		if (elf_image_at_vaddr(img, segs[i].vaddr, segs[i].filesz, &s) < 0)
			abort();
		touch(&s);
		if (elf_image_offset_of(img, segs[i].vaddr, &off) < 0 ||
		    elf_image_vaddr_of(img, off, &vaddr) < 0)
			abort();
	}
}

/* Checks that every symbol is found at its own address, under some name that starts there. */
static void walk_symbols(const struct elf_image *img, unsigned int sources)
{
	_cleanup_(elf_symtab_freep) struct elf_symtab *t = NULL;
	struct elf_symbol s, found;
	struct elf_rawsym raw;

	if (elf_symtab_load(&t, img, sources, NULL) < 0)
		return;
	for (size_t i = 0; i < elf_symtab_count(t); i++) {
		elf_symtab_at(t, i, &s);
		if (!s.size || elf_symtab_find(t, s.vaddr, &found) < 0 || found.vaddr != s.vaddr)
			abort();
	}
	elf_symtab_find(t, UINT64_MAX, &found);
	elf_symbol_lookup(img, sources, "main", &raw);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	_cleanup_(function_extents_freep) struct function_extents *extents = NULL;
	struct elf_debuglink link;
	struct elf_build_id id;
	uint64_t start;

	if (elf_image_from_memory(&img, data, len, NULL) < 0)
		return 0;
	walk_sections(img);
	walk_segments(img);
	elf_note_gnu_build_id(img, &id);
	if (elf_debuglink(img, &link) == 0 && strchr(link.name, '/'))
		abort();
	walk_symbols(img, ELF_SYMTAB | ELF_DYNSYM);
	walk_symbols(img, ELF_DYNSYM);
	if (function_extents_new(&extents, img) == 0 &&
	    function_extents_start(extents, elf_image_entry(img), &start) == 0 &&
	    start > elf_image_entry(img))
		abort();
	return 0;
}
