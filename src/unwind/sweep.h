/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Unwind rows for code without CFI, from the code itself: which instructions
 * move the stack, along all branches from where functions begin. Where that is
 * not certain there is no row.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "unwind/rows.h"

struct elf_image;
struct x86_insn;

/* What is known at an instruction; all zero: nothing. */
struct unwind_sweep_state {
	uint32_t depth : 16; /* words between rsp and the return address; see sweep_step.c */
	uint32_t rbp : 5;    /* saved so many words below the CFA; 0: not saved */
	uint32_t rbx : 5;
	uint32_t frame : 1;     /* rbp is where it was saved, CFA - 16 mostly */
	uint32_t rsp_moved : 1; /* depth is unknown: frame is set, or rsp was aligned */
	uint32_t seen : 1;
	uint32_t start : 1;   /* a function begins here */
	uint32_t lost : 1;    /* nothing is certain */
	uint32_t returns : 1; /* of a start: its function may return */
};

/* What such a state has room for, in words. */
enum { UNWIND_SWEEP_DEPTH_MAX = 0xffff, UNWIND_SWEEP_SLOT_MAX = 31 /* rbp, rbx */ };

/* Code still to be followed, of the function that begins at @owner (0: unknown). */
struct unwind_sweep_path {
	uint64_t vaddr, owner;
};

/* What follows a call of @callee, if that returns; next.vaddr 0: next.owner jumps there. */
struct unwind_sweep_call {
	uint64_t callee;
	struct unwind_sweep_path next;
	struct unwind_sweep_state state;
};

struct unwind_sweep_gap {
	uint64_t vaddr, file_off;
	const uint8_t *code;
	size_t len;
	size_t first; /* state of its first byte */
	bool whole;
};

enum {
	UNWIND_SWEEP_MAX = 32 << 20, /* bytes of code that are swept in a file */
	UNWIND_SWEEP_GAP_MIN = 16,   /* shorter ones are padding */
};

struct unwind_sweep {
	struct {
		VEC(struct unwind_sweep_gap);
	} gaps; /* ascending */
	size_t n_bytes, last_gap;
	bool one_frame;   /* in: functions have one depth from prologue to epilogue */
	bool more_return; /* functions whose calls wait */
	struct unwind_sweep_state *states;
	struct {
		VEC(struct unwind_sweep_path);
	} jumps, returns; /* states are known where they begin */
	struct {
		VEC(struct unwind_sweep_call);
	} calls;
};

void unwind_sweep_fini(struct unwind_sweep *sw);

/* The gap that holds @vaddr, and the state there; NULL: none does. */
const struct unwind_sweep_gap *unwind_sweep_gap_at(struct unwind_sweep *sw, uint64_t vaddr);
struct unwind_sweep_state *unwind_sweep_state_at(struct unwind_sweep *sw, uint64_t vaddr);

/* The instruction @at bytes behind the beginning of @g: as what it counts among those around it. */
bool unwind_sweep_decode(const struct unwind_sweep_gap *g, size_t at, struct x86_insn *insn);

/*
 * [file_off, +len) of @img has no rows; gaps come in ascending order. Those
 * that would make it more than UNWIND_SWEEP_MAX are left out. @whole: it is full
 * of code that only pointers lead to, as where CFI was left out; else there may be
 * things that are no functions. 0 or -ENOMEM.
 */
int unwind_sweep_add_gap(struct unwind_sweep *sw, const struct elf_image *img, uint64_t file_off,
			 uint64_t len, bool whole);

/**
 * unwind_sweep_run() - what holds at each instruction of the gaps
 *
 * Functions begin at @img's symbols and where calls lead; in whole gaps also
 * behind the end of other code.
 *
 * Return: 0 or -ENOMEM.
 */
int unwind_sweep_run(struct unwind_sweep *sw, const struct elf_image *img);

/* The rows of all gaps, after what @rows has; between them UNWIND_CFA_NONE. 0, -ENOMEM, -E2BIG. */
int unwind_sweep_rows(const struct unwind_sweep *sw, struct unwind_rows *rows);
