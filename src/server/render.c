/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /pyroscope/render and render-diff: what older clients of Pyroscope ask, as
 * GETs with everything in the address and plain JSON numbers in the answer.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "net/http_server.h"
#include "query/flame.h"
#include "query/pair.h"
#include "query/timeline.h"
#include "server/question.h"
#include "server/when.h"
#include "store/stacks.h"

enum { MIN_STEP_SECONDS = 15, MAX_POINTS = 1500, HOUR_SECONDS = 3600 };

/* One side of what is asked: TYPE{SELECTOR} cut in two. */
struct side {
	struct request rq;
	struct query query;
	char *type;
	const char *by; /* the label to group by */
	struct stacks *stacks;
};

static void side_fini(struct side *s)
{
	query_fini(&s->query);
	stacks_free(s->stacks);
	free(s->type);
}

/* Names of arguments as one side has them. */
struct side_names {
	const char *query, *from, *until;
};

static const struct side_names single = { "query", "from", "until" };
static const struct side_names left = { "leftQuery", "leftFrom", "leftUntil" };
static const struct side_names right = { "rightQuery", "rightFrom", "rightUntil" };

static int read_max_nodes(struct rpc *rpc, struct request *rq)
{
	const char *text = http_request_arg(rpc->rq, "maxNodes");
	char *end = NULL;

	if (!text)
		text = http_request_arg(rpc->rq, "max-nodes");
	if (!text || !text[0])
		return 0;
	errno = 0;
	rq->max_nodes = strtoll(text, &end, 10);
	return errno || *end ? query_bad(rpc, "maxNodes is no number") : 0;
}

static int read_side(struct rpc *rpc, const struct side_names *names, struct side *s)
{
	const char *query = http_request_arg(rpc->rq, names->query), *brace;
	int64_t now = (int64_t)clock_unix_ns();
	int64_t from = when_read(http_request_arg(rpc->rq, names->from), now);
	int64_t until = when_read(http_request_arg(rpc->rq, names->until), now);

	if (!query || !query[0])
		return err_set(rpc->err, -EINVAL, "%s is missing", names->query);
	brace = strchr(query, '{');
	s->type = strndup(query, brace ? (size_t)(brace - query) : strlen(query));
	if (!s->type)
		return -ENOMEM;
	until = until ? until : now;
	from = from ? from : until - HOUR_SECONDS * (int64_t)CLOCK_SECOND_NS;
	s->by = http_request_arg(rpc->rq, "groupBy");
	s->rq.type = s->type;
	s->rq.selector = brace ? brace : "{}";
	s->rq.start = from / CLOCK_MS_NS;
	s->rq.end = until / CLOCK_MS_NS;
	return query_values(&s->query, &s->rq, rpc);
}

