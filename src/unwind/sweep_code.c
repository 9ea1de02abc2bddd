/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gaps are in ascending order of their addresses and are found by bisection. The gap found last is
 * tried first, because code mostly jumps within its function.
 */
#include "unwind/sweep_code.h"

#include <stdlib.h>
#include <string.h>

#include "elf/image.h"
#include "elf/x86_insn.h"

void unwind_sweep_fini(struct unwind_sweep *sw)
{
	vec_fini(&sw->gaps);
	vec_fini(&sw->jumps);
	vec_fini(&sw->returns);
	vec_fini(&sw->calls);
	unwind_no_return_fini(&sw->no_return);
	free(sw->states);
	sw->states = NULL;
}

/* True if and $-N,%reg ends at @at of @g: the register holds an aligned address. */
static bool follows_alignment(const struct unwind_sweep_gap *g, size_t at, uint8_t reg)
{
	enum { LEN = 4 };
	const uint8_t *p;

	if (at < LEN)
		return false;
	p = g->code + at - LEN;
	return p[0] == (0x48 | reg >> 3) && p[1] == 0x83 && p[2] == (0xe0 | (reg & 7)) &&
	       p[3] >= 0x80;
}

/* Decodes one instruction; rsp = reg aligns rsp if the register was aligned just before. */
static bool decode(const struct unwind_sweep_gap *g, size_t at, struct x86_insn *insn)
{
	if (!x86_decode(g->code + at, g->len - at, insn))
		return false;
	if (insn->kind == X86_RSP_FROM_REG && follows_alignment(g, at, insn->reg))
		insn->kind = X86_RSP_ALIGN;
	return true;
}

/*
 * True if the code at @at aligns rsp, after at most two instructions that move it, or that compute
 * its new value in another register than @old.
 */
static bool aligns_rsp(const struct unwind_sweep_gap *g, size_t at, uint8_t old)
{
	struct x86_insn insn;

	for (int i = 0; i < 3; i++) {
		if (!decode(g, at, &insn))
			return false;
		if (insn.kind == X86_RSP_ALIGN)
			return insn.reg != old;
		if (insn.kind != X86_RSP_ADD && insn.kind != X86_OTHER)
			return false;
		at += insn.len;
	}
	return false;
}

bool unwind_sweep_decode(const struct unwind_sweep_gap *g, size_t at, struct x86_insn *insn)
{
	if (!decode(g, at, insn))
		return false;
	/* a copy of rsp is the saved one only if rsp is aligned next */
	if (insn->kind == X86_REG_FROM_RSP && !aligns_rsp(g, at + insn->len, insn->reg))
		insn->kind = X86_OTHER;
	return true;
}

size_t unwind_sweep_insn_len(const struct unwind_sweep *sw, const struct unwind_sweep_gap *g,
			     size_t at, size_t len)
{
	for (size_t n = 1; n < len; n++)
		if (sw->states[g->first + at + n].start)
			return n;
	return len;
}

bool unwind_sweep_never_returns(const struct unwind_sweep *sw, const struct x86_insn *insn,
				uint64_t next)
{
	return (insn->kind == X86_CALL || insn->kind == X86_JUMP) &&
	       unwind_no_return_at(&sw->no_return, next + (uint64_t)(int64_t)insn->value);
}

/*
 * The number of zeros at @at that are padding: at least two, since one may begin an instruction,
 * unless what follows is aligned.
 */
static size_t zeros_at(const struct unwind_sweep_gap *g, size_t at)
{
	size_t n = 0;

	while (at + n < g->len && !g->code[at + n])
		n++;
	return n > 1 || (n && (g->vaddr + at + n) % UNWIND_SWEEP_ALIGN == 0) ? n : 0;
}

size_t unwind_sweep_padding(const struct unwind_sweep_gap *g, size_t at)
{
	const uint8_t *p = g->code + at;
	size_t left = g->len - at, n = zeros_at(g, at);

	if (n)
		return n;
	if (*p == 0x90 || *p == 0xcc)
		return 1;
	while (n < left && n < X86_LEN_MAX && (p[n] == 0x66 || p[n] == 0x2e))
		n++;
	if (n < left && p[n] == 0x90)
		return n + 1;
	if (left - n >= 3 && p[n] == 0x0f && p[n + 1] == 0x1f) {
		struct x86_insn nop;

		return unwind_sweep_decode(g, at, &nop) ? nop.len : 0;
	}
	return 0;
}

/*
 * The last instruction may be cut off: CFI of a signal trampoline begins in the padding before it.
 */
static bool is_all_padding(const struct unwind_sweep_gap *g)
{
	struct x86_insn insn;
	size_t n;

	for (size_t at = 0; at < g->len; at += n) {
		n = unwind_sweep_padding(g, at);
		if (!n)
			return g->len - at < X86_LEN_MAX && !unwind_sweep_decode(g, at, &insn);
	}
	return true;
}

/* Finds the code of @len bytes at @file_off; false if it is not in the file, or only padding. */
static bool open_gap(struct unwind_sweep_gap *gap, const struct elf_image *img, uint64_t file_off,
		     uint64_t len)
{
	struct elf_span code;

	if (elf_image_vaddr_of(img, file_off, &gap->vaddr) < 0 ||
	    elf_image_at_vaddr(img, gap->vaddr, len, &code) < 0)
		return false;
	gap->file_off = file_off;
	gap->code = code.data;
	gap->len = code.len;
	return !is_all_padding(gap);
}

bool unwind_sweep_is_code(const struct elf_image *img, uint64_t file_off, uint64_t len)
{
	struct unwind_sweep_gap gap = { 0 };

	return len <= UNWIND_SWEEP_MAX && open_gap(&gap, img, file_off, len);
}

int unwind_sweep_add_gap(struct unwind_sweep *sw, const struct elf_image *img, uint64_t file_off,
			 uint64_t len, bool whole)
{
	struct unwind_sweep_gap gap = { .first = sw->n_bytes, .whole = whole };
	const struct unwind_sweep_gap *last;
	int r;

	if (len > UNWIND_SWEEP_MAX - sw->n_bytes || !open_gap(&gap, img, file_off, len))
		return 0;
	last = sw->gaps.len ? &sw->gaps.data[sw->gaps.len - 1] : NULL;
	if (last && (gap.vaddr < last->vaddr || gap.vaddr - last->vaddr < last->len))
		return 0;
	r = vec_push(&sw->gaps, gap);
	if (!r)
		sw->n_bytes += gap.len;
	return r;
}

const struct unwind_sweep_gap *unwind_sweep_gap_at(struct unwind_sweep *sw, uint64_t vaddr)
{
	size_t lo = 0, hi = sw->gaps.len;
	const struct unwind_sweep_gap *g = &sw->gaps.data[sw->last_gap];

	if (vaddr - g->vaddr < g->len)
		return g;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (sw->gaps.data[mid].vaddr <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || vaddr - sw->gaps.data[lo - 1].vaddr >= sw->gaps.data[lo - 1].len)
		return NULL;
	sw->last_gap = lo - 1;
	return &sw->gaps.data[lo - 1];
}

struct unwind_sweep_state *unwind_sweep_state_at(struct unwind_sweep *sw, uint64_t vaddr)
{
	const struct unwind_sweep_gap *g = unwind_sweep_gap_at(sw, vaddr);

	return g ? &sw->states[g->first + (size_t)(vaddr - g->vaddr)] : NULL;
}
