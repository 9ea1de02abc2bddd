/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The unwind rows of a file before they are paged into the maps: each rule
 * holds from its file offset up to the next row's. Gaps between functions are
 * rows with UNWIND_RULE_NONE. Files have up to a million of them, so a row is
 * one word.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "bpf/shared/unwind_rule.h"
#include "unwind/rules.h"

struct unwind_full_row {
	uint64_t file_off : 48;
	uint64_t rule : 16; /* id */
};

enum { UNWIND_ROWS_MAX = 16 * 1000 * 1000 };
#define UNWIND_ROWS_OFF_MAX ((UINT64_C(1) << 48) - 1)

struct unwind_rows {
	VEC(struct unwind_full_row);
	struct unwind_rules
		*rules; /* what the ids name; NULL: made with the first rule, and ours */
	bool owns_rules;
	bool sweep_all;          /* in: also what lies between functions with CFI */
	bool unswept;            /* out: there is such code, and it was not asked for */
	uint32_t n_unsupported;  /* rows whose CFI we cannot express: they have no rule */
	uint32_t n_without_rule; /* that the dictionary had no room for: the same */
};

void unwind_rows_fini(struct unwind_rows *rows);

static inline const struct unwind_rule *unwind_rows_rule(const struct unwind_rows *rows, size_t i)
{
	return &rows->rules->array[rows->data[i].rule];
}

/* The number of rows that begin at @off or before; the last of them holds there. */
size_t unwind_rows_until(const struct unwind_rows *rows, uint64_t off);

/* The rule's id at @off. */
uint16_t unwind_rows_at(const struct unwind_rows *rows, uint64_t off);

/* The id of @rule; UNWIND_RULE_NONE if there is no room for it. 0 or -ENOMEM. */
int unwind_rows_intern(struct unwind_rows *rows, const struct unwind_rule *rule, uint16_t *out);

/*
 * From @off on the rule @id holds: rows from there on are replaced, but for the
 * first @keep, which are another list's. Equal neighbours become one row. 0,
 * -ENOMEM or -E2BIG.
 */
static inline int unwind_rows_put_id(struct unwind_rows *rows, size_t keep, uint64_t off,
				     uint16_t id)
{
	while (rows->len > keep && rows->data[rows->len - 1].file_off >= off)
		rows->len--;
	if (id == (rows->len > keep ? rows->data[rows->len - 1].rule : UNWIND_RULE_NONE))
		return 0;
	if (rows->len >= UNWIND_ROWS_MAX || off > UNWIND_ROWS_OFF_MAX)
		return -E2BIG;
	return vec_push(rows, (struct unwind_full_row){ .file_off = off, .rule = id });
}

int unwind_rows_put(struct unwind_rows *rows, size_t keep, uint64_t off,
		    const struct unwind_rule *rule);

/* Put @n rows of the same dictionary in the place of all that is between @lo and @hi. */
int unwind_rows_splice(struct unwind_rows *rows, uint64_t lo, uint64_t hi,
		       const struct unwind_full_row *with, size_t n);

/* Rules of @over, of the same dictionary, win where it has any. */
int unwind_rows_overlay(struct unwind_rows *rows, const struct unwind_rows *over);