static void put_flamebearer(struct json *j, const struct flame *f)
{
	json_key(j, "flamebearer");
	json_object(j);
	json_key(j, "names");
	json_array(j);
	for (size_t i = 0; i < f->names.len; i++)
		json_str(j, f->names.data[i]);
	json_array_end(j);
	json_key(j, "levels");
	json_array(j);
	for (size_t i = 0; i < f->levels.len; i++) {
		json_array(j);
		for (size_t b = 0; b < f->levels.data[i].len; b++) {
			const struct flame_bar *bar = &f->levels.data[i].data[b];

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
	json_key(j, "numTicks");
	json_int(j, f->total);
	json_key(j, "maxSelf");
	json_int(j, f->max_self);
	json_object_end(j);
}

/* Units as the clients of this answer call them. */
static const struct unit {
	const char *type, *units;
	unsigned int rate;
} units[] = {
	{ "cpu", "samples", 1000000000 },    { "samples", "objects", 100 },
	{ "goroutine", "objects", 100 },     { "inuse_objects", "objects", 100 },
	{ "alloc_objects", "objects", 100 },
};

static void put_metadata(struct json *j, const char *type, const char *format)
{
	struct unit unit = { type, type, 100 };

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(units[i].type, type))
			unit = units[i];
	json_key(j, "metadata");
	json_object(j);
	json_key(j, "format");
	json_str(j, format);
	json_key(j, "spyName");
	json_str(j, "");
	json_key(j, "sampleRate");
	json_uint(j, unit.rate);
	json_key(j, "units");
	json_str(j, unit.units);
	json_key(j, "name");
	json_str(j, type);
	json_object_end(j);
}

/* @line NULL: nothing but zeros. Steps beyond the last whole one only if there is something. */
static void put_timeline(struct json *j, const struct timeline *t, const struct timeline_line *line)
{
	size_t n = t->n_steps - 2;

	for (size_t i = n; line && i < t->n_steps; i++)
		n = line->cells[i].n ? i + 1 : n;
	json_object(j);
	json_key(j, "startTime");
	json_int(j, t->start_ms / 1000);
	json_key(j, "samples");
	json_array(j);
	for (size_t i = 0; i < n; i++)
		json_double(j, line ? timeline_value(t, &line->cells[i]) : 0);
	json_array_end(j);
	json_key(j, "durationDelta");
	json_int(j, t->step_ms / 1000);
	json_key(j, "watermarks");
	json_null(j);
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

static int build_timeline(struct rpc *rpc, const struct side *s, struct timeline *out)
{
	const char *aggregation = http_request_arg(rpc->rq, "aggregation");
	int64_t seconds = (s->rq.end - s->rq.start) / 1000, step = seconds / MAX_POINTS;
	const struct timeline_options opt = {
		.step_ms = 1000 * (step > MIN_STEP_SECONDS ? step : MIN_STEP_SECONDS),
		.group_by = &s->by,
		.n_group_by = s->by && s->by[0],
		.average = aggregation && !strcmp(aggregation, "avg"),
	};

	return query_asked(rpc, timeline_build(out, rpc->store, &s->query.sel, &opt, rpc->err));
}

static int build_flame(struct rpc *rpc, struct side *s, struct shown *shown, struct flame *out)
{
	uint32_t max = 0;
	int r = read_max_nodes(rpc, &s->rq);

	if (r == 0)
		r = query_max_nodes(&s->rq, FLAME_DEFAULT_NODES, rpc, &max);
	if (r == 0)
		r = query_stacks(&s->query, true, rpc, &s->stacks);
	if (r == 0)
		r = shown_of(shown, s->stacks, max);
	return r < 0 ? r : flame_build(out, shown);
}

/* What both answers begin with. */
static struct json begin(struct rpc *rpc, const struct flame *f, const char *type)
{
	struct json j = json_to(&rpc->rs->body);

	rpc->rs->content_type = "application/json";
	json_object(&j);
	json_key(&j, "version");
	json_uint(&j, 1);
	put_flamebearer(&j, f);
	put_metadata(&j, type, f->n_sides > 1 ? "double" : "single");
	return j;
}

int render_single(struct rpc *rpc)
{
	_cleanup_(timeline_fini) struct timeline t = { 0 };
	_cleanup_(shown_fini) struct shown shown = { 0 };
	_cleanup_(flame_fini) struct flame f = { 0 };
	_cleanup_(side_fini) struct side s = { 0 };
	struct json j;
	int r = read_side(rpc, &single, &s);

	if (r == 0)
		r = build_flame(rpc, &s, &shown, &f);
	if (r == 0)
		r = build_timeline(rpc, &s, &t);
	if (r < 0)
		return r;
	j = begin(rpc, &f, s.query.type.type);
	put_timelines(&j, &t);
	json_key(&j, "heatmap");
	json_null(&j);
	json_object_end(&j);
	return 0;
}

struct comparison {
	struct side left, right;
	struct pair pair;
	struct shown shown;
	struct flame flame;
};

static void comparison_fini(struct comparison *c)
{
	flame_fini(&c->flame);
	shown_fini(&c->shown);
	pair_fini(&c->pair);
	side_fini(&c->left);
	side_fini(&c->right);
}

static int compare(struct rpc *rpc, struct comparison *c)
{
	uint32_t max = 0;
	int r = read_max_nodes(rpc, &c->left.rq);

	if (r == 0)
		r = query_max_nodes(&c->left.rq, FLAME_DEFAULT_NODES, rpc, &max);
	if (r == 0)
		r = query_stacks(&c->left.query, true, rpc, &c->left.stacks);
	if (r == 0)
		r = query_stacks(&c->right.query, true, rpc, &c->right.stacks);
	if (r == 0)
		r = pair_build(&c->pair, c->left.stacks, c->right.stacks);
	if (r == 0)
		r = shown_of_pair(&c->shown, &c->pair, max);
	return r < 0 ? r : flame_build(&c->flame, &c->shown);
}

int render_diff(struct rpc *rpc)
{
	static const char *const nothing[] = { "timeline", "groups", "heatmap" };
	_cleanup_(comparison_fini) struct comparison c = { 0 };
	struct json j;
	int r = read_side(rpc, &left, &c.left);

	if (r == 0)
		r = read_side(rpc, &right, &c.right);
	if (r == 0 && strcmp(c.left.type, c.right.type) != 0)
		r = query_bad(rpc, "both sides must have the same profile type");
	if (r == 0)
		r = compare(rpc, &c);
	if (r < 0)
		return r;
	j = begin(rpc, &c.flame, c.left.query.type.type);
	for (size_t i = 0; i < sizeof(nothing) / sizeof(nothing[0]); i++) {
		json_key(&j, nothing[i]);
		json_null(&j);
	}
	json_key(&j, "leftTicks");
	json_int(&j, c.flame.ticks[PAIR_LEFT]);
	json_key(&j, "rightTicks");
	json_int(&j, c.flame.ticks[PAIR_RIGHT]);
	json_object_end(&j);
	return 0;
}
