/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Methods that return tables: functions, differences, executables, values of a label.
 *
 * Tables are computed from a merged profile by src/tables, like those of the command line, so both
 * show the same numbers. "found" is the number of rows before the limit, so that the page can show
 * how many it omits.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/saturate.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "profile/profile.h"
#include "query/timeline.h"
#include "server/page_api.h"
#include "tables/change.h"
#include "tables/top.h"

/* Each function's name is searched, so the time is the product of both. */
enum { MAX_SEARCH = 1024 };

/* Writes the members that identify a function. */
static void put_function(struct page_api_call *call, const struct entry *e)
{
	json_member_str(&call->json, "name", e->name);
	json_member_str(&call->json, "binary", e->binary);
	json_member_str(&call->json, "file", e->file);
	json_member_str(&call->json, "kind", profile_frame_kind_label(e->kind));
}

static int cmp_total(const void *a, const void *b)
{
	const struct top_row *x = *(const struct top_row *const *)a;
	const struct top_row *y = *(const struct top_row *const *)b;

	return x->total != y->total ? (x->total < y->total ? 1 : -1) : 0;
}

/*
 * Selects the rows that match the search, in the requested order. The table itself is in the order
 * of self values. Returns NULL without memory; the caller frees the array but not the rows.
 */
static const struct top_row **find_rows(const struct page_api_call *call, const struct top *t,
					size_t *out_n)
{
	const struct top_row **rows = malloc((top_n_rows(t) + 1) * sizeof(*rows));
	size_t n = 0;

	for (size_t i = 0; rows && i < top_n_rows(t); i++) {
		const struct top_row *row = top_row(t, i);

		if (!call->rq.search || strstr(top_entry(t, row).name, call->rq.search))
			rows[n++] = row;
	}
	if (rows && call->rq.sort && !strcmp(call->rq.sort, "total"))
		qsort(rows, n, sizeof(*rows), cmp_total);
	*out_n = n;
	return rows;
}

/* Builds the table of self and total values. */
static int build_top(struct page_api_call *call, const struct profile *p, enum entries_by by,
		     struct top **out)
{
	const struct top_options opt = { .by = by };

	return top_build(out, p, &opt);
}

/*
 * The search is a plain substring of the name and the order is by self value unless "sort" is
 * "total".
 */
int page_api_functions(struct page_api_call *call)
{
	_cleanup_(profile_freep) struct profile *p = NULL;
	_cleanup_(freep) const struct top_row **rows = NULL;
	_cleanup_(top_freep) struct top *t = NULL;
	size_t limit = 0, n = 0;
	int r = page_api_limit(call, 1000, &limit);

	if (r == 0 && call->rq.search && strlen(call->rq.search) > MAX_SEARCH)
		r = query_invalid(call->rpc, "\"search\" is longer than 1024 bytes");
	if (r == 0 && call->rq.sort && strcmp(call->rq.sort, "self") != 0 &&
	    strcmp(call->rq.sort, "total") != 0)
		r = query_invalid(call->rpc, "\"sort\" must be \"self\" or \"total\"");
	if (r == 0)
		r = query_profile(&call->query[SIDE_LEFT], call->rpc, &p);
	if (r == 0)
		r = build_top(call, p, ENTRIES_BY_FUNCTION, &t);
	if (r == 0 && !(rows = find_rows(call, t, &n)))
		r = -ENOMEM;
	if (r < 0)
		return r;
	json_object(&call->json);
	json_member_int(&call->json, "total", top_sum(t));
	json_member_int(&call->json, "found", (int64_t)n);
	json_member_array(&call->json, "functions");
	for (size_t i = 0; i < n && i < limit; i++) {
		struct entry e = top_entry(t, rows[i]);

		json_object(&call->json);
		put_function(call, &e);
		json_member_int(&call->json, "self", rows[i]->self);
		json_member_int(&call->json, "total", rows[i]->total);
		json_object_end(&call->json);
	}
	json_array_end(&call->json);
	json_object_end(&call->json);
	return 0;
}

