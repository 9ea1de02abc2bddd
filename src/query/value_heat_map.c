/* SPDX-License-Identifier: Apache-2.0 */
/* The rows depend on the range of all values, so the points are collected first. */
#include "query/value_heat_map.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/saturate.h"
#include "flame/merged_stacks.h"
#include "store/store.h"

struct point {
	uint32_t group;
	int64_t step, value;
};

struct builder {
	struct value_heat_map *out;
	const struct value_heat_map_options *opt;
	const struct store_select *sel;
	uint32_t group;
	struct {
		VEC(struct point);
	} points;
	struct err *err;
};

static void builder_fini(struct builder *b)
{
	vec_fini(&b->points);
}

void value_heat_map_fini(struct value_heat_map *h)
{
	for (size_t i = 0; i < h->len; i++)
		vec_fini(&h->data[i].slots);
	groups_fini(&h->groups);
	vec_fini(h);
}

static int on_series(void *ctx, const struct store_label *labels, size_t n)
{
	struct builder *b = ctx;

	return groups_find(&b->out->groups, labels, n, &b->group);
}

/* The step of a point is rounded up, since a slot is named by its end. */
static int on_point(void *ctx, const struct store_point *p)
{
	struct builder *b = ctx;
	int64_t after = p->time_ns - b->sel->start_ns, step = b->opt->step_ms * CLOCK_MS_NS;
	struct point point = { b->group, after / step + (after % step != 0), p->value };

	if (b->points.len == VALUE_HEAT_MAP_MAX_POINTS)
		return err_set(b->err, -EFBIG,
			       "the range has more than %d profiles; use a shorter range",
			       VALUE_HEAT_MAP_MAX_POINTS);
	if (!b->points.len || p->value < b->out->least)
		b->out->least = p->value;
	if (!b->points.len || p->value > b->out->greatest)
		b->out->greatest = p->value;
	return vec_push(&b->points, point);
}

static int cmp_points(const void *a, const void *b)
{
	const struct point *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return x->step != y->step ? (x->step < y->step ? -1 : 1) : 0;
}

/*
 * Differences are computed as doubles: those of int64_t could overflow. The greatest value belongs
 * to the last row and not to one above it.
 */
static unsigned int row_of(const struct value_heat_map *h, int64_t value)
{
	double height = (double)h->greatest - (double)h->least;
	double row =
		height > 0 ? ((double)value - (double)h->least) / height * VALUE_HEAT_MAP_ROWS : 0;

	return row < VALUE_HEAT_MAP_ROWS ? (unsigned int)row : VALUE_HEAT_MAP_ROWS - 1;
}

/*
 * Counts a profile. Points are sorted by group and step, so the current series and slot are the
 * last ones.
 */
static int add_point(struct builder *b, const struct point *p)
{
	struct value_heat_map *h = b->out;
	int64_t time_ms = b->sel->start_ns / CLOCK_MS_NS + p->step * b->opt->step_ms;
	struct value_heat_map_series *line;
	int r = 0;

	if (!h->len || h->data[h->len - 1].group != p->group)
		r = vec_push(h, (struct value_heat_map_series){ .group = p->group });
	if (r < 0)
		return r;
	line = &h->data[h->len - 1];
	if (!line->slots.len || line->slots.data[line->slots.len - 1].time_ms != time_ms)
		r = vec_push(&line->slots, (struct value_heat_map_slot){ .time_ms = time_ms });
	if (r < 0)
		return r;
	line->sum = saturating_add(line->sum, p->value);
	line->slots.data[line->slots.len - 1].counts[row_of(h, p->value)]++;
	return 0;
}

static int cmp_lines(const void *a, const void *b)
{
	const struct value_heat_map_series *x = a, *y = b;

	if (x->sum != y->sum)
		return x->sum > y->sum ? -1 : 1;
	return x->group < y->group ? -1 : x->group > y->group;
}

static void apply_limit(struct value_heat_map *h, size_t limit)
{
	if (h->len)
		qsort(h->data, h->len, sizeof(*h->data), cmp_lines);
	while (limit && h->len > limit) {
		h->len--;
		vec_fini(&h->data[h->len].slots);
	}
}

int value_heat_map_build(struct value_heat_map *out, struct store *s,
			 const struct store_select *sel, const struct value_heat_map_options *opt,
			 struct err *err)
{
	_cleanup_(
		builder_fini) struct builder b = { .out = out, .opt = opt, .sel = sel, .err = err };
	int r;

	if (opt->step_ms < 1)
		return err_set(err, -EINVAL, "the step is less than 1 ms");
	r = groups_init(&out->groups, opt->group_by, opt->n_group_by);
	if (r == 0)
		r = store_points(s, sel, on_series, on_point, &b, err);
	if (r == 0 && b.points.len)
		qsort(b.points.data, b.points.len, sizeof(*b.points.data), cmp_points);
	for (size_t i = 0; r == 0 && i < b.points.len; i++)
		r = add_point(&b, &b.points.data[i]);
	apply_limit(out, opt->limit);
	return r;
}
