/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the rows of a file. Functions (FDEs) are sorted, not rows, because sorting rows would cost
 * more than decoding them. The rows of a function hold until the next function begins, even if it
 * claims to be longer, and of two functions with the same start the first of the section wins: so
 * overlapping or false ranges always give the same table.
 *
 * Code that no FDE covers has UNWIND_CFA_NONE, except entry points and signal restorers, which are
 * recognized by their code, since C libraries without CFI have both. In a file without any CFI all
 * other text is assumed to keep frame pointers. At the end the code analysis fills the gaps.
 */
#include "unwind/file_rows.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "arch/arch.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "elf/eh_frame.h"
#include "elf/image.h"
#include "elf/rawsym.h"
#include "unwind/cfi.h"
#include "unwind/gaps.h"
#include "unwind/go.h"
#include "unwind/special_code.h"

enum {
	COVERED_SHARE =
		2, /* with CFI for more than 1/2 of the text, the special functions have some too */
	SEARCHED_MAX = 32 << 20, /* bytes of text that are searched at most */
	RESERVE_MAX = 1 << 20,
	LAST_CALLERS_MAX = 8,
	RESTORERS_MAX = 8, /* signal restorers per file */
	STEPS = 512,
	RADIX_BITS = 13,
	RADIX = 1 << RADIX_BITS,
};

static const struct unwind_rule rule_none = { .cfa = UNWIND_CFA_NONE };
static const struct unwind_rule rule_end = { .cfa = UNWIND_CFA_END };
static const struct unwind_rule rule_bottom = { .cfa = UNWIND_CFA_END, .cfa_reg = UNWIND_NO_FRAME };
static const struct unwind_rule rule_switched = { .cfa = UNWIND_CFA_SWITCHED };
static const struct unwind_rule rule_fp = { .cfa = UNWIND_CFA_FP };
static const struct unwind_rule rule_restorer = { .cfa = UNWIND_CFA_SIGNAL };
/* of a function that has its return address in a register, as all leaves but those of x86-64 */
static const struct unwind_rule rule_leaf = { .cfa = UNWIND_CFA_SP_RA_REG, .cfa_reg = UREG_RA };

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

/* ---- from CFI ---- */

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

