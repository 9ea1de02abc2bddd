/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The query of a client becomes a URL like those that `cameo report` accepts, with the URL of the
 * command line providing the parts that the client omitted.
 */
#include "cli/mcp_source.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/json_read.h"
#include "cli/sources.h"
#include "cli/text.h"
#include "cli/url.h"
#include "profile/profile.h"
#include "tables/top.h"

enum { PROCESSES_MAX = 20 };

static const char values_path[] = "/querier.v1.QuerierService/LabelValues";

static int64_t now_ms(void)
{
	return (int64_t)(clock_unix_ns() / CLOCK_MS_NS);
}

int mcp_source_find(const struct sources *s, const char *source, size_t *out, struct err *err)
{
	char *end;
	unsigned long n = source ? strtoul(source, &end, 10) : 1;

	if (source && isdigit((unsigned char)*source) && !*end && n >= 1 && n <= s->paths.len) {
		*out = n - 1;
		return 0;
	}
	*out = 0;
	if (!source)
		return 0;
	for (size_t i = 0; i < s->paths.len; i++) {
		*out = i;
		if (!strcmp(source, s->paths.data[i]) ||
		    !strcmp(source, text_base_name(s->paths.data[i])))
			return 0;
	}
	return err_set(err, -ENOENT,
		       "unknown source \"%.60s\": expected a number from 1 to %zu or a name of "
		       "list_services",
		       source, s->paths.len);
}

/* Returns 0 if @path is a server; -ENOENT if it is a file or the URL of one profile. */
static int parse_server(const char *path, struct url_query *q, struct err *err)
{
	return url_is(path) ? url_parse_query(path, now_ms(), q, err) : -ENOENT;
}

/* Replaces *@io_ms by the time @text, if it is given. */
static int choose_time(const char *name, const char *text, int64_t *io_ms, struct err *err)
{
	if (!text || url_parse_time(text, now_ms(), io_ms) == 0)
		return 0;
	return err_set(err, -EINVAL,
		       "\"%s\": expected a time such as now-1h, 2026-11-21T08:00:00Z, or seconds "
		       "since 1970",
		       name);
}

static void put_escaped(struct buf *out, const char *s)
{
	for (; *s; s++) {
		if (isalnum((unsigned char)*s))
			buf_put_byte(out, (uint8_t)*s);
		else
			buf_printf(out, "%%%02X", (unsigned char)*s);
	}
}

/* Appends {service_name="SERVICE"}, with the service as a quoted string. */
static void put_service(struct buf *out, const char *service)
{
	buf_put_str(out, "{service_name=\"");
	for (; *service; service++) {
		if (*service == '"' || *service == '\\')
			buf_put_byte(out, '\\');
		buf_put_byte(out, (uint8_t)*service);
	}
	buf_put_str(out, "\"}");
}

/* Appends the URL of the query, with a NUL. */
static int put_url(const struct url_query *q, const struct mcp_choice *c, struct buf *out)
{
	_cleanup_(buf_fini) struct buf query = { 0 };

	buf_put_str(&query, c->type ? c->type : q->type);
	if (c->selector)
		buf_put_str(&query, c->selector);
	else if (c->service)
		put_service(&query, c->service);
	else
		buf_put_str(&query, q->selector);
	buf_put_byte(&query, '\0');
	if (buf_error(&query))
		return -ENOMEM;
	buf_printf(out, "%s?query=", q->base);
	put_escaped(out, (const char *)query.data);
	buf_printf(out, "&from=%" PRId64 "&until=%" PRId64, q->from_ms, q->until_ms);
	buf_put_byte(out, '\0');
	return buf_error(out);
}

static int choose_range(struct url_query *q, const struct mcp_choice *c, struct err *err)
{
	int r = choose_time("from", c->from, &q->from_ms, err);

	if (r == 0)
		r = choose_time("until", c->until, &q->until_ms, err);
	if (r == 0 && q->from_ms >= q->until_ms)
		r = err_set(err, -EINVAL, "the time range is empty: from must be before until");
	return r;
}

/* Replaces the path of @io by the URL of the query, which @url holds. */
static int choose(struct sources *io, const struct mcp_choice *c, size_t i, struct buf *url,
		  struct err *err)
{
	struct url_query q;
	int r = parse_server(io->paths.data[i], &q, err);

	if (r == -ENOENT && (c->service || c->selector || c->type || c->from || c->until))
		return err_set(err, -EINVAL,
			       "source %zu is a file, which has no services and time ranges",
			       i + 1);
	if (r == -ENOENT)
		return vec_push(&io->paths, io->paths.data[i]);
	if (r == 0)
		r = choose_range(&q, c, err);
	if (r == 0)
		r = put_url(&q, c, url);
	return r < 0 ? r : vec_push(&io->paths, (char *)url->data);
}

