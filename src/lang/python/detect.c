/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file is CPython if it defines _PyEval_EvalFrameDefault, which interpreters
 * export for their extension modules. Which one, it says itself: in Py_Version
 * (from 3.11), else in the tag of its byte-code files. Nothing is asked of a
 * process.
 *
 * Compilers move unlikely parts of the loop away. Where the symbol table is
 * stripped, that part is the function without a name, by .eh_frame, into
 * which the loop jumps most.
 */
#include "lang/python/python.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf/eh_frame.h"
#include "elf/gnuhash.h"
#include "elf/image.h"
#include "elf/rawsym.h"

#define LOOP "_PyEval_EvalFrameDefault"

enum {
	DEBUG_OFFSETS_MAX = 1024,
	LOOP_BYTES_MAX = 1 << 20,
	COLD_JUMPS_MIN = 4, /* fewer may be chance */
};

static const uint8_t *find_bytes(const struct elf_span *in, const char *what)
{
	return memmem(in->data, in->len, what, strlen(what));
}

/* The minor version in "cpython-3MINOR"; 0: not there. */
static unsigned int minor_from_tag(const struct elf_image *img)
{
	static const char tag[] = "cpython-3";
	const struct elf_segment *seg;
	size_t n = elf_image_segments(img, &seg);
	unsigned int minor = 0;

	for (size_t i = 0; i < n && !minor; i++) {
		struct elf_span span;
		const uint8_t *at, *end;

		if (seg[i].exec ||
		    elf_image_at_offset(img, seg[i].file_off, seg[i].filesz, &span) < 0)
			continue;
		at = find_bytes(&span, tag);
		if (!at)
			continue;
		end = span.data + span.len;
		for (at += strlen(tag); at < end && *at >= '0' && *at <= '9' && minor < 100; at++)
			minor = 10 * minor + (unsigned int)(*at - '0');
	}
	return minor;
}

static unsigned int find_minor(const struct elf_image *img)
{
	struct elf_rawsym sym;
	struct elf_span span;
	uint32_t version;

	if (elf_gnuhash_lookup(img, "Py_Version", &sym) == 0 &&
	    elf_image_at_vaddr(img, sym.vaddr, sizeof(version), &span) == 0) {
		memcpy(&version, span.data, sizeof(version));
		if (version >> 24 == 3)
			return version >> 16 & 0xff;
	}
	return minor_from_tag(img);
}

/*
 * 3.6 has no _PyRuntime; the pointer to its first interpreter is what
 * PyInterpreterState_Head() returns: mov disp(%rip), %rax; ret.
 */
static int find_head_36(const struct elf_image *img, uint64_t *out)
{
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa }, mov[] = { 0x48, 0x8b, 0x05 };
	struct elf_rawsym sym;
	struct elf_span span;
	int32_t disp;
	size_t at;

	if (elf_gnuhash_lookup(img, "PyInterpreterState_Head", &sym) < 0 ||
	    elf_image_at_vaddr(img, sym.vaddr, 12, &span) < 0)
		return -ENOENT;
	at = !memcmp(span.data, endbr, sizeof(endbr)) ? sizeof(endbr) : 0;
	if (memcmp(span.data + at, mov, sizeof(mov)) != 0 || span.data[at + 7] != 0xc3)
		return -ENOENT;
	memcpy(&disp, span.data + at + 3, sizeof(disp));
	*out = sym.vaddr + at + 7 + (uint64_t)(int64_t)disp;
	return 0;
}

static int find_offsets(const struct elf_image *img, unsigned int minor, struct python_vm *out)
{
	struct elf_rawsym sym;
	struct elf_span span = { 0 };
	uint64_t runtime;
	int r;

	if (minor == 6) {
		r = find_head_36(img, &runtime);
		if (r < 0)
			return r;
	} else {
		r = elf_gnuhash_lookup(img, "_PyRuntime", &sym);
		if (r < 0)
			return r;
		runtime = sym.vaddr;
		if (minor >= 13 && elf_image_at_vaddr(img, runtime, DEBUG_OFFSETS_MAX, &span) < 0)
			return -EBADMSG;
	}
	return python_offsets(out, minor, runtime, span.data, span.len);
}

/* ---- the loop's cold part -------------------------------------------------- */

struct cold {
	const struct eh_frame *ef;
	uint64_t lo, hi; /* the loop itself, addresses */
	uint32_t *hits;  /* by function of ef */
};

