/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Methods over time: sums per step, and the distribution of single profiles' values.
 *
 * A point's time is the right edge of its step: a profile at t counts in the first point that is
 * not before t. Pyroscope drops what lies after the last whole step and ignores both the
 * aggregation and the call site here; this server applies the aggregation and the call site.
 */
#include <errno.h>
#include <math.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "query/timeline.h"
#include "query/value_heat_map.h"
#include "server/querier.h"

int querier_step(struct querier_call *q, int64_t *out_ms)
{
	double step = q->rq[0].step;

	if (!(step >= 0.001 && step < 1e9))
		return query_invalid(q->rpc, "\"step\" must be at least 0.001 s");
	*out_ms = llround(step * 1000);
	return 0;
}

/* Writes the labels of a group: those of group_by that it has. */
static void put_labels(struct querier_call *q, const struct groups *g, uint32_t group)
{
	struct response *resp = &q->response;
	bool any = false;

	for (size_t i = 0; i < g->n_by; i++) {
		const char *value = groups_value(g, group, i);

		if (!value)
			continue;
		if (!any)
			response_begin_list(resp, "labels");
		any = true;
		querier_put_label(resp, g->by[i], value);
	}
	if (any)
		response_end_list(resp);
}

/* A step without profiles is omitted: it is unknown and not 0. */
static void put_line(struct querier_call *q, const struct timeline *t,
		     const struct timeline_line *line)
{
	struct response *resp = &q->response;
	size_t mark = response_begin(resp, 1, NULL);

	put_labels(q, &t->groups, line->group);
	response_begin_list(resp, "points");
	for (size_t i = 0; i < t->n_steps; i++) {
		size_t point;

		if (!line->points[i].n)
			continue;
		point = response_begin(resp, 2, NULL);
		response_put_double(resp, 1, "value", timeline_value(t, &line->points[i]));
		response_put_int(resp, 2, "timestamp", t->start_ms + (int64_t)i * t->step_ms);
		response_end(resp, point);
	}
	response_end_list(resp);
	response_end(resp, mark);
}

/* limit 0 means all series; with a limit those with the greatest sums remain. */
int querier_points(struct querier_call *q)
{
	_cleanup_(timeline_fini) struct timeline t = { 0 };
	const struct request *rq = &q->rq[0];
	struct store_select *sel = &q->query[0].sel;
	struct timeline_options opt = {
		.group_by = rq->group_by.data,
		.n_group_by = rq->group_by.len,
		.average = rq->aggregation == 1,
		.limit = rq->limit > 0 ? (size_t)rq->limit : 0,
	};
	int r = querier_step(q, &opt.step_ms);

	if (r == 0 && (rq->aggregation < 0 || rq->aggregation > 1))
		r = query_invalid(q->rpc, "\"aggregation\" must be SUM or AVERAGE");
	sel->call_site = rq->call_site.data;
	sel->n_call_site = rq->call_site.len;
	if (r == 0)
		r = timeline_build(&t, q->rpc->store, sel, &opt, q->rpc->err);
	if (r < 0)
		return r;
	q->query[0].is_empty = !t.len;
	querier_list(&q->response, "series", t.len);
	for (size_t i = 0; i < t.len; i++)
		put_line(q, &t, &t.data[i]);
	querier_list_end(&q->response, t.len);
	return 0;
}

/* Writes the packed lists of a slot. */
static void put_slot(struct response *resp, const struct value_heat_map *h,
		     const struct value_heat_map_slot *slot)
{
	size_t mark = response_begin(resp, 2, NULL), list;

	response_put_int(resp, 1, "timestamp", slot->time_ms);
	list = response_begin_numbers(resp, 2, "yMin");
	for (unsigned int i = 0; i < VALUE_HEAT_MAP_ROWS; i++)
		response_put_number_double(resp, value_heat_map_row(h, i));
	response_end_numbers(resp, list);
	list = response_begin_numbers(resp, 3, "counts");
	for (unsigned int i = 0; i < VALUE_HEAT_MAP_ROWS; i++)
		response_put_number_int32(resp, (int32_t)slot->counts[i]);
	response_end_numbers(resp, list);
	response_end(resp, mark);
}

static void put_heatmap(struct querier_call *q, const struct value_heat_map *h)
{
	struct response *resp = &q->response;

	querier_list(resp, "series", h->len);
	for (size_t i = 0; i < h->len; i++) {
		size_t mark = response_begin(resp, 1, NULL);

		put_labels(q, &h->groups, h->data[i].group);
		response_begin_list(resp, "slots");
		for (size_t k = 0; k < h->data[i].slots.len; k++)
			put_slot(resp, h, &h->data[i].slots.data[k]);
		response_end_list(resp);
		response_end(resp, mark);
	}
	querier_list_end(resp, h->len);
}

/* Rows are of equal height between the smallest and the greatest value of a profile. */
int querier_heatmap(struct querier_call *q)
{
	_cleanup_(value_heat_map_fini) struct value_heat_map h = { 0 };
	const struct request *rq = &q->rq[0];
	struct value_heat_map_options opt = {
		.group_by = rq->group_by.data,
		.n_group_by = rq->group_by.len,
		.limit = rq->limit > 0 ? (size_t)rq->limit : 0,
	};
	int r = querier_step(q, &opt.step_ms);

	if (r < 0)
		return r;
	if (rq->heatmap == HEATMAP_SPAN)
		return err_set(q->rpc->err, -ENOSYS,
			       "\"queryType\" SPAN is not supported: use INDIVIDUAL");
	if (rq->heatmap < 0 || rq->heatmap > HEATMAP_SPAN)
		return query_invalid(q->rpc, "\"queryType\" must be INDIVIDUAL");
	r = value_heat_map_build(&h, q->rpc->store, &q->query[0].sel, &opt, q->rpc->err);
	if (r == 0)
		put_heatmap(q, &h);
	return r;
}
