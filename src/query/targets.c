/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A window is in the store once for each of its sample types, so windows are
 * counted by type. How many samples there were is told by a type that counts
 * them ("samples" in "count"); how many were lost by one called "lost".
 */
#include "query/targets.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "store/stacks.h"
#include "store/store.h"

struct builder {
	struct targets *out;
	struct groups typed; /* with the profile's type as their last label */
	struct {
		VEC(uint64_t);
	} windows; /* by typed group */
	uint32_t target, type;
	int64_t *sum; /* where values go; NULL: nowhere */
	struct err *err;
};

static void builder_fini(struct builder *b)
{
	groups_fini(&b->typed);
	vec_fini(&b->windows);
}

void targets_fini(struct targets *t)
{
	groups_fini(&t->groups);
	vec_fini(t);
}

/* Where the values of this series are counted. */
static void choose_sum(struct builder *b, const struct store_label *labels, size_t n)
{
	const char *type = groups_label(labels, n, "__type__");
	const char *unit = groups_label(labels, n, "__unit__");
	struct target *t = &b->out->data[b->target];

	b->sum = NULL;
	if (!type || !unit || strcmp(unit, "count") != 0)
		return;
	if (!strcmp(type, "samples"))
		b->sum = &t->samples;
	else if (!strcmp(type, "lost"))
		b->sum = &t->lost;
	if (b->sum && *b->sum < 0)
		*b->sum = 0;
}

static int on_series(void *ctx, const struct store_label *labels, size_t n)
{
	const struct target none = { INT64_MAX, INT64_MIN, 0, -1, -1 };
	struct builder *b = ctx;
	int r = groups_find(&b->out->groups, labels, n, &b->target);

	if (r == 0)
		r = groups_find(&b->typed, labels, n, &b->type);
	if (r == 0 && b->target == b->out->len)
		r = b->target < TARGETS_MAX
			    ? vec_push(b->out, none)
			    : err_set(b->err, -EFBIG, "more than %d targets", TARGETS_MAX);
	if (r == 0 && b->type == b->windows.len)
		r = vec_push(&b->windows, 0);
	if (r == 0)
		choose_sum(b, labels, n);
	return r;
}

static int on_point(void *ctx, const struct store_point *p)
{
	struct builder *b = ctx;
	struct target *t = &b->out->data[b->target];
	uint64_t n = ++b->windows.data[b->type];

	t->first_ns = p->time_ns < t->first_ns ? p->time_ns : t->first_ns;
	t->last_ns = p->time_ns > t->last_ns ? p->time_ns : t->last_ns;
	t->n_windows = n > t->n_windows ? n : t->n_windows;
	if (b->sum)
		*b->sum = stacks_sum(*b->sum, p->value);
	return 0;
}

int targets_build(struct targets *out, struct store *s, const struct store_select *sel,
		  const char *const *by, size_t n_by, struct err *err)
{
	_cleanup_(builder_fini) struct builder b = { .out = out, .err = err };
	const char *typed[TARGETS_MAX_BY + 1];
	int r;

	if (n_by > TARGETS_MAX_BY)
		return err_set(err, -EINVAL, "more than %d labels", TARGETS_MAX_BY);
	for (size_t i = 0; i < n_by; i++)
		typed[i] = by[i];
	typed[n_by] = "__profile_type__";
	r = groups_init(&out->groups, by, n_by);
	if (r == 0)
		r = groups_init(&b.typed, typed, n_by + 1);
	return r < 0 ? r : store_points(s, sel, on_series, on_point, &b, err);
}