/* The chosen profile is read as the last one of a copy of the sources. */
int mcp_source_read(const struct sources *s, const struct mcp_choice *c, struct profile **out,
		    size_t *out_value_num, struct err *err)
{
	_cleanup_(buf_fini) struct buf url = { 0 };
	struct sources copy = *s;
	size_t i;
	int r = mcp_source_find(s, c->source, &i, err);

	memset(&copy.paths, 0, sizeof(copy.paths));
	for (size_t k = 0; r == 0 && k < s->paths.len; k++)
		r = vec_push(&copy.paths, s->paths.data[k]);
	if (r == 0)
		r = choose(&copy, c, i, &url, err);
	if (c->sample_type)
		copy.sample_type = (char *)c->sample_type;
	if (r == 0)
		r = sources_read(&copy, copy.paths.len - 1, 1, NULL, out, out_value_num, err);
	vec_fini(&copy.paths);
	return r;
}

/* ---- list --------------------------------------------------------------------------- */

static int put_name(struct json_read *j, void *ctx)
{
	struct buf *out = ctx;
	int r = json_read_string(j);

	if (r < 0)
		return r;
	buf_put_str(out, "  ");
	text_put_safe(out, (const char *)j->text.data);
	buf_put_byte(out, '\n');
	return 0;
}

static int put_names(struct json_read *j, void *ctx)
{
	return json_read_is(j, "names") ? json_read_each(j, '[', put_name, ctx) : json_read_skip(j);
}

static int list_server(const struct url_query *q, struct buf *out, struct err *err)
{
	_cleanup_(buf_fini) struct buf body = { 0 }, answer = { 0 };
	struct json j = json_to(&body);
	struct json_read in;
	int r;

	json_object(&j);
	json_member_str(&j, "name", "service_name");
	json_member_int(&j, "start", q->from_ms);
	json_member_int(&j, "end", q->until_ms);
	json_object_end(&j);
	r = url_post(q->base, values_path, "application/json", &body, &answer, err);
	if (r < 0)
		return err_set(err, r, "%s", strerror(-r));
	buf_put_str(out, "server; services in the time range:\n");
	json_read_init(&in, answer.data, answer.len);
	r = json_read_each(&in, '{', put_names, out);
	json_read_fini(&in);
	return r < 0 ? err_set(err, r, "the server's list of services is malformed") : 0;
}

static void put_types(const struct profile *p, struct buf *out)
{
	buf_put_str(out, "profile; sample types:");
	for (size_t i = 0; i < profile_n_sample_types(p); i++) {
		struct profile_value_type type = profile_sample_type(p, i);

		buf_put_byte(out, ' ');
		text_put_safe(out, profile_string(p, type.type));
		buf_put_byte(out, '/');
		text_put_safe(out, profile_string(p, type.unit));
	}
	buf_printf(out, "; %.1f s; processes:\n", (double)profile_meta_const(p)->duration_ns / 1e9);
}

static int list_file(const struct sources *s, size_t i, struct buf *out, struct err *err)
{
	_cleanup_(profile_freep) struct profile *p = NULL;
	_cleanup_(top_freep) struct top *t = NULL;
	struct top_options opt = { .by = ENTRIES_BY_PROCESS };
	const char *unit;
	int r = sources_read(s, i, 1, NULL, &p, &opt.value_num, err);

	if (r == 0)
		r = top_build(&t, p, &opt);
	if (r < 0)
		return err_set(err, r, "out of memory");
	unit = profile_string(p, profile_sample_type(p, opt.value_num).unit);
	put_types(p, out);
	for (size_t k = 0; k < top_n_rows(t) && k < PROCESSES_MAX; k++) {
		const struct top_row *row = top_row(t, k);
		char text[TEXT_VALUE_LEN];

		buf_printf(out, "  %6.2f%% %10s  ", text_percent(row->total, top_sum(t)),
			   text_value(row->total, unit, text));
		text_put_safe(out, top_entry(t, row).name);
		buf_put_byte(out, '\n');
	}
	return 0;
}

int mcp_source_list(const struct sources *s, const struct mcp_choice *c, struct buf *out,
		    struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->paths.len; i++) {
		struct url_query q;

		r = parse_server(s->paths.data[i], &q, err);
		buf_printf(out, "%zu. ", i + 1);
		text_put_safe(out, r == 0 ? q.base : text_base_name(s->paths.data[i]));
		buf_put_str(out, ": ");
		if (r == -ENOENT) {
			r = list_file(s, i, out, err);
		} else if (r == 0) {
			r = choose_range(&q, c, err);
			if (r == 0)
				r = list_server(&q, out, err);
		}
	}
	return r;
}
