/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions are found by their code, because libraries are usually stripped. Compilers split
 * unlikely parts of an interpreter's loop off into a cold part. It has an FDE of its own in
 * .eh_frame and is the function into whose middle the loop jumps most often.
 *
 * Instructions are not decoded. The bytes of a jump or a call (src/arch) are searched wherever an
 * instruction may begin: a chance match has a random target, and random targets rarely hit one
 * function twice.
 */
#include "lang/find.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "elf/eh_frame.h"
#include "elf/image.h"
#include "elf/rawsym.h"

enum {
	LOOP_BYTES_MAX = 1 << 20,
	COLD_JUMPS_MIN = 4, /* fewer may be chance matches */
};

int lang_find_text(const struct elf_image *img, const char *mark, char *out, size_t size)
{
	const struct elf_segment *seg;
	size_t n = elf_image_segments(img, &seg);

	for (size_t i = 0; i < n; i++) {
		struct elf_span span;
		const uint8_t *at;
		size_t len;

		if (seg[i].exec ||
		    elf_image_at_offset(img, seg[i].file_off, seg[i].filesz, &span) < 0)
			continue;
		at = memmem(span.data, span.len, mark, strlen(mark));
		if (!at)
			continue;
		at += strlen(mark);
		len = (size_t)(span.data + span.len - at);
		len = len < size - 1 ? len : size - 1;
		memcpy(out, at, len);
		out[len] = 0;
		return 0;
	}
	return -ENOENT;
}

int lang_find_function(const struct elf_image *img, size_t (*score)(const struct elf_span *code),
		       size_t min, struct elf_rawsym *out)
{
	struct eh_frame_source src;
	struct eh_frame ef = { 0 };
	size_t best = min - 1;
	int r = eh_frame_find(img, &src);

	if (r == 0 && eh_frame_read(&ef, &src, NULL) < 0)
		ef.fdes.len = 0;
	for (size_t i = 0; i < ef.fdes.len; i++) {
		const struct eh_frame_fde *fde = &ef.fdes.data[i];
		struct elf_span code;
		size_t n = fde->len > LOOP_BYTES_MAX ||
					   elf_image_at_vaddr(img, fde->start, fde->len, &code) < 0
				   ? 0
				   : score(&code);

		if (n <= best)
			continue;
		best = n;
		*out = (struct elf_rawsym){ .vaddr = fde->start, .size = fde->len };
	}
	eh_frame_fini(&ef);
	return best >= min ? 0 : -ENOENT;
}

/* ---- the loop ----------------------------------------------------------------- */

struct cold {
	const struct eh_frame *ef;
	uint64_t lo, hi; /* addresses of the loop itself */
	uint32_t *hits;  /* number of jumps into each function of ef */
};

static int by_start(const void *a, const void *b)
{
	const struct eh_frame_fde *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Counts a jump to @to if that is in the middle of another function. */
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

/* Counts the targets of direct jumps. */
static void count_jumps(struct cold *c, const struct elf_span *code)
{
	int64_t away;

	for (size_t i = 0; i + ARCH_JUMP_BYTES <= code->len; i += ARCH_CODE_ALIGN)
		if (arch_is_jump(code->data + i, &away))
			count_jump(c, c->lo + i + (uint64_t)away);
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

int lang_set_loop(const struct elf_image *img, const struct elf_rawsym *loop,
		  struct lang_detected *d)
{
	struct elf_rawsym cold;
	int r = set_range(img, loop, &d->code.loop[0]);

	if (r < 0)
		return r;
	if (find_cold(img, loop, &cold) == 0)
		(void)set_range(img, &cold, &d->code.loop[1]);
	d->loop_vaddr = loop->vaddr;
	return 0;
}

/* Counts the direct calls with target @to. */
static size_t count_calls(const struct elf_span *code, uint64_t to)
{
	size_t n = 0;
	int64_t away;

	for (size_t i = 0; i + ARCH_CALL_BYTES <= code->len; i += ARCH_CODE_ALIGN)
		n += arch_is_call_to(code->data + i, &away) &&
		     code->vaddr + i + (uint64_t)away == to;
	return n;
}

static void set_entry(const struct elf_image *img, const struct eh_frame *ef,
		      const struct elf_rawsym *loop, struct lang_detected *d)
{
	size_t most[VM_RANGES_MAX] = { 0 };

	for (size_t i = 0; i < ef->fdes.len; i++) {
		const struct eh_frame_fde *fde = &ef->fdes.data[i];
		struct elf_rawsym sym = { .vaddr = fde->start, .size = fde->len };
		struct elf_span code;
		size_t n = fde->len > LOOP_BYTES_MAX || fde->start == loop->vaddr ||
					   elf_image_at_vaddr(img, fde->start, fde->len, &code) < 0
				   ? 0
				   : count_calls(&code, loop->vaddr);

		if (n > most[0]) {
			most[1] = most[0];
			d->code.entry[1] = d->code.entry[0];
			most[0] = set_range(img, &sym, &d->code.entry[0]) < 0 ? 0 : n;
		} else if (n > most[1]) {
			most[1] = set_range(img, &sym, &d->code.entry[1]) < 0 ? 0 : n;
		}
	}
}

int lang_set_entry(const struct elf_image *img, const struct elf_rawsym *loop,
		   struct lang_detected *d)
{
	struct eh_frame_source src;
	struct eh_frame ef = { 0 };

	if (eh_frame_find(img, &src) == 0 && eh_frame_read(&ef, &src, NULL) == 0)
		set_entry(img, &ef, loop, d);
	eh_frame_fini(&ef);
	return d->code.entry[0].hi ? 0 : -ENOENT;
}

/* ---- the memory of a process -------------------------------------------------- */

int lang_read_u64(const struct lang_process *p, uint64_t addr, uint64_t *out)
{
	return p->read(p->ctx, addr, out, sizeof(*out)) ? -EFAULT : 0;
}

int lang_read_text(const struct lang_process *p, uint64_t addr, uint64_t len, char **out)
{
	size_t n = len < LANG_NAME_MAX ? len : LANG_NAME_MAX;
	char *text = malloc(n + 1);

	if (!text)
		return -ENOMEM;
	if (n && p->read(p->ctx, addr, text, n)) {
		free(text);
		return -EFAULT;
	}
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			text[i] = '?';
	text[n] = 0;
	*out = text;
	return 0;
}

int lang_check_cookie(uint32_t cookie, uint64_t bytes)
{
	return cookie && cookie != lang_cookie(bytes) ? -ESTALE : 0;
}
