/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Where Go's runtime keeps the records of its heap profile. Works on stripped and
 * position-independent programs. Source: runtime/mprof.go of Go 1.18 to 1.26, in which the records
 * are equal.
 */
#include <stdbool.h>
#include <stdint.h>

struct elf_image;
struct gopclntab;

struct golang_heap_layout {
	char version[24];
	uint64_t buckets, cycle, rate; /* addresses as linked */
	uint32_t cycle_shift;          /* lower bits of the variable are not the cycle's number */
	bool hides_internal;           /* internal/runtime/ belongs to the runtime */
};

enum { GOLANG_HEAP_FRAMES_MAX = 1100 }; /* of a record; GODEBUG=profstackdepth allows 1024 */

/*
 * A program as its file describes it, and where the process has mapped it. It outlives the reading.
 */
struct golang_heap_program {
	const struct gopclntab *table;
	const struct golang_heap_layout *layout;
	uint64_t bias;
};

/*
 * Finds the records of the program @img, whose functions are in @table. Return: 0; -ENOENT if it is
 * not a Go program; -ENODATA if nothing in it can read its heap profile, so that Go's linker has
 * disabled it; -ENOTSUP if it is of a release before 1.18 or if a variable is not found.
 */
int golang_heap_layout_find(const struct elf_image *img, const struct gopclntab *table,
			    struct golang_heap_layout *out);
