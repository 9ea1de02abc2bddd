/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Versions of the format differ in which tables the threads share. A column is therefore stored in
 * the set of the object that contains its table, and a thread's own column precedes the shared one.
 */
#include "codec/firefox/firefox_tables.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"

/* Stands for null in a column. */
static const double NONE = -1;

static const struct {
	const char *table, *column;
} columns[N_COLUMNS] = {
	[STACK_PREFIX] = { "stackTable", "prefix" },
	[STACK_FRAME] = { "stackTable", "frame" },
	[FRAME_FUNC] = { "frameTable", "func" },
	[FRAME_LINE] = { "frameTable", "line" },
	[FRAME_COLUMN] = { "frameTable", "column" },
	[FRAME_ADDRESS] = { "frameTable", "address" },
	[FRAME_CATEGORY] = { "frameTable", "category" },
	[FUNC_NAME] = { "funcTable", "name" },
	[FUNC_FILE] = { "funcTable", "fileName" },
	[FUNC_SOURCE] = { "funcTable", "source" },
	[FUNC_LINE] = { "funcTable", "lineNumber" },
	[FUNC_RESOURCE] = { "funcTable", "resource" },
	[RESOURCE_LIB] = { "resourceTable", "lib" },
	[SOURCE_FILE] = { "sources", "filename" },
	[SAMPLE_STACK] = { "samples", "stack" },
	[SAMPLE_WEIGHT] = { "samples", "weight" },
	[SAMPLE_TIME] = { "samples", "time" },
	[SAMPLE_DELTA] = { "samples", "timeDeltas" },
};

static void set_fini(struct firefox_table_set *s)
{
	for (size_t i = 0; i < N_COLUMNS; i++)
		vec_fini(&s->columns[i]);
	vec_fini(&s->strings);
}

void firefox_tables_fini(struct firefox_tables *t)
{
	set_fini(&t->shared);
	set_fini(&t->own);
}

void firefox_tables_begin_thread(struct firefox_tables *t)
{
	for (size_t i = 0; i < N_COLUMNS; i++)
		t->own.columns[i].len = 0;
	t->own.strings.len = 0;
	t->weight_type[0] = '\0';
}

static struct firefox_table_set *current_set(struct firefox_tables *t)
{
	return t->in_thread ? &t->own : &t->shared;
}

/*
 * Values of other kinds (null, booleans, strings) are stored as NONE, so that rows keep their
 * positions.
 */
static int read_cell(void *ctx)
{
	struct firefox_tables *t = ctx;
	struct firefox_column *c = &current_set(t)->columns[t->column];
	double v = NONE;
	int r = json_read_peek(&t->jp->j) == 0 ? json_profile_number(t->jp, &v)
					       : json_profile_skip(t->jp);

	if (r < 0)
		return r;
	if (c->len == t->jp->limits.entries)
		return err_set(t->jp->err, -EFBIG, "more than %u values in a column of %s",
			       t->jp->limits.entries, columns[t->column].table);
	return json_profile_check(t->jp, vec_push(c, v));
}

static int read_column(void *ctx, const char *key)
{
	struct firefox_tables *t = ctx;
	int c = json_read_peek(&t->jp->j);

	if (!strcmp(key, "weightType") && !strcmp(t->table, columns[SAMPLE_WEIGHT].table) &&
	    c == '"')
		return json_profile_text(t->jp, t->weight_type, sizeof(t->weight_type));
	for (size_t i = 0; c == '[' && i < N_COLUMNS; i++) {
		if (strcmp(columns[i].table, t->table) != 0 || strcmp(columns[i].column, key) != 0)
			continue;
		t->column = (enum firefox_column_id)i;
		/* a table that occurs again replaces the earlier one */
		current_set(t)->columns[i].len = 0;
		return json_profile_items(t->jp, read_cell, t);
	}
	return json_profile_skip(t->jp);
}

static int read_string(void *ctx)
{
	struct firefox_tables *t = ctx;
	struct json_ids *strings = &current_set(t)->strings;
	uint32_t id;
	int r = json_profile_string(t->jp, &id);

	if (r < 0)
		return r;
	r = json_profile_check_limit(t->jp, strings->len, t->jp->limits.strings, "strings");
	if (r < 0)
		return r;
	return json_profile_check(t->jp, vec_push(strings, id));
}

int firefox_read_table(void *ctx, const char *key)
{
	struct firefox_tables *t = ctx;
	int c = json_read_peek(&t->jp->j);

	if ((!strcmp(key, "stringArray") || !strcmp(key, "stringTable")) && c == '[')
		return json_profile_items(t->jp, read_string, t);
	for (size_t i = 0; c == '{' && i < N_COLUMNS; i++) {
		if (strcmp(columns[i].table, key) != 0)
			continue;
		t->table = columns[i].table;
		return json_profile_members(t->jp, read_column, t);
	}
	return json_profile_skip(t->jp);
}

const struct firefox_column *firefox_column(const struct firefox_tables *t,
					    enum firefox_column_id id)
{
	const struct firefox_column *own = &t->own.columns[id];

	return own->len ? own : &t->shared.columns[id];
}

int64_t firefox_cell(const struct firefox_tables *t, enum firefox_column_id id, int64_t row)
{
	const struct firefox_column *c = firefox_column(t, id);

	if (row < 0 || (uint64_t)row >= c->len || !(c->data[row] >= 0 && c->data[row] < 9e18))
		return -1;
	return (int64_t)c->data[row];
}

uint32_t firefox_string_cell(const struct firefox_tables *t, enum firefox_column_id id, int64_t row)
{
	const struct json_ids *s = t->own.strings.len ? &t->own.strings : &t->shared.strings;
	int64_t i = firefox_cell(t, id, row);

	return i >= 0 && (uint64_t)i < s->len ? s->data[i] : 0;
}
