/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the layout of a V8 version from the file: the fields that V8 exports for debuggers
 * (v8dbg_* symbols, listed in bpf/shared/v8_fields.def). versions.c adds what it does not
 * export.
 */
#include <string.h>

#include "elf/gnuhash.h"
#include "elf/image.h"
#include "elf/rawsym.h"
#include "lang/v8/v8.h"

#define PREFIX "v8dbg_"

enum { NAME_MAX_BYTES = 128 };

static const char *const symbols[] = {
#define X(field, symbols) symbols,
#include "bpf/shared/v8_fields.def"
#undef X
};

enum { N_FIELDS = sizeof(symbols) / sizeof(symbols[0]) };
_Static_assert(sizeof(struct v8_fields) == N_FIELDS * sizeof(int32_t),
	       "struct v8_fields must consist of int32_t fields");

static void set_field(struct v8_vm *vm, size_t i, int32_t value)
{
	memcpy((uint8_t *)&vm->f + i * sizeof(value), &value, sizeof(value));
}

/*
 * Builds the @n-th of the names separated by spaces, with its prefix. Returns false after the
 * last one.
 */
static bool nth_name(const char *names, size_t n, char out[NAME_MAX_BYTES])
{
	size_t len;

	while (n--) {
		names += strcspn(names, " ");
		names += strspn(names, " ");
	}
	len = strcspn(names, " ");
	if (!len || len + sizeof(PREFIX) > NAME_MAX_BYTES)
		return false;
	memcpy(out, PREFIX, sizeof(PREFIX) - 1);
	memcpy(out + sizeof(PREFIX) - 1, names, len);
	out[sizeof(PREFIX) - 1 + len] = '\0';
	return true;
}

static bool read_number(const struct elf_image *img, const struct elf_rawsym *sym, int32_t *out)
{
	const struct elf_segment *seg;
	size_t n = elf_image_segments(img, &seg);
	struct elf_span span;

	if (elf_image_at_vaddr(img, sym->vaddr, sizeof(*out), &span) == 0) {
		memcpy(out, span.data, sizeof(*out));
		return true;
	}
	/* A zero may be in .bss, which the file does not contain. */
	*out = 0;
	for (size_t i = 0; i < n; i++)
		if (sym->vaddr >= seg[i].vaddr && sym->vaddr - seg[i].vaddr < seg[i].memsz)
			return true;
	return false;
}

static void layout_exported(const struct elf_image *img, struct v8_vm *out)
{
	char name[NAME_MAX_BYTES];
	struct elf_rawsym sym;
	int32_t value;

	for (size_t i = 0; i < N_FIELDS; i++)
		for (size_t n = 0; nth_name(symbols[i], n, name); n++)
			if (elf_gnuhash_lookup(img, name, &sym) == 0 &&
			    read_number(img, &sym, &value)) {
				set_field(out, i, value);
				break;
			}
}

/*
 * Newer versions are linked so that these symbols are in .symtab only. It is not sorted, so a
 * single pass looks for all of them.
 */
static void layout_hidden(const struct elf_image *img, struct v8_vm *out)
{
	struct elf_rawsyms syms;
	uint8_t found[N_FIELDS]; /* index of the name plus 1; 0 if none was found */
	struct elf_rawsym sym;

	if (elf_rawsyms_open(img, ELF_SYMTAB, &syms) < 0)
		return;
	memset(found, 0, sizeof(found));
	for (size_t i = 0; i < syms.n; i++) {
		char name[NAME_MAX_BYTES];
		const char *text;
		int32_t value;
		size_t len;

		elf_rawsyms_get(&syms, i, &sym);
		len = elf_rawsyms_name(&syms, sym.name_off, NAME_MAX_BYTES, &text);
		if (len < sizeof(PREFIX) || memcmp(text, PREFIX, sizeof(PREFIX) - 1) != 0)
			continue;
		for (size_t f = 0; f < N_FIELDS; f++)
			for (size_t n = 0; nth_name(symbols[f], n, name); n++)
				if (strlen(name) == len && !memcmp(name, text, len) &&
				    (!found[f] || n < found[f]) && read_number(img, &sym, &value)) {
					set_field(out, f, value);
					found[f] = (uint8_t)(n + 1);
				}
	}
}

void v8_layout(const struct elf_image *img, struct v8_vm *out)
{
	for (size_t i = 0; i < N_FIELDS; i++)
		set_field(out, i, V8_ABSENT);
	layout_exported(img, out);
	if (out->f.object_map == V8_ABSENT)
		layout_hidden(img, out);
	v8_layout_by_version(out);
}
