/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values are summed by stack first: then each distinct stack is walked once,
 * however many samples there are. That an entry was met in this stack already
 * is told by the number of the stack that it was last met in.
 */
#include "query/top.h"

#include <errno.h>
#include <string.h>

#include "base/vec.h"
#include "profile/profile.h"

struct top {
	struct entries *entries;
	struct {
		VEC(struct top_row);
	} rows;
	struct {
		VEC(uint32_t);
	} met; /* by entry: the stack, plus 1 */
	int64_t sum, counted;
};

void top_free(struct top *t)
{
	if (!t)
		return;
	entries_free(t->entries);
	vec_fini(&t->rows);
	vec_fini(&t->met);
	free(t);
}

/* Rows for all the entries there are by now. */
static int grow(struct top *t)
{
	while (t->rows.len < entries_count(t->entries)) {
		struct top_row row = { .entry = (uint32_t)t->rows.len };

		if (vec_push(&t->rows, row) < 0 || vec_push(&t->met, 0) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int add_stack(struct top *t, uint32_t stack, int64_t value)
{
	const uint32_t *ids;
	size_t n;
	int r = entries_of_stack(t->entries, stack, &ids, &n);

	if (r == 0)
		r = grow(t);
	if (r < 0)
		return r;
	if (n)
		t->rows.data[ids[0]].self = top_add(t->rows.data[ids[0]].self, value);
	for (size_t i = 0; i < n; i++) {
		if (t->met.data[ids[i]] == stack + 1)
			continue;
		t->met.data[ids[i]] = stack + 1;
		t->rows.data[ids[i]].total = top_add(t->rows.data[ids[i]].total, value);
	}
	return 0;
}

static int add_labels(struct top *t, const struct profile_sample *s, int64_t value)
{
	struct top_row *row;
	uint32_t id;
	int r = entries_of_labels(t->entries, s, &id);

	if (r == 0)
		r = grow(t);
	if (r < 0)
		return r;
	row = &t->rows.data[id];
	row->self = row->total = top_add(row->total, value);
	return 0;
}

static int cmp_rows(const void *a, const void *b, void *ctx)
{
	const struct top_row *x = a, *y = b;
	const struct top *t = ctx;

	if (x->self != y->self)
		return x->self < y->self ? 1 : -1;
	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return strcmp(entries_get(t->entries, x->entry).name,
		      entries_get(t->entries, y->entry).name);
}

static int count(struct top *t, const struct profile *p, const struct top_options *opt,
		 const uint8_t *kept, int64_t *by_stack)
{
	bool of_samples = entries_of_samples(opt->by);

	for (uint32_t i = 0; i < profile_n_samples(p); i++) {
		struct profile_sample s = profile_sample(p, i);
		int64_t v = s.values[opt->value_num];

		t->sum = top_add(t->sum, v);
		if (!kept[s.stack])
			continue;
		t->counted = top_add(t->counted, v);
		by_stack[s.stack] = top_add(by_stack[s.stack], v);
		if (of_samples && add_labels(t, &s, v) < 0)
			return -ENOMEM;
	}
	for (uint32_t i = 0; !of_samples && i < profile_n_stacks(p); i++)
		if (by_stack[i] && add_stack(t, i, by_stack[i]) < 0)
			return -ENOMEM;
	return 0;
}

int top_build(struct top **out, const struct profile *p, const struct top_options *opt)
{
	_cleanup_(top_freep) struct top *t = calloc(1, sizeof(*t));
	_cleanup_(freep) uint8_t *kept = NULL;
	_cleanup_(freep) int64_t *by_stack =
		calloc((size_t)profile_n_stacks(p) + 1, sizeof(*by_stack));
	int r;

	if (opt->value_num >= profile_n_sample_types(p))
		return -EINVAL;
	kept = stack_filter_run(&opt->filter, p);
	if (!t || !by_stack || !kept)
		return -ENOMEM;
	r = entries_new(&t->entries, p, opt->by, opt->key);
	if (r == 0)
		r = count(t, p, opt, kept, by_stack);
	if (r < 0)
		return r;
	if (t->rows.len)
		qsort_r(t->rows.data, t->rows.len, sizeof(*t->rows.data), cmp_rows, t);
	*out = steal_ptr(&t);
	return 0;
}

size_t top_n_rows(const struct top *t)
{
	return t->rows.len;
}

const struct top_row *top_row(const struct top *t, size_t i)
{
	return &t->rows.data[i];
}

struct entry top_entry(const struct top *t, const struct top_row *row)
{
	return entries_get(t->entries, row->entry);
}

int64_t top_sum(const struct top *t)
{
	return t->sum;
}

int64_t top_counted(const struct top *t)
{
	return t->counted;
}

int top_value_num(const struct profile *p, const char *name, size_t *out)
{
	uint32_t wanted = profile_meta_const(p)->default_sample_type;
	size_t n = profile_n_sample_types(p);

	if (!n)
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		uint32_t type = profile_sample_type(p, i).type;

		if (name ? !strcmp(profile_string(p, type), name) : wanted && type == wanted) {
			*out = i;
			return 0;
		}
	}
	if (name)
		return -ENOENT;
	*out = n - 1;
	return 0;
}

/* By function: does it match? Asked once each. */
enum match { MATCH_UNKNOWN, MATCH_NO, MATCH_FOCUS, MATCH_IGNORE };

struct matches {
	const struct stack_filter *f;
	struct entries *entries;
	struct {
		VEC(uint8_t);
	} of;
};

static void matches_fini(struct matches *m)
{
	entries_free(m->entries);
	vec_fini(&m->of);
}

static uint8_t match_name(const struct stack_filter *f, const char *name)
{
	if (f->ignore && regexec(f->ignore, name, 0, NULL, 0) == 0)
		return MATCH_IGNORE;
	if (f->focus && regexec(f->focus, name, 0, NULL, 0) == 0)
		return MATCH_FOCUS;
	return MATCH_NO;
}

static int match_stack(struct matches *m, uint32_t stack, uint8_t *out_kept)
{
	const uint32_t *ids;
	size_t n;
	int r = entries_of_stack(m->entries, stack, &ids, &n);

	while (r == 0 && m->of.len < entries_count(m->entries))
		r = vec_push(&m->of, MATCH_UNKNOWN);
	if (r < 0)
		return r;
	*out_kept = !m->f->focus;
	for (size_t i = 0; i < n; i++) {
		uint8_t *match = &m->of.data[ids[i]];

		if (*match == MATCH_UNKNOWN)
			*match = match_name(m->f, entries_get(m->entries, ids[i]).name);
		if (*match == MATCH_FOCUS)
			*out_kept = 1;
		if (*match == MATCH_IGNORE) {
			*out_kept = 0;
			break;
		}
	}
	return 0;
}

uint8_t *stack_filter_run(const struct stack_filter *f, const struct profile *p)
{
	_cleanup_(matches_fini) struct matches m = { .f = f };
	_cleanup_(freep) uint8_t *kept = malloc((size_t)profile_n_stacks(p) + 1);

	if (!kept)
		return NULL;
	memset(kept, 1, (size_t)profile_n_stacks(p) + 1);
	if (!f->focus && !f->ignore)
		return steal_ptr(&kept);
	if (entries_new(&m.entries, p, ENTRIES_BY_FUNCTION, NULL) < 0)
		return NULL;
	for (uint32_t i = 0; i < profile_n_stacks(p); i++)
		if (match_stack(&m, i, &kept[i]) < 0)
			return NULL;
	return steal_ptr(&kept);
}