/* Puts the CFI of @cfi, which is the file @img or its debug file. */
static int rows_from_cfi(struct unwind_rows *rows, const struct elf_image *img,
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

/* ---- what is known by its code ---- */

/* A rule that is an assumption about code without CFI, or that a restorer has in no case. */
static bool is_assumed(const struct unwind_rows *rows, size_t i)
{
	const struct unwind_rule *rule = unwind_rows_rule(rows, i);

	return rule->cfa == UNWIND_CFA_NONE || rule->cfa == UNWIND_CFA_FP ||
	       !memcmp(rule, &rule_leaf, sizeof(*rule));
}

/* Gives @rule to the bytes among the @len from @off on that no function covers. */
static int rows_patch(struct unwind_rows *rows, uint64_t off, uint64_t len,
		      const struct unwind_rule *rule)
{
	struct unwind_full_row row = { .file_off = off };
	size_t n = unwind_rows_until(rows, off);
	uint64_t end = n < rows->len ? rows->data[n].file_off : UINT64_MAX;
	uint16_t id;
	int r;

	if (n && !is_assumed(rows, n - 1))
		return 0;
	r = unwind_rows_intern(rows, rule, &id);
	row.rule = id;
	return r ? r : unwind_rows_splice(rows, off, end - off < len ? end : off + len, &row, 1);
}

/*
 * Recognizes signal restorers. A handler returns to the first instruction, and return addresses are
 * looked up one byte before them, so the rule begins there.
 */
static int patch_restorers(struct unwind_rows *rows, const struct elf_span *text)
{
	const uint8_t *p = text->data, *end = p + text->len, *at;
	size_t len;
	int r = 0;

	for (unsigned int n = 0; !r && n < RESTORERS_MAX; n++) {
		at = arch_find_restorer(p, (size_t)(end - p), &len);
		if (!at)
			break;
		if (at > text->data)
			r = rows_patch(rows, text->file_off + (uint64_t)(at - text->data) - 1,
				       1 + len, &rule_restorer);
		p = at + len;
	}
	return r;
}

/* True if an indirect call ends at @p; @before bytes before it are readable. */
static bool indirect_call_before(const uint8_t *p, size_t before)
{
	if (before >= 2 && p[-2] == 0xff && ((p[-1] & 0xf8) == 0xd0 || (p[-1] & 0xf8) == 0x10))
		return true; /* call *%reg, call *(%reg) */
	if (before >= 3 && p[-3] == 0xff && (p[-2] & 0xf8) == 0x50)
		return true; /* call *disp8(%reg) */
	return before >= 4 && p[-4] == 0xff && p[-3] == 0x54 && p[-2] == 0x24;
}

/*
 * Marks indirect calls that are followed by the code @passed as the outermost frame; @tail more
 * bytes belong to it.
 */
static int patch_callers(struct unwind_rows *rows, const struct elf_span *text,
			 const struct elf_span *passed, size_t tail)
{
	const uint8_t *p = text->data, *end = p + text->len;
	unsigned int n = 0;
	int r = 0;

	while (!r && n < LAST_CALLERS_MAX &&
	       (p = memmem(p, (size_t)(end - p), passed->data, passed->len))) {
		size_t at = (size_t)(p - text->data);
		size_t rex = at && p[-1] == 0x48;

		if (at > rex + 4 && indirect_call_before(p - rex, at - rex)) {
			/* from the call's last byte on, where its return address is looked up */
			r = rows_patch(rows, text->file_off + at - rex - 1,
				       1 + rex + passed->len + tail, &rule_end);
			n++;
		}
		p += passed->len;
	}
	return r;
}

/*
 * Recognizes the outermost frames of musl, whose C code has no CFI: main() and a thread's function
 * are called as in exit(main()): call *...; mov %eax,%edi (or %rax,%rdi); call. Its clone() calls a
 * function and exits with the result.
 */
static int patch_last_callers(struct unwind_rows *rows, const struct elf_span *text)
{
	static const uint8_t call[] = { 0x89, 0xc7, 0xe8 };
	/* xor %eax,%eax; mov $SYS_exit,%al; syscall */
	static const uint8_t leave[] = { 0x89, 0xc7, 0x31, 0xc0, 0xb0, 0x3c, 0x0f, 0x05 };
	const struct elf_span calls = { .data = call, .len = sizeof(call) };
	const struct elf_span leaves = { .data = leave, .len = sizeof(leave) };
	int r = patch_callers(rows, text, &calls, 4);

	return r ? r : patch_callers(rows, text, &leaves, 0);
}

/*
 * The rule for the text of a file without CFI: frame pointers, except in the vDSO of a processor
 * that keeps return addresses in a register. Its functions are leaves, and the kernel has no CFI
 * for them since 5.14.
 */
static const struct unwind_rule *rule_without_cfi(const struct elf_image *img)
{
	struct elf_rawsym sym;

	if (UREG_RA <= UREG_MASK &&
	    elf_symbol_lookup(img, ELF_DYNSYM, "__kernel_rt_sigreturn", &sym) == 0)
		return &rule_leaf;
	return &rule_fp;
}

/* Gives the text of a file without CFI one rule. */
static int fill_without_cfi(struct unwind_rows *rows, const struct elf_image *img)
{
	const struct elf_segment *segs;
	size_t n = elf_image_segments(img, &segs);
	uint64_t done = 0;
	int r = 0;

	for (size_t i = 0; !r && i < n; i++) {
		if (!segs[i].exec || !segs[i].filesz || segs[i].file_off < done)
			continue;
		done = segs[i].file_off + segs[i].filesz;
		r = rows_put(rows, segs[i].file_off, rule_without_cfi(img));
		if (!r)
			r = rows_put(rows, done, &rule_none);
	}
	return r;
}

static bool rows_say_only_frame_pointers(const struct unwind_rows *rows)
{
	for (size_t i = 0; i < rows->len; i++) {
		if (rows->data[i].rule != UNWIND_RULE_FP && rows->data[i].rule != UNWIND_RULE_NONE)
			return false;
	}
	return true;
}

typedef int (*patch_fn)(struct unwind_rows *rows, const struct elf_span *text);

/*
 * Searches text with little CFI for the special functions, unless there is too much of it. Section
 * headers separate text from the data that old linkers put into the same segment.
 */
static int patch_text(struct unwind_rows *rows, const struct elf_image *img, uint64_t covered,
		      patch_fn patch)
{
	const struct elf_segment *segs;
	size_t n = elf_image_segments(img, &segs);
	struct elf_span text;
	int r = 0;

	if (elf_image_section(img, ".text", &text) == 0)
		return covered > text.len / COVERED_SHARE || text.len > SEARCHED_MAX
			       ? 0
			       : patch(rows, &text);
	for (size_t i = 0; !r && i < n; i++) {
		if (segs[i].exec && segs[i].filesz <= SEARCHED_MAX &&
		    covered <= segs[i].filesz / COVERED_SHARE &&
		    !elf_image_at_vaddr(img, segs[i].vaddr, (size_t)segs[i].filesz, &text))
			r = patch(rows, &text);
	}
	return r;
}

/* Gives a file in which no CFI was found frame pointers, except for the special code. */
static int rows_without_cfi(struct unwind_rows *rows, const struct elf_image *img,
			    const struct unwind_special_code *known)
{
	int r = fill_without_cfi(rows, img);

	for (size_t i = 0; !r && i < known->n; i++) {
		if (known->at[i].rule.cfa == UNWIND_CFA_END)
			r = rows_patch(rows, known->at[i].lo, known->at[i].hi - known->at[i].lo,
				       &known->at[i].rule);
	}
	return r;
}

/* Analyses the code that has no rule yet; [@skip_lo, @skip_hi) is Go's. */
static int put_swept_code(struct unwind_rows *rows, const struct elf_image *img, uint64_t covered,
			  uint64_t skip_lo, uint64_t skip_hi)
{
	_cleanup_(unwind_rows_fini) struct unwind_rows swept = { .rules = rows->rules,
								 .sweep_all = rows->sweep_all };
	int r = unwind_gap_rows(&swept, rows, img, covered, skip_lo, skip_hi);

	rows->unswept = swept.unswept;
	return r ? r : unwind_rows_overlay(rows, &swept);
}

static int patch_known_code(struct unwind_rows *rows, const struct elf_image *img,
			    const struct unwind_special_code *known, uint64_t covered,
			    uint64_t go_lo, uint64_t go_hi)
{
	uint64_t all_covered = covered + (go_hi - go_lo);
	bool no_cfi = !rows->len;
	int r = no_cfi ? rows_without_cfi(rows, img, known) : 0;

	if (!r)
		r = patch_text(rows, img, all_covered, patch_restorers);
	if (!r && ARCH_READS_CODE)
		r = put_swept_code(rows, img, covered, go_lo, go_hi);
	if (!r && ARCH_READS_CODE) /* for the calls of which the analysis is not certain */
		r = patch_text(rows, img, all_covered, patch_last_callers);
	if (no_cfi && rows_say_only_frame_pointers(rows))
		rows->len = 0;
	return r;
}

/* The rows from Go's function table, for [lo, hi) of the file. */
struct go_rows {
	struct unwind_rows rows;
	uint64_t lo, hi;
};

static void go_rows_fini(struct go_rows *go)
{
	unwind_rows_fini(&go->rows);
}

static int go_rows_read(struct go_rows *go, const struct elf_image *img, struct err *err)
{
	struct err why = { 0 };
	int r = unwind_go_rows(&go->rows, img, &go->lo, &go->hi, &why);

	return r < 0 && r != -ENOENT ? err_set(err, r, "%s", why.msg) : 0;
}

/* Replaces all other rows in Go's text. */
static int put_go_rows(struct unwind_rows *rows, const struct go_rows *go)
{
	if (go->lo >= go->hi)
		return 0;
	rows->n_unsupported += go->rows.n_unsupported;
	return unwind_rows_splice(rows, go->lo, go->hi, go->rows.data, go->rows.len);
}

static int rows_build(struct unwind_rows *rows, const struct elf_image *img,
		      const struct elf_image *cfi, struct err *err)
{
	_cleanup_(go_rows_fini) struct go_rows go = { 0 };
	struct unwind_special_code known = { 0 };
	uint64_t covered = 0;
	uint16_t none;
	int bad_go, bad, r;

	if (elf_image_machine(img) != ARCH_ELF_MACHINE)
		return 0;
	r = unwind_rows_intern(rows, &rule_none, &none);
	if (r < 0)
		return r;
	go.rows.rules = rows->rules;
	bad_go = go_rows_read(&go, img, err);
	if (bad_go < 0 && bad_go != -EBADMSG)
		return bad_go;
	unwind_special_code_find(&known, img);
	bad = rows_from_cfi(rows, img, cfi, &known, &covered, err);
	if (bad < 0 && bad != -EBADMSG)
		return bad;
	r = patch_known_code(rows, img, &known, covered, go.lo, go.hi);
	if (!r)
		r = put_go_rows(rows, &go);
	if (r == -E2BIG)
		err_set(err, r, "more than %d unwind rows", UNWIND_ROWS_MAX);
	return r ? r : bad ? bad : bad_go;
}

int unwind_rows_from_file(struct unwind_rows *rows, const struct elf_image *img, struct err *err)
{
	return rows_build(rows, img, img, err);
}

int unwind_rows_from_debug_file(struct unwind_rows *rows, const struct elf_image *img,
				const struct elf_image *debug, struct err *err)
{
	return rows_build(rows, img, debug, err);
}
