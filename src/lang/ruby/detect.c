/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detects Ruby 2.7 to 4.0. A file is Ruby if it defines ruby_version and rb_profile_frames(). The
 * loop, vm_exec_core(), has no symbol in stripped libraries: it is the function with the most jumps
 * through r14, in which GCC holds the next instruction. The code of exported functions shows the
 * locations of variables that are not exported: rb_profile_frames() that of a thread's execution
 * context, rb_id2str() that of the table of symbols, rb_during_gc() that of the state of the
 * garbage collector.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "elf/gnuhash.h"
#include "elf/image.h"
#include "elf/rawsym.h"
#include "lang/find.h"
#include "lang/ruby/ruby.h"

enum {
	JUMPS_MIN = 4,
	CODE_SEARCHED = 192, /* bytes of an exported function that are searched */
	FIELDS_MAX = 8,
	GC_INSN_BYTES = 8,
	TLS_USED_WITHIN = 16, /* bytes from the load of a thread-local offset to its use */
	FIRST_TLS = 300,      /* the first version with a thread-local execution context */
	FIRST_JIT = 301,      /* the first with a JIT compiler that does not build libraries */
	FIRST = 207,          /* the supported versions */
	LAST = 400,
};

/* ---- the loop ----------------------------------------------------------------- */

static size_t count_jumps(const struct elf_span *code)
{
	static const uint8_t jump[] = { 0x41, 0xff, 0x26 }; /* jmp *(%r14) */
	size_t n = 0;

	for (size_t i = 0; i + sizeof(jump) <= code->len; i++)
		n += !memcmp(code->data + i, jump, sizeof(jump));
	return n;
}

/* ---- addresses in code ----------------------------------------------------------- */

