/* SPDX-License-Identifier: Apache-2.0 */
/* Answers that are tables: functions, what moved, executables, values of a label. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "profile/profile.h"
#include "query/change.h"
#include "query/timeline.h"
#include "query/top.h"
#include "server/view.h"

static void put_function(struct view *v, const struct entry *e)
{
	view_str(v, "name", e->name);
	view_str(v, "binary", e->binary);
	view_str(v, "file", e->file);
	view_str(v, "kind", profile_frame_kind_label(e->kind));
}

static int cmp_total(const void *a, const void *b)
{
	const struct top_row *x = *(const struct top_row *const *)a;
	const struct top_row *y = *(const struct top_row *const *)b;

	return x->total != y->total ? (x->total < y->total ? 1 : -1) : 0;
}

/* The rows that are looked for, in the order that is asked for; to be freed. */
static const struct top_row **find_rows(const struct view *v, const struct top *t, size_t *out_n)
{
	const struct top_row **rows = malloc((top_n_rows(t) + 1) * sizeof(*rows));
	size_t n = 0;

	for (size_t i = 0; rows && i < top_n_rows(t); i++) {
		const struct top_row *row = top_row(t, i);

		if (!v->rq.search || strstr(top_entry(t, row).name, v->rq.search))
			rows[n++] = row;
	}
	if (rows && v->rq.sort && !strcmp(v->rq.sort, "total"))
		qsort(rows, n, sizeof(*rows), cmp_total);
	*out_n = n;
	return rows;
}

static int build_top(struct view *v, const struct profile *p, enum entries_by by, struct top **out)
{
	const struct top_options opt = { .by = by };

	return top_build(out, p, &opt);
}

int view_functions(struct view *v)
{
	_cleanup_(profile_freep) struct profile *p = NULL;
	_cleanup_(freep) const struct top_row **rows = NULL;
	_cleanup_(top_freep) struct top *t = NULL;
	size_t limit = 0, n = 0;
	int r = view_limit(v, 1000, &limit);

	if (r == 0 && v->rq.sort && strcmp(v->rq.sort, "self") != 0 &&
	    strcmp(v->rq.sort, "total") != 0)
		r = query_bad(v->rpc, "sort is self or total");
	if (r == 0)
		r = query_profile(&v->query[SIDE_LEFT], v->rpc, &p);
	if (r == 0)
		r = build_top(v, p, ENTRIES_BY_FUNCTION, &t);
	if (r == 0 && !(rows = find_rows(v, t, &n)))
		r = -ENOMEM;
	if (r < 0)
		return r;
	json_object(&v->json);
	view_int(v, "total", top_sum(t));
	view_int(v, "found", (int64_t)n);
	json_key(&v->json, "functions");
	json_array(&v->json);
	for (size_t i = 0; i < n && i < limit; i++) {
		struct entry e = top_entry(t, rows[i]);

		json_object(&v->json);
		put_function(v, &e);
		view_int(v, "self", rows[i]->self);
		view_int(v, "total", rows[i]->total);
		json_object_end(&v->json);
	}
	json_array_end(&v->json);
	json_object_end(&v->json);
	return 0;
}

/* What changed */

static void put_change(struct view *v, const char *key, const struct change *c)
{
	json_key(&v->json, key);
	json_object(&v->json);
	view_int(v, "before", c->value[CHANGE_BEFORE]);
	view_int(v, "after", c->value[CHANGE_AFTER]);
	json_key(&v->json, "z");
	json_double(&v->json, round(c->z * 100) / 100);
	json_key(&v->json, "noise");
	json_bool(&v->json, change_is_noise(c));
	json_object_end(&v->json);
}

static int build_changes(struct view *v, struct profile **p, struct changes **out)
{
	const struct changes_options opt = { .normalize = v->rq.normalize };
	int r = 0;

	for (int i = 0; r == 0 && i < SIDES; i++)
		r = query_profile(&v->query[i], v->rpc, &p[i]);
	return r < 0 ? r : changes_build(out, p[SIDE_LEFT], p[SIDE_RIGHT], &opt);
}

static void put_changes(struct view *v, const struct changes *c, size_t limit)
{
	size_t n = changes_n_rows(c);

	json_object(&v->json);
	put_change(v, "all", changes_sum(c));
	json_key(&v->json, "counted");
	json_bool(&v->json, changes_counted(c));
	view_int(v, "found", (int64_t)n);
	json_key(&v->json, "functions");
	json_array(&v->json);
	for (size_t i = 0; i < n && i < limit; i++) {
		const struct change_row *row = changes_row(c, i);

		json_object(&v->json);
		put_function(v, &row->entry);
		put_change(v, "self", &row->self);
		put_change(v, "total", &row->total);
		json_object_end(&v->json);
	}
	json_array_end(&v->json);
	json_object_end(&v->json);
}

int view_movers(struct view *v)
{
	struct profile *p[SIDES] = { NULL, NULL };
	struct changes *c = NULL;
	size_t limit = 0;
	int r = view_limit(v, 100, &limit);

	if (r == 0)
		r = build_changes(v, p, &c);
	if (r == 0)
		put_changes(v, c, limit);
	changes_free(c);
	for (int i = 0; i < SIDES; i++)
		profile_free(p[i]);
	return r;
}

