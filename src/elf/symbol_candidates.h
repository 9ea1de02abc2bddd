/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The symbols of a file that may name code: functions and labels in executable sections, and PLT
 * stubs, in the order of the tables. Their level and, for
 * several at one address, candidates_choose() decide which one is used.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alias.h"
#include "base/vec.h"
#include "elf/rawsym.h"

/*
 * In descending preference: a symbol that begins inside a function of a better level is not used.
 */
enum candidate_level {
	LEVEL_SYMTAB_FUNCTION,
	LEVEL_SYMTAB_LABEL,
	LEVEL_SYMTAB_PLT,
	LEVEL_DYNSYM_FUNCTION,
	LEVEL_DYNSYM_LABEL,
	LEVEL_DYNSYM_PLT,
	LEVEL_MAX
};

struct candidate {
	uint64_t vaddr;
	uint32_t size; /* 0 if the table has none */
	uint32_t name_off;
	uint8_t level;
	uint8_t bind; /* enum alias_bind */
};

static inline bool candidate_level_is_plt(uint8_t level)
{
	return level == LEVEL_SYMTAB_PLT || level == LEVEL_DYNSYM_PLT;
}

struct candidates_range {
	uint64_t start, end;
};

struct candidates {
	const struct elf_image *img;
	struct err *err;
	/*
	 * Called for each candidate; @size is not clipped yet. NULL: candidates are appended to the
	 * member all.
	 */
	int (*take)(struct candidates *cs, struct candidate c, uint64_t size);
	void *ctx;
	struct function_extents *extents; /* NULL until a symbol without a size was met */
	/* internal: */
	struct elf_rawsyms tables[2]; /* .symtab, .dynsym */
	uint64_t n_name_bytes;        /* bytes of names that have been read */
	struct {
		VEC(struct candidates_range);
	} exec; /* executable sections, sorted, disjoint */
	struct {
		VEC(struct candidate);
	} all;
};

/*
 * Collects the candidates of @sources (a set of enum elf_symtab_source). Returns 0, -EBADMSG,
 * -E2BIG, -ENOMEM, or the result of take.
 */
int candidates_collect(struct candidates *cs, unsigned int sources);
void candidates_fini(struct candidates *cs);

/*
 * The number of bytes from @vaddr to the end of the executable section that holds it; 0 if none
 * does.
 */
uint64_t candidates_code_left(const struct candidates *cs, uint64_t vaddr);

/* Sets @c's size, clipped to its section; returns false if it is not in code. */
bool candidates_clip(const struct candidates *cs, struct candidate *c, uint64_t size);

/*
 * The name of @c, not NUL-terminated. Empty once more bytes were read than any file that is
 * not malicious needs.
 */
struct alias_name candidates_name(struct candidates *cs, const struct candidate *c);
bool candidates_have_name(const struct candidates *cs, const struct candidate *c);
bool candidates_too_many_names(const struct candidates *cs);

/* The best of @n candidates at one address. */
struct candidate candidates_choose(struct candidates *cs, const struct candidate *c, size_t n);
