/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A report is validated and rendered as JSON when it arrives. Its size is therefore bounded, and a
 * response only concatenates reports.
 *
 * The array is sorted, so that one tenant's reports are neighbours and a response needs no sorting.
 * Inserting moves up to 20,000 small structs, at a rate of one report per agent and window.
 */
#include "server/agents.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/json_read.h"
#include "base/vec.h"
#include "net/http_server.h"
#include "server/api.h"
#include "server/connect.h"
#include "server/rpc.h"

enum { MAX_NAME = 256, MAX_TEXT = 1024 };

#define FORGOTTEN_AFTER_NS (86400LL * CLOCK_SECOND_NS)

/* The report of one agent in the form of the response. It is replaced but never changed. */
struct report {
	char *tenant, *agent;
	struct buf json;
	int64_t received_ns; /* since 1970 */
};

struct agents {
	pthread_mutex_t lock;
	struct {
		VEC(struct report);
	} reports;    /* sorted by tenant, then by agent */
	size_t bytes; /* of all JSON, which AGENTS_MAX_BYTES limits */
};

static void report_fini(struct report *r)
{
	free(r->tenant);
	free(r->agent);
	buf_fini(&r->json);
}

int agents_new(struct agents **out)
{
	struct agents *a = calloc(1, sizeof(*a));

	if (!a)
		return -ENOMEM;
	pthread_mutex_init(&a->lock, NULL);
	*out = a;
	return 0;
}

void agents_free(struct agents *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->reports.len; i++)
		report_fini(&a->reports.data[i]);
	vec_fini(&a->reports);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

/*
 * The report being read. Labels and values are rendered into buffers of their own, because the
 * members of a JSON object come in any order but are written in a fixed one.
 */
struct reading {
	struct json out; /* the object being written */
	struct buf labels, values;
	char *agent;
	int64_t time_ms;
	size_t n;
	struct err *err;
};

static void reading_fini(struct reading *rd)
{
	buf_fini(&rd->labels);
	buf_fini(&rd->values);
	free(rd->agent);
}

/* Copies the name of a member. A NUL within a name is refused: names are C strings from here on. */
static int put_name(struct json_read *j, struct reading *rd, size_t most)
{
	if (j->text.len > MAX_NAME || strlen((const char *)j->text.data) != j->text.len)
		return err_set(rd->err, -EINVAL,
			       "agent report: the name of a label or value is longer than %d bytes",
			       MAX_NAME);
	if (rd->n++ == most)
		return err_set(rd->err, -EINVAL, "agent report: more than %zu labels or values",
			       most);
	json_key(&rd->out, (const char *)j->text.data);
	return 0;
}

/* The text may contain NUL and any characters: JSON escapes them, and nothing else reads it. */
static int read_label(struct json_read *j, void *ctx)
{
	struct reading *rd = ctx;
	int r = put_name(j, rd, AGENTS_MAX_LABELS);

	if (r == 0)
		r = json_read_string(j);
	if (r == 0 && j->text.len > MAX_TEXT)
		r = err_set(rd->err, -EINVAL, "agent report: a label value is longer than %d bytes",
			    MAX_TEXT);
	if (r == 0)
		json_strn(&rd->out, (const char *)j->text.data, j->text.len);
	return r;
}

/* Whole numbers are written without a fraction, so that counters stay exact up to 2^53. */
static int read_value(struct json_read *j, void *ctx)
{
	struct reading *rd = ctx;
	int r = put_name(j, rd, AGENTS_MAX_VALUES);
	double v = 0;

	if (r == 0)
		r = json_read_number(j, &v);
	if (r == 0 && trunc(v) == v && fabs(v) < 0x1p53)
		json_int(&rd->out, (int64_t)v);
	else if (r == 0)
		json_double(&rd->out, v);
	return r;
}

/* A member that occurs twice replaces the first one. */
static int read_list(struct json_read *j, struct reading *rd, struct buf *out, json_read_fn fn)
{
	int r;

	out->len = 0;
	rd->n = 0;
	rd->out = json_to(out);
	json_object(&rd->out);
	r = json_read_each(j, '{', fn, rd);
	json_object_end(&rd->out);
	return r;
}

