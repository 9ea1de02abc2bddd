/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Methods that return trees: one tree, two side by side, and the callers and callees of a function.
 * Trees are cut to "maxNodes" nodes; totals stay exact (flame/prune.h).
 */
#include <errno.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/saturate.h"
#include "codec/page/page_json.h"
#include "flame/merged_stacks.h"
#include "flame/profile_pair.h"
#include "flame/prune.h"
#include "profile/profile.h"
#include "query/export.h"
#include "query/grouped_merge.h"
#include "server/page_api.h"
#include "tables/calls.h"

/* The limit of this request in the form that query_max_nodes() validates. */
static int max_nodes(struct page_api_call *call, uint32_t *out)
{
	const struct request rq = { .max_nodes = call->rq.max_nodes };

	return query_max_nodes(&rq, PRUNE_DEFAULT_NODES, call->rpc, out);
}

/*
 * With a label the tree has a level below the root for the label's values. The call site is applied
 * afterwards, since its first frame is then that value.
 */
int page_api_tree(struct page_api_call *call)
{
	_cleanup_(page_tree_fini) struct page_tree t = { 0 };
	_cleanup_(merged_stacks_freep) struct merged_stacks *s = NULL;
	struct page_tree *trees[] = { &t };
	struct query *q = &call->query[SIDE_LEFT];
	const char *label = call->rq.label;
	bool by_label = label && label[0];
	uint32_t max = 0;
	int r = max_nodes(call, &max);

	if (r == 0)
		r = by_label ? grouped_merge(&s, call->rpc->store, &q->sel, label, call->rpc->err)
			     : query_stacks(q, false, call->rpc, &s);
	if (r == 0 && by_label)
		r = query_filter_call_site(q, s);
	if (r == 0)
		r = export_tree(&t, s, NULL, &q->type, q->sel.start_ns);
	if (r == 0 && by_label)
		r = grouped_merge_mark_groups(&t);
	if (r == 0)
		r = prune_trees(trees, 1, max);
	return r < 0 ? r : page_tree_write(&t, &call->json);
}

/* The two queries of Diff, and what is made of them step by step. */
struct sides {
	struct merged_stacks *stacks[SIDES];
	struct profile_pair pair;
	struct page_tree trees[SIDES];
};

static void sides_fini(struct sides *s)
{
	for (int i = 0; i < SIDES; i++) {
		merged_stacks_free(s->stacks[i]);
		page_tree_fini(&s->trees[i]);
	}
	profile_pair_fini(&s->pair);
}

/* Both trees have the nodes of the pair; time and duration are those of each side. */
static int build_sides(struct page_api_call *call, struct sides *s)
{
	int r = 0;

	for (int i = 0; r == 0 && i < SIDES; i++)
		r = query_stacks(&call->query[i], false, call->rpc, &s->stacks[i]);
	if (r == 0)
		r = profile_pair_build(&s->pair, s->stacks[SIDE_LEFT], s->stacks[SIDE_RIGHT]);
	for (int i = 0; r == 0 && i < SIDES; i++) {
		struct query *q = &call->query[i];

		s->pair.both->duration_ns = s->stacks[i]->duration_ns;
		s->pair.both->period = s->stacks[i]->period;
		r = export_tree(&s->trees[i], s->pair.both, s->pair.self[i], &q->type,
				q->sel.start_ns);
	}
	return r;
}

int page_api_diff(struct page_api_call *call)
{
	_cleanup_(sides_fini) struct sides s = { 0 };
	struct page_tree *trees[] = { &s.trees[SIDE_LEFT], &s.trees[SIDE_RIGHT] };
	uint32_t max = 0;
	int r = max_nodes(call, &max);

	if (r == 0)
		r = build_sides(call, &s);
	if (r == 0)
		r = prune_trees(trees, SIDES, max);
	if (r < 0)
		return r;
	json_object(&call->json);
	json_key(&call->json, "before");
	r = page_tree_write(trees[SIDE_LEFT], &call->json);
	json_key(&call->json, "after");
	if (r == 0)
		r = page_tree_write(trees[SIDE_RIGHT], &call->json);
	json_object_end(&call->json);
	return r;
}

/* Writes one of the trees of callers or callees as a member. */
static int put_calls(struct page_api_call *call, const struct calls *c, const char *key,
		     uint32_t max)
{
	_cleanup_(page_tree_fini) struct page_tree t = { 0 };
	struct page_tree *trees[] = { &t };
	struct query *q = &call->query[SIDE_LEFT];
	int r = export_calls(&t, c, &q->type);

	t.time_ns = q->sel.start_ns;
	if (r == 0)
		r = prune_trees(trees, 1, max);
	json_key(&call->json, key);
	return r < 0 ? r : page_tree_write(&t, &call->json);
}

/*
 * The function's self value. Callers' values are at the leaves of the callers' tree, so it is
 * computed from the callees.
 */
static int64_t own_value(const struct calls *callees)
{
	int64_t self = 0;

	for (uint32_t i = calls_node(callees, 0)->first_child; i != CALLS_NONE;
	     i = calls_node(callees, i)->next)
		self = saturating_add(self, calls_node(callees, i)->self);
	return self;
}

/* Binary and kind may be NULL, which matches functions of that name in any binary. */
static int build_calls(struct page_api_call *call, const struct profile *p,
		       enum calls_direction direction, struct calls **out)
{
	const char *kind = call->rq.function.kind, *binary = call->rq.function.binary;
	const struct calls_options opt = { .direction = direction,
					   .name = call->rq.function.name,
					   .binary = binary,
					   .kind = kind };
	int r = calls_build(out, p, &opt);

	return r == -ENOENT ? err_set(call->rpc->err, r, "no function has this name") : r;
}

/* "total" and "self" are those of the function, "all" is the sum of the query. */
int page_api_sandwich(struct page_api_call *call)
{
	_cleanup_(calls_freep) struct calls *callers = NULL, *callees = NULL;
	_cleanup_(profile_freep) struct profile *p = NULL;
	uint32_t max = 0;
	int r = max_nodes(call, &max);

	if (r == 0 && (!call->rq.function.name || !call->rq.function.name[0]))
		r = query_invalid(call->rpc, "\"function.name\" is missing");
	if (r == 0)
		r = query_profile(&call->query[SIDE_LEFT], call->rpc, &p);
	if (r == 0)
		r = build_calls(call, p, CALLS_CALLERS, &callers);
	if (r == 0)
		r = build_calls(call, p, CALLS_CALLEES, &callees);
	if (r < 0)
		return r;
	json_object(&call->json);
	json_member_int(&call->json, "total", calls_node(callees, 0)->total);
	json_member_int(&call->json, "self", own_value(callees));
	json_member_int(&call->json, "all", calls_sum(callees));
	r = put_calls(call, callers, "callers", max);
	if (r == 0)
		r = put_calls(call, callees, "callees", max);
	json_object_end(&call->json);
	return r;
}
