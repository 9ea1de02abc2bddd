/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The symbols of a file that may name code: functions and assembler's labels in
 * executable sections, and PLT stubs, as they come in the tables. Which of them
 * are shown is decided by level and, of several at one address, by
 * candidates_choose().
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alias.h"
#include "base/vec.h"
#include "elf/rawsym.h"
#include "elf/symtab.h"

struct err;

/* From the best: one that begins inside a function of a better level is not shown. */
enum candidate_level {
	LEVEL_SYMTAB_FUNCTION,
	LEVEL_SYMTAB_LABEL,
	LEVEL_DYNSYM_FUNCTION,
	LEVEL_DYNSYM_LABEL,
	LEVEL_PLT,
	LEVEL_MAX
};

struct candidate {
	uint64_t vaddr;
	uint32_t size; /* 0: the table says none */
	uint32_t name_off;
	uint8_t level;
	uint8_t bind; /* enum alias_bind */
};

struct candidates_range {
	uint64_t start, end;
};

struct candidates {
	const struct elf_image *img;
	struct err *err;
	/* What to do with each, whose size is not clipped yet; NULL: they are kept in all. */
	int (*take)(struct candidates *cs, struct candidate c, uint64_t size);
	void *ctx;
	/* its own: */
	struct elf_rawsyms tables[2]; /* .symtab, .dynsym */
	uint64_t n_name_bytes;        /* read so far */
	struct {
		VEC(struct candidates_range);
	} exec; /* executable sections, sorted, disjoint */
	struct {
		VEC(struct candidate);
	} all;
};

/* All of @sources (a set of enum elf_symtab_source): 0, -EBADMSG, -E2BIG, -ENOMEM, what take gave.
 */
int candidates_collect(struct candidates *cs, unsigned int sources);
void candidates_fini(struct candidates *cs);

/* Bytes from @vaddr to the end of the executable section that holds it; 0: none does. */
uint64_t candidates_code_left(const struct candidates *cs, uint64_t vaddr);

/* Set @c's size, of which no more counts than its section holds; false: it is not in code. */
bool candidates_clip(const struct candidates *cs, struct candidate *c, uint64_t size);

/* Not NUL-terminated. No name once so many bytes were read that the file can only mean harm. */
struct alias_name candidates_name(struct candidates *cs, const struct candidate *c);
bool candidates_have_name(const struct candidates *cs, const struct candidate *c);
bool candidates_too_many_names(const struct candidates *cs);

/* The best of @n at one address. */
struct candidate candidates_choose(struct candidates *cs, const struct candidate *c, size_t n);