/* z, the number of standard deviations, is rounded: further digits would only be noise. */
static void put_change(struct page_api_call *call, const char *key, const struct change *c)
{
	json_member_object(&call->json, key);
	json_member_int(&call->json, "before", c->value[CHANGE_BEFORE]);
	json_member_int(&call->json, "after", c->value[CHANGE_AFTER]);
	json_member_double(&call->json, "z", round(c->z * 100) / 100);
	json_member_bool(&call->json, "noise", change_is_noise(c));
	json_object_end(&call->json);
}

/* @p is filled even after a failure; the caller frees both profiles. */
static int build_changes(struct page_api_call *call, struct profile **p, struct changes **out)
{
	const struct changes_options opt = { .normalize = call->rq.normalize };
	int r = 0;

	for (int i = 0; r == 0 && i < SIDES; i++)
		r = query_profile(&call->query[i], call->rpc, &p[i]);
	return r < 0 ? r : changes_build(out, p[SIDE_LEFT], p[SIDE_RIGHT], &opt);
}

/*
 * "counted" is false if values are not counts of samples, for which no probability can be computed
 * (tables/change.h).
 */
static void put_changes(struct page_api_call *call, const struct changes *c, size_t limit)
{
	size_t n = changes_n_rows(c);

	json_object(&call->json);
	put_change(call, "all", changes_sum(c));
	json_member_bool(&call->json, "counted", changes_counted(c));
	json_member_int(&call->json, "found", (int64_t)n);
	json_member_array(&call->json, "functions");
	for (size_t i = 0; i < n && i < limit; i++) {
		const struct change_row *row = changes_row(c, i);

		json_object(&call->json);
		put_function(call, &row->entry);
		put_change(call, "self", &row->self);
		put_change(call, "total", &row->total);
		json_object_end(&call->json);
	}
	json_array_end(&call->json);
	json_object_end(&call->json);
}

int page_api_movers(struct page_api_call *call)
{
	struct profile *p[SIDES] = { NULL, NULL };
	struct changes *c = NULL;
	size_t limit = 0;
	int r = page_api_limit(call, 100, &limit);

	if (r == 0)
		r = build_changes(call, p, &c);
	if (r == 0)
		put_changes(call, c, limit);
	changes_free(c);
	for (int i = 0; i < SIDES; i++)
		profile_free(p[i]);
	return r;
}

/* Properties of a binary that follow from its functions. */
struct binary {
	uint8_t kind; /* of the function with the greatest self value */
	int64_t functions, unnamed;
};

/* "[lib.so+0x1234]" and "[0x1234]" are functions without symbols. */
static bool is_unnamed(const char *name)
{
	const char *hex = name[0] == '[' ? strstr(name, "0x") : NULL;

	return hex && hex[2] && !strcmp(hex + 2 + strspn(hex + 2, "0123456789abcdef"), "]");
}

/* The properties of all binaries, found by name. */
struct binaries {
	VEC(struct binary); /* by string id of the name */
	struct strtab *names;
};

static void binaries_fini(struct binaries *b)
{
	strtab_free(b->names);
	vec_fini(b);
}

/* Strings of the table are dense ids, so the array grows with them. */
static int find_binary(struct binaries *b, const char *name, struct binary **out)
{
	uint32_t id;
	int r = strtab_add(b->names, name, strlen(name), &id);

	while (r == 0 && b->len <= id)
		r = vec_push(b, (struct binary){ 0 });
	if (r == 0)
		*out = &b->data[id];
	return r;
}

/* Rows come sorted by self value, greatest first. */
static int describe_binaries(struct binaries *out, const struct top *functions)
{
	int r = strtab_new(&out->names);

	for (size_t i = 0; r == 0 && i < top_n_rows(functions); i++) {
		const struct top_row *row = top_row(functions, i);
		struct entry e = top_entry(functions, row);
		struct binary *b;

		r = find_binary(out, e.binary, &b);
		if (r < 0)
			break;
		b->kind = b->functions++ ? b->kind : e.kind;
		if (is_unnamed(e.name))
			b->unnamed = saturating_add(b->unnamed, row->self);
	}
	return r;
}

