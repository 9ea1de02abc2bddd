/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A function's first instruction finds the return address at rsp; from there
 * the depth of the stack is followed along every branch. One state of 4 bytes
 * is kept for each byte of the gaps, and each instruction is visited once, or
 * twice when a certain state comes after an uncertain one: so the time is
 * linear in the code.
 *
 * Calls may not return, and what follows such a call may belong to another
 * path: so jumps are followed first, and the first state that reaches an
 * instruction stays. A path never runs on into the beginning of a function.
 * Indirect jumps lead to the code that nothing else leads to, up to the next
 * function's beginning (tables of a switch): it begins with their state.
 *
 * What is not understood (rsp from elsewhere without a frame pointer, more
 * pops than pushes) makes the rest of its path unknown.
 */
#include "unwind/sweep.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elf/image.h"
#include "elf/rawsym.h"
#include "unwind/sweep_ahead.h"
#include "unwind/sweep_step.h"
#include "unwind/x86_insn.h"

enum {
	SURELY_CODE = 8, /* instructions in a row */
	FUNCTION_ALIGN = 16,
	SAVED_MIN = 4,   /* registers */
	ROUNDS_MAX = 64, /* of finding functions that return because those that they call do */
};

static const struct unwind_sweep_state entry = { .seen = 1 };

void unwind_sweep_fini(struct unwind_sweep *sw)
{
	vec_fini(&sw->gaps);
	vec_fini(&sw->jumps);
	vec_fini(&sw->returns);
	vec_fini(&sw->calls);
	free(sw->states);
	sw->states = NULL;
}

bool unwind_sweep_decode(const struct unwind_sweep_gap *g, size_t at, struct x86_insn *insn)
{
	struct x86_insn next;

	if (!x86_decode(g->code + at, g->len - at, insn))
		return false;
	/* a copy of rsp is where it is kept only if rsp is aligned next */
	if (insn->kind == X86_REG_FROM_RSP &&
	    (!x86_decode(g->code + at + insn->len, g->len - at - insn->len, &next) ||
	     next.kind != X86_RSP_ALIGN))
		insn->kind = X86_OTHER;
	return true;
}

