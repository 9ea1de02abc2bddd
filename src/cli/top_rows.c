/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows are copied out of the profile, so they stay valid when it is replaced by the next one. Names
 * are stored one after the other in one buffer; rows refer to them by offset, because the buffer
 * moves when it grows.
 */
#include "cli/top_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/saturate.h"
#include "cli/text.h"
#include "profile/profile.h"
#include "tables/calls.h"
#include "tables/top.h"

const char *top_by_label(enum entries_by by)
{
	switch (by) {
	case ENTRIES_BY_PROCESS:
		return "processes";
	case ENTRIES_BY_THREAD:
		return "threads";
	case ENTRIES_BY_LANGUAGE:
		return "languages";
	case ENTRIES_BY_BINARY:
		return "binaries";
	case ENTRIES_BY_FILE:
		return "files";
	case ENTRIES_BY_LINE:
		return "lines";
	case ENTRIES_BY_COLUMN:
		return "columns";
	case ENTRIES_BY_WAKER:
		return "waits";
	case ENTRIES_BY_LABEL:
		return "labels";
	default:
		return "functions";
	}
}

void top_rows_fini(struct top_rows *r)
{
	vec_fini(&r->rows);
	buf_fini(&r->text);
}

/* Appends a row, and its name to the buffer of names. Returns 0 or -ENOMEM. */
static int add(struct top_rows *out, enum top_section section, const struct entry *e, int64_t self,
	       int64_t total)
{
	const struct top_line row = { section, (uint32_t)out->text.len, e->kind, self, total };

	buf_put(&out->text, e->name, strlen(e->name) + 1);
	if (buf_error(&out->text))
		return -ENOMEM;
	return vec_push(&out->rows, row);
}

/* Callers or callees of a function, one element per function. */
struct neighbours {
	VEC(struct calls_node);
};

static void neighbours_fini(struct neighbours *n)
{
	vec_fini(n);
}

/* A linear search: a function has few different callers and callees. */
static int add_neighbour(struct neighbours *to, const struct calls_node *n)
{
	for (size_t i = 0; i < to->len; i++) {
		struct calls_node *have = &to->data[i];

		if (have->entry != n->entry)
			continue;
		have->self = saturating_add(have->self, n->self);
		have->total = saturating_add(have->total, n->total);
		return 0;
	}
	return vec_push(to, *n);
}

/*
 * Adds the neighbours of the function at node @of. Where the function calls itself, the neighbours
 * of the inner call are added instead of the function.
 */
static int find_neighbours(struct neighbours *to, const struct calls *c, uint32_t of)
{
	int r = 0;

	while (r == 0 && of != CALLS_NONE) {
		const struct calls_node *f = calls_node(c, of);

		of = CALLS_NONE;
		for (uint32_t i = f->first_child; r == 0 && i != CALLS_NONE;
		     i = calls_node(c, i)->next) {
			if (calls_node(c, i)->entry == f->entry)
				of = i;
			else
				r = add_neighbour(to, calls_node(c, i));
		}
	}
	return r;
}

static int by_node_total(const void *a, const void *b)
{
	const struct calls_node *x = a, *y = b;

	return x->total > y->total ? -1 : x->total < y->total;
}

/*
 * A function that the latest profile does not contain has no callers and callees, which is not an
 * error: it may run again in the next interval.
 */
static int add_calls(struct top_rows *out, const struct profile *p, const struct top_view *v,
		     size_t value_num, enum top_section section)
{
	const struct calls_options opt = {
		.value_num = value_num,
		.direction = section == TOP_SECTION_CALLERS ? CALLS_CALLERS : CALLS_CALLEES,
		.name = v->function,
	};
	_cleanup_(neighbours_fini) struct neighbours found = { 0 };
	_cleanup_(calls_freep) struct calls *c = NULL;
	int r = calls_build(&c, p, &opt);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	/* Each occurrence of the function is a child of the root. */
	for (uint32_t i = calls_node(c, 0)->first_child; r == 0 && i != CALLS_NONE;
	     i = calls_node(c, i)->next)
		r = find_neighbours(&found, c, i);
	if (found.len)
		qsort(found.data, found.len, sizeof(*found.data), by_node_total);
	for (size_t i = 0; r == 0 && i < found.len; i++) {
		struct entry e = calls_entry(c, &found.data[i]);

		r = add(out, section, &e, found.data[i].self, found.data[i].total);
	}
	return r;
}

/* Rows with equal values of the column are ordered by their total. */
static int by_size(const void *a, const void *b, void *ctx)
{
	const struct top_line *x = a, *y = b;
	const bool *by_total = ctx;
	int64_t v = *by_total ? x->total : x->self, w = *by_total ? y->total : y->self;

	if (v != w)
		return v > w ? -1 : 1;
	return x->total > y->total ? -1 : x->total < y->total;
}

/* The filter is applied after the sums are computed, so percentages remain shares of the total. */
static int add_table(struct top_rows *out, const struct profile *p, const struct top_view *v,
		     size_t value_num)
{
	const struct top_options opt = { .value_num = value_num, .by = v->by, .key = v->key };
	_cleanup_(top_freep) struct top *t = NULL;
	bool by_total = v->by_total;
	int r = top_build(&t, p, &opt);

	for (size_t i = 0; r == 0 && i < top_n_rows(t); i++) {
		const struct top_row *row = top_row(t, i);
		struct entry e = top_entry(t, row);

		if (!*v->filter || strcasestr(e.name, v->filter))
			r = add(out, TOP_SECTION_TABLE, &e, row->self, row->total);
	}
	if (r == 0 && out->rows.len)
		qsort_r(out->rows.data, out->rows.len, sizeof(*out->rows.data), by_size, &by_total);
	return r;
}

/* A profile without sample types, as before the first sample, gives an empty table. */
int top_rows_make(struct top_rows *out, const struct profile *p, const struct top_view *v)
{
	size_t value_num;
	int r = top_value_num(p, NULL, &value_num);

	out->rows.len = 0;
	out->text.len = 0;
	out->sum = 0;
	out->unit = "";
	if (r < 0)
		return r == -EINVAL ? 0 : r;
	out->sum = profile_sum(p, value_num);
	out->unit = profile_string(p, profile_sample_type(p, value_num).unit);
	if (!*v->function)
		return add_table(out, p, v, value_num);
	r = add_calls(out, p, v, value_num, TOP_SECTION_CALLERS);
	return r < 0 ? r : add_calls(out, p, v, value_num, TOP_SECTION_CALLEES);
}

void top_rows_format(const struct top_rows *r, const struct top_line *row, struct buf *out)
{
	out->len = 0;
	buf_printf(out, "%6.2f%% %6.2f%%  ", text_percent(row->self, r->sum),
		   text_percent(row->total, r->sum));
	text_put_safe(out, top_rows_name(r, row));
	buf_put_byte(out, '\0');
}
