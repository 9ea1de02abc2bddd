/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions (FDEs) are sorted, not rows, because sorting rows would cost more than decoding them.
 * The rows of a function hold until the next function begins, even if it claims to be longer, and
 * of two functions with the same start the first of the section wins: so overlapping or false
 * ranges always give the same table.
 */
#include "unwind/cfi_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "elf/eh_frame.h"
#include "elf/image.h"
#include "unwind/cfi.h"
#include "unwind/rows.h"
#include "unwind/special_code.h"

enum {
	RESERVE_MAX = 1 << 20,
	STEPS = 512,
	RADIX_BITS = 13,
	RADIX = 1 << RADIX_BITS,
};

static const struct unwind_rule rule_none = { .cfa = UNWIND_CFA_NONE };
static const struct unwind_rule rule_end = { .cfa = UNWIND_CFA_END };
static const struct unwind_rule rule_bottom = { .cfa = UNWIND_CFA_END, .cfa_reg = UNWIND_NO_FRAME };
static const struct unwind_rule rule_switched = { .cfa = UNWIND_CFA_SWITCHED };

/* Appends a row; offsets are ascending. */
static int rows_put(struct unwind_rows *rows, uint64_t off, const struct unwind_rule *rule)
{
	return unwind_rows_put(rows, 0, off, rule);
}

/* ---- functions in order ---- */

static bool fdes_are_sorted(const struct eh_frame_fde *fdes, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		if (fdes[i - 1].start > fdes[i].start)
			return false;
	}
	return true;
}

/* One pass of a stable radix sort by the digit of start - @base at @shift. */
static void radix_pass(const struct eh_frame_fde *from, struct eh_frame_fde *to, size_t n,
		       uint64_t base, unsigned int shift)
{
	uint32_t at[RADIX] = { 0 }, sum = 0;

	for (size_t i = 0; i < n; i++)
		at[(from[i].start - base) >> shift & (RADIX - 1)]++;
	for (size_t i = 0; i < RADIX; i++) {
		uint32_t count = at[i];

		at[i] = sum;
		sum += count;
	}
	for (size_t i = 0; i < n; i++)
		to[at[(from[i].start - base) >> shift & (RADIX - 1)]++] = from[i];
}

static int fdes_sort(struct eh_frame *ef)
{
	_cleanup_(freep) struct eh_frame_fde *spare = NULL;
	struct eh_frame_fde *from = ef->fdes.data, *to;
	uint64_t min = UINT64_MAX, max = 0;
	size_t n = ef->fdes.len;

	if (fdes_are_sorted(from, n))
		return 0;
	spare = to = malloc(n * sizeof(*to));
	if (!to)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		min = from[i].start < min ? from[i].start : min;
		max = from[i].start > max ? from[i].start : max;
	}
	for (unsigned int shift = 0; shift < 64 && (max - min) >> shift; shift += RADIX_BITS) {
		struct eh_frame_fde *swap = from;

		radix_pass(from, to, n, min, shift);
		from = to;
		to = swap;
	}
	if (from != ef->fdes.data)
		memcpy(ef->fdes.data, from, n * sizeof(*from));
	return 0;
}

/* ---- rows ---- */

/* A remembered step: the rule @from with another CFA offset is the rule @to. */
struct offset_step {
	uint16_t from, to;
	int32_t cfa_off;
};

struct cfi_build {
	struct unwind_rows *rows;
	const struct elf_image *img;
	bool may_end_contexts; /* the file has makecontext() */
	uint64_t abort;        /* vaddr of abort(), where coroutines' stacks may begin; 0 if none */
	struct unwind_greenlet greenlet;
	const struct eh_frame *ef;
	const struct eh_frame_fde *fde;
	const struct elf_segment *segs;
	size_t n_segs, seg;
	uint64_t bias; /* address - file offset in the current function */
	uint64_t limit;
	uint64_t done; /* file offset up to which there are rows */
	uint64_t covered;
	struct cfi_state state; /* of the last row, except for the CFA's offset, and its rule */
	struct unwind_rule rule;
	uint16_t id; /* id of the last row's rule */
	struct offset_step steps[STEPS];
	const struct unwind_special_code *known;
	size_t next_known;
};

/*
 * The executable segment that holds @vaddr. Functions come in order, so it is mostly the last one.
 */
