/* SPDX-License-Identifier: Apache-2.0 */
/* Values over time: sums in steps, and how those of single profiles are spread. */
#include <errno.h>
#include <math.h>

#include "base/cleanup.h"
#include "query/heatmap.h"
#include "query/timeline.h"
#include "server/querier.h"

int querier_step(struct question *q, int64_t *out_ms)
{
	double step = q->rq[0].step;

	if (!(step >= 0.001 && step < 1e9))
		return query_bad(q->rpc, "step must be at least a millisecond");
	*out_ms = llround(step * 1000);
	return 0;
}

/* The labels of a line: those of group_by that its group has. */
static void put_labels(struct question *q, const struct groups *g, uint32_t group)
{
	struct answer *a = &q->answer;
	bool any = false;

	for (size_t i = 0; i < g->n_by; i++) {
		const char *value = groups_value(g, group, i);

		if (!value)
			continue;
		if (!any)
			answer_list(a, "labels");
		any = true;
		querier_put_label(a, g->by[i], value);
	}
	if (any)
		answer_list_end(a);
}

static void put_line(struct question *q, const struct timeline *t, const struct timeline_line *line)
{
	struct answer *a = &q->answer;
	size_t begun = answer_begin(a, 1, NULL);

	put_labels(q, &t->groups, line->group);
	answer_list(a, "points");
	for (size_t i = 0; i < t->n_steps; i++) {
		size_t point;

		if (!line->cells[i].n)
			continue;
		point = answer_begin(a, 2, NULL);
		answer_double(a, 1, "value", timeline_value(t, &line->cells[i]));
		answer_int(a, 2, "timestamp", t->start_ms + (int64_t)i * t->step_ms);
		answer_end(a, point);
	}
	answer_list_end(a);
	answer_end(a, begun);
}

int querier_points(struct question *q)
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

	sel->call_site = rq->call_site.data;
	sel->n_call_site = rq->call_site.len;
	if (r == 0)
		r = query_asked(q->rpc, timeline_build(&t, q->rpc->store, sel, &opt, q->rpc->err));
	if (r < 0)
		return r;
	querier_list(&q->answer, "series", t.len);
	for (size_t i = 0; i < t.len; i++)
		put_line(q, &t, &t.data[i]);
	querier_list_end(&q->answer, t.len);
	return 0;
}

/* Packed lists of a slot; protobuf has doubles as they are and JSON as numbers. */
static void put_slot(struct answer *a, const struct heatmap *h, const struct heatmap_slot *slot)
{
	size_t begun = answer_begin(a, 2, NULL), list;

	answer_int(a, 1, "timestamp", slot->time_ms);
	list = answer_numbers(a, 2, "yMin");
	for (unsigned int i = 0; i < HEATMAP_ROWS; i++)
		answer_number_double(a, heatmap_row(h, i));
	answer_numbers_end(a, list);
	list = answer_numbers(a, 3, "counts");
	for (unsigned int i = 0; i < HEATMAP_ROWS; i++)
		answer_number_int32(a, (int32_t)slot->counts[i]);
	answer_numbers_end(a, list);
	answer_end(a, begun);
}

static void put_heatmap(struct question *q, const struct heatmap *h)
{
	struct answer *a = &q->answer;

	querier_list(a, "series", h->len);
	for (size_t i = 0; i < h->len; i++) {
		size_t begun = answer_begin(a, 1, NULL);

		put_labels(q, &h->groups, h->data[i].group);
		answer_list(a, "slots");
		for (size_t k = 0; k < h->data[i].slots.len; k++)
			put_slot(a, h, &h->data[i].slots.data[k]);
		answer_list_end(a);
		answer_end(a, begun);
	}
	querier_list_end(a, h->len);
}

int querier_heatmap(struct question *q)
{
	_cleanup_(heatmap_fini) struct heatmap h = { 0 };
	const struct request *rq = &q->rq[0];
	struct heatmap_options opt = {
		.group_by = rq->group_by.data,
		.n_group_by = rq->group_by.len,
		.limit = rq->limit > 0 ? (size_t)rq->limit : 0,
	};
	int r = querier_step(q, &opt.step_ms);

	/* which samples belong to which span is not kept */
	if (r < 0 || rq->heatmap == HEATMAP_SPAN)
		return r;
	r = query_asked(q->rpc,
			heatmap_build(&h, q->rpc->store, &q->query[0].sel, &opt, q->rpc->err));
	if (r == 0)
		put_heatmap(q, &h);
	return r;
}
