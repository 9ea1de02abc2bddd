/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file is Perl if it defines Perl_runops_standard, its loop. Its version
 * stands in three bytes of their own. Only builds with threads are read: they
 * alone keep their state in one structure, and every distribution has them.
 */
#include <errno.h>
#include <stdio.h>

#include "elf/gnuhash.h"
#include "elf/image.h"
#include "elf/rawsym.h"
#include "lang/find.h"
#include "lang/perl/perl.h"

enum { FIRST = 32, LAST = 42, NEW_INTERPRETER = 34, NEW_AUX = 36 };

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

int perl_detect(const struct elf_image *img, const struct vm_tables *tables, uint32_t vm,
		struct lang_detected *d)
{
	struct elf_rawsym loop, interpreter, key;
	uint8_t major, minor;

	if (elf_gnuhash_lookup(img, "Perl_runops_standard", &loop) < 0 || !loop.size ||
	    read_byte(img, "PL_revision", &major) < 0 || read_byte(img, "PL_version", &minor) < 0)
		return -ENOENT;
	snprintf(d->name, sizeof(d->name), "Perl %u.%u", major, minor);
	if (major != 5 || minor < FIRST || minor > LAST || lang_set_loop(img, &loop, d) < 0)
		return -ENOTSUP;
	if (elf_gnuhash_lookup(img, "PL_curinterp", &interpreter) < 0 ||
	    elf_gnuhash_lookup(img, "PL_thr_key", &key) < 0) {
		snprintf(d->name, sizeof(d->name), "Perl %u.%u without threads", major, minor);
		return -ENOTSUP;
	}
	tables->perl[vm] = (struct perl_vm){
		.interpreter = interpreter.vaddr,
		.curcop = minor >= NEW_INTERPRETER ? 208 : 224,
		.curstackinfo = minor >= NEW_INTERPRETER ? 224 : 240,
		.version = minor,
		.aux_is_behind_array = minor < NEW_AUX,
	};
	return 0;
}

/* The line went up as the place. */
static uint32_t perl_line(const struct lang_function *f, uint32_t place)
{
	return place <= INT32_MAX ? place : f->first_line;
}

const struct lang perl_lang = {
	.by_cookie = true,
	.detect = perl_detect,
	.read = perl_read,
	.line = perl_line,
};
