/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET /pyroscope/render and render-diff, the API of older Pyroscope clients: arguments in the URL,
 * a response with plain JSON numbers.
 *
 * The response's fields and units are recorded from Pyroscope: cpu has the units "samples" and the
 * rate 10^9, which makes clients divide nanoseconds to seconds. With groupBy the timeline itself
 * has only zeros and the groups carry the values. Times may be relative ("now-1h").
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "flame/flame_graph.h"
#include "flame/merged_stacks.h"
#include "flame/profile_pair.h"
#include "flame/prune.h"
#include "net/http_server.h"
#include "query/timeline.h"
#include "server/api.h"
#include "server/arguments.h"
#include "server/connect.h"
#include "server/query_request.h"

enum { MIN_STEP_SECONDS = 15, MAX_POINTS = 1500, HOUR_SECONDS = 3600 };

/* One side of a request: TYPE{SELECTOR} split in two. */
struct side {
	struct request rq;
	struct query query;
	char *type;
	const char *by; /* the label to group by */
	struct merged_stacks *stacks;
};

static void side_fini(struct side *s)
{
	query_fini(&s->query);
	merged_stacks_free(s->stacks);
	free(s->type);
}

/* The names of one side's arguments. */
struct side_names {
	const char *query, *from, *until;
};

static const struct side_names single = { "query", "from", "until" };
static const struct side_names left = { "leftQuery", "leftFrom", "leftUntil" };
static const struct side_names right = { "rightQuery", "rightFrom", "rightUntil" };

/* Reads the limit of nodes. Clients use both spellings of the argument. */
static int read_max_nodes(struct rpc *rpc, struct request *rq)
{
	int r = arguments_int(rpc, "maxNodes", 0, PRUNE_MAX_NODES, &rq->max_nodes);

	return r < 0 || rq->max_nodes
		       ? r
		       : arguments_int(rpc, "max-nodes", 0, PRUNE_MAX_NODES, &rq->max_nodes);
}

/* Options that this server lacks are refused. */
static int check_options(struct rpc *rpc)
{
	static const char *const aggregations[] = { "sum", "avg", NULL };
	const char *format = arguments_text(rpc, "format");
	size_t i;

	if (format && strcmp(format, "json") != 0)
		return err_set(rpc->err, -ENOSYS, "argument \"format\" must be json");
	return arguments_choice(rpc, "aggregation", aggregations, &i);
}

/* Reads the query and range of one side; the range defaults to the last hour. */
static int read_side(struct rpc *rpc, const struct side_names *names, struct side *s)
{
	const char *query = arguments_text(rpc, names->query), *brace;
	int64_t now = (int64_t)clock_unix_ns(), from = 0, until = 0;
	int r = check_options(rpc);

	if (r == 0)
		r = arguments_time(rpc, names->from, now, &from);
	if (r == 0)
		r = arguments_time(rpc, names->until, now, &until);
	if (r < 0)
		return r;
	if (!query)
		return err_set(rpc->err, -EINVAL, "argument \"%s\" is missing", names->query);
	brace = strchr(query, '{');
	s->type = strndup(query, brace ? (size_t)(brace - query) : strlen(query));
	if (!s->type)
		return -ENOMEM;
	until = until ? until : now;
	from = from ? from : until - HOUR_SECONDS * (int64_t)CLOCK_SECOND_NS;
	s->by = arguments_text(rpc, "groupBy");
	s->rq.type = s->type;
	s->rq.selector = brace ? brace : "{}";
	s->rq.start = from / CLOCK_MS_NS;
	s->rq.end = until / CLOCK_MS_NS;
	return query_check_profiles(&s->query, &s->rq, rpc);
}

/*
 * The "flamebearer" of Pyroscope: a list of numbers per level, four for each bar, or seven if two
 * sides are compared. An offset is relative to the end of the bar before.
 */
