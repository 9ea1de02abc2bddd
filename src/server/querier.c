/* SPDX-License-Identifier: Apache-2.0 */
/*
 * querier.v1.QuerierService: requests into questions to
 * the store, what comes back into answers.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "codec/pprof_write.h"
#include "net/http_server.h"
#include "profile/profile.h"
#include "query/flame.h"
#include "query/labels.h"
#include "query/timeline.h"
#include "server/question.h"
#include "store/stacks.h"
#include "store/store.h"

enum { FORMAT_UNSPECIFIED, FORMAT_FLAMEGRAPH, FORMAT_TREE, FORMAT_DOT, FORMAT_PPROF };

static const char *const format_names[] = {
	"PROFILE_FORMAT_UNSPECIFIED", "PROFILE_FORMAT_FLAMEGRAPH", "PROFILE_FORMAT_TREE",
	"PROFILE_FORMAT_DOT",         "PROFILE_FORMAT_PPROF",      NULL
};
static const char *const aggregation_names[] = { "TIME_SERIES_AGGREGATION_TYPE_SUM",
						 "TIME_SERIES_AGGREGATION_TYPE_AVERAGE", NULL };

#define FIELD     REQUEST_FIELD
#define FIELDS(a) MESSAGE_OF(a, struct request)

/* callSite is a list of messages of one string. */
struct location {
	const char *name;
};
static const struct message_field site_fields[] = {
	{ 1, "name", MESSAGE_STRING, offsetof(struct location, name), NULL, NULL },
};
static const struct message site_message = { site_fields, 1, sizeof(struct location) };

static const struct message_field stack_selector_fields[] = {
	{ 1, "callSite", MESSAGE_LIST, 0, &site_message, NULL },
};
static const struct message stack_selector_message = { stack_selector_fields, 1,
						       sizeof(struct message_list) };

#define STACK_SELECTOR(number)                                                                     \
	{                                                                                          \
		number, "stackTraceSelector", MESSAGE_INNER, offsetof(struct request, call_site),  \
			&stack_selector_message, NULL                                              \
	}

static const struct message_field types_fields[] = {
	FIELD(1, "start", MESSAGE_INT, start),
	FIELD(2, "end", MESSAGE_INT, end),
};
static const struct message_field names_fields[] = {
	FIELD(1, "matchers", MESSAGE_STRINGS, matchers),
	FIELD(2, "start", MESSAGE_INT, start),
	FIELD(3, "end", MESSAGE_INT, end),
};
static const struct message_field values_fields[] = {
	FIELD(1, "name", MESSAGE_STRING, name),
	FIELD(2, "matchers", MESSAGE_STRINGS, matchers),
	FIELD(3, "start", MESSAGE_INT, start),
	FIELD(4, "end", MESSAGE_INT, end),
};
static const struct message_field series_fields[] = {
	FIELD(1, "matchers", MESSAGE_STRINGS, matchers),
	FIELD(2, "labelNames", MESSAGE_STRINGS, label_names),
	FIELD(3, "start", MESSAGE_INT, start),
	FIELD(4, "end", MESSAGE_INT, end),
};
static const struct message_field stacks_fields[] = {
	FIELD(1, "profileTypeID", MESSAGE_STRING, type),
	FIELD(2, "labelSelector", MESSAGE_STRING, selector),
	FIELD(3, "start", MESSAGE_INT, start),
	FIELD(4, "end", MESSAGE_INT, end),
	FIELD(5, "maxNodes", MESSAGE_INT, max_nodes),
	{ 6, "format", MESSAGE_INT, offsetof(struct request, format), NULL, format_names },
	STACK_SELECTOR(7),
};
static const struct message_field profile_fields[] = {
	FIELD(1, "profileTypeID", MESSAGE_STRING, type),
	FIELD(2, "labelSelector", MESSAGE_STRING, selector),
	FIELD(3, "start", MESSAGE_INT, start),
	FIELD(4, "end", MESSAGE_INT, end),
};
static const struct message_field points_fields[] = {
	FIELD(1, "profileTypeID", MESSAGE_STRING, type),
	FIELD(2, "labelSelector", MESSAGE_STRING, selector),
	FIELD(3, "start", MESSAGE_INT, start),
	FIELD(4, "end", MESSAGE_INT, end),
	FIELD(5, "groupBy", MESSAGE_STRINGS, group_by),
	FIELD(6, "step", MESSAGE_DOUBLE, step),
	{ 7, "aggregation", MESSAGE_INT, offsetof(struct request, aggregation), NULL,
	  aggregation_names },
	STACK_SELECTOR(8),
	FIELD(9, "limit", MESSAGE_INT, limit),
};

