/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The unwind rows of a file before they are paged into the maps. Each rule holds from its file
 * offset up to the next row's; gaps between functions are rows with UNWIND_RULE_NONE. Files have up
 * to a million rows, so a row is one word.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "bpf/shared/unwind_rule.h"
#include "unwind/rules.h"

struct unwind_full_row {
	uint64_t file_off : 48;
	uint64_t rule : 16; /* id of the rule */
};

enum { UNWIND_ROWS_MAX = 16 * 1000 * 1000 };
#define UNWIND_ROWS_OFF_MAX ((UINT64_C(1) << 48) - 1)

struct unwind_rows {
	VEC(struct unwind_full_row);
	struct unwind_rules
		*rules; /* dictionary of the ids; NULL: created with the first rule, and owned */
	bool owns_rules;
	bool sweep_all;          /* in: also analyse code between functions with CFI */
	bool unswept;            /* out: there is such code, and it was not analysed */
	uint32_t n_unsupported;  /* rows whose CFI cannot be expressed; they have no rule */
	uint32_t n_without_rule; /* rows for which the dictionary had no room; the same */
};

void unwind_rows_fini(struct unwind_rows *rows);

static inline const struct unwind_rule *unwind_rows_rule(const struct unwind_rows *rows, size_t i)
{
	return &rows->rules->array[rows->data[i].rule];
}

/* The number of rows that begin at @off or before; the last of them holds at @off. */
size_t unwind_rows_until(const struct unwind_rows *rows, uint64_t off);

/* The id of the rule at @off. */
uint16_t unwind_rows_at(const struct unwind_rows *rows, uint64_t off);

/*
 * Finds or adds the id of @rule; UNWIND_RULE_NONE if the dictionary is full. Returns 0 or -ENOMEM.
 */
int unwind_rows_intern(struct unwind_rows *rows, const struct unwind_rule *rule, uint16_t *out);

/*
 * Appends a row: from @off on the rule @id holds. Rows at or after @off are replaced, except for
 * the first @keep, which belong to another list. Equal neighbours are merged. Returns 0, -ENOMEM or
 * -E2BIG.
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

/* Replaces all rows between @lo and @hi by @n rows of the same dictionary. */
int unwind_rows_splice(struct unwind_rows *rows, uint64_t lo, uint64_t hi,
		       const struct unwind_full_row *with, size_t n);

/* Merges the rows of @over, which has the same dictionary; where it has a rule, its rule wins. */
int unwind_rows_overlay(struct unwind_rows *rows, const struct unwind_rows *over);