static void put_flamebearer(struct json *j, const struct flame_graph *f)
{
	json_member_object(j, "flamebearer");
	json_member_array(j, "names");
	for (size_t i = 0; i < f->names.len; i++)
		json_str(j, f->names.data[i]);
	json_array_end(j);
	json_member_array(j, "levels");
	for (size_t i = 0; i < f->levels.len; i++) {
		json_array(j);
		for (size_t b = 0; b < f->levels.data[i].len; b++) {
			const struct flame_graph_bar *bar = &f->levels.data[i].data[b];

			for (size_t k = 0; k < f->n_sides; k++) {
				json_int(j, bar->side[k].offset);
				json_int(j, bar->side[k].total);
				json_int(j, bar->side[k].self);
			}
			json_uint(j, bar->name);
		}
		json_array_end(j);
	}
	json_array_end(j);
	json_member_int(j, "numTicks", f->total);
	json_member_int(j, "maxSelf", f->max_self);
	json_object_end(j);
}

/* The units that clients of this response expect. */
static const struct unit {
	const char *type, *units;
	unsigned int rate;
} units[] = {
	{ "cpu", "samples", 1000000000 },    { "samples", "objects", 100 },
	{ "goroutine", "objects", 100 },     { "inuse_objects", "objects", 100 },
	{ "alloc_objects", "objects", 100 },
};

/* Writes sample rate and units, by which clients convert values for display. */
static void put_metadata(struct json *j, const char *type, const char *format)
{
	struct unit unit = { type, type, 100 };

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(units[i].type, type))
			unit = units[i];
	json_member_object(j, "metadata");
	json_member_str(j, "format", format);
	json_member_str(j, "spyName", "");
	json_member_uint(j, "sampleRate", unit.rate);
	json_member_str(j, "units", unit.units);
	json_member_str(j, "name", type);
	json_object_end(j);
}

/*
 * Writes zeros if @line is NULL. Steps after the last whole one are written only if they have
 * values.
 */
static void put_timeline(struct json *j, const struct timeline *t, const struct timeline_line *line)
{
	size_t n = t->n_steps - 2;

	for (size_t i = n; line && i < t->n_steps; i++)
		n = line->points[i].n ? i + 1 : n;
	json_object(j);
	json_member_int(j, "startTime", t->start_ms / 1000);
	json_member_array(j, "samples");
	for (size_t i = 0; i < n; i++)
		json_double(j, line ? timeline_value(t, &line->points[i]) : 0);
	json_array_end(j);
	json_member_int(j, "durationDelta", t->step_ms / 1000);
	json_member_null(j, "watermarks");
	json_object_end(j);
}

static void put_timelines(struct json *j, const struct timeline *t)
{
	bool grouped = t->groups.n_by > 0;

	json_key(j, "timeline");
	put_timeline(j, t, !grouped && t->len ? &t->data[0] : NULL);
	json_key(j, "groups");
	if (!grouped) {
		json_null(j);
		return;
	}
	json_object(j);
	for (size_t i = 0; i < t->len; i++) {
		const char *value = timeline_label(t, &t->data[i], 0);

		json_key(j, value ? value : "");
		put_timeline(j, t, &t->data[i]);
	}
	json_object_end(j);
}

/* The step grows with the range, to at most MAX_POINTS points, and is never below 15 seconds. */
static int build_timeline(struct rpc *rpc, const struct side *s, struct timeline *out)
{
	const char *aggregation = arguments_text(rpc, "aggregation");
	int64_t seconds = (s->rq.end - s->rq.start) / 1000, step = seconds / MAX_POINTS;
	const struct timeline_options opt = {
		.step_ms = 1000 * (step > MIN_STEP_SECONDS ? step : MIN_STEP_SECONDS),
		.group_by = &s->by,
		.n_group_by = s->by != NULL,
		.average = aggregation && !strcmp(aggregation, "avg"),
	};

	return timeline_build(out, rpc->store, &s->query.sel, &opt, rpc->err);
}

/* The stacks stay in @s: the graph borrows names from them. */
static int build_flame(struct rpc *rpc, struct side *s, struct flame_tree *tree,
		       struct flame_graph *out)
{
	uint32_t max = 0;
	int r = read_max_nodes(rpc, &s->rq);

	if (r == 0)
		r = query_max_nodes(&s->rq, FLAME_GRAPH_DEFAULT_NODES, rpc, &max);
	if (r == 0)
		r = query_stacks(&s->query, true, rpc, &s->stacks);
	if (r == 0)
		r = flame_tree_build(tree, s->stacks, max);
	return r < 0 ? r : flame_graph_build(out, tree);
}