static int32_t disp_at(const uint8_t *p)
{
	int32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static int code_of(const struct elf_image *img, uint64_t at, struct elf_span *out)
{
	return elf_image_at_vaddr(img, at, CODE_SEARCHED, out);
}

/* Returns the address of the operand disp(%rip) of an instruction with opcode and modrm; or 0. */
static uint64_t rip_operand(const struct elf_span *code, size_t i)
{
	const uint8_t *c = code->data + i;

	return (c[1] & 0xc7) == 0x05 ? code->vaddr + i + 6 + (uint64_t)(int64_t)disp_at(c + 2) : 0;
}

/*
 * Finds the table of symbols. Its first field is the last symbol, with which the function compares
 * the id: cmp disp(%rip),%reg or cmp %reg,disp(%rip). If the code loads that field first, by a
 * 32-bit mov, the table is recognized by a second load, of its field at RUBY_SYMBOLS_IDS. Returns
 * its address, or 0.
 */
static uint64_t find_table(const struct elf_span *code, size_t len)
{
	uint64_t loaded[FIELDS_MAX];
	size_t n = 0;

	for (size_t i = 0; i + 6 <= len && i + 6 <= code->len; i++) {
		uint8_t op = code->data[i];
		uint64_t at = op == 0x39 || op == 0x3b || op == 0x8b ? rip_operand(code, i) : 0;

		if (at && op != 0x8b)
			return at;
		for (size_t j = 0; j < n && at; j++)
			if (at == loaded[j] + RUBY_SYMBOLS_IDS)
				return loaded[j];
		if (at && n < FIELDS_MAX)
			loaded[n++] = at;
	}
	return 0;
}

/*
 * Derives the table of symbols from rb_id2str(): cmp $last_operator,%rdi, and then either an access
 * to the table or a jump to a function that accesses it.
 */
static void find_symbols(const struct elf_image *img, struct ruby_vm *ruby)
{
	struct elf_rawsym sym;
	struct elf_span code;
	size_t len;

	if (elf_gnuhash_lookup(img, "rb_id2str", &sym) < 0 || code_of(img, sym.vaddr, &code) < 0)
		return;
	len = sym.size < code.len ? sym.size : code.len;
	for (size_t i = 0; i + 7 <= len && !ruby->last_operator; i++)
		if (!memcmp(code.data + i, "\x48\x81\xff", 3))
			ruby->last_operator = (uint32_t)disp_at(code.data + i + 3);
	ruby->symbols = find_table(&code, len);
	for (size_t i = 0; i + 5 <= len && !ruby->symbols; i++) {
		uint64_t to = sym.vaddr + i + 5 + (uint64_t)(int64_t)disp_at(code.data + i + 1);
		struct elf_span callee;

		if (code.data[i] == 0xe9 && code_of(img, to, &callee) == 0)
			ruby->symbols = find_table(&callee, callee.len);
	}
}

/* Returns true if a thread-local variable is loaded shortly after @from. */
static bool uses_fs(const struct elf_span *code, size_t from)
{
	static const uint8_t load[] = { 0x64, 0x48, 0x8b }; /* mov %fs:...,%reg */

	return from + TLS_USED_WITHIN <= code->len &&
	       memmem(code->data + from, TLS_USED_WITHIN, load, sizeof(load));
}

/*
 * Finds the location of a thread's execution context. From 3.0 on it is thread-local. A library
 * has data16 lea index(%rip),%rdi; call __tls_get_addr. A program has mov %fs:offset,%reg, or
 * mov $offset,%reg followed by mov %fs:(%reg),%reg.
 */
static int find_context(const struct elf_image *img, struct ruby_vm *ruby)
{
	struct elf_rawsym sym;
	struct elf_span code;

	if (ruby->version < FIRST_TLS) {
		ruby->how = RUBY_CONTEXT_GLOBAL;
		if (elf_gnuhash_lookup(img, "ruby_current_execution_context_ptr", &sym) < 0)
			return -ENOENT;
		ruby->context = sym.vaddr;
		return 0;
	}
	if (elf_gnuhash_lookup(img, "rb_profile_frames", &sym) < 0 ||
	    code_of(img, sym.vaddr, &code) < 0)
		return -ENOENT;
	for (size_t i = 0; i + 9 <= code.len; i++) {
		const uint8_t *c = code.data + i;

		if (!memcmp(c, "\x66\x48\x8d\x3d", 4)) {
			ruby->how = RUBY_CONTEXT_TLS;
			ruby->context = code.vaddr + i + 8 + (uint64_t)(int64_t)disp_at(c + 4);
			return 0;
		}
		/* the stack protector reads a positive offset */
		if (c[0] == 0x64 && (c[1] & 0xfb) == 0x48 && c[2] == 0x8b &&
		    (c[3] & 0xc7) == 0x04 && c[4] == 0x25 && disp_at(c + 5) < 0) {
			ruby->how = RUBY_CONTEXT_STATIC;
			ruby->context = (uint64_t)(int64_t)disp_at(c + 5);
			return 0;
		}
		if (c[0] == 0x48 && c[1] == 0xc7 && (c[2] & 0xf8) == 0xc0 && disp_at(c + 3) < 0 &&
		    uses_fs(&code, i + 7)) {
			ruby->how = RUBY_CONTEXT_STATIC;
			ruby->context = (uint64_t)(int64_t)disp_at(c + 3);
			return 0;
		}
	}
	return -ENOENT;
}

/*
 * Derives the flags of the heap from rb_during_gc(), whose code is: mov or lea disp(%rip),%rax for
 * the address of the VM; mov heap(%rax),%rax; movzbl flags(%rax),%eax; shr $5. Without a match,
 * garbage collection is not recognized.
 */
static void find_gc(const struct elf_image *img, struct ruby_vm *ruby)
{
	struct elf_rawsym sym, machine;
	struct elf_span code;
	int32_t heap = 0;

	if (elf_gnuhash_lookup(img, "rb_during_gc", &sym) < 0 || code_of(img, sym.vaddr, &code) < 0)
		return;
	if (elf_gnuhash_lookup(img, "ruby_current_vm_ptr", &machine) < 0)
		machine.vaddr = 0;
	for (size_t i = 0; i + GC_INSN_BYTES <= code.len && i < sym.size; i++) {
		const uint8_t *c = code.data + i;

		if (!machine.vaddr && !memcmp(c, "\x48\x8d\x05", 3))
			machine.vaddr = code.vaddr + i + 7 + (uint64_t)(int64_t)disp_at(c + 3);
		if (!machine.vaddr && !memcmp(c, "\x48\x8b\x05", 3) && !heap)
			machine.vaddr = code.vaddr + i + 7 + (uint64_t)(int64_t)disp_at(c + 3);
		if (!memcmp(c, "\x48\x8b\x80", 3))
			heap = disp_at(c + 3);
		if (memcmp(c, "\x0f\xb6\x40", 3) != 0 || c[5] != 0xe8 || c[6] != 5)
			continue;
		if (heap <= 0 || heap > UINT16_MAX || !machine.vaddr || c[3] > INT8_MAX)
			return;
		ruby->machine = machine.vaddr;
		ruby->machine_heap = (uint16_t)heap;
		ruby->heap_flags = c[3];
		return;
	}
}

/* Parses ruby_version, "3.1.2". */
static int find_version(const struct elf_image *img, unsigned int out[2])
{
	struct elf_rawsym sym;
	struct elf_span span;
	char text[8] = "";

	if (elf_gnuhash_lookup(img, "ruby_version", &sym) < 0 ||
	    elf_image_at_vaddr(img, sym.vaddr, sizeof(text) - 3, &span) < 0)
		return -ENOENT;
	memcpy(text, span.data, span.len < sizeof(text) - 1 ? span.len : sizeof(text) - 1);
	return sscanf(text, "%1u.%1u", &out[0], &out[1]) == 2 ? 0 : -ENOENT;
}

int ruby_detect(const struct elf_image *img, const struct vm_tables *tables, uint32_t vm,
		struct lang_detected *d)
{
	struct elf_rawsym loop, frames, object;
	struct ruby_vm ruby = { 0 };
	unsigned int v[2];

	if (elf_gnuhash_lookup(img, "rb_profile_frames", &frames) < 0 || find_version(img, v) < 0)
		return -ENOENT;
	d->runtime = "Ruby";
	snprintf(d->version, sizeof(d->version), "%u.%u", v[0], v[1]);
	ruby.version = (uint16_t)(100 * v[0] + v[1]);
	ruby.frame_bytes = ruby.version == 301 || ruby.version == 302 ? 64 : 56;
	if (lang_find_function(img, count_jumps, JUMPS_MIN, &loop) < 0 ||
	    lang_set_loop(img, &loop, d) < 0 || lang_set_entry(img, &loop, d) < 0)
		d->problem = LANG_NO_LOOP;
	else if (ruby.version < FIRST || ruby.version > LAST)
		return -ENOTSUP;
	else if (find_context(img, &ruby) < 0)
		d->problem = LANG_NO_STATE;
	if (d->problem)
		return -ENOTSUP;
	find_symbols(img, &ruby);
	find_gc(img, &ruby);
	if (elf_gnuhash_lookup(img, "rb_cObject", &object) == 0)
		ruby.object_class = object.vaddr;
	tables->ruby[vm] = ruby;
	if (ruby.version >= FIRST_JIT)
		d->code.generated = VM_GENERATED_CALLED;
	return 0;
}

const struct lang ruby_lang = {
	.name_part = "ruby",
	.detect = ruby_detect,
	.read = ruby_read,
	.is_suspect = ruby_is_suspect,
	.is_still = ruby_is_still,
	.line = ruby_line,
};