static const struct message types_message = FIELDS(types_fields);
static const struct message names_message = FIELDS(names_fields);
static const struct message values_message = FIELDS(values_fields);
static const struct message series_message = FIELDS(series_fields);
static const struct message stacks_message = FIELDS(stacks_fields);
static const struct message profile_message = FIELDS(profile_fields);
static const struct message points_message = FIELDS(points_fields);

struct question {
	struct rpc *rpc;
	struct message_memory memory;
	struct request rq;
	struct query query;
	struct answer answer;
};

static void question_fini(struct question *q)
{
	message_memory_fini(&q->memory);
	query_fini(&q->query);
}

static int question_read(struct question *q, const struct message *m)
{
	q->answer = answer_to(&q->rpc->rs->body, q->rpc->json);
	return message_read(m, q->rpc->json, q->rpc->body, q->rpc->len, &q->memory, &q->rq,
			    q->rpc->err);
}

/* A question about labels. */
static int read_labels_question(struct question *q, const struct message *m)
{
	int r = question_read(q, m);

	return r < 0 ? r : query_labels(&q->query, &q->rq, q->rpc);
}

/* A question about values of one type. */
static int read_values_question(struct question *q, const struct message *m)
{
	int r = question_read(q, m);

	return r < 0 ? r : query_values(&q->query, &q->rq, q->rpc);
}

/* The list @name of messages or strings is there only if it isn't empty. */
static void put_list(struct answer *a, const char *name, size_t n)
{
	if (n)
		answer_list(a, name);
}

static void put_list_end(struct answer *a, size_t n)
{
	if (n)
		answer_list_end(a);
}

static int put_names(struct question *q, const struct label_set *s)
{
	struct answer *a = &q->answer;
	size_t whole = answer_begin(a, 0, NULL);

	put_list(a, "names", s->len);
	for (size_t i = 0; i < s->len; i++)
		answer_item(a, 1, s->data[i]);
	put_list_end(a, s->len);
	answer_end(a, whole);
	return 0;
}

static bool is_plain(const char *name)
{
	for (const char *p = name; *p; p++)
		if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || *p == '_' ||
		      (p > name && *p >= '0' && *p <= '9')))
			return false;
	return name[0] != 0;
}

/* Clients that can't bear names such as host.name don't say that they can. */
static bool takes_any_name(const struct question *q)
{
	const char *accept = http_request_header(q->rpc->rq, "Accept");

	return accept && strstr(accept, "allow-utf8-labelnames=true");
}

static int label_names(struct question *q)
{
	_cleanup_(label_set_fini) struct label_set s = { 0 };
	int r = read_labels_question(q, &names_message);
	size_t n = 0;

	if (r == 0)
		r = query_asked(q->rpc,
				labels_names(&s, q->rpc->store, &q->query.sel, q->rpc->err));
	if (r < 0)
		return r;
	for (size_t i = 0; i < s.len; i++)
		if (is_plain(s.data[i]) || takes_any_name(q))
			s.data[n++] = s.data[i];
	s.len = n;
	return put_names(q, &s);
}

static int label_values(struct question *q)
{
	_cleanup_(label_set_fini) struct label_set s = { 0 };
	int r = read_labels_question(q, &values_message);

	if (r == 0 && (!q->rq.name || !q->rq.name[0]))
		r = query_bad(q->rpc, "name is missing");
	if (r == 0)
		r = query_asked(q->rpc, labels_values(&s, q->rpc->store, &q->query.sel, q->rq.name,
						      q->rpc->err));
	return r < 0 ? r : put_names(q, &s);
}

static void put_label(struct answer *a, const char *name, const char *value)
{
	size_t begun = answer_begin(a, 1, NULL);

	answer_string(a, 1, "name", name);
	answer_string(a, 2, "value", value);
	answer_end(a, begun);
}

