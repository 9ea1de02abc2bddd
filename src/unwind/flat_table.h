/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The unwind table of one file as a block of bytes without pointers, which a reader process makes
 * (src/reader) and the agent checks: a header, the file's own rules, the first row of each page,
 * and the rows. Any thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/shared/unwind_rule.h"

struct unwind_pages;
struct unwind_rules;

struct flat_table_header {
	uint32_t magic;
	uint32_t n_rules; /* those of the fixed ids first */
	uint32_t first_page, n_pages;
	uint32_t n_rows;
	uint32_t unswept; /* 1: there is code without CFI that was not analysed; else 0 */
};

/* A table that was checked. The arrays are in the block. */
struct flat_table {
	struct flat_table_header head;
	const struct unwind_rule *rules;
	const uint32_t *start; /* as in struct unwind_pages: n_pages + 1 entries */
	const struct unwind_row *rows;
};

/* The bytes that flat_table_write() writes to @to, which is aligned to 8. */
size_t flat_table_len(const struct unwind_pages *p, const struct unwind_rules *rules);
void flat_table_write(void *to, const struct unwind_pages *p, const struct unwind_rules *rules,
		      bool unswept);

/**
 * flat_table_check() - check a table of an untrusted process
 *
 * The time is linear in @len. A table that passes is safe for the walk, but not necessarily true.
 *
 * Return: 0 and *@out, which refers to @data; -EBADMSG.
 */
int flat_table_check(struct flat_table *out, const void *data, size_t len);
