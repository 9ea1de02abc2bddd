/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file's code is divided into functions that .eh_frame describes and the gaps between them. A
 * gap is divided from its beginning on: padding is skipped, then a function is followed to its end,
 * which is the first instruction that nothing follows (ret, jmp, ud2) and beyond which none of the
 * function's branches lead. The division of a gap is computed once, so it costs time linear in the
 * gap's length however many addresses are looked up.
 *
 * Decoding takes 12 ms per MiB, and Bun has 81 MiB without CFI. A gap is therefore divided in
 * parts, when an address in one is looked up. The division of a part starts well before the part,
 * where a function probably begins. Even if that guess is wrong, the division finds the end of the
 * function, and from there on the real starts.
 *
 * In doubt, it divides one function in two rather than joining two, because a symbol without a size
 * must not name the functions after it.
 */
#include "elf/function_extents.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/bisect.h"
#include "elf/eh_frame.h"
#include "elf/eh_frame_hdr.h"
#include "elf/image.h"
#include "elf/x86_insn.h"

enum { FUNCTION_ALIGN = 16, INT3 = 0xcc, BRANCH_BYTES = 5, OPCODE_CALL = 0xe8, OPCODE_JUMP = 0xe9 };

struct range {
	uint64_t start, end;
};

enum {
	PART_BYTES = 64 << 10, /* also a part's alignment */
	LEAD_BYTES = 32 << 10, /* between the beginning of its division and the part */
};

/* A part of a gap, and its functions' starts: base + starts[first, first + n). */
struct part {
	struct range code;
	uint64_t base; /* its division begins here */
	size_t first, n;
};

struct function_extents {
	const struct elf_image *img;
	bool has_search_table;
	struct {
		VEC(struct range);
	} functions; /* of .eh_frame, sorted; empty with a search table */
	struct {
		VEC(struct part);
	} parts; /* those that were divided already */
	struct {
		VEC(uint32_t);
	} starts; /* relative to the part's base */
	size_t n_swept;
};

/* ---- functions in .eh_frame ----------------------------------------------------- */