/* Between functions: what fills up to the next one. Its length, 0 if it is code. */
static size_t padding_at(const struct unwind_sweep_gap *g, size_t at)
{
	static const uint8_t zeros[2] = { 0 };
	const uint8_t *p = g->code + at;
	size_t left = g->len - at, n = 0;

	if (*p == 0x90 || *p == 0xcc)
		return 1;
	if (left >= 2 && !memcmp(p, zeros, 2))
		return 2;
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

static bool is_all_padding(const struct unwind_sweep_gap *g)
{
	size_t n;

	for (size_t at = 0; at < g->len; at += n) {
		n = padding_at(g, at);
		if (!n)
			return false;
	}
	return true;
}

int unwind_sweep_add_gap(struct unwind_sweep *sw, const struct elf_image *img, uint64_t file_off,
			 uint64_t len, bool whole)
{
	struct unwind_sweep_gap gap = { .file_off = file_off,
					.first = sw->n_bytes,
					.whole = whole };
	struct elf_span code;
	int r;

	if (len > UNWIND_SWEEP_MAX - sw->n_bytes ||
	    elf_image_vaddr_of(img, file_off, &gap.vaddr) < 0 ||
	    elf_image_at_vaddr(img, gap.vaddr, len, &code) < 0)
		return 0;
	if (sw->gaps.len && gap.vaddr < sw->gaps.data[sw->gaps.len - 1].vaddr)
		return 0;
	gap.code = code.data;
	gap.len = code.len;
	if (is_all_padding(&gap))
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

/* ---- following the code ---- */

/* @s holds at @vaddr: is that new, so that the path is to be followed? */
static bool reach(struct unwind_sweep *sw, uint64_t vaddr, const struct unwind_sweep_state *s)
{
	struct unwind_sweep_state *at = unwind_sweep_state_at(sw, vaddr);

	if (!at || at->start || (at->seen && (!at->lost || s->lost)))
		return false;
	*at = *s;
	return true;
}

/* Where @path's function ends, or goes on in another one that may return. */
static void owner_returns(struct unwind_sweep *sw, uint64_t owner)
{
	struct unwind_sweep_state *s = unwind_sweep_state_at(sw, owner);

	if (!s || !s->start || s->returns)
		return;
	s->returns = 1;
	sw->more_return = true;
}

/*
 * A jump to code that is followed already, or that we do not have: may it end in a return? Of
 * another function that may turn out later.
 */
static int owner_jumps(struct unwind_sweep *sw, uint64_t owner, uint64_t target)
{
	const struct unwind_sweep_state *s = unwind_sweep_state_at(sw, target);

	if (!s || (s->start && (s->returns || target == owner)))
		owner_returns(sw, owner);
	else if (s->start && owner)
		return vec_push(&sw->calls,
				(struct unwind_sweep_call){ target, { .owner = owner }, *s });
	return 0;
}

static int put_call(struct unwind_sweep *sw, const struct x86_insn *insn, uint64_t next,
		    uint64_t owner, const struct unwind_sweep_state *s)
{
	uint64_t callee = next + (uint64_t)(int64_t)insn->value;
	const struct unwind_sweep_state *begins = unwind_sweep_state_at(sw, callee);

	if (insn->kind == X86_CALL && begins && begins->start && !begins->returns)
		return vec_push(&sw->calls,
				(struct unwind_sweep_call){ callee, { next, owner }, *s });
	if (!reach(sw, next, s))
		return 0;
	return vec_push(&sw->returns, (struct unwind_sweep_path){ next, owner });
}

/* From the instruction at @path, whose state is known, to the end of the path. */
static int follow(struct unwind_sweep *sw, struct unwind_sweep_path path)
{
	const struct unwind_sweep_gap *g = unwind_sweep_gap_at(sw, path.vaddr);
	struct unwind_sweep_state s = *unwind_sweep_state_at(sw, path.vaddr);
	uint64_t vaddr = path.vaddr;
	struct x86_insn insn;
	int r = 0;

	while (!r && unwind_sweep_decode(g, (size_t)(vaddr - g->vaddr), &insn)) {
		uint64_t next = vaddr + insn.len, target = next + (uint64_t)(int64_t)insn.value;

		unwind_sweep_step(&s, &insn);
		if (insn.kind == X86_RET || insn.kind == X86_JUMP_INDIRECT)
			owner_returns(sw, path.owner);
		if (insn.kind == X86_JUMP || insn.kind == X86_JUMP_IF) {
			if (reach(sw, target, &s))
				r = vec_push(&sw->jumps,
					     (struct unwind_sweep_path){ target, path.owner });
			else
				r = owner_jumps(sw, path.owner, target);
		}
		if (r || insn.kind == X86_JUMP || insn.kind == X86_JUMP_INDIRECT ||
		    insn.kind == X86_RET || insn.kind == X86_TRAP)
			return r;
		if (next - g->vaddr >= g->len)
			return 0;
		if (insn.kind == X86_CALL || insn.kind == X86_CALL_INDIRECT)
			return put_call(sw, &insn, next, path.owner, &s);
		if (!reach(sw, next, &s))
			return owner_jumps(sw, path.owner, next);
		vaddr = next;
	}
	return r;
}

/* ---- calls ---- */

/*
 * Does the call before @vaddr not return? Then what follows is of another path
 * or function, and ends in another way. Alignment behind the call makes that
 * likely; without it only evidence before the next call counts.
 */
static bool call_never_returns(struct unwind_sweep *sw, uint64_t vaddr)
{
	struct unwind_sweep_state *s = unwind_sweep_state_at(sw, vaddr), before = *s, other;
	const struct unwind_sweep_gap *g = unwind_sweep_gap_at(sw, vaddr);
	struct unwind_ahead a = { .sw = sw };
	bool differs;

	if (!before.seen)
		return true; /* so it has turned out already: the call was reached twice */
	if (before.lost || before.rsp_moved)
		return false;
	s->seen = 0; /* lest the path find itself */
	differs = unwind_ahead_look(&a, vaddr, &other) && other.depth != before.depth &&
		  !other.rsp_moved;
	if (differs && a.n_calls && !padding_at(g, (size_t)(vaddr - g->vaddr)))
		differs = false;
	if (!differs)
		*s = before;
	else
		*s = (struct unwind_sweep_state){ 0 };
	return differs;
}

/* ---- all paths ---- */

static int follow_pending(struct unwind_sweep *sw)
{
	int r = 0;

	while (!r && (sw->jumps.len || sw->returns.len)) {
		struct unwind_sweep_path path;

		if (sw->jumps.len) {
			r = follow(sw, sw->jumps.data[--sw->jumps.len]);
			continue;
		}
		path = sw->returns.data[--sw->returns.len];
		if (!call_never_returns(sw, path.vaddr))
			r = follow(sw, path);
	}
	return r;
}

static int follow_all(struct unwind_sweep *sw, uint64_t vaddr, uint64_t owner)
{
	int r = follow(sw, (struct unwind_sweep_path){ vaddr, owner });

	return r ? r : follow_pending(sw);
}

/*
 * Go on behind the calls of functions that have turned out to return since the last time; who
 * jumps to one returns.
 */
static int follow_calls(struct unwind_sweep *sw)
{
	int r = 0;

	for (unsigned int round = 0; !r && sw->more_return && round < ROUNDS_MAX; round++) {
		size_t n = sw->calls.len, kept = 0;

		sw->more_return = false;
		for (size_t i = 0; !r && i < n; i++) {
			struct unwind_sweep_call c = sw->calls.data[i];

			if (!unwind_sweep_state_at(sw, c.callee)->returns &&
			    round < ROUNDS_MAX - 1) {
				sw->calls.data[kept++] = c;
				continue;
			}
			if (!c.next.vaddr)
				owner_returns(sw, c.next.owner);
			else if (reach(sw, c.next.vaddr, &c.state))
				r = vec_push(&sw->returns, c.next);
		}
		sw->calls.len = kept;
		if (!r)
			r = follow_pending(sw);
	}
	return r;
}

/* ---- where functions begin ---- */

static void begin(struct unwind_sweep *sw, uint64_t vaddr)
{
	struct unwind_sweep_state *at = unwind_sweep_state_at(sw, vaddr);

	if (at) {
		*at = entry;
		at->start = 1;
	}
}

static void begin_at_symbols(struct unwind_sweep *sw, const struct elf_image *img)
{
	for (unsigned int source = ELF_SYMTAB; source <= ELF_DYNSYM; source <<= 1) {
		struct elf_rawsyms syms;

		if (elf_rawsyms_open(img, source, &syms) < 0)
			continue;
		for (size_t i = 0; i < syms.n; i++) {
			struct elf_rawsym sym;

			elf_rawsyms_get(&syms, i, &sym);
			if (sym.shndx != SHN_UNDEF &&
			    (sym.type == STT_FUNC || sym.type == STT_GNU_IFUNC))
				begin(sw, sym.vaddr);
		}
	}
}

/* What the dynamic loader calls: the C compiler's own code there has neither CFI nor symbols. */
static void begin_at_arrays(struct unwind_sweep *sw, const struct elf_image *img)
{
	static const char *const names[] = { ".init_array", ".fini_array" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct elf_span array;
		uint64_t vaddr;

		if (elf_image_section(img, names[i], &array) < 0)
			continue;
		for (size_t at = 0; at + sizeof(vaddr) <= array.len; at += sizeof(vaddr)) {
			memcpy(&vaddr, array.data + at, sizeof(vaddr));
			begin(sw, vaddr);
		}
	}
}

static void begin_at_calls(struct unwind_sweep *sw)
{
	for (size_t i = 0; i < sw->gaps.len; i++) {
		const struct unwind_sweep_gap *g = &sw->gaps.data[i];
		struct x86_insn insn;

		for (size_t at = 0; at < g->len;) {
			if (!unwind_sweep_decode(g, at, &insn)) {
				at++;
				continue;
			}
			at += insn.len;
			if (insn.kind == X86_CALL && insn.value)
				begin(sw, g->vaddr + at + (uint64_t)(int64_t)insn.value);
		}
	}
}

/* The first entry of a lazy .plt, push GOT[1]; jmp *GOT[2]: the others jump to it after a push. */
static bool is_lazy_binding(const struct unwind_sweep_gap *g, size_t at)
{
	const uint8_t *p = g->code + at;

	return g->len - at >= 8 && p[0] == 0xff && p[1] == 0x35 &&
	       ((p[6] == 0xff && p[7] == 0x25) || (p[6] == 0xf2 && p[7] == 0xff));
}

/* An entry of a .plt: endbr64, if at all, then jmp *GOT[N]. */
static bool is_plt_entry(const struct unwind_sweep_gap *g, size_t at)
{
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	static const uint8_t jump[] = { 0xff, 0x25 };

	if (g->len - at >= sizeof(endbr) && !memcmp(g->code + at, endbr, sizeof(endbr)))
		at += sizeof(endbr);
	if (at < g->len && g->code[at] == 0xf2) /* bnd */
		at++;
	return g->len - at >= sizeof(jump) && !memcmp(g->code + at, jump, sizeof(jump));
}

/* Does a function begin at @at that nothing calls? */
static bool looks_like_function(const struct unwind_sweep_gap *g, size_t at)
{
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	struct x86_insn insn;

	if (g->len - at >= sizeof(endbr) && !memcmp(g->code + at, endbr, sizeof(endbr)))
		return true;
	return unwind_sweep_decode(g, at, &insn) &&
	       (insn.kind == X86_PUSH || insn.kind == X86_REG_FROM_RSP ||
		(insn.kind == X86_RSP_ADD && insn.value < 0));
}

/* Tables of jumps stand among code: few of their bytes are instructions for long. */
static bool looks_like_code(const struct unwind_sweep_gap *g, size_t at)
{
	struct x86_insn insn;

	for (unsigned int n = 0; n < SURELY_CODE; n++, at += insn.len)
		if (at >= g->len || !unwind_sweep_decode(g, at, &insn) || insn.kind == X86_TRAP)
			return false;
	return true;
}

/* A jump from there is another function's call, or leads to what may as well begin one. */
static bool is_as_entered(const struct unwind_sweep_state *s)
{
	return !s->lost && !s->rsp_moved && !s->depth;
}

/* Between functions with CFI: assembler saves several registers at once, and stands alone. */
static bool looks_like_assembler(const struct unwind_sweep_gap *g, size_t at)
{
	struct x86_insn insn;

	for (unsigned int n = 0; n < SAVED_MIN; n++, at += insn.len)
		if (at >= g->len || !unwind_sweep_decode(g, at, &insn) || insn.kind != X86_PUSH ||
		    insn.reg == X86_NO_REG)
			return false;
	return true;
}

struct passing {
	struct unwind_sweep_state jump; /* at the indirect jump before */
	bool binds;                     /* which is a PLT's: only its own other half follows */
	size_t code_end;                /* code, or padding, has been seen up to about here */
	struct unwind_outlook outlook;
};

/* The state with which code begins that nothing leads to. */
static bool state_of_unreached(struct unwind_sweep *sw, const struct unwind_sweep_gap *g, size_t at,
			       struct passing *w, struct unwind_sweep_state *out)
{
	const struct unwind_sweep_state *jump = &w->jump;
	struct unwind_ahead a = { .sw = sw };
	bool function;

	*out = entry;
	if (is_lazy_binding(g, at)) {
		out->depth = 1;
		return true;
	}
	if (is_plt_entry(g, at))
		return true;
	if (!g->whole && !jump->seen)
		return !((g->vaddr + at) % FUNCTION_ALIGN) && looks_like_assembler(g, at);
	if (!unwind_outlook_is_bleak(sw, &w->outlook, g->vaddr + at) &&
	    unwind_ahead_look(&a, g->vaddr + at, out)) {
		if (jump->seen && jump->depth == out->depth)
			*out = *jump;
		return true;
	}
	function = looks_like_function(g, at);
	*out = jump->seen && !function ? *jump : entry;
	out->start = 0;
	if (!g->whole || !jump->seen)
		return g->whole && function;
	return (function && is_as_entered(jump)) ||
	       (sw->one_frame && (function || looks_like_code(g, at)));
}

/* Functions begin behind others, or aligned: nothing else is tried, since data has many bytes. */
static bool may_begin(const struct unwind_sweep_gap *g, const struct passing *w, size_t at)
{
	return at < w->code_end + FUNCTION_ALIGN || !((g->vaddr + at) % FUNCTION_ALIGN);
}

/* One instruction of the pass over a gap: reached code is left behind, other code is followed. */
static int pass(struct unwind_sweep *sw, const struct unwind_sweep_gap *g, size_t *at,
		struct passing *w)
{
	struct unwind_sweep_state *s = &sw->states[g->first + *at], begins;
	struct x86_insn insn;
	size_t padding;
	int r = 0;

	unwind_outlook_step(&w->outlook);
	if (s->seen)
		w->code_end = *at + 1;
	if (!s->seen) {
		padding = padding_at(g, *at);
		if (padding) {
			*at += padding;
			w->code_end = *at;
			return 0;
		}
		if (may_begin(g, w, *at) && state_of_unreached(sw, g, *at, w, &begins)) {
			*s = begins;
			w->outlook = (struct unwind_outlook){ 0 };
			r = follow_all(sw, g->vaddr + *at, 0);
			r = r ? r : follow_calls(sw);
		}
	}
	if (s->start)
		w->jump = (struct unwind_sweep_state){ 0 };
	if (!unwind_sweep_decode(g, *at, &insn)) {
		++*at;
		return r;
	}
	if (s->seen && insn.kind == X86_JUMP_INDIRECT) {
		/* of which nothing is known where it is a table's byte that was taken for code */
		w->jump = s->lost ? (struct unwind_sweep_state){ 0 } : *s;
		w->binds = is_plt_entry(g, *at);
	} else if (w->binds && !g->whole) {
		w->jump = (struct unwind_sweep_state){ 0 };
	}
	*at += insn.len;
	return r;
}

int unwind_sweep_run(struct unwind_sweep *sw, const struct elf_image *img)
{
	int r = 0;

	if (!sw->gaps.len)
		return 0;
	sw->states = calloc(sw->n_bytes, sizeof(*sw->states));
	if (!sw->states)
		return -ENOMEM;
	begin_at_calls(sw);
	begin_at_symbols(sw, img);
	begin_at_arrays(sw, img);
	for (size_t i = 0; !r && i < sw->gaps.len; i++) {
		const struct unwind_sweep_gap *g = &sw->gaps.data[i];

		for (size_t at = 0; !r && at < g->len; at++)
			if (sw->states[g->first + at].start)
				r = follow_all(sw, g->vaddr + at, g->vaddr + at);
	}
	r = r ? r : follow_calls(sw);
	for (size_t i = 0; !r && i < sw->gaps.len; i++) {
		const struct unwind_sweep_gap *g = &sw->gaps.data[i];
		struct passing w = { 0 };

		for (size_t at = 0; !r && at < g->len;)
			r = pass(sw, g, &at, &w);
	}
	return r;
}
