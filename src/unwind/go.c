/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Translates Go's stack depths into unwind rows. A function's pcsp table gives rsp's distance d
 * from the start of the frame at each instruction: CFA = rsp + d + 8. The table does not
 * state whether rbp is saved at CFA - 16; the instruction that builds the frame shows it. Go
 * preserves no other register, so rbx is lost.
 *
 * Functions that switch to another stack change the rule (go_code.h). If the search for the switch
 * fails, the function's frame pointer or plain depth is used. No other code is decoded.
 */
#include "unwind/go.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "arch/arch.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "bpf/arch/code.h"
#include "elf/gopclntab.h"
#include "elf/image.h"
#include "unwind/go_code.h"

enum {
	PADDING_MAX = 32, /* alignment of functions at most */
	DEPTH_MAX = INT32_MAX - 8,
	REG_RDX = 1, /* DWARF number */
};

struct build {
	struct unwind_rows *rows;
	size_t first;  /* index of the first row of Go's */
	uint64_t done; /* address up to which there are rows */

	struct go_code f;    /* the current function */
	uint64_t start;      /* its address */
	uint64_t bias;       /* address - file offset */
	bool has_frame;      /* the depth has been above 0 */
	uint64_t saved_from; /* offset from which on rbp is at CFA - 16 while there is a frame */
};

static const struct unwind_rule rule_none = { .cfa = UNWIND_CFA_NONE };
static const struct unwind_rule rule_end = { .cfa = UNWIND_CFA_END };

static int put_row(struct build *b, uint64_t vaddr, const struct unwind_rule *rule)
{
	return unwind_rows_put(b->rows, b->first, vaddr - b->bias, rule);
}

static const struct go_mark *mark_at(const struct build *b, uint64_t at)
{
	static const struct go_mark none = { 0, GO_MODE_DEPTH, 0 };
	const struct go_mark *m = &none;

	for (size_t i = 0; i < b->f.n_marks && b->f.marks[i].at <= at; i++)
		m = &b->f.marks[i];
	return m;
}

static void use_stored(const struct go_stored *s, uint64_t at, int32_t depth, uint8_t *saved,
		       int16_t *off)
{
	if (!s->from || at < s->from || !depth)
		return;
	*saved = UNWIND_SAVED_CFA;
	*off = s->off;
}

/* The rule at offset @at, where the table has @depth. */
static struct unwind_rule rule_at(const struct build *b, uint64_t at, int32_t depth)
{
	const struct go_mark *m = mark_at(b, at);
	struct unwind_rule rule = {
		.cfa = UNWIND_CFA_SP_OFF,
		.cfa_reg = b->f.kind == GO_KIND_INJECTED ? UNWIND_INJECTED : 0,
		.cfa_off = depth + 8,
		.ra_off = -8,
		.aux = b->f.kind == GO_KIND_SAVES ? UNWIND_SAVED_SAME : UNWIND_SAVED_UNDEF,
	};

	use_stored(&b->f.fp, at, depth, &rule.fp, &rule.fp_off);
	use_stored(&b->f.aux, at, depth, &rule.aux, &rule.aux_off);
	if (depth && at >= b->saved_from) {
		rule.fp = UNWIND_SAVED_CFA;
		rule.fp_off = -16;
	}
	switch (m->mode) {
	case GO_MODE_FP:
		if (depth < m->arg)
			break;
		rule.cfa = UNWIND_CFA_FP_OFF;
		rule.cfa_off = 16;
		rule.fp = UNWIND_SAVED_CFA;
		rule.fp_off = -16;
		break;
	case GO_MODE_RBP:
		rule.cfa = UNWIND_CFA_FP_OFF;
		break;
	case GO_MODE_RDX:
		rule.cfa = UNWIND_CFA_REG;
		rule.cfa_reg = REG_RDX;
		break;
	case GO_MODE_ASMCGOCALL:
		rule.cfa = UNWIND_CFA_GO_ASMCGOCALL;
		rule.cfa_add = (int16_t)rule.cfa_off;
		rule.cfa_off = m->arg;
		break;
	case GO_MODE_END:
		return rule_end;
	case GO_MODE_DEPTH:
		break;
	}
	return rule;
}