/* The name is a key of the table, so it is a C string of at least one character. */
static int read_agent(struct json_read *j, struct reading *rd)
{
	int r = json_read_string(j);

	if (r < 0)
		return r;
	if (!j->text.len || j->text.len > MAX_NAME ||
	    strlen((const char *)j->text.data) != j->text.len)
		return err_set(rd->err, -EINVAL,
			       "agent report: \"agent\" must be 1 to %d bytes without NUL",
			       MAX_NAME);
	free(rd->agent);
	rd->agent = strdup((const char *)j->text.data);
	return rd->agent ? 0 : -ENOMEM;
}

/*
 * Reads a member of the report; unknown members are skipped, so agents may be newer than the
 * server.
 */
static int read_member(struct json_read *j, void *ctx)
{
	struct reading *rd = ctx;
	double ms = 0;
	int r;

	if (json_read_is(j, "agent"))
		return read_agent(j, rd);
	if (json_read_is(j, "labels"))
		return read_list(j, rd, &rd->labels, read_label);
	if (json_read_is(j, "values"))
		return read_list(j, rd, &rd->values, read_value);
	if (!json_read_is(j, "time"))
		return json_read_skip(j);
	r = json_read_number(j, &ms);
	if (r == 0 && !(ms >= 0 && ms < 0x1p53))
		return err_set(rd->err, -EINVAL,
			       "agent report: \"time\" must be milliseconds since 1970");
	rd->time_ms = (int64_t)ms;
	return r;
}

/* Everything is validated before the lock is held. */
static int read_report(struct reading *rd, const struct rpc *rpc)
{
	struct json_read j;
	int r;

	if (rpc->len > AGENTS_MAX_REPORT)
		return err_set(rpc->err, -EMSGSIZE, "agent report is longer than %d bytes",
			       AGENTS_MAX_REPORT);
	json_read_init(&j, rpc->body, rpc->len);
	r = json_read_peek(&j) == '{' ? json_read_each(&j, '{', read_member, rd) : -EBADMSG;
	if (r == 0)
		r = json_read_end(&j);
	if (r == -EBADMSG)
		err_set(rpc->err, r,
			"agent report is not valid JSON, or has an unexpected member, at byte %zu",
			json_read_at(&j));
	json_read_fini(&j);
	if (r == 0 && !rd->agent)
		r = err_set(rpc->err, -EINVAL, "agent report: \"agent\" is missing");
	return r;
}

/* The lists were rendered before; a report without one has an empty object. */
static void put_list(struct json *j, const char *key, const struct buf *list)
{
	json_key(j, key);
	if (list->len)
		buf_put(j->out, list->data, list->len);
	else
		buf_put_str(j->out, "{}");
	j->comma = true;
}

/* Renders the report as it will be listed, with the time of its arrival. */
static int make_report(struct report *out, struct reading *rd, const struct rpc *rpc)
{
	struct json j = json_to(&out->json);
	int64_t now_ns = (int64_t)clock_unix_ns();

	json_object(&j);
	json_member_str(&j, "agent", rd->agent);
	json_member_int(&j, "time", rd->time_ms ? rd->time_ms : now_ns / CLOCK_MS_NS);
	json_member_int(&j, "receivedAt", now_ns / CLOCK_MS_NS);
	put_list(&j, "labels", &rd->labels);
	put_list(&j, "values", &rd->values);
	json_object_end(&j);
	out->received_ns = now_ns;
	out->agent = steal_ptr(&rd->agent);
	out->tenant = strdup(rpc->tenant);
	if (!out->tenant || buf_error(&rd->labels) || buf_error(&rd->values))
		return -ENOMEM;
	return buf_error(&out->json);
}

static int cmp_report(const struct report *r, const char *tenant, const char *agent)
{
	int c = strcmp(r->tenant, tenant);

	return c ? c : strcmp(r->agent, agent);
}

/* The index of the report, or where to insert it. */
static size_t find(const struct agents *a, const char *tenant, const char *agent)
{
	return bisect(a->reports.len, i, cmp_report(&a->reports.data[i], tenant, agent) < 0);
}

/* Frees a report and closes the gap. Called with the lock. */
static void drop(struct agents *a, size_t i)
{
	struct report *r = &a->reports.data[i];

	a->bytes -= r->json.len;
	report_fini(r);
	a->reports.len--;
	memmove(r, r + 1, (a->reports.len - i) * sizeof(*r));
}

