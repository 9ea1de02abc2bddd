/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/probe_place.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/sigbus.h"
#include "elf/image.h"
#include "elf/rawsym.h"
#include "elf/symtab.h"
#include "symbol/demangle.h"

enum { SYMBOLS = ELF_SYMTAB | ELF_DYNSYM };

static bool is_demangled_as(const char *raw, const char *name_wanted)
{
	_cleanup_(freep) char *name = demangle_name(raw, DEMANGLE_SHORT, DEMANGLE_BY_PREFIX);

	return name && !strcmp(name, name_wanted);
}

static int find_demangled(const struct elf_image *img, const char *name_wanted, uint64_t *out)
{
	_cleanup_(elf_symtab_freep) struct elf_symtab *t = NULL;
	struct elf_symbol sym;
	int r = elf_symtab_load(&t, img, SYMBOLS, NULL);

	if (r < 0)
		return -ENOENT;
	if (elf_symtab_by_name(t, name_wanted, &sym) == 0) {
		*out = sym.vaddr;
		return 0;
	}
	for (size_t i = 0; i < elf_symtab_count(t); i++) {
		elf_symtab_at(t, i, &sym);
		if (!is_demangled_as(sym.name, name_wanted))
			continue;
		*out = sym.vaddr;
		return 0;
	}
	return -ENOENT;
}

static int find_symbol(const struct elf_image *img, const char *name, uint64_t *out)
{
	struct elf_rawsym raw;
	char *end;
	int r;

	if (!strncmp(name, "0x", 2)) {
		*out = strtoull(name, &end, 16);
		return *end ? -EINVAL : 0;
	}
	r = elf_symbol_lookup(img, SYMBOLS, name, &raw);
	if (r == 0 && raw.type == STT_GNU_IFUNC)
		return -ENOTSUP;
	if (r == 0 && raw.type != STT_OBJECT) {
		*out = raw.vaddr;
		return 0;
	}
	return find_demangled(img, name, out);
}

struct find_job {
	int fd;
	const char *name;
	uint64_t offset, *out;
};

/* Runs under sigbus_run(), because a file that is truncated meanwhile raises SIGBUS. */
static int find(void *ctx)
{
	struct find_job *j = ctx;
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	uint64_t vaddr = 0;
	int r = elf_image_open(&img, j->fd, NULL);

	if (r < 0)
		return r == -ENOMEM ? r : -ENOEXEC;
	r = find_symbol(img, j->name, &vaddr);
	if (r < 0)
		return r;
	return elf_image_offset_of(img, vaddr + j->offset, j->out) < 0 ? -ERANGE : 0;
}

int probe_place_find(int fd, const char *name, uint64_t offset, uint64_t *out)
{
	struct find_job j = { .fd = fd, .name = name, .offset = offset, .out = out };

	return sigbus_run(find, &j);
}