/* Cameo names a missing binary "[unknown binary]" in tables; the API uses "". */
static int put_executable(struct page_api_call *call, const struct top *t,
			  const struct top_row *row, struct binaries *binaries)
{
	const char *name = top_entry(t, row).name;
	struct binary *b;
	int r;

	name = strcmp(name, "[unknown binary]") != 0 ? name : "";
	r = find_binary(binaries, name, &b);
	if (r < 0)
		return r;
	json_object(&call->json);
	json_member_str(&call->json, "binary", name);
	json_member_str(&call->json, "kind", profile_frame_kind_label(b->kind));
	json_member_int(&call->json, "functions", b->functions);
	json_member_int(&call->json, "self", row->self);
	json_member_int(&call->json, "total", row->total);
	json_member_int(&call->json, "unnamed", b->unnamed);
	json_object_end(&call->json);
	return 0;
}

/*
 * The table of functions is built in addition, because kinds and unnamed shares are not properties
 * of the binary's row.
 */
int page_api_executables(struct page_api_call *call)
{
	_cleanup_(top_freep) struct top *t = NULL, *functions = NULL;
	_cleanup_(binaries_fini) struct binaries binaries = { 0 };
	_cleanup_(profile_freep) struct profile *p = NULL;
	size_t limit = 0;
	int r = page_api_limit(call, 1000, &limit);

	if (r == 0)
		r = query_profile(&call->query[SIDE_LEFT], call->rpc, &p);
	if (r == 0)
		r = build_top(call, p, ENTRIES_BY_BINARY, &t);
	if (r == 0)
		r = build_top(call, p, ENTRIES_BY_FUNCTION, &functions);
	if (r == 0)
		r = describe_binaries(&binaries, functions);
	if (r < 0)
		return r;
	json_object(&call->json);
	json_member_int(&call->json, "total", top_sum(t));
	json_member_int(&call->json, "found", (int64_t)top_n_rows(t));
	json_member_array(&call->json, "executables");
	for (size_t i = 0; r == 0 && i < top_n_rows(t) && i < limit; i++)
		r = put_executable(call, t, top_row(t, i), &binaries);
	json_array_end(&call->json);
	json_object_end(&call->json);
	return r;
}

/* Steps without a window are omitted; a window with the value 0 is a point. */
static void put_points(struct page_api_call *call, const struct timeline *t,
		       const struct timeline_line *line)
{
	json_member_array(&call->json, "points");
	for (size_t i = 0; i < t->n_steps; i++) {
		if (!line->points[i].n)
			continue;
		json_array(&call->json);
		json_int(&call->json, t->start_ms + (int64_t)i * t->step_ms);
		json_int(&call->json, line->points[i].sum);
		json_array_end(&call->json);
	}
	json_array_end(&call->json);
}

/* A series without the label is in the group "". */
static void put_groups(struct page_api_call *call, const struct timeline *t, bool points)
{
	json_object(&call->json);
	json_member_int(&call->json, "total", t->sum);
	json_member_int(&call->json, "found", (int64_t)t->n_found);
	json_member_array(&call->json, "groups");
	for (size_t i = 0; i < t->len; i++) {
		const struct timeline_line *line = &t->data[i];
		const char *value = timeline_label(t, line, 0);

		json_object(&call->json);
		json_member_str(&call->json, "value", value ? value : "");
		json_member_int(&call->json, "total", line->sum);
		if (points)
			put_points(call, t, line);
		json_object_end(&call->json);
	}
	json_array_end(&call->json);
	json_object_end(&call->json);
}

/* Without "step" the complete range is one step, which gives totals without points. */
int page_api_groups(struct page_api_call *call)
{
	_cleanup_(timeline_fini) struct timeline t = { 0 };
	const struct store_select *sel = &call->query[SIDE_LEFT].sel;
	bool points = call->rq.step != 0;
	struct timeline_options opt = { .group_by = &call->rq.label, .n_group_by = 1 };
	int r = page_api_limit(call, 50, &opt.limit);

	if (r == 0 && (!call->rq.label || !call->rq.label[0]))
		r = query_invalid(call->rpc, "\"label\" is missing");
	if (r == 0 && points && !(call->rq.step >= 0.001 && call->rq.step < 1e9))
		r = query_invalid(call->rpc, "\"step\" must be at least 0.001 s");
	if (r < 0)
		return r;
	opt.step_ms = points ? llround(call->rq.step * 1000)
			     : (sel->end_ns - sel->start_ns) / CLOCK_MS_NS + 1;
	r = timeline_build(&t, call->rpc->store, sel, &opt, call->rpc->err);
	if (r == 0)
		put_groups(call, &t, points);
	return r;
}
