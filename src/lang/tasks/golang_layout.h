/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Where Go's runtime keeps its goroutines, and the offsets in its structures. Works on stripped and
 * position-independent programs. Sources: runtime/runtime2.go and runtime/proc.go of each release.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct elf_image;
struct gopclntab;
struct task_memory;

/* Offsets in bytes. The other fields of struct runtime.g have the same offsets in all releases. */
struct golang_offsets {
	uint16_t status, goid, waitsince, waitreason;
	uint16_t syscallsp, syscallpc, gopc, startpc, waiting;
	uint16_t sudog_elem, sudog_waitlink, sudog_c;
	uint16_t hchan_timer; /* 0: channels do not show that a timer feeds them */
};

enum {
	G_STACK_LO = 0,
	G_STACK_HI = 8,
	G_SCHED_SP = 56,
	G_SCHED_PC = 64,
	G_BYTES = 376, /* of a g, as far as it is read */
};

enum { GOLANG_REASONS_MAX = 64, GOLANG_REASON_BYTES = 64 };

struct golang_layout {
	char version[24];
	struct golang_offsets at;
	uint64_t allglen, allgptr; /* addresses as linked */
	bool uses_lr;              /* the processor has a link register */
};

/* The texts of the reasons for waiting, indexed by their number; "" where there is none. */
struct golang_reasons {
	uint32_t n;
	char text[GOLANG_REASONS_MAX][GOLANG_REASON_BYTES];
};

/*
 * Finds the list of goroutines of the program @img, whose functions are in @table. Return: 0;
 * -ENOENT if it is not a Go program; -ENOTSUP if it is of a release before 1.18 or if the list is
 * not found.
 */
int golang_layout_find(const struct elf_image *img, const struct gopclntab *table,
		       struct golang_layout *out);

/*
 * Reads the texts of the reasons for waiting, which change their numbers with each release, from
 * the running program, which has mapped @img at @bias. Return: 0; -ENOENT if they are not found.
 */
int golang_reasons_read(const struct elf_image *img, struct task_memory *m, uint64_t bias,
			struct golang_reasons *out);
