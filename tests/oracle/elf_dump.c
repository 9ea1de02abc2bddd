/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf-dump FILE symtab|dynsym|both|minidebug: what the library reads from a
 * file, for tests/oracle/elf to compare with binutils, and what it costs.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "elf/debuglink.h"
#include "elf/image.h"
#include "elf/minidebug.h"
#include "elf/note.h"
#include "elf/symtab.h"

static void dump_identity(const struct elf_image *img)
{
	char hex[2 * ELF_BUILD_ID_MAX + 1];
	struct elf_debuglink link;
	struct elf_build_id id;

	elf_note_gnu_build_id(img, &id);
	elf_build_id_hex(&id, hex);
	printf("build-id %s\n", hex);
	if (elf_debuglink(img, &link) == 0)
		printf("debuglink %s =%08x\n", link.name, link.crc);
	printf("crc =%08x\n", elf_debuglink_crc(img));
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int dump_symbols(const struct elf_image *img, unsigned int sources, struct err *err)
{
	_cleanup_(elf_symtab_freep) struct elf_symtab *t = NULL;
	double start = now_ms();
	int r = elf_symtab_load(&t, img, sources, err);

	if (r < 0)
		return r;
	fprintf(stderr, "%zu symbols, %zu bytes, %.1f ms\n", elf_symtab_count(t),
		elf_symtab_bytes(t), now_ms() - start);
	for (size_t i = 0; i < elf_symtab_count(t); i++) {
		struct elf_symbol s;

		elf_symtab_at(t, i, &s);
		printf("%lx %lu %s\n", (unsigned long)s.vaddr, (unsigned long)s.size, s.name);
	}
	return 0;
}

/* Prints the symbols of the embedded file. */
static int dump_minidebug(const struct elf_image *img, struct err *err)
{
	_cleanup_(elf_image_freep) struct elf_image *mini = NULL;
	_cleanup_(freep) void *bytes = NULL;
	size_t len;
	int r = elf_minidebug_load(img, &bytes, &len, err);

	if (r == 0)
		r = elf_image_from_memory(&mini, bytes, len, err);
	return r < 0 ? r : dump_symbols(mini, ELF_SYMTAB, err);
}

static int dump(const struct elf_image *img, const char *what, struct err *err)
{
	if (!strcmp(what, "symtab"))
		return dump_symbols(img, ELF_SYMTAB, err);
	if (!strcmp(what, "dynsym"))
		return dump_symbols(img, ELF_DYNSYM, err);
	if (!strcmp(what, "both"))
		return dump_symbols(img, ELF_SYMTAB | ELF_DYNSYM, err);
	return dump_minidebug(img, err);
}

int main(int argc, char **argv)
{
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	_cleanup_(closep) int fd = argc == 3 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	struct err err = { 0 };
	int r;

	if (fd < 0) {
		fprintf(stderr, "usage: elf-dump FILE symtab|dynsym|both|minidebug\n");
		return 2;
	}
	r = elf_image_open(&img, fd, &err);
	if (r == 0) {
		dump_identity(img);
		r = dump(img, argv[2], &err);
	}
	if (r < 0)
		fprintf(stderr, "%s: %s\n", argv[1], err.msg[0] ? err.msg : strerror(-r));
	return r < 0;
}
