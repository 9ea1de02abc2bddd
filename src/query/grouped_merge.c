/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store merges whatever the matchers select. Each value of the label is therefore merged with
 * one more matcher, and the others with a matcher against each of these values.
 *
 * A merge that keeps labels would need a tree per series in the store's inner loop. The values with
 * the greatest sums are found by a timeline of a single step, which reads points and no stacks.
 */
#include "query/grouped_merge.h"

#include "base/err.h"
#include "codec/page/page_json.h"
#include "flame/merged_stacks.h"
#include "query/timeline.h"
#include "store/matcher.h"

static const char NO_VALUE[] = "(none)";
static const char REST[] = "(all others)";

struct merger {
	struct store *store;
	const struct store_select *sel;
	const char *label;
	struct merged_stacks *out;
	struct {
		VEC(struct matcher *); /* the caller's, then this module's */
	} matchers;
	struct err *err;
};

static void merger_fini(struct merger *m)
{
	for (size_t i = m->sel->n_matchers; i < m->matchers.len; i++)
		matcher_free(m->matchers.data[i]);
	vec_fini(&m->matchers);
	merged_stacks_free(m->out);
}

static int add_matcher(struct merger *m, enum matcher_op op, const char *value)
{
	_cleanup_(matcher_freep) struct matcher *one = NULL;
	int r = matcher_new(&one, op, m->label, value, m->err);

	if (r == 0)
		r = vec_push(&m->matchers, one);
	if (r == 0)
		steal_ptr(&one);
	return r;
}

static void drop_matcher(struct merger *m)
{
	matcher_free(m->matchers.data[--m->matchers.len]);
}

/* Merges what the matchers select and adds it below a frame @name. */
static int merge_group(struct merger *m, const char *name)
{
	_cleanup_(merged_stacks_freep) struct merged_stacks *part = NULL;
	struct store_select sel = *m->sel;
	int r;

	sel.matchers = m->matchers.data;
	sel.n_matchers = m->matchers.len;
	r = store_merge(m->store, &sel, &part, m->err);
	return r < 0 ? r : merged_stacks_add_subtree(m->out, name, part);
}

static int merge_value(struct merger *m, const char *value)
{
	int r = add_matcher(m, MATCHER_EQ, value ? value : "");

	if (r == 0) {
		r = merge_group(m, value && value[0] ? value : NO_VALUE);
		drop_matcher(m);
	}
	return r;
}

/* At most GROUPED_MERGE_MAX matchers are added to the client's. */
static int merge_others(struct merger *m, const struct timeline *t)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < t->len; i++) {
		const char *value = timeline_label(t, &t->data[i], 0);

		r = add_matcher(m, MATCHER_NE, value ? value : "");
	}
	return r < 0 ? r : merge_group(m, REST);
}

static int find_values(struct merger *m, struct timeline *out)
{
	const struct timeline_options opt = {
		.step_ms = (m->sel->end_ns - m->sel->start_ns) / 1000000 + 1,
		.group_by = &m->label,
		.n_group_by = 1,
		.limit = GROUPED_MERGE_MAX,
	};

	return timeline_build(out, m->store, m->sel, &opt, m->err);
}

int grouped_merge(struct merged_stacks **out, struct store *s, const struct store_select *sel,
		  const char *label, struct err *err)
{
	_cleanup_(merger_fini) struct merger m = {
		.store = s, .sel = sel, .label = label, .err = err
	};
	_cleanup_(timeline_fini) struct timeline t = { 0 };
	int r = merged_stacks_new(&m.out);

	for (size_t i = 0; r == 0 && i < sel->n_matchers; i++)
		r = vec_push(&m.matchers, sel->matchers[i]);
	if (r == 0)
		r = find_values(&m, &t);
	for (size_t i = 0; r == 0 && i < t.len; i++)
		r = merge_value(&m, timeline_label(&t, &t.data[i], 0));
	if (r == 0 && t.n_found > t.len)
		r = merge_others(&m, &t);
	if (r == 0)
		*out = steal_ptr(&m.out);
	return r;
}

int grouped_merge_mark_groups(struct page_tree *t)
{
	for (size_t i = 1; i < t->nodes.len; i++) {
		struct page_node *n = &t->nodes.data[i];
		struct page_frame f;
		int r;

		if (n->parent != 0)
			continue;
		f = t->frames.data[n->frame];
		f.kind = PAGE_KIND_GROUP;
		r = vec_push(&t->frames, f);
		if (r < 0)
			return r;
		n->frame = (uint32_t)t->frames.len - 1;
	}
	return 0;
}
