/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Methods that merge stacks: as flame graph, tree or profile, and two compared.
 *
 * Flame graphs show names only, so frames of equal names are merged (names_only); pprof keeps files
 * and lines. The bars' layout is that of flame/flame_graph.h: four numbers per bar, seven when two
 * sides are compared.
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "codec/pprof/pprof.h"
#include "flame/flame_graph.h"
#include "flame/merged_stacks.h"
#include "flame/profile_pair.h"
#include "net/http_server.h"
#include "profile/profile.h"
#include "server/pprof_json.h"
#include "server/querier.h"

/*
 * Numbers of a bar in their order on the wire: offset, total and self of each side, then the index
 * of the name.
 */
static void put_bar(struct response *resp, const struct flame_graph_bar *b, size_t n_sides)
{
	for (size_t k = 0; k < n_sides; k++) {
		response_put_number(resp, b->side[k].offset);
		response_put_number(resp, b->side[k].total);
		response_put_number(resp, b->side[k].self);
	}
	response_put_number(resp, b->name);
}

static void put_flame(struct response *resp, const struct flame_graph *f)
{
	size_t mark = response_begin(resp, 1, "flamegraph"), level, values;

	response_begin_list(resp, "names");
	for (size_t i = 0; i < f->names.len; i++)
		response_put_item(resp, 1, f->names.data[i]);
	response_end_list(resp);
	response_begin_list(resp, "levels");
	for (size_t i = 0; i < f->levels.len; i++) {
		level = response_begin(resp, 2, NULL);
		values = response_begin_numbers(resp, 1, "values");
		for (size_t k = 0; k < f->levels.data[i].len; k++)
			put_bar(resp, &f->levels.data[i].data[k], f->n_sides);
		response_end_numbers(resp, values);
		response_end(resp, level);
	}
	response_end_list(resp);
	response_put_int(resp, 3, "total", f->total);
	response_put_int(resp, 4, "maxSelf", f->max_self);
	if (f->n_sides > 1) {
		response_put_int(resp, 5, "leftTicks", f->ticks[PROFILE_PAIR_LEFT]);
		response_put_int(resp, 6, "rightTicks", f->ticks[PROFILE_PAIR_RIGHT]);
	}
	response_end(resp, mark);
}

/* Bars have no labels. */
static int refuse_group_by(const struct request *rq, struct rpc *rpc)
{
	return rq->group_by.len ? query_invalid(rpc, "\"groupBy\" requires the format pprof") : 0;
}

static int max_nodes(struct querier_call *q, uint32_t *out)
{
	return query_max_nodes(&q->rq[0], FLAME_GRAPH_DEFAULT_NODES, q->rpc, out);
}

/* Cuts the tree to @max nodes and lays it out. */
static int respond_flame_graph(struct querier_call *q, const struct merged_stacks *s, uint32_t max)
{
	_cleanup_(flame_tree_fini) struct flame_tree tree = { 0 };
	_cleanup_(flame_graph_fini) struct flame_graph f = { 0 };
	int r = flame_tree_build(&tree, s, max);

	if (r == 0)
		r = flame_graph_build(&f, &tree);
	if (r == 0)
		put_flame(&q->response, &f);
	return r;
}

/* Writes Pyroscope's binary tree, by which its clients merge responses of several servers. */
static int respond_tree(struct querier_call *q, const struct merged_stacks *s, uint32_t max)
{
	_cleanup_(flame_tree_fini) struct flame_tree tree = { 0 };
	_cleanup_(buf_fini) struct buf bytes = { .max = q->rpc->rs->body.max };
	int r = flame_tree_build(&tree, s, max);

	if (r == 0)
		r = flame_graph_write_tree(&tree, &bytes);
	if (r == 0)
		response_put_bytes(&q->response, 2, "tree", bytes.data, bytes.len);
	return r;
}

/*
 * Writes the fields of the message Profile into whatever is open. SelectMergeProfile returns the
 * profile itself, not a message around it. In protobuf it is therefore written directly into the
 * body.
 */
static int respond_profile(struct querier_call *q)
{
	_cleanup_(profile_freep) struct profile *p = NULL;
	_cleanup_(buf_fini) struct buf proto = { 0 };
	int r = query_profile(&q->query[0], q->rpc, &p);

	if (r == 0)
		r = pprof_write(p, q->rpc->json ? &proto : &q->rpc->rs->body, q->rpc->err);
	return r < 0 || !q->rpc->json ? r : pprof_json(proto.data, proto.len, &q->response.json);
}

