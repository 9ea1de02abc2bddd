/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the tables of Go's runtime in a file. The function table begins with a magic number and is
 * aligned; the module data (runtime/symtab.go, type moduledata) begins with a pointer to it and
 * repeats its number of functions and its bounds, which distinguishes it from a chance match.
 * Go 1.20, 1.26 and 1.27 inserted words after the bounds. The words after those are therefore
 * recognized by what they point to: textsectmap by its first section, which begins at text, and
 * gofunc as the word before it. Pointers are read as the dynamic linker would relocate them:
 * RELATIVE entries of DT_RELA override the file's bytes. Every search is one pass over the file's
 * segments or relocations, and gives up after CANDIDATES_MAX matches. A hostile file may have many
 * segments that cover the same bytes: a pass ends after as many bytes as the file has. The format
 * of the table itself is read by elf/gopclntab.c.
 */
#include "elf/gomodule.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "elf/image.h"

enum {
	CANDIDATES_MAX = 16,
	NOTES_MAX = 64,
	BUILDINFO_SEARCH = 64 * 1024, /* bytes that are searched, as in Go's debug/buildinfo */
	BUILDINFO_ALIGN = 16,

	/* words of moduledata, the same since Go 1.16 */
	MODULE_PCLNTABLE = 13, /* address, length */
	MODULE_FTAB_LEN = 17,
	MODULE_MINPC = 20,
	MODULE_MAXPC = 21,
	MODULE_TEXT = 22,
	/*
	 * gofunc has been word 38 (Go 1.18) to 43 (1.27); textsectmap is one or two words after it
	 */
	MODULE_SECTIONS_MIN = 39,
	MODULE_WORDS = 64,

	PCLNTABLE_ALIGN = 64, /* gofunc follows pclntable, aligned to this at most */
};

static const char *const table_sections[] = { ".gopclntab", ".data.rel.ro.gopclntab" };
static const char *const go_sections[] = { ".note.go.buildid", ".go.buildinfo", ".gosymtab",
					   ".go.module" };

/* The remaining work of one search. */
struct effort {
	unsigned int candidates;
	size_t bytes; /* of segments */
};

static struct effort effort_for(const struct elf_image *img)
{
	return (struct effort){ CANDIDATES_MAX, elf_image_len(img) };
}

/* Returns the bytes of @seg that remain to be searched, and counts them as searched. */
static bool effort_spend(struct effort *e, const struct elf_image *img,
			 const struct elf_segment *seg, struct elf_span *out)
{
	size_t len = seg->filesz < e->bytes ? seg->filesz : e->bytes;

	e->bytes -= len;
	return elf_image_at_vaddr(img, seg->vaddr, len, out) == 0;
}

static uint64_t load64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* {magic u32, 0, 0, instruction unit, 8}: see internal/abi/symtab.go for the magic numbers. */
static bool is_table_start(uint64_t word)
{
	switch (word & 0x00ffffffffffffff) {
	case 0x010000fffffff1:
	case 0x010000fffffff0:
	case 0x010000fffffffa:
	case 0x010000fffffffb:
	case 0x040000fffffff1:
	case 0x040000fffffff0:
	case 0x040000fffffffa:
	case 0x040000fffffffb:
		return word >> 56 == 8;
	default:
		return false;
	}
}

static bool has_buildinfo_magic(const struct elf_image *img, const struct elf_segment *seg)
{
	static const char magic[] = "\xff Go buildinf:";
	size_t len = seg->filesz < BUILDINFO_SEARCH ? seg->filesz : BUILDINFO_SEARCH;
	struct elf_span s;

	if (elf_image_at_vaddr(img, seg->vaddr, len, &s) < 0)
		return false;
	for (size_t i = 0; i + sizeof(magic) <= s.len; i += BUILDINFO_ALIGN)
		if (!memcmp(s.data + i, magic, sizeof(magic) - 1))
			return true;
	return false;
}

bool gomodule_has_buildinfo(const struct elf_image *img)
{
	const struct elf_segment *segs;
	size_t n = elf_image_segments(img, &segs);
	struct elf_span s;

	if (!elf_image_section(img, ".go.buildinfo", &s))
		return true;
	for (size_t i = 0; i < n; i++)
		if (!segs[i].exec && has_buildinfo_magic(img, &segs[i]))
			return true;
	return false;
}

