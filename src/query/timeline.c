/* SPDX-License-Identifier: Apache-2.0 */
#include "query/timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/strtab.h"
#include "store/stacks.h"

#define MS_NS 1000000LL

struct builder {
	struct timeline *out;
	const struct timeline_options *opt;
	struct strtab *groups; /* a line's number is its group's, which starts at 1 */
	struct buf key;
	size_t line;
	struct err *err;
};

static void builder_fini(struct builder *b)
{
	strtab_free(b->groups);
	buf_fini(&b->key);
}

void timeline_fini(struct timeline *t)
{
	for (size_t i = 0; i < t->len; i++) {
		for (size_t k = 0; k < t->n_values; k++)
			free(t->data[i].values[k]);
		free(t->data[i].values);
		free(t->data[i].cells);
	}
	vec_fini(t);
}

static const char *label_value(const struct store_label *labels, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(labels[i].name, name))
			return labels[i].value;
	return NULL;
}

static int add_line(struct builder *b, const struct store_label *labels, size_t n)
{
	struct timeline *t = b->out;
	struct timeline_line line = { 0 };
	int r;

	if ((t->len + 1) * t->n_steps > TIMELINE_MAX_CELLS)
		return err_set(b->err, -EFBIG, "too many series for so many steps");
	r = vec_reserve(t, t->len + 1);
	if (r < 0)
		return r;
	line.values = calloc(t->n_values + 1, sizeof(*line.values));
	line.cells = calloc(t->n_steps, sizeof(*line.cells));
	for (size_t i = 0; line.values && i < t->n_values; i++) {
		const char *v = label_value(labels, n, b->opt->group_by[i]);

		if (v && !(line.values[i] = strdup(v)))
			r = -ENOMEM;
	}
	if (!line.values || !line.cells)
		r = -ENOMEM;
	if (!line.values) {
		free(line.cells);
		return r;
	}
	t->data[t->len++] = line;
	return r;
}

static int on_series(void *ctx, const struct store_label *labels, size_t n)
{
	struct builder *b = ctx;
	uint32_t id;
	int r;

	b->key.len = 0;
	buf_put_byte(&b->key, 1); /* so that the key of no labels is not "" */
	for (size_t i = 0; i < b->opt->n_group_by; i++) {
		const char *v = label_value(labels, n, b->opt->group_by[i]);

		buf_put_byte(&b->key, v ? 1 : 2);
		buf_put(&b->key, v ? v : "", v ? strlen(v) + 1 : 1);
	}
	if (buf_error(&b->key))
		return -ENOMEM;
	r = strtab_add(b->groups, (const char *)b->key.data, b->key.len, &id);
	if (r < 0)
		return r;
	b->line = id - 1;
	return b->line == b->out->len ? add_line(b, labels, n) : 0;
}

static int on_point(void *ctx, const struct store_point *p)
{
	struct builder *b = ctx;
	struct timeline *t = b->out;
	struct timeline_line *line = &t->data[b->line];
	int64_t after = p->time_ns - t->start_ms * MS_NS, step = t->step_ms * MS_NS;
	size_t i = (size_t)((after + step - 1) / step);

	if (after < 0 || i >= t->n_steps)
		return 0;
	line->cells[i].sum = stacks_sum(line->cells[i].sum, p->value);
	line->cells[i].n++;
	line->sum = stacks_sum(line->sum, p->value);
	return 0;
}

static int cmp_value(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static int cmp_line(const void *a, const void *b, void *ctx)
{
	const struct timeline_line *x = a, *y = b;
	const struct timeline *t = ctx;
	int r = 0;

	if (x->sum != y->sum)
		return x->sum > y->sum ? -1 : 1;
	for (size_t i = 0; r == 0 && i < t->n_values; i++)
		r = cmp_value(x->values[i], y->values[i]);
	return r;
}

static void cut(struct timeline *t, size_t limit)
{
	t->n_found = t->len;
	for (size_t i = 0; i < t->len; i++)
		t->sum = stacks_sum(t->sum, t->data[i].sum);
	if (t->len)
		qsort_r(t->data, t->len, sizeof(*t->data), cmp_line, t);
	while (limit && t->len > limit) {
		t->len--;
		for (size_t k = 0; k < t->n_values; k++)
			free(t->data[t->len].values[k]);
		free(t->data[t->len].values);
		free(t->data[t->len].cells);
	}
}

int timeline_build(struct timeline *out, struct store *s, const struct store_select *sel,
		   const struct timeline_options *opt, struct err *err)
{
	_cleanup_(builder_fini) struct builder b = { .out = out, .opt = opt, .err = err };
	int64_t range_ms = (sel->end_ns - sel->start_ns) / MS_NS;
	int r;

	if (opt->step_ms < 1)
		return err_set(err, -EINVAL, "step must be at least a millisecond");
	if (range_ms < 0 || range_ms / opt->step_ms > TIMELINE_MAX_STEPS)
		return err_set(err, -EINVAL, "more than %d steps", TIMELINE_MAX_STEPS);
	out->start_ms = sel->start_ns / MS_NS;
	out->step_ms = opt->step_ms;
	out->n_steps = (size_t)(range_ms / opt->step_ms) + 2;
	out->n_values = opt->n_group_by;
	out->average = opt->average;
	r = strtab_new(&b.groups);
	if (r == 0)
		r = store_points(s, sel, on_series, on_point, &b, err);
	if (r == 0)
		cut(out, opt->limit);
	return r;
}
