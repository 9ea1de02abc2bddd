/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The unwind table of a file in the form that the walk searches: for each 64 KiB of the file from
 * its first row to its last, a span of rows {offset in the page, rule id}. The last row of a page
 * at or below an offset holds there.
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
	 * Shorter gaps between functions are padding, which is never executed: the rule before them
	 * is extended over them, which saves two rows per function.
	 */
	UNWIND_PADDING_MAX = 15,
};

/*
 * Page first_page + i has rows[start[i]] up to rows[start[i + 1]]; if it has none, nothing is known
 * about it.
 */
struct unwind_pages {
	uint32_t first_page;
	uint32_t n_pages;
	struct {
		VEC(uint32_t);
	} start; /* n_pages + 1 entries */
	struct {
		VEC(struct unwind_row);
	} rows;
};

/**
 * unwind_pages_build() - divide the rows of a file into pages
 *
 * @out must be zeroed. The first row of a page that has any is at its offset 0.
 *
 * Return: 0, without pages if there are no rows; -E2BIG if the rows span more than
 * UNWIND_PAGES_MAX; -ENOMEM.
 */
int unwind_pages_build(struct unwind_pages *out, const struct unwind_rows *rows, struct err *err);
void unwind_pages_fini(struct unwind_pages *p);

/* The rule id at @file_off, as the walk finds it; UNWIND_RULE_NONE outside the pages. */
uint16_t unwind_pages_find(const struct unwind_pages *p, uint64_t file_off);