static bool is_go_note(const struct elf_span *note)
{
	static const uint8_t name[] = { 'G', 'o', 0, 0 };
	Elf64_Nhdr h;

	if (note->len < sizeof(h) + sizeof(name))
		return false;
	memcpy(&h, note->data, sizeof(h));
	return h.n_namesz == sizeof(name) && !memcmp(note->data + sizeof(h), name, sizeof(name));
}

/*
 * True if there is cheap evidence of Go, so that files of other languages are not searched
 * entirely.
 */
static bool is_go(const struct elf_image *img)
{
	struct elf_span s;
	uint32_t index;

	for (size_t i = 0; i < sizeof(go_sections) / sizeof(go_sections[0]); i++)
		if (!elf_image_section_index(img, go_sections[i], &index))
			return true;
	for (size_t i = 0; i < NOTES_MAX && !elf_image_phdr_nth(img, PT_NOTE, i, &s); i++)
		if (is_go_note(&s))
			return true;
	return gomodule_has_buildinfo(img);
}

static int search_segment(const struct elf_image *img, const struct elf_segment *seg,
			  gomodule_table_fn accept, void *ctx, struct effort *left)
{
	struct elf_span s, at;
	size_t i = -seg->vaddr & 7;

	if (!effort_spend(left, img, seg, &s))
		return -ENOENT;
	for (; i + 8 <= s.len && left->candidates; i += 8) {
		if (!is_table_start(load64(s.data + i)))
			continue;
		left->candidates--;
		at = (struct elf_span){ s.data + i, s.len - i, s.vaddr + i, s.file_off + i };
		if (!accept(ctx, &at))
			return 0;
	}
	return -ENOENT;
}

int gomodule_find_table(const struct elf_image *img, gomodule_table_fn accept, void *ctx)
{
	struct effort left = effort_for(img);
	const struct elf_segment *segs;
	struct elf_span s;
	size_t n;

	for (size_t i = 0; i < sizeof(table_sections) / sizeof(table_sections[0]); i++) {
		if (elf_image_section(img, table_sections[i], &s) < 0 || s.len < 8)
			continue;
		if (is_table_start(load64(s.data)) && !accept(ctx, &s))
			return 0;
	}
	if (!is_go(img))
		return -ENOENT;

	n = elf_image_segments(img, &segs);
	/* data segments first: only old linkers put constants next to the code */
	for (int exec = 0; exec < 2; exec++)
		for (size_t i = 0; i < n; i++)
			if (segs[i].exec == exec &&
			    !search_segment(img, &segs[i], accept, ctx, &left))
				return 0;
	return -ENOENT;
}

static uint64_t dynamic_value(const struct elf_span *dyn, int64_t tag)
{
	Elf64_Dyn d;

	for (size_t i = 0; i + sizeof(d) <= dyn->len; i += sizeof(d)) {
		memcpy(&d, dyn->data + i, sizeof(d));
		if (d.d_tag == tag)
			return d.d_un.d_val;
		if (d.d_tag == DT_NULL)
			break;
	}
	return 0;
}

/* The entries of DT_RELA; an empty span if there are none in the file. */
static struct elf_span relocations(const struct elf_image *img)
{
	struct elf_span dyn, rela;

	if (elf_image_phdr(img, PT_DYNAMIC, &dyn) < 0 ||
	    elf_image_at_vaddr(img, dynamic_value(&dyn, DT_RELA), dynamic_value(&dyn, DT_RELASZ),
			       &rela) < 0)
		return (struct elf_span){ 0 };
	return rela;
}

static bool relative_at(const struct elf_image *img, const struct elf_span *rela, size_t i,
			Elf64_Rela *out)
{
	uint32_t type =
		elf_image_machine(img) == EM_AARCH64 ? R_AARCH64_RELATIVE : R_X86_64_RELATIVE;

	memcpy(out, rela->data + i * sizeof(*out), sizeof(*out));
	return ELF64_R_TYPE(out->r_info) == type;
}

void gomodule_relocate(const struct elf_image *img, uint64_t vaddr, uint8_t *copy, size_t len)
{
	struct elf_span rela = relocations(img);
	Elf64_Rela r;

	for (size_t i = 0; i < rela.len / sizeof(r); i++) {
		uint64_t value;

		if (!relative_at(img, &rela, i, &r))
			continue;
		if (r.r_offset < vaddr || len < 8 || r.r_offset - vaddr > len - 8)
			continue;
		value = r.r_addend;
		memcpy(copy + (r.r_offset - vaddr), &value, sizeof(value));
	}
}

