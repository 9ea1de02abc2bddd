/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detects Perl 5.30 to 5.42. A file is Perl if it defines Perl_runops_standard(), its loop. The
 * version is in two exported bytes, PL_revision and PL_version. Builds with threads hold the state
 * of an interpreter in one structure, other builds in global variables (intrpvar.h).
 */
#include <errno.h>
#include <stdio.h>

#include "elf/gnuhash.h"
#include "elf/image.h"
#include "elf/rawsym.h"
#include "lang/find.h"
#include "lang/perl/perl.h"

/* Minor versions: the supported range, and those that changed a layout. */
enum { FIRST = 30, LAST = 42, NEW_CONTEXT = 32, NEW_INTERPRETER = 34, NEW_AUX = 36 };

/* Reads the exported byte @name of the file. */
static int read_byte(const struct elf_image *img, const char *name, uint8_t *out)
{
	struct elf_rawsym sym;
	struct elf_span span;

	if (elf_gnuhash_lookup(img, name, &sym) < 0 ||
	    elf_image_at_vaddr(img, sym.vaddr, 1, &span) < 0)
		return -ENOENT;
	*out = span.data[0];
	return 0;
}

/* Finds PL_curcop and PL_curstackinfo, with and without threads. Return: 0, or -ENOENT. */
static int find_state(const struct elf_image *img, unsigned int minor, struct perl_vm *out)
{
	struct elf_rawsym interpreter, key, curcop, stack;

	if (elf_gnuhash_lookup(img, "PL_curinterp", &interpreter) == 0 &&
	    elf_gnuhash_lookup(img, "PL_thr_key", &key) == 0) {
		out->interpreter = interpreter.vaddr;
		out->curcop = minor >= NEW_INTERPRETER ? 208 : 224;
		out->curstackinfo = minor >= NEW_INTERPRETER ? 224 : 240;
		return 0;
	}
	if (elf_gnuhash_lookup(img, "PL_curcop", &curcop) < 0 ||
	    elf_gnuhash_lookup(img, "PL_curstackinfo", &stack) < 0)
		return -ENOENT;
	out->curcop = curcop.vaddr;
	out->curstackinfo = stack.vaddr;
	return 0;
}

int perl_detect(const struct elf_image *img, const struct vm_tables *tables, uint32_t vm,
		struct lang_detected *d)
{
	struct perl_vm perl = { 0 };
	struct elf_rawsym loop;
	uint8_t major, minor;

	if (elf_gnuhash_lookup(img, "Perl_runops_standard", &loop) < 0 || !loop.size ||
	    read_byte(img, "PL_revision", &major) < 0 || read_byte(img, "PL_version", &minor) < 0)
		return -ENOENT;
	d->runtime = "Perl";
	snprintf(d->version, sizeof(d->version), "%u.%u", major, minor);
	if (lang_set_loop(img, &loop, d) < 0 || find_state(img, minor, &perl) < 0) {
		d->problem = LANG_NO_STATE;
		return -ENOTSUP;
	}
	if (major != 5 || minor < FIRST || minor > LAST)
		return -ENOTSUP;
	perl.version = minor;
	perl.aux_is_behind_array = minor < NEW_AUX;
	perl.info_type = minor >= NEW_CONTEXT ? 44 : 40;
	perl.context_bytes = minor >= NEW_CONTEXT ? 104 : 96;
	perl.context_cv = minor >= NEW_CONTEXT ? 72 : 64;
	tables->perl[vm] = perl;
	return 0;
}

/* The walk records the line as the place. */
static uint32_t perl_line(const struct lang_function *f, uint32_t place)
{
	return place <= INT32_MAX ? place : f->first_line;
}

const struct lang perl_lang = {
	.name_part = "perl",
	.is_portable = true,
	.by_cookie = true,
	.detect = perl_detect,
	.read = perl_read,
	.line = perl_line,
};