/* Executables */

/* What the functions of one binary tell of it. */
struct binary {
	uint8_t kind; /* of the function that takes most */
	int64_t functions, unnamed;
};

/* "[lib.so+0x1234]" and "[0x1234]" stand for functions without names. */
static bool is_unnamed(const char *name)
{
	const char *hex = name[0] == '[' ? strstr(name, "0x") : NULL;

	return hex && hex[2] && !strcmp(hex + 2 + strspn(hex + 2, "0123456789abcdef"), "]");
}

struct binaries {
	VEC(struct binary); /* by the name's number */
	struct strtab *names;
};

static void binaries_fini(struct binaries *b)
{
	strtab_free(b->names);
	vec_fini(b);
}

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

/* Rows come with the greatest first. */
static int describe(struct binaries *out, const struct top *functions)
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
			b->unnamed = top_add(b->unnamed, row->self);
	}
	return r;
}

static int put_executable(struct view *v, const struct top *t, const struct top_row *row,
			  struct binaries *binaries)
{
	const char *name = top_entry(t, row).name;
	struct binary *b;
	int r;

	name = strcmp(name, "[unknown binary]") != 0 ? name : "";
	r = find_binary(binaries, name, &b);
	if (r < 0)
		return r;
	json_object(&v->json);
	view_str(v, "binary", name);
	view_str(v, "kind", profile_frame_kind_label(b->kind));
	view_int(v, "functions", b->functions);
	view_int(v, "self", row->self);
	view_int(v, "total", row->total);
	view_int(v, "unnamed", b->unnamed);
	json_object_end(&v->json);
	return 0;
}

int view_executables(struct view *v)
{
	_cleanup_(top_freep) struct top *t = NULL, *functions = NULL;
	_cleanup_(binaries_fini) struct binaries binaries = { 0 };
	_cleanup_(profile_freep) struct profile *p = NULL;
	size_t limit = 0;
	int r = view_limit(v, 1000, &limit);

	if (r == 0)
		r = query_profile(&v->query[SIDE_LEFT], v->rpc, &p);
	if (r == 0)
		r = build_top(v, p, ENTRIES_BY_BINARY, &t);
	if (r == 0)
		r = build_top(v, p, ENTRIES_BY_FUNCTION, &functions);
	if (r == 0)
		r = describe(&binaries, functions);
	if (r < 0)
		return r;
	json_object(&v->json);
	view_int(v, "total", top_sum(t));
	view_int(v, "found", (int64_t)top_n_rows(t));
	json_key(&v->json, "executables");
	json_array(&v->json);
	for (size_t i = 0; r == 0 && i < top_n_rows(t) && i < limit; i++)
		r = put_executable(v, t, top_row(t, i), &binaries);
	json_array_end(&v->json);
	json_object_end(&v->json);
	return r;
}

/* Groups */

static void put_points(struct view *v, const struct timeline *t, const struct timeline_line *line)
{
	json_key(&v->json, "points");
	json_array(&v->json);
	for (size_t i = 0; i < t->n_steps; i++) {
		if (!line->cells[i].n)
			continue;
		json_array(&v->json);
		json_int(&v->json, t->start_ms + (int64_t)i * t->step_ms);
		json_int(&v->json, line->cells[i].sum);
		json_array_end(&v->json);
	}
	json_array_end(&v->json);
}

static void put_groups(struct view *v, const struct timeline *t, bool points)
{
	json_object(&v->json);
	view_int(v, "total", t->sum);
	view_int(v, "found", (int64_t)t->n_found);
	json_key(&v->json, "groups");
	json_array(&v->json);
	for (size_t i = 0; i < t->len; i++) {
		const struct timeline_line *line = &t->data[i];
		const char *value = timeline_label(t, line, 0);

		json_object(&v->json);
		view_str(v, "value", value ? value : "");
		view_int(v, "total", line->sum);
		if (points)
			put_points(v, t, line);
		json_object_end(&v->json);
	}
	json_array_end(&v->json);
	json_object_end(&v->json);
}

int view_groups(struct view *v)
{
	_cleanup_(timeline_fini) struct timeline t = { 0 };
	const struct store_select *sel = &v->query[SIDE_LEFT].sel;
	bool points = v->rq.step != 0;
	struct timeline_options opt = { .group_by = &v->rq.label, .n_group_by = 1 };
	int r = view_limit(v, 50, &opt.limit);

	if (r == 0 && (!v->rq.label || !v->rq.label[0]))
		r = query_bad(v->rpc, "label is missing");
	if (r == 0 && points && !(v->rq.step >= 0.001 && v->rq.step < 1e9))
		r = query_bad(v->rpc, "step must be at least a millisecond");
	if (r < 0)
		return r;
	opt.step_ms = points ? llround(v->rq.step * 1000)
			     : (sel->end_ns - sel->start_ns) / CLOCK_MS_NS + 1;
	r = query_asked(v->rpc, timeline_build(&t, v->rpc->store, sel, &opt, v->rpc->err));
	if (r == 0)
		put_groups(v, &t, points);
	return r;
}
