/* SPDX-License-Identifier: Apache-2.0 */
/* Answers that are trees: one, two beside each other, and above and below a function. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "codec/page_json.h"
#include "profile/profile.h"
#include "query/calls.h"
#include "query/cut.h"
#include "query/export.h"
#include "query/pair.h"
#include "query/roots.h"
#include "server/view.h"
#include "store/stacks.h"

static int max_nodes(struct view *v, uint32_t *out)
{
	const struct request rq = { .max_nodes = v->rq.max_nodes };

	return query_max_nodes(&rq, CUT_DEFAULT_NODES, v->rpc, out);
}

int view_tree(struct view *v)
{
	_cleanup_(page_tree_fini) struct page_tree t = { 0 };
	_cleanup_(stacks_freep) struct stacks *s = NULL;
	struct page_tree *trees[] = { &t };
	struct query *q = &v->query[SIDE_LEFT];
	const char *label = v->rq.label;
	bool by_label = label && label[0];
	uint32_t max = 0;
	int r = max_nodes(v, &max);

	if (r == 0)
		r = by_label ? query_asked(v->rpc, roots_merge(&s, v->rpc->store, &q->sel, label,
							       v->rpc->err))
			     : query_stacks(q, false, v->rpc, &s);
	if (r == 0 && by_label)
		r = query_keep_call_site(q, s);
	if (r == 0)
		r = export_tree(&t, s, NULL, &q->type, q->sel.start_ns);
	if (r == 0 && by_label)
		r = roots_mark(&t);
	if (r == 0)
		r = cut_trees(trees, 1, max);
	return r < 0 ? r : page_tree_write(&t, &v->json);
}

struct sides {
	struct stacks *stacks[SIDES];
	struct pair pair;
	struct page_tree trees[SIDES];
};

static void sides_fini(struct sides *s)
{
	for (int i = 0; i < SIDES; i++) {
		stacks_free(s->stacks[i]);
		page_tree_fini(&s->trees[i]);
	}
	pair_fini(&s->pair);
}

/* Both trees have the nodes of the pair; time and duration are each one's own. */
static int build_sides(struct view *v, struct sides *s)
{
	int r = 0;

	for (int i = 0; r == 0 && i < SIDES; i++)
		r = query_stacks(&v->query[i], false, v->rpc, &s->stacks[i]);
	if (r == 0)
		r = pair_build(&s->pair, s->stacks[SIDE_LEFT], s->stacks[SIDE_RIGHT]);
	for (int i = 0; r == 0 && i < SIDES; i++) {
		struct query *q = &v->query[i];

		s->pair.both->duration_ns = s->stacks[i]->duration_ns;
		s->pair.both->period = s->stacks[i]->period;
		r = export_tree(&s->trees[i], s->pair.both, s->pair.self[i], &q->type,
				q->sel.start_ns);
	}
	return r;
}

int view_diff(struct view *v)
{
	_cleanup_(sides_fini) struct sides s = { 0 };
	struct page_tree *trees[] = { &s.trees[SIDE_LEFT], &s.trees[SIDE_RIGHT] };
	uint32_t max = 0;
	int r = max_nodes(v, &max);

	if (r == 0)
		r = build_sides(v, &s);
	if (r == 0)
		r = cut_trees(trees, SIDES, max);
	if (r < 0)
		return r;
	json_object(&v->json);
	json_key(&v->json, "before");
	r = page_tree_write(trees[SIDE_LEFT], &v->json);
	json_key(&v->json, "after");
	if (r == 0)
		r = page_tree_write(trees[SIDE_RIGHT], &v->json);
	json_object_end(&v->json);
	return r;
}

static int put_calls(struct view *v, const struct calls *c, const char *key, uint32_t max)
{
	_cleanup_(page_tree_fini) struct page_tree t = { 0 };
	struct page_tree *trees[] = { &t };
	struct query *q = &v->query[SIDE_LEFT];
	int r = export_calls(&t, c, &q->type);

	t.time_ns = q->sel.start_ns;
	if (r == 0)
		r = cut_trees(trees, 1, max);
	json_key(&v->json, key);
	return r < 0 ? r : page_tree_write(&t, &v->json);
}

/* Callers' values stand at the far ends of paths: the function's own is that of its callees. */
static int64_t own_value(const struct calls *callees)
{
	int64_t self = 0;

	for (uint32_t i = calls_node(callees, 0)->first_child; i != CALLS_NONE;
	     i = calls_node(callees, i)->next)
		self = stacks_sum(self, calls_node(callees, i)->self);
	return self;
}

static int build_calls(struct view *v, const struct profile *p, enum calls_direction direction,
		       struct calls **out)
{
	const char *kind = v->rq.function.kind, *binary = v->rq.function.binary;
	const struct calls_options opt = {
		.direction = direction, .name = v->rq.function.name, .binary = binary, .kind = kind
	};
	int r = calls_build(out, p, &opt);

	return r == -ENOENT ? err_set(v->rpc->err, r, "no function is called so") : r;
}

int view_sandwich(struct view *v)
{
	_cleanup_(calls_freep) struct calls *callers = NULL, *callees = NULL;
	_cleanup_(profile_freep) struct profile *p = NULL;
	uint32_t max = 0;
	int r = max_nodes(v, &max);

	if (r == 0 && (!v->rq.function.name || !v->rq.function.name[0]))
		r = query_bad(v->rpc, "function.name is missing");
	if (r == 0)
		r = query_profile(&v->query[SIDE_LEFT], v->rpc, &p);
	if (r == 0)
		r = build_calls(v, p, CALLS_CALLERS, &callers);
	if (r == 0)
		r = build_calls(v, p, CALLS_CALLEES, &callees);
	if (r < 0)
		return r;
	json_object(&v->json);
	view_int(v, "total", calls_node(callees, 0)->total);
	view_int(v, "self", own_value(callees));
	view_int(v, "all", calls_sum(callees));
	r = put_calls(v, callers, "callers", max);
	if (r == 0)
		r = put_calls(v, callees, "callees", max);
	json_object_end(&v->json);
	return r;
}
