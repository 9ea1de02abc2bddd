/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Identifiers of a file's content, from its notes. Notes are searched in PT_NOTE segments, which
 * every loaded file has, and then in note sections, which is all that a relocatable or debug file
 * may have. The work is bounded, because a file may declare any number of note tables, each of the
 * size of the file. Notes are read with four-byte padding; GNU property notes are padded to eight,
 * but their sizes are multiples of eight, so both agree.
 */
#include "elf/note.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "elf/image.h"

enum { NOTE_TABLES_MAX = 64, NOTES_MAX = 4096 };

/* The first note with this name and type. */
struct note_query {
	const char *name; /* with its NUL, as in the file */
	uint32_t name_len;
	uint32_t type;
	uint32_t n_read;
	const uint8_t *desc; /* result */
	uint32_t desc_len;
};

static uint64_t padded(uint64_t len)
{
	return (len + 3) & ~3ull;
}

/* True if the note was found in @s. */
static bool search_span(struct note_query *q, const struct elf_span *s)
{
	uint64_t at = 0;

	while (s->len - at >= sizeof(Elf64_Nhdr) && q->n_read++ < NOTES_MAX) {
		uint64_t desc_at, next;
		Elf64_Nhdr nh;

		memcpy(&nh, s->data + at, sizeof(nh));
		desc_at = at + sizeof(nh) + padded(nh.n_namesz);
		next = desc_at + padded(nh.n_descsz);
		if (desc_at > s->len || nh.n_descsz > s->len - desc_at)
			return false;
		if (nh.n_type == q->type && nh.n_namesz == q->name_len &&
		    !memcmp(s->data + at + sizeof(nh), q->name, q->name_len)) {
			q->desc = s->data + desc_at;
			q->desc_len = nh.n_descsz;
			return true;
		}
		if (next > s->len)
			return false;
		at = next;
	}
	return false;
}

static bool search_segments(struct note_query *q, const struct elf_image *img)
{
	for (size_t i = 0; i < NOTE_TABLES_MAX; i++) {
		struct elf_span s;
		int r = elf_image_phdr_nth(img, PT_NOTE, i, &s);

		if (r == -ENOENT)
			return false;
		if (r == 0 && search_span(q, &s))
			return true;
	}
	return false;
}

static bool search_sections(struct note_query *q, const struct elf_image *img)
{
	size_t n = elf_image_n_sections(img), n_tables = 0;

	for (size_t i = 1; i < n && n_tables < NOTE_TABLES_MAX; i++) {
		struct elf_section sec;
		struct elf_span s;

		if (elf_image_section_header(img, (uint32_t)i, &sec) < 0 || sec.type != SHT_NOTE)
			continue;
		n_tables++;
		if (elf_image_section_at(img, (uint32_t)i, &s) == 0 && search_span(q, &s))
			return true;
	}
	return false;
}

static bool note_find(struct note_query *q, const struct elf_image *img)
{
	return search_segments(q, img) || search_sections(q, img);
}

void elf_note_gnu_build_id(const struct elf_image *img, struct elf_build_id *out)
{
	struct note_query q = { .name = "GNU", .name_len = 4, .type = NT_GNU_BUILD_ID };

	*out = (struct elf_build_id){ 0 };
	if (!note_find(&q, img) || q.desc_len > ELF_BUILD_ID_MAX)
		return;
	out->len = (uint8_t)q.desc_len;
	memcpy(out->bytes, q.desc, q.desc_len);
}

void elf_build_id_hex(const struct elf_build_id *id, char *out)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < id->len; i++) {
		out[2 * i] = digits[id->bytes[i] >> 4];
		out[2 * i + 1] = digits[id->bytes[i] & 15];
	}
	out[2 * (size_t)id->len] = '\0';
}
