/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file is PHP if it defines execute_ex, its loop, which is exported for
 * extensions. Its version stands in the header that it sends of itself. Where
 * the running call is kept is seen in the code of zend_get_executed_lineno().
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "elf/gnuhash.h"
#include "elf/image.h"
#include "elf/rawsym.h"
#include "lang/find.h"
#include "lang/php/php.h"

enum {
	CURRENT_TO_84 = 488, /* in executor_globals */
	CURRENT_85 = 512,
	GLOBALS_MAX = 4096,
	FIRST_JIT = 800,
	LINENO_CODE = 64, /* bytes of the function looked at */
};

int php_offsets(struct php_vm *out, unsigned int major, unsigned int minor)
{
	/* by version, from 7.3 on */
	static const struct {
		unsigned int version;
		uint16_t filename;
	} known[] = {
		{ 703, 128 }, { 704, 136 }, { 800, 144 }, { 801, 144 },
		{ 802, 152 }, { 803, 144 }, { 804, 168 }, { 805, 168 },
	};
	unsigned int version = major < 100 && minor < 100 ? 100 * major + minor : 0;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (known[i].version != version)
			continue;
		*out = (struct php_vm){ .current = version >= 805 ? CURRENT_85 : CURRENT_TO_84,
					.func_filename = known[i].filename,
					.version = (uint16_t)version,
					.generator_call = version >= 800 ? 56 : 64,
					.generator_node = version >= 800 ? 32 : 40 };
		return 0;
	}
	return -ENOENT;
}

/* "PHP/8.2.35" */
static int find_version(const struct elf_image *img, unsigned int out[2])
{
	char text[16];
	int r = lang_find_text(img, "X-Powered-By: PHP/", text, sizeof(text));

	return r == 0 && sscanf(text, "%2u.%2u", &out[0], &out[1]) == 2 ? 0 : -ENOENT;
}

/*
 * The first field of executor_globals whose value goes into %rax and is a
 * pointer that is tested at once: lea globals(%rip),%reg; mov N(%reg),%rax;
 * test %rax,%rax, or with the address in the instruction.
 */
static uint64_t find_current(const struct elf_image *img, uint64_t globals, uint64_t otherwise)
{
	static const uint8_t test[] = { 0x48, 0x85, 0xc0 };
	struct elf_rawsym sym;
	struct elf_span code;

	if (elf_gnuhash_lookup(img, "zend_get_executed_lineno", &sym) < 0 ||
	    elf_image_at_vaddr(img, sym.vaddr, LINENO_CODE, &code) < 0)
		return otherwise;
	for (size_t i = 0; i + 10 <= code.len; i++) {
		const uint8_t *c = code.data + i;
		uint64_t off;
		int32_t disp;

		if (c[0] != 0x48 || c[1] != 0x8b || memcmp(c + 7, test, sizeof(test)) != 0)
			continue;
		memcpy(&disp, c + 3, sizeof(disp));
		if (c[2] == 0x05)
			off = sym.vaddr + i + 7 + (uint64_t)(int64_t)disp - globals;
		else if ((c[2] & 0xf8) == 0x80)
			off = (uint64_t)(int64_t)disp;
		else
			continue;
		if (off && off < GLOBALS_MAX && !(off & 7))
			return off;
	}
	return otherwise;
}

int php_detect(const struct elf_image *img, const struct vm_tables *tables, uint32_t vm,
	       struct lang_detected *d)
{
	struct elf_rawsym loop, globals;
	unsigned int version[2] = { 0 };
	struct php_vm php;

	if (elf_gnuhash_lookup(img, "execute_ex", &loop) < 0 || find_version(img, version) < 0)
		return -ENOENT;
	if (elf_gnuhash_lookup(img, "executor_globals", &globals) < 0) {
		snprintf(d->name, sizeof(d->name), "PHP %u.%u with thread safety", version[0],
			 version[1]);
		return -ENOTSUP;
	}
	if (php_offsets(&php, version[0], version[1]) < 0 || lang_set_loop(img, &loop, d) < 0) {
		snprintf(d->name, sizeof(d->name), "PHP %u.%u", version[0], version[1]);
		return -ENOTSUP;
	}
	php.current = globals.vaddr + find_current(img, globals.vaddr, php.current);
	tables->php[vm] = php;
	if (php.version >= FIRST_JIT)
		d->code.generated = VM_GENERATED_IN_LOOP;
	return 0;
}

/* The line went up as the place. */
static uint32_t php_line(const struct lang_function *f, uint32_t place)
{
	return place <= INT32_MAX ? place : f->first_line;
}

const struct lang php_lang = {
	.by_cookie = true,
	.detect = php_detect,
	.read = php_read,
	.line = php_line,
};