/* How much of both limits a report occupies. */
static size_t weight(const struct report *r)
{
	return r->json.len + AGENTS_MAX_BYTES / AGENTS_MAX;
}

/*
 * Drops the oldest report of the tenant that occupies the most, so that a tenant with many agents
 * displaces only its own. A linear search: it only runs when the limits are reached.
 */
static void drop_oldest(struct agents *a)
{
	size_t oldest = 0, victim = 0, occupied = 0, most = 0;

	for (size_t i = 0; i < a->reports.len; i++) {
		const struct report *r = &a->reports.data[i];

		if (i && strcmp(r->tenant, r[-1].tenant) != 0) {
			occupied = 0;
			oldest = i;
		}
		if (r->received_ns < a->reports.data[oldest].received_ns)
			oldest = i;
		occupied += weight(r);
		if (occupied > most) {
			most = occupied;
			victim = oldest;
		}
	}
	drop(a, victim);
}

/*
 * Replaces the agent's report and drops the oldest ones beyond the limits. Takes over the contents
 * of @new. Called with the lock. After a failure the agent's previous report is lost, which its
 * next one repairs.
 */
static int store_report(struct agents *a, struct report *new)
{
	size_t at = find(a, new->tenant, new->agent);
	int r;

	if (at < a->reports.len && !cmp_report(&a->reports.data[at], new->tenant, new->agent))
		drop(a, at);
	while (a->reports.len == AGENTS_MAX ||
	       (a->reports.len && a->bytes + new->json.len > AGENTS_MAX_BYTES))
		drop_oldest(a);
	at = find(a, new->tenant, new->agent);
	r = vec_reserve(&a->reports, a->reports.len + 1);
	if (r < 0)
		return r;
	memmove(a->reports.data + at + 1, a->reports.data + at,
		(a->reports.len - at) * sizeof(*new));
	a->reports.data[at] = *new;
	a->reports.len++;
	a->bytes += new->json.len;
	*new = (struct report){ 0 };
	return 0;
}

int agents_report(struct rpc *rpc)
{
	_cleanup_(reading_fini) struct reading rd = { .err = rpc->err };
	_cleanup_(report_fini) struct report report = { 0 };
	int r = read_report(&rd, rpc);

	if (r == 0)
		r = make_report(&report, &rd, rpc);
	if (r < 0)
		return r;
	pthread_mutex_lock(&rpc->agents->lock);
	r = store_report(rpc->agents, &report);
	pthread_mutex_unlock(&rpc->agents->lock);
	return r;
}

static int post(struct rpc *rpc)
{
	int r = agents_report(rpc);

	if (r == 0)
		buf_put_str(&rpc->rs->body, "{}");
	return r;
}

/* Writes the reports of the last day of the request's tenant. */
static int get(struct rpc *rpc)
{
	int64_t after_ns = (int64_t)clock_unix_ns() - FORGOTTEN_AFTER_NS;
	struct agents *a = rpc->agents;
	struct buf *out = &rpc->rs->body;
	const char *comma = "";

	buf_put_str(out, "{\"agents\":[");
	pthread_mutex_lock(&a->lock);
	for (size_t i = find(a, rpc->tenant, ""); i < a->reports.len; i++) {
		const struct report *r = &a->reports.data[i];

		if (strcmp(r->tenant, rpc->tenant) != 0)
			break;
		if (r->received_ns < after_ns)
			continue;
		buf_put_str(out, comma);
		buf_put(out, r->json.data, r->json.len);
		comma = ",";
	}
	pthread_mutex_unlock(&a->lock);
	buf_put_str(out, "]}");
	return buf_error(out);
}

static int agents_resource(struct rpc *rpc)
{
	rpc->rs->content_type = "application/json";
	return strcmp(http_request_method(rpc->rq), "POST") != 0 ? get(rpc) : post(rpc);
}

static const struct api_method methods[] = {
	{ "/api/v1/agents", connect_resource, agents_resource, API_READ, API_LOOKUP,
	  "Store an agent's report (POST) or list the reports (GET)", NULL, NULL },
};
API_LIST(agents_api, methods);
