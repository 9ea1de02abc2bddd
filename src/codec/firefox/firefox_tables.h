/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The tables of a Firefox profile while it is read: the columns of numbers and the strings of one
 * thread, and those that all threads share. firefox_read.c turns them into a profile.
 *
 * A table of the format is an object of columns. Every index of the file is untrusted:
 * firefox_cell() returns -1 for an index outside of its column, for null, for numbers that are not
 * indices, and for the index -1. A chain of look-ups (frame, function, resource, library) therefore
 * needs only one check at its end. Columns hold doubles because JSON's numbers are doubles and most
 * columns may hold null; an index is exact up to 2^53, far beyond any limit.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "codec/common/json_profile.h"

enum { FIREFOX_MAX_TEXT = 32 };

enum firefox_column_id {
	STACK_PREFIX,
	STACK_FRAME,
	FRAME_FUNC,
	FRAME_LINE,
	FRAME_COLUMN,
	FRAME_ADDRESS,
	FRAME_CATEGORY,
	FUNC_NAME,
	FUNC_FILE,
	FUNC_SOURCE,
	FUNC_LINE,
	FUNC_RESOURCE,
	RESOURCE_LIB,
	SOURCE_FILE,
	SAMPLE_STACK,
	SAMPLE_WEIGHT,
	SAMPLE_TIME,
	SAMPLE_DELTA,
	N_COLUMNS,
};

/* Values in the order of the rows; -1 stands for null. */
struct firefox_column {
	VEC(double);
};

/* The tables of one thread, or the shared ones. */
struct firefox_table_set {
	struct firefox_column columns[N_COLUMNS];
	struct json_ids strings; /* string ids of the profile, by index in the file */
};

/* A zeroed one is valid and empty, except for @jp, which is borrowed. */
struct firefox_tables {
	struct json_profile *jp;
	struct firefox_table_set shared, own;
	bool in_thread; /* tables that are read belong to a thread instead of to all */
	char weight_type[FIREFOX_MAX_TEXT]; /* of the thread's samples; "": not stated */
	/* The table and the column being read. */
	const char *table;
	enum firefox_column_id column;
};

void firefox_tables_fini(struct firefox_tables *t);

/* Empties the tables of the thread before the next one is read. */
void firefox_tables_begin_thread(struct firefox_tables *t);

/*
 * A json_member_fn; @ctx is the struct firefox_tables. Reads the member @key if it is a known table
 * or the strings, and skips it otherwise. Returns 0 or a negative errno like json_profile.h.
 */
int firefox_read_table(void *ctx, const char *key);

/* A column of the thread, or the shared one if the thread has none. */
const struct firefox_column *firefox_column(const struct firefox_tables *t,
					    enum firefox_column_id id);

/* The value in row @row as an index into another table; -1 if it is missing or null. */
int64_t firefox_cell(const struct firefox_tables *t, enum firefox_column_id id, int64_t row);

/* The id in the profile of the string that row @row of a column refers to; 0 if there is none. */
uint32_t firefox_string_cell(const struct firefox_tables *t, enum firefox_column_id id,
			     int64_t row);