static int range_cmp(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static int read_functions(struct function_extents *fe)
{
	_cleanup_(eh_frame_fini) struct eh_frame ef = { 0 };
	struct eh_frame_source src;

	if (eh_frame_find(fe->img, &src) < 0)
		return 0;
	if (eh_frame_read(&ef, &src, NULL) == -ENOMEM)
		return -ENOMEM;
	for (size_t i = 0; i < ef.fdes.len; i++) {
		const struct eh_frame_fde *fde = &ef.fdes.data[i];
		int r = vec_push(&fe->functions,
				 (struct range){ fde->start, fde->start + fde->len });

		if (r < 0)
			return r;
	}
	if (fe->functions.len)
		qsort(fe->functions.data, fe->functions.len, sizeof(*fe->functions.data),
		      range_cmp);
	return 0;
}

int function_extents_new(struct function_extents **out, const struct elf_image *img)
{
	_cleanup_(function_extents_freep) struct function_extents *fe = calloc(1, sizeof(*fe));
	struct eh_frame_around around;
	int r = 0;

	if (!fe)
		return -ENOMEM;
	fe->img = img;
	fe->has_search_table = eh_frame_functions_around(img, 0, &around) == 0;
	if (!fe->has_search_table)
		r = read_functions(fe);
	if (r < 0)
		return r;
	*out = steal_ptr(&fe);
	return 0;
}

void function_extents_free(struct function_extents *fe)
{
	if (!fe)
		return;
	vec_fini(&fe->functions);
	vec_fini(&fe->parts);
	vec_fini(&fe->starts);
	free(fe);
}

size_t function_extents_bytes(const struct function_extents *fe)
{
	return sizeof(*fe) + fe->functions.cap * sizeof(*fe->functions.data) +
	       fe->parts.cap * sizeof(*fe->parts.data) + fe->starts.cap * sizeof(*fe->starts.data);
}

static struct eh_frame_around functions_around(const struct function_extents *fe, uint64_t vaddr)
{
	struct eh_frame_around a = { .hi = UINT64_MAX };
	const struct range *f = fe->functions.data;
	size_t rank;

	if (fe->has_search_table) {
		(void)eh_frame_functions_around(fe->img, vaddr, &a);
		return a;
	}
	rank = bisect(fe->functions.len, i, f[i].start <= vaddr);
	if (rank && vaddr < f[rank - 1].end)
		return (struct eh_frame_around){ true, f[rank - 1].start, f[rank - 1].end };
	if (rank)
		a.lo = f[rank - 1].end;
	if (rank < fe->functions.len)
		a.hi = f[rank].start;
	return a;
}

bool function_extents_in_eh_frame(const struct function_extents *fe, uint64_t vaddr)
{
	return functions_around(fe, vaddr).is_function;
}

/* ---- code without CFI ------------------------------------------------------------ */

static bool holds(uint64_t start, uint64_t len, uint64_t vaddr)
{
	return vaddr >= start && vaddr - start < len && len <= UINT64_MAX - start;
}

/* The executable section that holds @vaddr, or the segment in a file without sections. */
static bool code_around(const struct elf_image *img, uint64_t vaddr, struct range *out)
{
	const struct elf_segment *segs;
	size_t n = elf_image_n_sections(img);

	for (uint32_t i = 1; i < n; i++) {
		struct elf_section s;

		if (elf_image_section_header(img, i, &s) < 0)
			break;
		if ((s.flags & (SHF_ALLOC | SHF_EXECINSTR)) == (SHF_ALLOC | SHF_EXECINSTR) &&
		    holds(s.vaddr, s.size, vaddr)) {
			*out = (struct range){ s.vaddr, s.vaddr + s.size };
			return true;
		}
	}
	if (n)
		return false;
	n = elf_image_segments(img, &segs);
	for (size_t i = 0; i < n; i++) {
		if (!segs[i].exec || !holds(segs[i].vaddr, segs[i].filesz, vaddr))
			continue;
		*out = (struct range){ segs[i].vaddr, segs[i].vaddr + segs[i].filesz };
		return true;
	}
	return false;
}

/* The code between two functions of .eh_frame; false if @vaddr is not in such code. */
static bool gap_around(const struct function_extents *fe, const struct eh_frame_around *a,
		       uint64_t vaddr, struct range *out)
{
	if (!ARCH_READS_CODE || elf_image_machine(fe->img) != ARCH_ELF_MACHINE ||
	    !code_around(fe->img, vaddr, out))
		return false;
	if (a->lo > out->start)
		out->start = a->lo;
	if (a->hi < out->end)
		out->end = a->hi;
	return out->start <= vaddr && vaddr < out->end;
}

/* Length of the int3 or nop at @p; 0 if it is another instruction. */
static size_t padding(const uint8_t *p, size_t len)
{
	struct x86_insn insn;
	size_t i = 0;

	if (len && (*p == 0xcc || *p == 0x90))
		return 1;
	while (i < len && (p[i] == 0x66 || p[i] == 0x2e))
		i++;
	if (i < len && i && p[i] == 0x90)
		return i + 1;
	if (len - i < 3 || p[i] != 0x0f || p[i + 1] != 0x1f || (p[i + 2] & 0x38) ||
	    !x86_decode(p, len, &insn))
		return 0;
	return insn.len;
}

/* True if the bytes before @at are a call or a jump, of 5 bytes. */
static bool follows_branch(const struct elf_span *code, size_t at)
{
	return at >= BRANCH_BYTES && (code->data[at - BRANCH_BYTES] == OPCODE_CALL ||
				      code->data[at - BRANCH_BYTES] == OPCODE_JUMP);
}

/*
 * True if a function probably begins at @at: the address is aligned, and padding or the end of
 * another function precedes it, which may be a tail call or a call of a function that does not
 * return.
 */
static bool looks_like_start(const struct elf_span *code, size_t at)
{
	uint8_t before = at ? code->data[at - 1] : 0xcc;

	return (code->vaddr + at) % FUNCTION_ALIGN == 0 &&
	       (before == 0xcc || before == 0x90 || before == 0x00 || before == 0xc3 ||
		follows_branch(code, at));
}

/* Notes where a branch that ends at @next leads, unless it leaves the function. */
static void follow(const struct elf_span *code, const struct x86_insn *insn, size_t next,
		   size_t *farthest)
{
	uint64_t to = next + (uint64_t)(int64_t)insn->value;

	if (insn->kind != X86_JUMP && insn->kind != X86_JUMP_IF)
		return;
	if (to >= code->len || to <= *farthest)
		return;
	if (insn->kind == X86_JUMP && looks_like_start(code, (size_t)to))
		return; /* a tail call */
	if (looks_like_start(code, (size_t)to) && code->data[to - 1] == INT3)
		return; /* a conditional one: int3 pads between functions only */
	*farthest = (size_t)to;
}

/* True if the code at @at is aligned and begins as functions do. */
static bool is_prologue(const struct elf_span *code, size_t at)
{
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	const uint8_t *p = code->data + at;
	size_t left = code->len - at;
	struct x86_insn insn;

	if ((code->vaddr + at) % FUNCTION_ALIGN != 0 || !x86_decode(p, left, &insn))
		return false;
	return insn.kind == X86_PUSH || (insn.kind == X86_RSP_ADD && insn.value < 0) ||
	       (left >= sizeof(endbr) && !memcmp(p, endbr, sizeof(endbr)));
}

static bool nothing_follows(const struct x86_insn *insn, const struct elf_span *code, size_t next)
{
	switch (insn->kind) {
	case X86_RET:
	case X86_JUMP:
	case X86_JUMP_INDIRECT:
	case X86_TRAP:
		return true;
	case X86_CALL:
	case X86_CALL_INDIRECT: /* true if the function that it called does not return */
		return padding(code->data + next, code->len - next) > 0 || is_prologue(code, next);
	default:
		return false;
	}
}

/*
 * Decodes an instruction. Two zeros are add %al,(%rax), which no compiler emits, but constants
 * between functions (OpenSSL's) are mostly small numbers: followed as code, they would lead into
 * the function after them.
 */
static bool decode(const struct elf_span *code, size_t at, struct x86_insn *out)
{
	static const uint8_t zeros[2] = { 0 };
	const uint8_t *p = code->data + at;
	size_t left = code->len - at;

	return (left < sizeof(zeros) || memcmp(p, zeros, sizeof(zeros)) != 0) &&
	       x86_decode(p, left, out);
}

/*
 * The number of bytes of the function at the beginning of @code; 0 if that is not an instruction.
 */
static size_t follow_function(const struct elf_span *code)
{
	size_t at = 0, farthest = 0;
	struct x86_insn insn;

	while (at < code->len) {
		if (!decode(code, at, &insn)) {
			if (farthest <= at)
				break;
			at = farthest; /* over data */
			continue;
		}
		at += insn.len;
		follow(code, &insn, at, &farthest);
		if (farthest < at && nothing_follows(&insn, code, at))
			break;
	}
	return at;
}

/*
 * The offset from the base of @part at which its division begins: that of a likely start, unless
 * the base is the beginning of @gap, where a function certainly begins.
 */
static size_t first_start(const struct part *part, const struct range *gap,
			  const struct elf_span *code)
{
	size_t at = 0;

	if (part->base > gap->start)
		do
			at += FUNCTION_ALIGN;
		while (at < code->len && !looks_like_start(code, at));
	return at < code->len ? at : code->len;
}

static void advance(struct elf_span *code, size_t n)
{
	code->data += n;
	code->vaddr += n;
	code->len -= n;
}

/* Divides @part of @gap. Its last function may end beyond it. */
static int divide_part(struct function_extents *fe, struct part *part, const struct range *gap)
{
	uint64_t after = gap->end - part->code.end;
	size_t len = (size_t)(part->code.end - part->base), at, n;
	struct elf_span rest;

	if (after > LEAD_BYTES)
		after = LEAD_BYTES; /* farther jumps leave the function */
	if (elf_image_at_vaddr(fe->img, part->base, len + (size_t)after, &rest) < 0)
		return 0;
	at = first_start(part, gap, &rest);
	for (advance(&rest, at); at < len && rest.len; at += n, advance(&rest, n)) {
		n = padding(rest.data, rest.len);
		if (!n && vec_push(&fe->starts, (uint32_t)at) < 0)
			return -ENOMEM;
		if (!n)
			n = follow_function(&rest);
		if (!n) /* data: the next function is aligned */
			n = FUNCTION_ALIGN - rest.vaddr % FUNCTION_ALIGN;
		if (n > rest.len)
			n = rest.len;
	}
	part->n = fe->starts.len - part->first;
	return 0;
}

/* The part of @gap that holds @vaddr. */
static struct part part_around(const struct range *gap, uint64_t vaddr)
{
	uint64_t from = vaddr - vaddr % PART_BYTES;
	struct part part = { .code = *gap, .base = gap->start };

	if (from > gap->start) {
		part.code.start = from;
		part.base = from - gap->start > LEAD_BYTES ? from - LEAD_BYTES : gap->start;
	}
	if (gap->end - from > PART_BYTES)
		part.code.end = from + PART_BYTES;
	return part;
}

static int get_part(struct function_extents *fe, const struct range *gap, uint64_t vaddr,
		    const struct part **out)
{
	struct part fresh = part_around(gap, vaddr);
	size_t len = (size_t)(fresh.code.end - fresh.base);
	int r;

	for (size_t i = fe->parts.len; i-- > 0;) {
		*out = &fe->parts.data[i];
		if ((*out)->code.start == fresh.code.start && (*out)->code.end == fresh.code.end)
			return 0;
	}
	if (len > FUNCTION_EXTENTS_SWEEP_MAX - fe->n_swept)
		fe->parts.len = fe->starts.len = fe->n_swept = 0;
	fe->n_swept += len;
	fresh.first = fe->starts.len;
	r = divide_part(fe, &fresh, gap);
	if (r == 0)
		r = vec_push(&fe->parts, fresh);
	if (r < 0)
		return r;
	*out = &fe->parts.data[fe->parts.len - 1];
	return 0;
}

int function_extents_start(struct function_extents *fe, uint64_t vaddr, uint64_t *out_start)
{
	struct eh_frame_around a = functions_around(fe, vaddr);
	const uint32_t *starts;
	const struct part *part;
	struct range gap;
	size_t rank;
	int r;

	if (a.is_function) {
		*out_start = a.lo;
		return 0;
	}
	if (!gap_around(fe, &a, vaddr, &gap))
		return -ENOENT;
	r = get_part(fe, &gap, vaddr, &part);
	if (r < 0)
		return r;
	starts = fe->starts.data + part->first;
	rank = bisect(part->n, i, part->base + starts[i] <= vaddr);
	if (!rank)
		return -ENOENT;
	*out_start = part->base + starts[rank - 1];
	return 0;
}

uint64_t function_extents_end(const struct function_extents *fe, uint64_t vaddr, uint64_t limit)
{
	struct eh_frame_around a = functions_around(fe, vaddr);
	struct elf_span span;
	struct range code;
	size_t n;

	if (a.hi < limit)
		limit = a.hi;
	if (a.is_function || !gap_around(fe, &a, vaddr, &code))
		return limit;
	if (code.end < limit)
		limit = code.end;
	if (limit <= vaddr || elf_image_at_vaddr(fe->img, vaddr, limit - vaddr, &span) < 0)
		return limit;
	n = follow_function(&span);
	return n ? vaddr + n : limit;
}
