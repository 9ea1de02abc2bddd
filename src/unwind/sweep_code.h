/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The code that a sweep analyses (unwind/sweep.h): the gaps without CFI, and the state that was
 * found at each of their bytes.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "unwind/no_return.h"

struct elf_image;
struct x86_insn;

/* The state before an instruction; all zero if nothing is known. */
struct unwind_sweep_state {
	uint32_t depth : 16; /* words between rsp and the return address; sweep_step.c describes its
				use while rsp is aligned */
	uint32_t rbp : 5;    /* saved this many words below the CFA; 0: not saved */
	uint32_t rbx : 5;
	uint32_t frame : 1;     /* rbp is a frame pointer: the address where it was saved, CFA - 16
				   mostly */
	uint32_t rsp_moved : 1; /* depth is unknown: frame is set, or rsp was aligned */
	uint32_t seen : 1;
	uint32_t start : 1;   /* a function begins here */
	uint32_t lost : 1;    /* the code was reached, but nothing is certain */
	uint32_t returns : 1; /* of a start: the function may return */
};

/* Limits of the fields, in words. */
enum { UNWIND_SWEEP_DEPTH_MAX = 0xffff, UNWIND_SWEEP_SLOT_MAX = 31 /* rbp, rbx */ };

/* Code that has not been followed yet, in the function that begins at @owner (0: unknown). */
struct unwind_sweep_path {
	uint64_t vaddr, owner;
};

/*
 * The code after a call of @callee, followed if that turns out to return. With next.vaddr 0,
 * next.owner jumps to @callee instead.
 */
struct unwind_sweep_call {
	uint64_t callee;
	struct unwind_sweep_path next;
	struct unwind_sweep_state state;
};

struct unwind_sweep_gap {
	uint64_t vaddr, file_off;
	const uint8_t *code;
	size_t len;
	size_t first; /* index of the state of its first byte */
	bool whole;
};

enum {
	UNWIND_SWEEP_MAX = 32 << 20, /* bytes of code that are analysed per file */
	UNWIND_SWEEP_GAP_MIN = 16,   /* shorter gaps are padding */
	UNWIND_SWEEP_ALIGN = 16,     /* of functions */
};

struct unwind_sweep {
	struct {
		VEC(struct unwind_sweep_gap);
	} gaps; /* in ascending order */
	size_t n_bytes, last_gap;
	bool one_frame;   /* in: functions have one depth from prologue to epilogue */
	bool referenced;  /* in: functions begin where the code outside of the gaps leads */
	bool more_return; /* functions were found to return while calls of them wait */
	struct unwind_sweep_state *states;
	struct unwind_no_return no_return;
	struct {
		VEC(struct unwind_sweep_path);
	} jumps, returns; /* the state at their start is known */
	struct {
		VEC(struct unwind_sweep_call);
	} calls;
};

void unwind_sweep_fini(struct unwind_sweep *sw);

/* The gap that holds @vaddr, and the state there; NULL if no gap does. */
const struct unwind_sweep_gap *unwind_sweep_gap_at(struct unwind_sweep *sw, uint64_t vaddr);
struct unwind_sweep_state *unwind_sweep_state_at(struct unwind_sweep *sw, uint64_t vaddr);

/*
 * Decodes the instruction @at bytes into @g. A copy of rsp counts as one only if rsp is aligned
 * soon: next, after it was moved (by OpenBLAS, to reserve a buffer), or by the value of a register
 * that was computed and aligned (by 7-Zip).
 */
bool unwind_sweep_decode(const struct unwind_sweep_gap *g, size_t at, struct x86_insn *insn);

/*
 * The bytes from @at of @g, where an instruction of @len bytes was decoded, up to the next
 * function: fewer if data was decoded, as no instruction extends into a function.
 */
size_t unwind_sweep_insn_len(const struct unwind_sweep *sw, const struct unwind_sweep_gap *g,
			     size_t at, size_t len);

/* True if @insn, which @next follows, calls or jumps to a function that never returns. */
bool unwind_sweep_never_returns(const struct unwind_sweep *sw, const struct x86_insn *insn,
				uint64_t next);

/*
 * Adds [file_off, +len) of @img, which has no rows. Gaps come in ascending order; those that would
 * exceed UNWIND_SWEEP_MAX or overlap are ignored. @whole: the gap is full of code to which only
 * pointers lead, as if CFI was omitted; otherwise it may contain data. Returns 0 or -ENOMEM.
 */
int unwind_sweep_add_gap(struct unwind_sweep *sw, const struct elf_image *img, uint64_t file_off,
			 uint64_t len, bool whole);

/* Returns true if [file_off, +len) of @img, which has no rows, is more than padding. */
bool unwind_sweep_is_code(const struct elf_image *img, uint64_t file_off, uint64_t len);

/* Length of the padding between functions at @at of @g; 0 if it is code. */
size_t unwind_sweep_padding(const struct unwind_sweep_gap *g, size_t at);
