/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code that no FDE covers has UNWIND_CFA_NONE, except entry points and signal restorers, which are
 * recognized by their code, since C libraries without CFI have both. In a file without any CFI all
 * other text is assumed to keep frame pointers. At the end the code analysis fills the gaps.
 */
#include "unwind/code_rows.h"

#include <stdbool.h>
#include <string.h>

#include "arch/arch.h"
#include "base/cleanup.h"
#include "elf/image.h"
#include "elf/rawsym.h"
#include "unwind/gaps.h"
#include "unwind/rows.h"
#include "unwind/special_code.h"

enum {
	COVERED_SHARE =
		2, /* with CFI for more than 1/2 of the text, the special functions have some too */
	SEARCHED_MAX = 32 << 20, /* bytes of text that are searched at most */
	LAST_CALLERS_MAX = 8,
	RESTORERS_MAX = 8, /* signal restorers per file */
};

static const struct unwind_rule rule_none = { .cfa = UNWIND_CFA_NONE };
static const struct unwind_rule rule_end = { .cfa = UNWIND_CFA_END };
static const struct unwind_rule rule_fp = { .cfa = UNWIND_CFA_FP };
static const struct unwind_rule rule_restorer = { .cfa = UNWIND_CFA_SIGNAL };
/* of a function that has its return address in a register, as all leaves but those of x86-64 */
static const struct unwind_rule rule_leaf = { .cfa = UNWIND_CFA_SP_RA_REG, .cfa_reg = UREG_RA };

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
		r = unwind_rows_put(rows, 0, segs[i].file_off, rule_without_cfi(img));
		if (!r)
			r = unwind_rows_put(rows, 0, done, &rule_none);
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

int unwind_code_rows(struct unwind_rows *rows, const struct elf_image *img,
		     const struct unwind_special_code *known, uint64_t covered, uint64_t go_lo,
		     uint64_t go_hi)
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
