/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The unwind table of a file as the walk searches it: for each 64 KiB of the
 * file from its first row to its last, a span of rows {offset in the page,
 * rule id}. Within a page the last row at or below an offset holds.
 */
#include <stdint.h>

#include "base/vec.h"
#include "bpf/shared/unwind_rule.h"

struct err;
struct unwind_rows;

enum {
	UNWIND_PAGE_SHIFT = 16,
	UNWIND_PAGES_MAX = 1 << 16, /* 4 GiB between a file's first row and its last */
	/*
	 * Gaps between functions that are shorter than this are padding, which
	 * is never executed: the rule before them goes on, which saves two rows
	 * a function.
	 */
	UNWIND_PADDING_MAX = 15,
};

/* Page first_page + i has rows[start[i]] up to rows[start[i + 1]]; none: nothing is known. */
struct unwind_pages {
	uint32_t first_page;
	uint32_t n_pages;
	struct {
		VEC(uint32_t);
	} start; /* n_pages + 1 of them */
	struct {
		VEC(struct unwind_row);
	} rows;
};

/**
 * unwind_pages_build() - page the rows of a file
 *
 * @out must be zeroed. The first row of a page that has any is at its offset 0.
 *
 * Return: 0, without pages if there are no rows; -E2BIG if the rows span more
 * than UNWIND_PAGES_MAX; -ENOMEM.
 */
int unwind_pages_build(struct unwind_pages *out, const struct unwind_rows *rows, struct err *err);
void unwind_pages_fini(struct unwind_pages *p);

/* The rule id at @file_off, as the walk finds it; UNWIND_RULE_NONE outside the pages. */
uint16_t unwind_pages_find(const struct unwind_pages *p, uint64_t file_off);