static void put_series(struct question *q, const char *row)
{
	struct answer *a = &q->answer;
	size_t begun = answer_begin(a, 2, NULL);
	bool any = takes_any_name(q);

	answer_list(a, "labels");
	while (*row) {
		const char *name = row, *value = name + strlen(name) + 1;

		if (is_plain(name) || any)
			put_label(a, name, value);
		row = value + strlen(value) + 1;
	}
	answer_list_end(a);
	answer_end(a, begun);
}

static int series(struct question *q)
{
	_cleanup_(label_set_fini) struct label_set s = { 0 };
	struct answer *a = &q->answer;
	int r = read_labels_question(q, &series_message);
	size_t whole;

	if (r == 0)
		r = query_asked(q->rpc, labels_series(&s, q->rpc->store, &q->query.sel,
						      q->rq.label_names.data, q->rq.label_names.len,
						      q->rpc->err));
	if (r < 0)
		return r;
	whole = answer_begin(a, 0, NULL);
	put_list(a, "labelsSet", s.len);
	for (size_t i = 0; i < s.len; i++)
		put_series(q, s.data[i]);
	put_list_end(a, s.len);
	answer_end(a, whole);
	return 0;
}

static void put_type(struct answer *a, const char *id)
{
	static const struct {
		uint32_t number;
		const char *name;
	} parts[] = { { 2, "name" },
		      { 4, "sampleType" },
		      { 5, "sampleUnit" },
		      { 6, "periodType" },
		      { 7, "periodUnit" } };
	_cleanup_(freep) char *copy = strdup(id);
	size_t begun = answer_begin(a, 1, NULL);
	char *rest = copy;

	answer_string(a, 1, "ID", id);
	for (size_t i = 0; rest && i < 5; i++)
		answer_string(a, parts[i].number, parts[i].name, strsep(&rest, ":"));
	answer_end(a, begun);
}

static int profile_types(struct question *q)
{
	_cleanup_(label_set_fini) struct label_set s = { 0 };
	struct answer *a = &q->answer;
	int r = question_read(q, &types_message);
	size_t whole;

	if (r == 0 && (q->rq.start || q->rq.end)) {
		r = query_labels(&q->query, &q->rq, q->rpc);
		if (r == 0)
			r = query_asked(q->rpc, labels_values(&s, q->rpc->store, &q->query.sel,
							      "__profile_type__", q->rpc->err));
	}
	if (r < 0)
		return r;
	whole = answer_begin(a, 0, NULL);
	put_list(a, "profileTypes", s.len);
	for (size_t i = 0; i < s.len; i++)
		put_type(a, s.data[i]);
	put_list_end(a, s.len);
	answer_end(a, whole);
	return 0;
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
		for (size_t k = 0; k < f->levels.data[i].len; k++) {
			const struct flame_bar *b = &f->levels.data[i].data[k];

			answer_number(a, b->offset);
			answer_number(a, b->total);
			answer_number(a, b->self);
			answer_number(a, b->name);
		}
		answer_numbers_end(a, values);
		answer_end(a, level);
	}
	answer_list_end(a);
	answer_int(a, 3, "total", f->total);
	answer_int(a, 4, "maxSelf", f->max_self);
	answer_end(a, begun);
}

static int merge_stacktraces(struct question *q)
{
	_cleanup_(stacks_freep) struct stacks *s = NULL;
	_cleanup_(flame_fini) struct flame f = { 0 };
	struct flame_options opt = { 0 };
	int r = read_values_question(q, &stacks_message);
	size_t whole;

	opt.call_site = q->rq.call_site.data;
	opt.n_call_site = q->rq.call_site.len;
	if (r == 0)
		r = query_max_nodes(&q->rq, FLAME_DEFAULT_NODES, q->rpc, &opt.max_nodes);
	if (r == 0 && q->rq.format != FORMAT_UNSPECIFIED && q->rq.format != FORMAT_FLAMEGRAPH)
		r = err_set(q->rpc->err, -ENOSYS, "only the format of flame graphs is there");
	if (r == 0)
		r = query_stacks(&q->query, true, q->rpc, &s);
	if (r == 0)
		r = flame_build(&f, s, &opt);
	if (r < 0)
		return r;
	whole = answer_begin(&q->answer, 0, NULL);
	put_flame(&q->answer, &f);
	answer_end(&q->answer, whole);
	return 0;
}

