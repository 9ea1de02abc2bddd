/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Methods that list profile types, label names, label values and series, and the stored time range.
 *
 * Label names that are not [A-Za-z_][A-Za-z0-9_]* are stored, matched and grouped by like all
 * others, but clients that did not announce support for them may fail to parse them; Pyroscope
 * omits them in the same way.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "net/http_server.h"
#include "query/label_set.h"
#include "server/querier.h"

/* An empty list is an absent field, as proto3 has it. */
static int put_names(struct querier_call *q, const struct label_set *s)
{
	struct response *resp = &q->response;

	querier_list(resp, "names", s->len);
	for (size_t i = 0; i < s->len; i++)
		response_put_item(resp, 1, s->data[i]);
	querier_list_end(resp, s->len);
	return 0;
}

/* Returns true for a name that clients accept without announcing support for UTF-8 names. */
static bool is_plain(const char *name)
{
	for (const char *p = name; *p; p++)
		if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || *p == '_' ||
		      (p > name && *p >= '0' && *p <= '9')))
			return false;
	return name[0] != 0;
}

/* Label names such as host.name are sent only to clients that announce support for them. */
static bool accepts_any_name(const struct querier_call *q)
{
	const char *accept = http_request_header(q->rpc->rq, "Accept");

	return accept && strstr(accept, "allow-utf8-labelnames=true");
}

int querier_label_names(struct querier_call *q)
{
	_cleanup_(label_set_fini) struct label_set s = { 0 };
	struct rpc *rpc = q->rpc;
	int r = label_set_query_names(&s, rpc->store, &q->query[0].sel, rpc->err);
	size_t n = 0;

	if (r < 0)
		return r;
	for (size_t i = 0; i < s.len; i++)
		if (is_plain(s.data[i]) || accepts_any_name(q))
			s.data[n++] = s.data[i];
	s.len = n;
	return put_names(q, &s);
}

/* The name is required; a name that no series has gives an empty list. */
int querier_label_values(struct querier_call *q)
{
	_cleanup_(label_set_fini) struct label_set s = { 0 };
	const char *name = q->rq[0].name;
	struct rpc *rpc = q->rpc;
	int r;

	if (!name || !name[0])
		return query_invalid(rpc, "\"name\" is missing");
	r = label_set_query_values(&s, rpc->store, &q->query[0].sel, name, rpc->err);
	return r < 0 ? r : put_names(q, &s);
}

void querier_put_label(struct response *resp, const char *name, const char *value)
{
	size_t mark = response_begin(resp, 1, NULL);

	response_put_string(resp, 1, "name", name);
	response_put_string(resp, 2, "value", value);
	response_end(resp, mark);
}

/* A row is a list of names and values, each with a NUL, and ends in an empty name. */
static void put_series(struct querier_call *q, const char *row)
{
	struct response *resp = &q->response;
	size_t mark = response_begin(resp, 2, NULL);
	bool any = accepts_any_name(q);

	response_begin_list(resp, "labels");
	while (*row) {
		const char *name = row, *value = name + strlen(name) + 1;

		if (is_plain(name) || any)
			querier_put_label(resp, name, value);
		row = value + strlen(value) + 1;
	}
	response_end_list(resp);
	response_end(resp, mark);
}

/* Without labelNames all labels are returned. Sets that occur several times are returned once. */
int querier_series(struct querier_call *q)
{
	_cleanup_(label_set_fini) struct label_set s = { 0 };
	const struct message_strings *names = &q->rq[0].label_names;
	struct response *resp = &q->response;
	struct rpc *rpc = q->rpc;
	int r = label_set_query_series(&s, rpc->store, &q->query[0].sel, names->data, names->len,
				       rpc->err);

	if (r < 0)
		return r;
	querier_list(resp, "labelsSet", s.len);
	for (size_t i = 0; i < s.len; i++)
		put_series(q, s.data[i]);
	querier_list_end(resp, s.len);
	return 0;
}

/* Splits the id into its five parts, which are fields of the message. */
static void put_type(struct response *resp, const char *id)
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
	size_t mark = response_begin(resp, 1, NULL);
	char *rest = copy;

	response_put_string(resp, 1, "ID", id);
	for (size_t i = 0; rest && i < 5; i++)
		response_put_string(resp, parts[i].number, parts[i].name, strsep(&rest, ":"));
	response_end(resp, mark);
}

int querier_types(struct querier_call *q)
{
	_cleanup_(label_set_fini) struct label_set s = { 0 };
	struct response *resp = &q->response;
	struct rpc *rpc = q->rpc;
	int r;

	/* for this method a request without a range is valid and has an empty response */
	if (!q->rq[0].start && !q->rq[0].end)
		return 0;
	r = query_check_labels(&q->query[0], &q->rq[0], rpc);
	if (r == 0)
		r = label_set_query_values(&s, rpc->store, &q->query[0].sel, "__profile_type__",
					   rpc->err);
	if (r < 0)
		return r;
	querier_list(resp, "profileTypes", s.len);
	for (size_t i = 0; i < s.len; i++)
		put_type(resp, s.data[i]);
	querier_list_end(resp, s.len);
	return 0;
}

/* Clients expect the message but not its fields, which describe Pyroscope's distributed storage. */
int querier_analyze(struct querier_call *q)
{
	return 0;
}

/* Times are those of windows, in milliseconds. */
int querier_stats(struct querier_call *q)
{
	struct store_stats s = { 0 };
	struct response *resp = &q->response;
	struct rpc *rpc = q->rpc;
	int r = store_stats(rpc->store, rpc->tenant, &s, rpc->err);

	if (r < 0)
		return r;
	response_put_bool(resp, 1, "dataIngested", s.has_data);
	response_put_int(resp, 2, "oldestProfileTime", s.oldest_ns / CLOCK_MS_NS);
	response_put_int(resp, 3, "newestProfileTime", s.newest_ns / CLOCK_MS_NS);
	return 0;
}