static const struct elf_segment *text_at(struct cfi_build *b, uint64_t vaddr)
{
	for (size_t i = 0; i < b->n_segs; i++) {
		size_t at = b->seg + i < b->n_segs ? b->seg + i : b->seg + i - b->n_segs;
		const struct elf_segment *s = &b->segs[at];

		if (s->exec && vaddr >= s->vaddr && vaddr - s->vaddr < s->filesz) {
			b->seg = at;
			return s;
		}
	}
	return NULL;
}

/*
 * True if the row differs from the one before only in the CFA's offset: most rows of a function do,
 * and then only the offset of the rule changes.
 */
static inline bool only_offset_changed(const struct cfi_build *b, const struct cfi_state *s)
{
	return b->rule.cfa >= UNWIND_CFA_SP_OFF && b->rule.cfa <= UNWIND_CFA_REG &&
	       s->cfa.how == CFI_REGISTER && b->state.cfa.how == CFI_REGISTER &&
	       s->cfa.reg == b->state.cfa.reg && !memcmp(s->col, b->state.col, sizeof(s->col));
}

/*
 * Changes the offset of the last rule. The same few changes repeat (push, push, pop, ret), so they
 * are remembered.
 */
static inline int change_offset(struct cfi_build *b, int32_t cfa_off)
{
	struct offset_step *step = &b->steps[(b->id * 31u + (uint32_t)cfa_off / 8u) % STEPS];
	uint16_t from = b->id;
	int r;

	if (step->from == from && step->cfa_off == cfa_off) {
		b->id = step->to;
		return 0;
	}
	b->rule.cfa_off = cfa_off;
	r = unwind_rows_intern(b->rows, &b->rule, &b->id);
	*step = (struct offset_step){ .from = from, .to = b->id, .cfa_off = cfa_off };
	return r;
}

static int put_cfi_row(void *ctx, uint64_t start, uint64_t end, const struct cfi_state *s)
{
	struct cfi_build *b = ctx;
	int r;

	if (start >= b->limit)
		return 0;
	b->done = end < b->limit ? end : b->limit;
	if (only_offset_changed(b, s)) {
		r = change_offset(b, s->cfa.off);
	} else {
		if (!unwind_cfi_rule(b->ef, b->fde, s, &b->rule))
			b->rows->n_unsupported++;
		b->state = *s;
		r = unwind_rows_intern(b->rows, &b->rule, &b->id);
	}
	return r ? r : unwind_rows_put_id(b->rows, 0, start - b->bias, b->id);
}

/* Puts the special code that lies between the functions so far and @off. */
static int put_known_code(struct cfi_build *b, uint64_t off)
{
	const struct unwind_special_code *k = b->known;
	struct unwind_rows *rows = b->rows;
	int r = 0;

	for (; !r && b->next_known < k->n && k->at[b->next_known].lo < off; b->next_known++) {
		uint64_t lo = k->at[b->next_known].lo, hi = k->at[b->next_known].hi;

		if (rows->len && lo < rows->data[rows->len - 1].file_off)
			continue; /* a function covers it */
		r = rows_put(rows, lo, &k->at[b->next_known].rule);
		if (!r)
			r = rows_put(rows, hi < off ? hi : off, &rule_none);
	}
	return r;
}

/*
 * Recognizes glibc's function to which a function of makecontext() returns. Its CFI describes the
 * frame of a caller, but it has none.
 */
static bool is_context_end(const struct cfi_build *b, const struct eh_frame_fde *fde)
{
	struct elf_span code;

	if (!b->may_end_contexts || fde->len < ARCH_CONTEXT_END_MIN ||
	    fde->len > ARCH_CONTEXT_END_MAX)
		return false;
	return elf_image_at_vaddr(b->img, fde->start, (size_t)fde->len, &code) == 0 &&
	       arch_is_context_end(code.data, code.len);
}

/*
 * Marks where greenlet's function has moved the stack pointer: the rows of CFI are wrong until the
 * stack has been copied there.
 */
static int put_switch(struct cfi_build *b, const struct eh_frame_fde *fde)
{
	uint64_t at = unwind_greenlet_switch_offset(b->img, fde->start, fde->len);

	if (!at || fde->start + at >= b->done)
		return 0;
	return rows_put(b->rows, fde->start + at - b->bias, &rule_switched);
}

/*
 * Marks the bottom of stacks whose first return address is @off. It is looked up one byte before,
 * which is in no function of this file or ends one whose last instruction is a call.
 */
