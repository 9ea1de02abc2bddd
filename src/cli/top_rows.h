/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The rows that `cameo top` displays of a profile, largest first. */
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/vec.h"
#include "tables/entries.h"

struct err;
struct profile;

/* The rows to show. Changing the view needs no new profile. */
struct top_view {
	enum entries_by by;
	const char *key;    /* label of ENTRIES_BY_LABEL */
	bool by_total;      /* sort by total instead of self */
	char filter[64];    /* part of the names to include, ignoring case; "": all */
	char function[512]; /* show callers and callees of this one; "": show the table */
};

enum top_section { TOP_SECTION_TABLE, TOP_SECTION_CALLERS, TOP_SECTION_CALLEES };

/* A row: a function, or whatever top_view.by names. */
struct top_line {
	enum top_section section;
	uint32_t name;       /* offset in text */
	uint8_t kind;        /* enum profile_frame_kind */
	int64_t self, total; /* in the unit of the profile's sample type */
};

struct top_rows {
	struct {
		VEC(struct top_line);
	} rows;
	struct buf text;  /* names, each with a NUL */
	int64_t sum;      /* of all samples, filtered ones included: the base of percentages */
	const char *unit; /* borrowed from the profile, so valid as long as that */
};

/*
 * Replaces the rows of @out, which is zeroed at first. A function that the profile does not contain
 * has no rows. Returns 0 or -ENOMEM.
 */
int top_rows_make(struct top_rows *out, const struct profile *p, const struct top_view *v);
void top_rows_fini(struct top_rows *r);

/* Returns the name of a row, which is borrowed until the next top_rows_make(). */
static inline const char *top_rows_name(const struct top_rows *r, const struct top_line *row)
{
	return (const char *)r->text.data + row->name;
}

/* Formats a row as "12.5%  30.0%  name", NUL-terminated, in @out; safe for a terminal. */
void top_rows_format(const struct top_rows *r, const struct top_line *row, struct buf *out);

/* The heading of the table: "functions", "processes", ... */
const char *top_by_label(enum entries_by by);
