/* SPDX-License-Identifier: Apache-2.0 */
/* Merged stacks: as flame graphs, trees and profiles, and two beside each other. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "codec/pprof_write.h"
#include "net/http_server.h"
#include "profile/profile.h"
#include "query/flame.h"
#include "query/pair.h"
#include "server/pprof_json.h"
#include "server/querier.h"
#include "store/stacks.h"

static void put_bar(struct answer *a, const struct flame_bar *b, size_t n_sides)
{
	for (size_t k = 0; k < n_sides; k++) {
		answer_number(a, b->side[k].offset);
		answer_number(a, b->side[k].total);
		answer_number(a, b->side[k].self);
	}
	answer_number(a, b->name);
}

static void put_flame(struct answer *a, const struct flame *f)
{
	size_t begun = answer_begin(a, 1, "flamegraph"), level, values;

	answer_list(a, "names");
	for (size_t i = 0; i < f->names.len; i++)
		answer_item(a, 1, f->names.data[i]);
	answer_list_end(a);
	answer_list(a, "levels");
	for (size_t i = 0; i < f->levels.len; i++) {
		level = answer_begin(a, 2, NULL);
		values = answer_numbers(a, 1, "values");
		for (size_t k = 0; k < f->levels.data[i].len; k++)
			put_bar(a, &f->levels.data[i].data[k], f->n_sides);
		answer_numbers_end(a, values);
		answer_end(a, level);
	}
	answer_list_end(a);
	answer_int(a, 3, "total", f->total);
	answer_int(a, 4, "maxSelf", f->max_self);
	if (f->n_sides > 1) {
		answer_int(a, 5, "leftTicks", f->ticks[PAIR_LEFT]);
		answer_int(a, 6, "rightTicks", f->ticks[PAIR_RIGHT]);
	}
	answer_end(a, begun);
}

static int max_nodes(struct question *q, uint32_t *out)
{
	return query_max_nodes(&q->rq[0], FLAME_DEFAULT_NODES, q->rpc, out);
}

static int answer_flame(struct question *q, const struct stacks *s, uint32_t max)
{
	_cleanup_(shown_fini) struct shown shown = { 0 };
	_cleanup_(flame_fini) struct flame f = { 0 };
	int r = shown_of(&shown, s, max);

	if (r == 0)
		r = flame_build(&f, &shown);
	if (r == 0)
		put_flame(&q->answer, &f);
	return r;
}

static int answer_tree(struct question *q, const struct stacks *s, uint32_t max)
{
	_cleanup_(shown_fini) struct shown shown = { 0 };
	_cleanup_(buf_fini) struct buf tree = { 0 };
	int r = shown_of(&shown, s, max);

	if (r == 0)
		r = flame_tree(&shown, &tree);
	if (r == 0)
		answer_bytes(&q->answer, 2, "tree", tree.data, tree.len);
	return r;
}

/* The fields of the message Profile, into whatever is open. */
static int answer_profile(struct question *q)
{
	_cleanup_(profile_freep) struct profile *p = NULL;
	_cleanup_(buf_fini) struct buf proto = { 0 };
	int r = query_profile(&q->query[0], q->rpc, &p);

	if (r == 0)
		r = pprof_write(p, q->rpc->json ? &proto : &q->rpc->rs->body, q->rpc->err);
	return r < 0 || !q->rpc->json ? r : pprof_json(proto.data, proto.len, &q->answer.json);
}

static int answer_wrapped_profile(struct question *q)
{
	size_t outer = answer_begin(&q->answer, 5, "pprof");
	size_t inner = answer_begin(&q->answer, 1, "profile");
	int r = answer_profile(q);

	answer_end(&q->answer, inner);
	answer_end(&q->answer, outer);
	return r;
}

int querier_stacktraces(struct question *q)
{
	_cleanup_(stacks_freep) struct stacks *s = NULL;
	uint32_t max = 0;
	int r = max_nodes(q, &max);

	if (r == 0 && q->rq[0].format == FORMAT_PPROF)
		return answer_wrapped_profile(q);
	if (r == 0 && (q->rq[0].format < 0 || q->rq[0].format == FORMAT_DOT ||
		       q->rq[0].format > FORMAT_PPROF))
		r = err_set(q->rpc->err, -ENOSYS, "this format is not there");
	if (r == 0)
		r = query_stacks(&q->query[0], true, q->rpc, &s);
	if (r < 0)
		return r;
	return q->rq[0].format == FORMAT_TREE ? answer_tree(q, s, max) : answer_flame(q, s, max);
}

/* Which samples belong to which span is not kept: of a span there is nothing. */
int querier_spans(struct question *q)
{
	_cleanup_(stacks_freep) struct stacks *none = NULL;
	uint32_t max = 0;
	int r = max_nodes(q, &max);

	if (r < 0 || !q->rq[0].spans.len)
		return r < 0 ? r : querier_stacktraces(q);
	r = stacks_new(&none);
	return r < 0 ? r : answer_flame(q, none, max);
}

int querier_profile(struct question *q)
{
	return answer_profile(q);
}

struct comparison {
	struct stacks *side[QUESTION_SIDES];
	struct pair pair;
	struct shown shown;
	struct flame flame;
};

static void comparison_fini(struct comparison *c)
{
	flame_fini(&c->flame);
	shown_fini(&c->shown);
	pair_fini(&c->pair);
	for (int i = 0; i < QUESTION_SIDES; i++)
		stacks_free(c->side[i]);
}

int querier_diff(struct question *q)
{
	_cleanup_(comparison_fini) struct comparison c = { 0 };
	uint32_t max = 0;
	int r = max_nodes(q, &max);

	if (r == 0 && strcmp(q->rq[0].type, q->rq[1].type) != 0)
		r = query_bad(q->rpc, "both sides must have the same profile type");
	for (int i = 0; r == 0 && i < QUESTION_SIDES; i++)
		r = query_stacks(&q->query[i], true, q->rpc, &c.side[i]);
	if (r == 0)
		r = pair_build(&c.pair, c.side[0], c.side[1]);
	if (r == 0)
		r = shown_of_pair(&c.shown, &c.pair, max);
	if (r == 0)
		r = flame_build(&c.flame, &c.shown);
	if (r == 0)
		put_flame(&q->answer, &c.flame);
	return r;
}