/* The next offset after @at, up to @end, at which the rule may change. */
static uint64_t next_change(const struct build *b, uint64_t at, uint64_t end)
{
	const uint64_t changes[] = { b->saved_from, b->f.fp.from, b->f.aux.from };

	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
		if (changes[i] > at && changes[i] < end)
			end = changes[i];
	for (size_t i = 0; i < b->f.n_marks; i++)
		if (b->f.marks[i].at > at && b->f.marks[i].at < end)
			end = b->f.marks[i].at;
	return end;
}

/* Handles a change of the depth to @depth at offset @at: rbp has been saved, or is about to be. */
static void enter_frame(struct build *b, uint64_t at, int32_t depth)
{
	b->has_frame = true;
	b->saved_from = go_code_saves_fp(&b->f, at, depth);
}

static void place_store(struct go_stored *s, uint64_t at, uint64_t end, int32_t depth)
{
	if (s->from > at && s->from <= end)
		s->off = (int16_t)(s->disp - depth - 8);
}

/* rawVforkSyscall holds its return address in a register while its child uses the same stack. */
static bool put_popped_ra(struct build *b, uint64_t at, int *out_r)
{
	struct unwind_rule rule = { .cfa = UNWIND_CFA_SP_RA_REG, .aux = UNWIND_SAVED_UNDEF };
	uint8_t pop = b->f.code[at - 1];

	if (b->f.code[at - 2] != 0x41 || pop < 0x58 || pop > 0x5f) /* pop %r8 to %r15 */
		return false;
	rule.cfa_reg = (uint8_t)(pop - 0x58 + 8);
	*out_r = put_row(b, b->start + at, &rule);
	return true;
}

static int put_run(void *ctx, uint64_t start, uint64_t end, int32_t depth)
{
	struct build *b = ctx;
	uint64_t at = start - b->start, stop = end - b->start;
	int r = 0;

	b->done = end;
	if (depth == -8 && at >= 2 && put_popped_ra(b, at, &r))
		return r;
	if (depth < 0 || depth > DEPTH_MAX) {
		b->rows->n_unsupported++;
		return put_row(b, start, &rule_none);
	}
	if (depth && !b->has_frame)
		enter_frame(b, at, depth);
	place_store(&b->f.fp, at, stop, depth);
	place_store(&b->f.aux, at, stop, depth);
	while (!r && at < stop) {
		struct unwind_rule rule = rule_at(b, at, depth);

		r = put_row(b, b->start + at, &rule);
		at = next_change(b, at, stop);
	}
	return r;
}

/* ---- processors that keep the return address in a register ---- */

enum {
	LINK_DEPTH_MAX = 32000, /* offsets in rules have 16 bits */
	LINK_INJECTED = 16,     /* bytes that a handler pushes: sigctxt.pushCall, preparePanic */
};

/*
 * A frame of @depth bytes begins with the return address, at the sp that the function then has, and
 * the caller's fp is in the word below. @is_new: the instruction that stores fp may not have run.
 */
static struct unwind_rule link_rule(const struct build *b, int32_t depth, bool is_new)
{
	int32_t pushed = b->f.kind == GO_KIND_INJECTED ? LINK_INJECTED : 0;
	struct unwind_rule rule = { .cfa = UNWIND_CFA_SP_RA_REG,
				    .cfa_reg = UREG_RA,
				    .cfa_off = pushed,
				    .aux = UNWIND_SAVED_UNDEF };

	if (!depth)
		return rule;
	rule.cfa = UNWIND_CFA_SP_OFF;
	rule.cfa_reg = b->f.kind == GO_KIND_INJECTED ? UNWIND_INJECTED : 0;
	rule.cfa_off = depth + pushed;
	rule.ra_off = (int16_t)-rule.cfa_off;
	if (b->f.kind == GO_KIND_SAVES) /* crosscall2() stores both at the other end of its frame */
		rule.ra_off = -8;
	if (is_new)
		return rule;
	rule.fp = UNWIND_SAVED_CFA;
	rule.fp_off = (int16_t)(rule.ra_off - 8);
	return rule;
}