static int put_bottom(struct unwind_rows *rows, uint64_t off, const struct unwind_rule *rule)
{
	if (rows->len && rows->data[rows->len - 1].file_off == off)
		rows->len--;
	return rows->len && rows->data[rows->len - 1].file_off < off - 1
		       ? rows_put(rows, off - 1, rule)
		       : 0;
}

/* Where a processor aligns it, the first return address is inside the function. */
static int put_context_end(struct cfi_build *b, const struct eh_frame_fde *fde)
{
	uint64_t off = fde->start - b->bias;
	int r = put_bottom(b->rows, off, &rule_end);

	b->done = fde->start + fde->len < b->limit ? fde->start + fde->len : b->limit;
	b->covered += b->done - fde->start;
	if (!r)
		r = rows_put(b->rows, off, &rule_end);
	return r ? r : rows_put(b->rows, b->done - b->bias, &rule_none);
}

/*
 * Puts the rows of one function up to @limit. If its CFA program ends early, the rest has no rule.
 */
static int put_function(struct cfi_build *b, const struct eh_frame_fde *fde, uint64_t limit,
			struct err *err)
{
	const struct elf_segment *seg = text_at(b, fde->start);
	struct unwind_rows *rows = b->rows;
	uint64_t seg_end, off;
	int r, put;

	if (!seg)
		return 0;
	seg_end = seg->vaddr + seg->filesz;
	b->fde = fde;
	b->bias = seg->vaddr - seg->file_off;
	b->limit = limit < seg_end ? limit : seg_end;
	b->done = fde->start;
	off = fde->start - b->bias;
	if (rows->len && off < rows->data[rows->len - 1].file_off)
		return err_set(err, -EBADMSG, "text segments are out of order");
	r = put_known_code(b, off);
	if (!r && fde->start == b->abort)
		r = put_bottom(rows, off, &rule_bottom);
	else if (!r && is_context_end(b, fde))
		return put_context_end(b, fde);
	if (r)
		return r;
	if (b->greenlet.is_here &&
	    (fde->start == b->greenlet.bottom || fde->start == b->greenlet.restores)) {
		b->covered += fde->len;
		return rows_put(rows, off,
				fde->start == b->greenlet.bottom ? &rule_end : &rule_switched);
	}
	r = eh_frame_run(b->ef, fde, put_cfi_row, b, err);
	if (r && r != -EBADMSG)
		return r;
	b->covered += b->done - fde->start;
	put = b->greenlet.is_here ? put_switch(b, fde) : 0;
	if (put)
		return put;
	put = rows_put(rows, b->done - b->bias, &rule_none);
	return put ? put : r;
}

static int put_functions(struct cfi_build *b, struct err *err)
{
	const struct eh_frame_fde *fdes = b->ef->fdes.data;
	size_t n = b->ef->fdes.len, next;
	int bad = 0, r;

	for (size_t i = 0; i < n; i = next) {
		for (next = i + 1; next < n && fdes[next].start == fdes[i].start;)
			next++;
		r = put_function(b, &fdes[i], next < n ? fdes[next].start : UINT64_MAX, err);
		if (r == -EBADMSG)
			bad = r;
		else if (r < 0)
			return r;
	}
	r = b->covered ? put_known_code(b, UINT64_MAX) : 0;
	return r ? r : bad;
}

int unwind_cfi_rows(struct unwind_rows *rows, const struct elf_image *img,
		    const struct elf_image *cfi, const struct unwind_special_code *known,
		    uint64_t *out_covered, struct err *err)
{
	_cleanup_(eh_frame_fini) struct eh_frame ef = { 0 };
	struct cfi_build b = {
		.rows = rows,
		.img = img,
		.may_end_contexts = unwind_may_define_makecontext(img),
		.abort = unwind_abort_vaddr(img),
		.ef = &ef,
		.known = known,
	};
	struct eh_frame_source src;
	int bad, r;

	if (eh_frame_find(cfi, &src) < 0)
		return 0;
	b.greenlet = unwind_greenlet_find(img);
	bad = eh_frame_read(&ef, &src, err);
	if (bad < 0 && bad != -EBADMSG)
		return bad;
	r = fdes_sort(&ef);
	if (r < 0)
		return r;
	/* A row takes six to eight bytes of CFI, so the vector rarely has to grow. */
	r = vec_reserve(rows, src.span.len / 8 < RESERVE_MAX ? src.span.len / 8 : RESERVE_MAX);
	if (r < 0)
		return r;
	b.n_segs = elf_image_segments(img, &b.segs);
	r = put_functions(&b, err);
	*out_covered = b.covered;
	return r ? r : bad;
}