static int by_start(const void *a, const void *b)
{
	const struct eh_frame_fde *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* A jump to @to: into the middle of another function? */
static void count_jump(struct cold *c, uint64_t to)
{
	size_t lo = 0, n = c->ef->fdes.len;

	if (to >= c->lo && to < c->hi)
		return;
	while (n > 1) {
		size_t half = n / 2;

		if (c->ef->fdes.data[lo + half].start <= to)
			lo += half;
		n -= half;
	}
	if (n && to > c->ef->fdes.data[lo].start &&
	    to - c->ef->fdes.data[lo].start < c->ef->fdes.data[lo].len)
		c->hits[lo]++;
}

/* jmp rel32 and jcc rel32, wherever their bytes stand: chance hits few functions twice. */
static void count_jumps(struct cold *c, const struct elf_span *code)
{
	for (size_t i = 0; i + 6 <= code->len; i++) {
		bool jcc = code->data[i] == 0x0f && (code->data[i + 1] & 0xf0) == 0x80;
		int32_t rel;

		if (!jcc && code->data[i] != 0xe9)
			continue;
		memcpy(&rel, code->data + i + 1 + jcc, sizeof(rel));
		count_jump(c, c->lo + i + 5 + jcc + (uint64_t)(int64_t)rel);
	}
}

static int find_cold_by_jumps(struct eh_frame *ef, const struct elf_span *code,
			      struct elf_rawsym *out)
{
	struct cold c = { ef, code->vaddr, code->vaddr + code->len, NULL };
	size_t best = 0;

	qsort(ef->fdes.data, ef->fdes.len, sizeof(*ef->fdes.data), by_start);
	c.hits = calloc(ef->fdes.len, sizeof(*c.hits));
	if (!c.hits)
		return -ENOMEM;
	count_jumps(&c, code);
	for (size_t i = 0; i < ef->fdes.len; i++)
		if (c.hits[i] > c.hits[best])
			best = i;
	*out = (struct elf_rawsym){ .vaddr = ef->fdes.data[best].start,
				    .size = ef->fdes.data[best].len };
	best = c.hits[best];
	free(c.hits);
	return best >= COLD_JUMPS_MIN ? 0 : -ENOENT;
}

static int find_cold(const struct elf_image *img, const struct elf_rawsym *loop,
		     struct elf_rawsym *out)
{
	struct eh_frame_source src;
	struct eh_frame ef = { 0 };
	struct elf_span code;
	int r = -ENOENT;

	if (elf_symbol_lookup(img, ELF_SYMTAB, LOOP ".cold", out) == 0 && out->size)
		return 0;
	if (loop->size > LOOP_BYTES_MAX ||
	    elf_image_at_vaddr(img, loop->vaddr, loop->size, &code) < 0 ||
	    eh_frame_find(img, &src) < 0)
		return -ENOENT;
	if (eh_frame_read(&ef, &src, NULL) == 0 && ef.fdes.len)
		r = find_cold_by_jumps(&ef, &code, out);
	eh_frame_fini(&ef);
	return r;
}

static int set_range(const struct elf_image *img, const struct elf_rawsym *sym,
		     struct vm_range *out)
{
	uint64_t lo;

	if (elf_image_offset_of(img, sym->vaddr, &lo) < 0 || !sym->size)
		return -ENOENT;
	*out = (struct vm_range){ lo, lo + sym->size };
	return 0;
}

/* Before 3.6 the loop was this one, without parts; who has the newer one defines it too. */
static int detect_old(const struct elf_image *img, struct lang_detected *d)
{
	struct elf_rawsym sym;

	if (elf_gnuhash_lookup(img, "PyEval_EvalFrameEx", &sym) < 0 || !sym.vaddr)
		return -ENOENT;
	snprintf(d->name, sizeof(d->name), "Python before 3.6");
	return -ENOTSUP;
}

int python_detect(const struct elf_image *img, const struct vm_tables *tables, uint32_t vm,
		  struct lang_detected *d)
{
	struct elf_rawsym loop, cold;
	unsigned int minor;
	struct python_vm py;
	int r;

	if (elf_gnuhash_lookup(img, LOOP, &loop) < 0)
		return detect_old(img, d);
	minor = find_minor(img);
	r = find_offsets(img, minor, &py);
	if (r == 0)
		r = set_range(img, &loop, &d->code.loop[0]);
	if (r < 0) {
		snprintf(d->name, sizeof(d->name), "Python 3.%u", minor);
		return -ENOTSUP;
	}
	if (find_cold(img, &loop, &cold) == 0)
		(void)set_range(img, &cold, &d->code.loop[1]);
	d->loop_vaddr = loop.vaddr;
	tables->python[vm] = py;
	return 0;
}

const struct lang python_lang = {
	.trampolines = true, /* -X perf */
	.detect = python_detect,
	.read = python_read,
	.line = python_line,
};