/* Functions that switch stacks are passed by their frame pointer, which they set or keep. */
static int put_link_run(void *ctx, uint64_t start, uint64_t end, int32_t depth)
{
	static const struct unwind_rule by_fp = { .cfa = UNWIND_CFA_FP };
	struct build *b = ctx;
	struct unwind_rule rule;
	int r = 0;

	b->done = end;
	if (depth < 0 || depth > DEPTH_MAX) {
		b->rows->n_unsupported++;
		return put_row(b, start, &rule_none);
	}
	if (depth > LINK_DEPTH_MAX ||
	    (depth && b->f.kind >= GO_KIND_FRAME && b->f.kind <= GO_KIND_ASMCGOCALL))
		return put_row(b, start, &by_fp);
	if (depth && !b->has_frame) {
		rule = link_rule(b, depth, true);
		r = put_row(b, start, &rule);
		start += ARCH_CODE_ALIGN;
	}
	b->has_frame |= depth > 0;
	rule = link_rule(b, depth, false);
	return r || start >= end ? r : put_row(b, start, &rule);
}

static int put_special(struct build *b, const struct unwind_rule *rule, uint64_t start,
		       uint64_t end)
{
	b->done = end;
	return put_row(b, start, rule);
}

static int put_function(struct build *b, const struct gopclntab *t, const struct gopclntab_func *f)
{
	static const struct unwind_rule rule_signal = { .cfa = UNWIND_CFA_SIGNAL };

	b->f.kind = go_kind_of(f->name);
	if (f->flags & GOPCLNTAB_TOP_FRAME && strcmp(f->name, "runtime.sigtramp"))
		b->f.kind = GO_KIND_END;
	/*
	 * a handler returns to its first instruction, and return addresses are looked up one byte
	 * before
	 */
	if (b->f.kind == GO_KIND_SIGRETURN)
		return put_special(b, &rule_signal, f->start - 1, f->end);
	if (b->f.kind == GO_KIND_END)
		return put_special(b, &rule_end, f->start, f->end);

	b->f.n_marks = 0;
	b->has_frame = false;
	b->saved_from = UINT64_MAX;
	b->f.fp = b->f.aux = (struct go_stored){ 0 };
	if (!ARCH_CALL_PUSHES)
		return b->f.kind == GO_KIND_LEAVES
			       ? put_special(b, &rule_end, f->start, f->end)
			       : gopclntab_spdeltas(t, f->index, put_link_run, b);
	go_code_find(&b->f);
	return gopclntab_spdeltas(t, f->index, put_run, b);
}

/* Rows extend over the padding between functions, so that equal neighbours become one. */
static int end_function(struct build *b, uint64_t next)
{
	if (next >= b->done && next - b->done < PADDING_MAX)
		return 0;
	return put_row(b, b->done, &rule_none);
}

static int put_functions(struct build *b, const struct elf_image *img, const struct gopclntab *t)
{
	size_t n = gopclntab_count(t);
	struct gopclntab_func f;
	struct elf_span code;
	int r = 0;

	for (size_t i = 0; !r && i < n; i++) {
		if (gopclntab_func_at(t, i, &f) < 0 || f.start == f.end || f.start < b->done ||
		    elf_image_at_vaddr(img, f.start, f.end - f.start, &code) < 0)
			continue;
		if (b->done)
			r = end_function(b, f.start);
		if (b->done && code.vaddr - code.file_off != b->bias)
			return -EBADMSG;
		b->bias = code.vaddr - code.file_off;
		b->f.code = code.data;
		b->start = f.start;
		b->f.len = code.len;
		b->done = f.start;
		if (!r)
			r = put_function(b, t, &f);
		if (r == -EBADMSG)
			r = 0;
	}
	return r ? r : put_row(b, b->done, &rule_none);
}

int unwind_go_rows(struct unwind_rows *rows, const struct elf_image *img, uint64_t *out_lo,
		   uint64_t *out_hi, struct err *err)
{
	_cleanup_(gopclntab_freep) struct gopclntab *t = NULL;
	struct build b = { .rows = rows, .first = rows->len };
	int r;

	if (elf_image_machine(img) != ARCH_ELF_MACHINE)
		return err_set(err, -ENOENT, "code for an unsupported processor");
	r = gopclntab_open(&t, img, err);
	if (r < 0)
		return r;
	r = put_functions(&b, img, t);
	if (r < 0)
		return err_set(err, r, "cannot build unwind rows of Go functions: %s",
			       strerror(-r));
	if (rows->len == b.first)
		return err_set(err, -EBADMSG, "Go's functions lie outside the file");
	*out_lo = rows->data[b.first].file_off;
	*out_hi = b.done - b.bias;
	return 0;
}
