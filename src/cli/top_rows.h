/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What `cameo top` shows of a profile: rows of a table, the largest first. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/vec.h"
#include "query/entries.h"

struct err;
struct profile;

struct top_view {
	enum entries_by by;
	const char *key;    /* of ENTRIES_BY_LABEL */
	bool by_total;      /* else by what they took themselves */
	char filter[64];    /* a part of their names; "": all */
	char function[512]; /* its callers and callees instead; "": the table */
};

enum top_section { TOP_SECTION_TABLE, TOP_SECTION_CALLERS, TOP_SECTION_CALLEES };

struct top_shown {
	enum top_section section;
	uint32_t name; /* offset in text */
	uint8_t kind;  /* enum profile_frame_kind */
	int64_t self, total;
};

struct top_rows {
	struct {
		VEC(struct top_shown);
	} rows;
	struct buf text;
	int64_t sum;
	const char *unit; /* the profile's */
};

/* In place of what @out held. 0, -ENOMEM. A function that is not there has no rows. */
int top_rows_make(struct top_rows *out, const struct profile *p, const struct top_view *v);
void top_rows_fini(struct top_rows *r);

static inline const char *top_rows_name(const struct top_rows *r, const struct top_shown *row)
{
	return (const char *)r->text.data + row->name;
}

/* "12.5%  30.0%  name" of a row, NUL-terminated in @out, without what a terminal would obey. */
void top_rows_format(const struct top_rows *r, const struct top_shown *row, struct buf *out);

/* "functions", "processes", ... */
const char *top_by_label(enum entries_by by);