/* Writes what both responses begin with. */
static struct json begin(struct rpc *rpc, const struct flame_graph *f, const char *type)
{
	struct json j = json_to(&rpc->rs->body);

	rpc->rs->content_type = "application/json";
	json_object(&j);
	json_member_uint(&j, "version", 1);
	put_flamebearer(&j, f);
	put_metadata(&j, type, f->n_sides > 1 ? "double" : "single");
	return j;
}

static int render_single(struct rpc *rpc)
{
	_cleanup_(timeline_fini) struct timeline t = { 0 };
	_cleanup_(flame_tree_fini) struct flame_tree tree = { 0 };
	_cleanup_(flame_graph_fini) struct flame_graph f = { 0 };
	_cleanup_(side_fini) struct side s = { 0 };
	struct json j;
	int r = read_side(rpc, &single, &s);

	if (r == 0)
		r = build_flame(rpc, &s, &tree, &f);
	if (r == 0)
		r = build_timeline(rpc, &s, &t);
	if (r < 0)
		return r;
	j = begin(rpc, &f, s.query.type.type);
	put_timelines(&j, &t);
	json_member_null(&j, "heatmap");
	json_object_end(&j);
	return 0;
}

/* Two sides, and the graph of their difference, which borrows from them. */
struct comparison {
	struct side left, right;
	struct profile_pair pair;
	struct flame_tree tree;
	struct flame_graph flame;
};

static void comparison_fini(struct comparison *c)
{
	flame_graph_fini(&c->flame);
	flame_tree_fini(&c->tree);
	profile_pair_fini(&c->pair);
	side_fini(&c->left);
	side_fini(&c->right);
}

static int compare(struct rpc *rpc, struct comparison *c)
{
	uint32_t max = 0;
	int r = read_max_nodes(rpc, &c->left.rq);

	if (r == 0)
		r = query_max_nodes(&c->left.rq, FLAME_GRAPH_DEFAULT_NODES, rpc, &max);
	if (r == 0)
		r = query_stacks(&c->left.query, true, rpc, &c->left.stacks);
	if (r == 0)
		r = query_stacks(&c->right.query, true, rpc, &c->right.stacks);
	if (r == 0)
		r = profile_pair_build(&c->pair, c->left.stacks, c->right.stacks);
	if (r == 0)
		r = flame_tree_build_pair(&c->tree, &c->pair, max);
	return r < 0 ? r : flame_graph_build(&c->flame, &c->tree);
}

/* Both sides need the same type; the first query's type names the response. */
static int render_diff(struct rpc *rpc)
{
	static const char *const nothing[] = { "timeline", "groups", "heatmap" };
	_cleanup_(comparison_fini) struct comparison c = { 0 };
	struct json j;
	int r = read_side(rpc, &left, &c.left);

	if (r == 0)
		r = read_side(rpc, &right, &c.right);
	if (r == 0 && strcmp(c.left.type, c.right.type) != 0)
		r = query_invalid(rpc,
				  "the left and the right query must have the same profile type");
	if (r == 0)
		r = compare(rpc, &c);
	if (r < 0)
		return r;
	j = begin(rpc, &c.flame, c.left.query.type.type);
	for (size_t i = 0; i < sizeof(nothing) / sizeof(nothing[0]); i++) {
		json_member_null(&j, nothing[i]);
	}
	json_member_int(&j, "leftTicks", c.flame.ticks[PROFILE_PAIR_LEFT]);
	json_member_int(&j, "rightTicks", c.flame.ticks[PROFILE_PAIR_RIGHT]);
	json_object_end(&j);
	return 0;
}

static const struct api_method methods[] = {
	{ "/pyroscope/render", connect_get, render_single, API_READ, API_QUERY,
	  "Merge profiles into a flame graph and a timeline", NULL,
	  "query from until groupBy aggregation format maxNodes max-nodes" },
	{ "/pyroscope/render-diff", connect_get, render_diff, API_READ, API_QUERY,
	  "Compare two merged profiles in a flame graph", NULL,
	  "leftQuery leftFrom leftUntil rightQuery rightFrom rightUntil aggregation format "
	  "maxNodes "
	  "max-nodes" },
};
API_LIST(render_api, methods);
