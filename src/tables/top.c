/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values are summed by stack first, so each distinct stack is walked once, however many samples it
 * has. To count recursion once, each entry remembers the last stack in which it was counted.
 */
#include "tables/top.h"

#include <errno.h>
#include <string.h>

#include "base/saturate.h"
#include "base/vec.h"
#include "profile/profile.h"

struct top {
	struct entries *entries;
	struct {
		VEC(struct top_row);
	} rows;
	struct {
		VEC(uint32_t);
	} counted_in; /* by entry: the last stack in which it was counted, plus 1 */
	int64_t sum, counted;
};

void top_free(struct top *t)
{
	if (!t)
		return;
	entries_free(t->entries);
	vec_fini(&t->rows);
	vec_fini(&t->counted_in);
	free(t);
}

/* Adds rows for all entries that exist by now. */
static int grow(struct top *t)
{
	while (t->rows.len < entries_count(t->entries)) {
		struct top_row row = { .entry = (uint32_t)t->rows.len };

		if (vec_push(&t->rows, row) < 0 || vec_push(&t->counted_in, 0) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Adds a value to the leaf's self and to the total of each entry of the stack, once. */
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
		t->rows.data[ids[0]].self = saturating_add(t->rows.data[ids[0]].self, value);
	for (size_t i = 0; i < n; i++) {
		if (t->counted_in.data[ids[i]] == stack + 1)
			continue;
		t->counted_in.data[ids[i]] = stack + 1;
		t->rows.data[ids[i]].total = saturating_add(t->rows.data[ids[i]].total, value);
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
	row->self = row->total = saturating_add(row->total, value);
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

/* Sums samples by stack, then walks each stack once; labels are counted per sample. */
static int count(struct top *t, const struct profile *p, const struct top_options *opt,
		 const uint8_t *retained, int64_t *by_stack)
{
	bool of_samples = entries_of_samples(opt->by);

	for (uint32_t i = 0; i < profile_n_samples(p); i++) {
		struct profile_sample s = profile_sample(p, i);
		int64_t v = s.values[opt->value_num];

		t->sum = saturating_add(t->sum, v);
		if (!retained[s.stack])
			continue;
		t->counted = saturating_add(t->counted, v);
		by_stack[s.stack] = saturating_add(by_stack[s.stack], v);
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
	_cleanup_(freep) uint8_t *retained = NULL;
	_cleanup_(freep) int64_t *by_stack =
		calloc((size_t)profile_n_stacks(p) + 1, sizeof(*by_stack));
	int r;

	if (opt->value_num >= profile_n_sample_types(p))
		return -EINVAL;
	retained = stack_filter_apply(&opt->filter, p);
	if (!t || !by_stack || !retained)
		return -ENOMEM;
	r = entries_new(&t->entries, p, opt->by, opt->key);
	if (r == 0)
		r = count(t, p, opt, retained, by_stack);
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

/* The last sample type is pprof's default where a profile names none. */
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

/* The result of matching a function with the filter, which happens once per function. */
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

/*
 * Applies the filter to one stack; a match of ignore wins over focus. It stops at the first ignored
 * function; until then any focused one retains the stack.
 */
static int match_stack(struct matches *m, uint32_t stack, uint8_t *out_retained)
{
	const uint32_t *ids;
	size_t n;
	int r = entries_of_stack(m->entries, stack, &ids, &n);

	while (r == 0 && m->of.len < entries_count(m->entries))
		r = vec_push(&m->of, MATCH_UNKNOWN);
	if (r < 0)
		return r;
	*out_retained = !m->f->focus;
	for (size_t i = 0; i < n; i++) {
		uint8_t *match = &m->of.data[ids[i]];

		if (*match == MATCH_UNKNOWN)
			*match = match_name(m->f, entries_get(m->entries, ids[i]).name);
		if (*match == MATCH_FOCUS)
			*out_retained = 1;
		if (*match == MATCH_IGNORE) {
			*out_retained = 0;
			break;
		}
	}
	return 0;
}

uint8_t *stack_filter_apply(const struct stack_filter *f, const struct profile *p)
{
	_cleanup_(matches_fini) struct matches m = { .f = f };
	_cleanup_(freep) uint8_t *retained = malloc((size_t)profile_n_stacks(p) + 1);

	if (!retained)
		return NULL;
	memset(retained, 1, (size_t)profile_n_stacks(p) + 1);
	if (!f->focus && !f->ignore)
		return steal_ptr(&retained);
	if (entries_new(&m.entries, p, ENTRIES_BY_FUNCTION, NULL) < 0)
		return NULL;
	for (uint32_t i = 0; i < profile_n_stacks(p); i++)
		if (match_stack(&m, i, &retained[i]) < 0)
			return NULL;
	return steal_ptr(&retained);
}
