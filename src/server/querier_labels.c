/* SPDX-License-Identifier: Apache-2.0 */
/* Which types, labels, values and series there are, and since when. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "net/http_server.h"
#include "query/labels.h"
#include "server/querier.h"

static int put_names(struct question *q, const struct label_set *s)
{
	struct answer *a = &q->answer;

	querier_list(a, "names", s->len);
	for (size_t i = 0; i < s->len; i++)
		answer_item(a, 1, s->data[i]);
	querier_list_end(a, s->len);
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

int querier_label_names(struct question *q)
{
	_cleanup_(label_set_fini) struct label_set s = { 0 };
	struct rpc *rpc = q->rpc;
	int r = query_asked(rpc, labels_names(&s, rpc->store, &q->query[0].sel, rpc->err));
	size_t n = 0;

	if (r < 0)
		return r;
	for (size_t i = 0; i < s.len; i++)
		if (is_plain(s.data[i]) || takes_any_name(q))
			s.data[n++] = s.data[i];
	s.len = n;
	return put_names(q, &s);
}

int querier_label_values(struct question *q)
{
	_cleanup_(label_set_fini) struct label_set s = { 0 };
	const char *name = q->rq[0].name;
	struct rpc *rpc = q->rpc;
	int r;

	if (!name || !name[0])
		return query_bad(rpc, "name is missing");
	r = query_asked(rpc, labels_values(&s, rpc->store, &q->query[0].sel, name, rpc->err));
	return r < 0 ? r : put_names(q, &s);
}

void querier_put_label(struct answer *a, const char *name, const char *value)
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
			querier_put_label(a, name, value);
		row = value + strlen(value) + 1;
	}
	answer_list_end(a);
	answer_end(a, begun);
}

int querier_series(struct question *q)
{
	_cleanup_(label_set_fini) struct label_set s = { 0 };
	const struct message_strings *names = &q->rq[0].label_names;
	struct answer *a = &q->answer;
	struct rpc *rpc = q->rpc;
	int r = query_asked(rpc, labels_series(&s, rpc->store, &q->query[0].sel, names->data,
					       names->len, rpc->err));

	if (r < 0)
		return r;
	querier_list(a, "labelsSet", s.len);
	for (size_t i = 0; i < s.len; i++)
		put_series(q, s.data[i]);
	querier_list_end(a, s.len);
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

int querier_types(struct question *q)
{
	_cleanup_(label_set_fini) struct label_set s = { 0 };
	struct answer *a = &q->answer;
	struct rpc *rpc = q->rpc;
	int r;

	/* no range is no question here, and no error */
	if (!q->rq[0].start && !q->rq[0].end)
		return 0;
	r = query_labels(&q->query[0], &q->rq[0], rpc);
	if (r == 0)
		r = query_asked(rpc, labels_values(&s, rpc->store, &q->query[0].sel,
						   "__profile_type__", rpc->err));
	if (r < 0)
		return r;
	querier_list(a, "profileTypes", s.len);
	for (size_t i = 0; i < s.len; i++)
		put_type(a, s.data[i]);
	querier_list_end(a, s.len);
	return 0;
}

/* Where the answer would be looked for, which is one place here: an empty message is what clients
 * know. */
int querier_analyze(struct question *q)
{
	return 0;
}

int querier_stats(struct question *q)
{
	struct store_stats s = { 0 };
	struct answer *a = &q->answer;
	struct rpc *rpc = q->rpc;
	int r = query_asked(rpc, store_stats(rpc->store, rpc->tenant, &s, rpc->err));

	if (r < 0)
		return r;
	answer_bool(a, 1, "dataIngested", s.has_data);
	answer_int(a, 2, "oldestProfileTime", s.oldest_ns / CLOCK_MS_NS);
	answer_int(a, 3, "newestProfileTime", s.newest_ns / CLOCK_MS_NS);
	return 0;
}