static int merge_profile(struct question *q)
{
	_cleanup_(profile_freep) struct profile *p = NULL;
	int r = read_values_question(q, &profile_message);

	if (r == 0 && q->rpc->json)
		r = err_set(q->rpc->err, -ENOSYS, "a profile is given as protobuf only");
	if (r == 0)
		r = query_profile(&q->query, q->rpc, &p);
	return r < 0 ? r : pprof_write(p, &q->rpc->rs->body, q->rpc->err);
}

static void put_line(struct question *q, const struct timeline *t, const struct timeline_line *line)
{
	struct answer *a = &q->answer;
	size_t begun = answer_begin(a, 1, NULL);
	bool any = false;

	for (size_t i = 0; i < q->rq.group_by.len; i++) {
		const char *value = timeline_label(t, line, i);

		if (!value)
			continue;
		if (!any)
			answer_list(a, "labels");
		any = true;
		put_label(a, q->rq.group_by.data[i], value);
	}
	if (any)
		answer_list_end(a);
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

static int select_series(struct question *q)
{
	_cleanup_(timeline_fini) struct timeline t = { 0 };
	struct timeline_options opt;
	int r = read_values_question(q, &points_message);
	size_t whole;

	if (r == 0 && !(q->rq.step >= 0.001 && q->rq.step < 1e9))
		r = query_bad(q->rpc, "step must be at least a millisecond");
	if (r < 0)
		return r;
	q->query.sel.call_site = q->rq.call_site.data;
	q->query.sel.n_call_site = q->rq.call_site.len;
	opt = (struct timeline_options){
		.step_ms = llround(q->rq.step * 1000),
		.group_by = q->rq.group_by.data,
		.n_group_by = q->rq.group_by.len,
		.average = q->rq.aggregation == 1,
		.limit = q->rq.limit > 0 ? (size_t)q->rq.limit : 0,
	};
	r = query_asked(q->rpc,
			timeline_build(&t, q->rpc->store, &q->query.sel, &opt, q->rpc->err));
	if (r < 0)
		return r;
	whole = answer_begin(&q->answer, 0, NULL);
	put_list(&q->answer, "series", t.len);
	for (size_t i = 0; i < t.len; i++)
		put_line(q, &t, &t.data[i]);
	put_list_end(&q->answer, t.len);
	answer_end(&q->answer, whole);
	return 0;
}

static int profile_stats(struct question *q)
{
	static const struct message none = { NULL, 0, sizeof(struct request) };
	struct store_stats s = { 0 };
	struct answer *a = &q->answer;
	int r = question_read(q, &none);
	size_t whole;

	if (r == 0)
		r = query_asked(q->rpc,
				store_stats(q->rpc->store, q->rpc->tenant, &s, q->rpc->err));
	if (r < 0)
		return r;
	whole = answer_begin(a, 0, NULL);
	answer_bool(a, 1, "dataIngested", s.has_data);
	answer_int(a, 2, "oldestProfileTime", s.oldest_ns / CLOCK_MS_NS);
	answer_int(a, 3, "newestProfileTime", s.newest_ns / CLOCK_MS_NS);
	answer_end(a, whole);
	return 0;
}

int querier_rpc(struct rpc *rpc)
{
	static const struct {
		const char *name;
		int (*run)(struct question *q);
	} methods[] = {
		{ "ProfileTypes", profile_types },
		{ "LabelNames", label_names },
		{ "LabelValues", label_values },
		{ "Series", series },
		{ "SelectMergeStacktraces", merge_stacktraces },
		{ "SelectMergeProfile", merge_profile },
		{ "SelectSeries", select_series },
		{ "GetProfileStats", profile_stats },
	};
	_cleanup_(question_fini) struct question q = { .rpc = rpc };

	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (!strcmp(methods[i].name, rpc->method))
			return methods[i].run(&q);
	return err_set(rpc->err, -ENOSYS, "%.60s is not there", rpc->method);
}
