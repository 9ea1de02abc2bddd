/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detects PHP 7.3 to 8.5. A file is PHP if it defines execute_ex(), its loop, which is exported for
 * extensions. The version is in the text of the X-Powered-By header. The location of the running
 * call, executor_globals.current_execute_data, is derived from the code of
 * zend_get_executed_lineno(), which reads it first. In builds with thread safety (ZTS), the same
 * code shows which thread-local variable leads to a thread's globals.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "elf/gnuhash.h"
#include "elf/image.h"
#include "elf/rawsym.h"
#include "lang/find.h"
#include "lang/php/php.h"

enum {
	CURRENT_TO_84 = 488, /* offsets of current_execute_data in executor_globals, up to 8.4 */
	CURRENT_85 = 512,
	GLOBALS_MAX = 4096, /* executor_globals is smaller */
	FIRST_JIT = 800,    /* the first version with a JIT compiler */
	LINENO_CODE = 64,   /* bytes of zend_get_executed_lineno() that are searched */
};

int php_offsets(struct php_vm *out, unsigned int major, unsigned int minor)
{
	/* the offset of zend_op_array.filename in each version */
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

/* Parses "X-Powered-By: PHP/8.2.35". */
static int find_version(const struct elf_image *img, unsigned int out[2])
{
	char text[16];
	int r = lang_find_text(img, "X-Powered-By: PHP/", text, sizeof(text));

	return r == 0 && sscanf(text, "%2u.%2u", &out[0], &out[1]) == 2 ? 0 : -ENOENT;
}

/* Returns the first bytes of zend_get_executed_lineno(). */
static int find_code(const struct elf_image *img, struct elf_span *out)
{
	struct elf_rawsym sym;

	return elf_gnuhash_lookup(img, "zend_get_executed_lineno", &sym) < 0
		       ? -ENOENT
		       : elf_image_at_vaddr(img, sym.vaddr, LINENO_CODE, out);
}

/* Returns the address of x if the instruction is mov x(%rip), %reg; 0 for another one. */
static uint64_t loaded_from(const struct elf_span *code, size_t i, unsigned int reg)
{
	const uint8_t *c = code->data + i;
	int32_t disp;

	if (c[0] != 0x48 || c[1] != 0x8b || c[2] != (0x05 | reg << 3))
		return 0;
	memcpy(&disp, c + 3, sizeof(disp));
	return code->vaddr + i + 7 + (uint64_t)(int64_t)disp;
}

/* The source of the last load of a register. */
struct load {
	uint64_t from; /* address of the word that is loaded; 0: a constant is loaded */
	int32_t value; /* the constant */
};

/* Finds the last load of register @reg before @end; false if it is not of a known form. */
static bool find_load(const struct elf_span *code, size_t end, unsigned int reg, struct load *out)
{
	for (size_t i = end < 7 ? 0 : end - 6; i-- > 0;) {
		const uint8_t *c = code->data + i;

		if (c[0] != 0x48)
			continue;
		if (c[1] == 0x8d && c[2] == (0x05 | reg << 3)) /* lea x(%rip), %reg */
			return false;
		out->from = loaded_from(code, i, reg);
		memcpy(&out->value, c + 3, sizeof(out->value));
		if (out->from || (c[1] == 0xc7 && c[2] == (0xc0 | reg))) /* mov $value, %reg */
			return true;
	}
	return false;
}

/*
 * Finds the offset of current_execute_data: the first field of executor_globals that is loaded into
 * %rax and tested at once. The code is either lea globals(%rip), %reg; mov N(%reg), %rax;
 * test %rax, %rax, or the mov has the address in it. In a library, the register may instead be
 * loaded from the global offset table, because a program that links with it may have a copy of the
 * globals. Without a match, the offset that php_offsets() set remains. @linked is the address of
 * executor_globals; 0 with thread safety.
 */
static void find_current(const struct elf_image *img, uint64_t linked, struct php_vm *out)
{
	static const uint8_t test[] = { 0x48, 0x85, 0xc0 };
	struct elf_span code;
	struct load load;

	if (find_code(img, &code) < 0)
		return;
	for (size_t i = 0; i + 10 <= code.len; i++) {
		const uint8_t *c = code.data + i;
		uint64_t off = loaded_from(&code, i, 0) - linked;
		int32_t disp;

		if (c[0] != 0x48 || c[1] != 0x8b || memcmp(c + 7, test, sizeof(test)) != 0)
			continue;
		memcpy(&disp, c + 3, sizeof(disp));
		if ((c[2] & 0xf8) == 0x80)
			off = (uint64_t)(int64_t)disp;
		if (!off || off >= GLOBALS_MAX || (off & 7))
			continue;
		out->current = off;
		if (linked && c[2] != 0x05 && find_load(&code, i, c[2] & 7, &load) && load.from) {
			out->globals_kind = PHP_GLOBALS_SLOT;
			out->globals = load.from;
		}
		return;
	}
}

/*
 * Finds the slot of the global offset table that register @reg is loaded from before @end, by
 * mov slot(%rip), %r; mov (%r), %reg. A library reads a variable in this way if a program that
 * links with it may have a copy. Returns the slot's address, or 0.
 */
static uint64_t find_slot(const struct elf_span *code, size_t end, unsigned int reg)
{
	struct load load;

	for (size_t i = end < 3 ? 0 : end - 2; i-- > 0;) {
		const uint8_t *c = code->data + i;

		if (c[0] == 0x48 && c[1] == 0x8b && (c[2] & 0xf8) == reg << 3 && (c[2] & 6) != 4)
			return find_load(code, i, c[2] & 7, &load) ? load.from : 0;
	}
	return 0;
}

/*
 * Finds the thread-local variable that leads to a thread's globals. The first thread-local word
 * that is read, or that is added to executor_globals_offset, is %fs:(%reg), with %reg loaded before
 * it, or %fs:N. Return: 0, or -ENOENT.
 */
static int find_tls(const struct elf_image *img, struct php_vm *out)
{
	struct elf_span code;
	struct load load;
	uint64_t slot;

	if (find_code(img, &code) < 0)
		return -ENOENT;
	for (size_t i = 0; i + 9 <= code.len; i++) {
		const uint8_t *c = code.data + i;

		if (c[0] != 0x64 || c[1] != 0x48 || (c[2] != 0x8b && c[2] != 0x03) || (c[3] & 0xc0))
			continue;
		load.from = 0;
		if ((c[3] & 7) == 4 && c[4] == 0x25)
			memcpy(&load.value, c + 5, sizeof(load.value));
		else if ((c[3] & 6) == 4 || !find_load(&code, i, c[3] & 7, &load))
			return -ENOENT;
		out->globals_kind = load.from ? PHP_GLOBALS_TLS_SLOT : PHP_GLOBALS_TLS;
		out->tls = load.from ? (int64_t)load.from : load.value;
		slot = c[2] == 0x03 ? find_slot(&code, i, (c[3] >> 3) & 7) : 0;
		out->is_indirect = slot != 0;
		out->globals = slot ? slot : out->globals;
		return 0;
	}
	return -ENOENT;
}

/* Finds executor_globals, with and without thread safety. Return: 0, or -ENOENT. */
static int find_globals(const struct elf_image *img, struct php_vm *out)
{
	struct elf_rawsym globals;

	if (elf_gnuhash_lookup(img, "executor_globals", &globals) == 0) {
		find_current(img, globals.vaddr, out);
		if (out->globals_kind == PHP_GLOBALS_LINKED)
			out->current += globals.vaddr;
		return 0;
	}
	if (elf_gnuhash_lookup(img, "executor_globals_offset", &globals) < 0)
		return -ENOENT;
	out->globals = globals.vaddr;
	find_current(img, 0, out);
	return find_tls(img, out);
}

int php_detect(const struct elf_image *img, const struct vm_tables *tables, uint32_t vm,
	       struct lang_detected *d)
{
	struct elf_rawsym loop;
	unsigned int version[2] = { 0 };
	struct php_vm php;

	if (elf_gnuhash_lookup(img, "execute_ex", &loop) < 0 || find_version(img, version) < 0)
		return -ENOENT;
	d->runtime = "PHP";
	snprintf(d->version, sizeof(d->version), "%u.%u", version[0], version[1]);
	if (lang_set_loop(img, &loop, d) < 0)
		d->problem = LANG_NO_LOOP;
	else if (php_offsets(&php, version[0], version[1]) < 0)
		return -ENOTSUP;
	else if (find_globals(img, &php) < 0)
		d->problem = LANG_NO_STATE;
	if (d->problem)
		return -ENOTSUP;
	tables->php[vm] = php;
	if (php.version >= FIRST_JIT)
		d->code.generated = VM_GENERATED_IN_LOOP;
	return 0;
}

/* The walk records the line as the place. */
static uint32_t php_line(const struct lang_function *f, uint32_t place)
{
	return place <= INT32_MAX ? place : f->first_line;
}

const struct lang php_lang = {
	.name_part = "php",
	.by_cookie = true,
	.detect = php_detect,
	.read = php_read,
	.line = php_line,
};