/* SelectMergeStacktraces returns the profile within two messages. */
static int respond_wrapped_profile(struct querier_call *q)
{
	size_t outer = response_begin(&q->response, 5, "pprof");
	size_t inner = response_begin(&q->response, 1, "profile");
	int r = respond_profile(q);

	response_end(&q->response, inner);
	response_end(&q->response, outer);
	return r;
}

static int unsupported_format(struct querier_call *q, const char *supported)
{
	return err_set(q->rpc->err, -ENOSYS, "unsupported \"format\"; expected %s", supported);
}

/* maxNodes does not apply to a pprof. */
int querier_stacktraces(struct querier_call *q)
{
	_cleanup_(merged_stacks_freep) struct merged_stacks *s = NULL;
	uint32_t max = 0;
	int r = max_nodes(q, &max);

	if (r == 0 && q->rq[0].format == FORMAT_PPROF)
		return respond_wrapped_profile(q);
	if (r == 0)
		r = refuse_group_by(&q->rq[0], q->rpc);
	if (r == 0 && (q->rq[0].format < 0 || q->rq[0].format == FORMAT_DOT ||
		       q->rq[0].format > FORMAT_PPROF))
		r = unsupported_format(q, "flamegraph, tree or pprof");
	if (r == 0)
		r = query_stacks(&q->query[0], true, q->rpc, &s);
	if (r < 0)
		return r;
	return q->rq[0].format == FORMAT_TREE ? respond_tree(q, s, max)
					      : respond_flame_graph(q, s, max);
}

/* The response of this method has no field for a pprof. */
int querier_span_stacktraces(struct querier_call *q)
{
	if (q->rq[0].format == FORMAT_PPROF)
		return unsupported_format(q, "flamegraph or tree");
	return querier_stacktraces(q);
}

/* A limit is validated but changes nothing: the profile is complete. */
int querier_profile(struct querier_call *q)
{
	uint32_t max = 0;
	int r = max_nodes(q, &max);

	return r < 0 ? r : respond_profile(q);
}

/* The steps from two queries to one flame graph; each borrows from those before it. */
struct comparison {
	struct merged_stacks *side[QUERIER_SIDES];
	struct profile_pair pair;
	struct flame_tree tree;
	struct flame_graph flame;
};

static void comparison_fini(struct comparison *c)
{
	flame_graph_fini(&c->flame);
	flame_tree_fini(&c->tree);
	profile_pair_fini(&c->pair);
	for (int i = 0; i < QUERIER_SIDES; i++)
		merged_stacks_free(c->side[i]);
}

/*
 * Both sides must have the same profile type, since their values are compared. The greater limit of
 * nodes is used, as in Pyroscope.
 */
int querier_diff(struct querier_call *q)
{
	_cleanup_(comparison_fini) struct comparison c = { 0 };
	uint32_t max = 0, right = 0;
	int r = max_nodes(q, &max);

	if (r == 0)
		r = query_max_nodes(&q->rq[1], FLAME_GRAPH_DEFAULT_NODES, q->rpc, &right);
	if (q->rq[0].max_nodes < q->rq[1].max_nodes)
		max = right;
	for (int i = 0; r == 0 && i < QUERIER_SIDES; i++)
		r = refuse_group_by(&q->rq[i], q->rpc);
	for (int i = 0; r == 0 && i < QUERIER_SIDES; i++)
		if (q->rq[i].format < 0 || q->rq[i].format > FORMAT_FLAMEGRAPH)
			r = unsupported_format(q, "flamegraph");
	if (r == 0 && strcmp(q->rq[0].type, q->rq[1].type) != 0)
		r = query_invalid(q->rpc, "\"left\" and \"right\" must have the same profile type");
	for (int i = 0; r == 0 && i < QUERIER_SIDES; i++)
		r = query_stacks(&q->query[i], true, q->rpc, &c.side[i]);
	if (r == 0)
		r = profile_pair_build(&c.pair, c.side[0], c.side[1]);
	if (r == 0)
		r = flame_tree_build_pair(&c.tree, &c.pair, max);
	if (r == 0)
		r = flame_graph_build(&c.flame, &c.tree);
	if (r == 0)
		put_flame(&q->response, &c.flame);
	return r;
}
