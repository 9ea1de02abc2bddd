/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each window is added to the point at the end of its step as the store reports it. All lines have
 * all points, so the number of lines times steps is limited.
 *
 * All points of a line are allocated at once. The limit is checked before that, so a query with too
 * many groups fails before it uses the memory.
 */
#include "query/timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/saturate.h"
#include "flame/merged_stacks.h"

#define MS_NS 1000000LL

struct builder {
	struct timeline *out;
	const struct store_select *sel;
	uint32_t line; /* index of the group */
	struct err *err;
};

void timeline_fini(struct timeline *t)
{
	for (size_t i = 0; i < t->len; i++)
		free(t->data[i].points);
	groups_fini(&t->groups);
	vec_fini(t);
}

static int add_line(struct builder *b)
{
	struct timeline *t = b->out;
	struct timeline_line line = { .group = b->line };
	int r;

	if ((t->len + 1) * t->n_steps > TIMELINE_MAX_POINTS)
		return err_set(b->err, -EFBIG,
			       "the result is too large: %zu series of %zu steps; use a longer "
			       "step or fewer groups",
			       t->len + 1, t->n_steps);
	line.points = calloc(t->n_steps, sizeof(*line.points));
	r = line.points ? vec_push(t, line) : -ENOMEM;
	if (r < 0)
		free(line.points);
	return r;
}

static int on_series(void *ctx, const struct store_label *labels, size_t n)
{
	struct builder *b = ctx;
	int r = groups_find(&b->out->groups, labels, n, &b->line);

	return r == 0 && b->line == b->out->len ? add_line(b) : r;
}

/* Adds a window to its point, at the end of its step; windows outside of the steps are ignored. */
static int on_point(void *ctx, const struct store_point *p)
{
	struct builder *b = ctx;
	struct timeline *t = b->out;
	struct timeline_line *line = &t->data[b->line];
	int64_t after = p->time_ns - t->start_ms * MS_NS, step = t->step_ms * MS_NS;
	size_t i = after < 0 ? SIZE_MAX : (size_t)(after / step + (after % step != 0));

	if (i >= t->n_steps)
		return 0;
	line->points[i].sum = saturating_add(line->points[i].sum, p->value);
	line->points[i].n++;
	line->sum = saturating_add(line->sum, p->value);
	return 0;
}

static int cmp_value(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

/* Orders lines by their sum, greatest first, then by their labels, so that the result is stable. */
static int cmp_line(const void *a, const void *b, void *ctx)
{
	const struct timeline_line *x = a, *y = b;
	const struct timeline *t = ctx;
	int r = 0;

	if (x->sum != y->sum)
		return x->sum > y->sum ? -1 : 1;
	for (size_t i = 0; r == 0 && i < t->groups.n_by; i++)
		r = cmp_value(timeline_label(t, x, i), timeline_label(t, y, i));
	return r;
}

/*
 * Sums and the number of lines are those before the limit, which callers report besides the lines
 * that remain.
 */
static void apply_limit(struct timeline *t, size_t limit)
{
	t->n_found = t->len;
	for (size_t i = 0; i < t->len; i++)
		t->sum = saturating_add(t->sum, t->data[i].sum);
	if (t->len)
		qsort_r(t->data, t->len, sizeof(*t->data), cmp_line, t);
	while (limit && t->len > limit)
		free(t->data[--t->len].points);
}

int timeline_build(struct timeline *out, struct store *s, const struct store_select *sel,
		   const struct timeline_options *opt, struct err *err)
{
	struct builder b = { .out = out, .sel = sel, .err = err };
	int64_t range_ms = (sel->end_ns - sel->start_ns) / MS_NS;
	int r;

	if (opt->step_ms < 1)
		return err_set(err, -EINVAL, "the step is less than 1 ms");
	if (range_ms < 0 || range_ms / opt->step_ms > TIMELINE_MAX_STEPS)
		return err_set(err, -EINVAL, "the range has more than %d steps; use a longer step",
			       TIMELINE_MAX_STEPS);
	out->start_ms = sel->start_ns / MS_NS;
	out->step_ms = opt->step_ms;
	out->n_steps = (size_t)(range_ms / opt->step_ms) + 2;
	out->average = opt->average;
	r = groups_init(&out->groups, opt->group_by, opt->n_group_by);
	if (r == 0)
		r = store_points(s, sel, on_series, on_point, &b, err);
	if (r == 0)
		apply_limit(out, opt->limit);
	return r;
}