/* True if the three words at @slice are textsectmap: {address, length, capacity}. */
static bool is_section_map(const struct elf_image *img, const uint64_t *slice, uint64_t text,
			   struct effort *left)
{
	uint64_t first[3]; /* of type textsect: offset from text, offset of its end, address */
	struct elf_span s;

	if (!slice[1] || slice[1] != slice[2] || !left->candidates ||
	    elf_image_at_vaddr(img, slice[0], sizeof(first), &s) < 0)
		return false;
	left->candidates--; /* relocating is a pass over all relocations */
	memcpy(first, s.data, sizeof(first));
	gomodule_relocate(img, slice[0], (uint8_t *)first, sizeof(first));
	return first[0] == 0 && first[1] != 0 && first[2] == text;
}

/*
 * The word before textsectmap; since Go 1.26 epclntab is between them, and gofunc is in the table.
 */
static uint64_t gofunc_before(const uint64_t *words, size_t sections)
{
	uint64_t end = words[MODULE_PCLNTABLE] + words[MODULE_PCLNTABLE + 1];
	uint64_t gofunc = words[sections - 2], epclntab = words[sections - 1];

	return gofunc - end < PCLNTABLE_ALIGN && epclntab >= gofunc ? gofunc : epclntab;
}

/* Finds go:func.*. Return: 0, or -ENOENT. */
static int find_gofunc(const struct elf_image *img, const uint64_t words[MODULE_WORDS],
		       struct effort *left, uint64_t *out)
{
	uint64_t off;

	for (size_t i = MODULE_SECTIONS_MIN; i + 3 <= MODULE_WORDS; i++) {
		if (!is_section_map(img, words + i, words[MODULE_TEXT], left))
			continue;
		*out = gofunc_before(words, i);
		return elf_image_offset_of(img, *out, &off);
	}
	return -ENOENT;
}

static int check_data(const struct elf_image *img, const struct gomodule_key *key, uint64_t vaddr,
		      struct effort *left, struct gomodule_data *out)
{
	uint64_t words[MODULE_WORDS], text;
	struct elf_span s;

	if (elf_image_at_vaddr(img, vaddr, sizeof(words), &s) < 0)
		return -ENOENT;
	memcpy(words, s.data, sizeof(words));
	gomodule_relocate(img, vaddr, (uint8_t *)words, sizeof(words));

	text = words[MODULE_TEXT];
	if (words[0] != key->table_vaddr || words[MODULE_FTAB_LEN] != key->n_funcs + 1 ||
	    words[MODULE_MINPC] != text + key->first_off ||
	    words[MODULE_MAXPC] != text + key->end_off)
		return -ENOENT;
	*out = (struct gomodule_data){ .text = text };
	if (find_gofunc(img, words, left, &out->gofunc) < 0)
		out->gofunc = 0;
	return 0;
}

static int find_data_in_place(const struct elf_image *img, const struct gomodule_key *key,
			      struct gomodule_data *out)
{
	const struct elf_segment *segs;
	size_t n = elf_image_segments(img, &segs);
	struct effort left = effort_for(img);
	struct elf_span s;

	/* from the last segment on: writable data follows constants, which are large */
	while (n--) {
		if (segs[n].exec || !effort_spend(&left, img, &segs[n], &s))
			continue;
		for (size_t j = -s.vaddr & 7; j + 8 <= s.len && left.candidates; j += 8) {
			if (load64(s.data + j) != key->table_vaddr)
				continue;
			left.candidates--;
			if (!check_data(img, key, s.vaddr + j, &left, out))
				return 0;
		}
	}
	return -ENOENT;
}

static int find_data_relocated(const struct elf_image *img, const struct gomodule_key *key,
			       struct gomodule_data *out)
{
	struct elf_span rela = relocations(img);
	struct effort left = effort_for(img);
	Elf64_Rela r;

	for (size_t i = 0; i < rela.len / sizeof(r) && left.candidates; i++) {
		if (!relative_at(img, &rela, i, &r) || (uint64_t)r.r_addend != key->table_vaddr)
			continue;
		left.candidates--;
		if (!check_data(img, key, r.r_offset, &left, out))
			return 0;
	}
	return -ENOENT;
}

int gomodule_find_data(const struct elf_image *img, const struct gomodule_key *key,
		       struct gomodule_data *out)
{
	int r;

	/* the pass over the relocations is shorter, if there are any */
	r = find_data_relocated(img, key, out);
	if (r < 0)
		r = find_data_in_place(img, key, out);
	return r;
}
