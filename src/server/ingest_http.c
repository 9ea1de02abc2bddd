/* SPDX-License-Identifier: Apache-2.0 */
/*
 * POST /ingest, the protocol of Pyroscope's SDKs and older agents. The query string describes the
 * profile. For stacks with counts, the last part of the application's name decides the profile
 * type; a pprof has its own sample types.
 *
 * The contract was recorded from Pyroscope: "app.cpu" or a name without a dot is CPU time, whose
 * counts are multiplied by the sampling interval; other suffixes choose a type whose values are
 * used unmodified; an unknown suffix is an error. Lines without a count are skipped and an empty
 * body is accepted. With format=pprof a multipart body is read as a pprof and fails, as it does
 * there. The name and labels come in one argument without quotes, so label values can contain
 * neither a comma nor a closing brace.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json_read.h"
#include "codec/common/gzip.h"
#include "codec/jfr/jfr_labels.h"
#include "codec/jfr/jfr_read.h"
#include "codec/pprof/pprof.h"
#include "codec/speedscope/speedscope.h"
#include "codec/text/text.h"
#include "net/http_server.h"
#include "profile/profile.h"
#include "server/api.h"
#include "server/arguments.h"
#include "server/connect.h"
#include "server/ingest.h"
#include "server/ingest_kinds.h"
#include "server/ingest_text.h"
#include "server/multipart.h"
#include "server/rpc.h"
#include "server/server_options.h"
#include "store/block.h"

#define YEAR_NS (365LL * 86400 * CLOCK_SECOND_NS)

enum { MAX_HZ = 1000000, DEFAULT_HZ = 100 };

/* Units of time, and units of other values, which are treated as counts here. */
static const struct {
	const char *name;
	int64_t ns; /* 0: not a unit of time */
} units[] = {
	{ "nanoseconds", 1 },
	{ "microseconds", 1000 },
	{ "milliseconds", CLOCK_MS_NS },
	{ "seconds", CLOCK_SECOND_NS },
	{ "samples", 0 },
	{ "count", 0 },
	{ "objects", 0 },
	{ "goroutines", 0 },
	{ "bytes", 0 },
	{ "lock_samples", 0 },
	{ "lock_nanoseconds", 0 },
	{ "trace_samples", 0 },
	{ "exceptions", 0 },
};

/* Nanoseconds per @unit; 0 if @unit is NULL or not a unit of time. */
static int64_t unit_ns(const char *unit)
{

	for (size_t i = 0; unit && i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(unit, units[i].name))
			return units[i].ns;
	return 0;
}

/*
 * Splits "app{k=v,k2=v2}" into the name and labels. @name is modified: its parts are terminated in
 * place, and labels borrow from it.
 */
static int read_name(char *name, struct ingest_labels *out, struct err *err)
{
	char *brace = strchr(name, '{'), *rest, *pair;
	int r = 0;

	if (!brace)
		return 0;
	rest = brace + 1;
	*brace = 0;
	rest[strcspn(rest, "}")] = 0;
	while (r == 0 && (pair = strsep(&rest, ","))) {
		char *value = strchr(pair, '=');

		if (!*pair)
			continue;
		if (!value)
			return err_set(
				err, -EINVAL,
				"argument \"name\": expected NAME=VALUE pairs inside the braces");
		*value++ = 0;
		r = ingest_label(out, pair, value, err);
	}
	return r;
}

/* One request. */
struct ingest_http {
	struct rpc *rpc;
	char *app;
	struct ingest in;
	struct ingest_labels labels;
	struct profile *p;
	struct jfr_profiles recording;        /* the profiles of a JFR recording, in place of @p */
	const char *display[BLOCK_MAX_TYPES]; /* of the pprof's sample types, or NULL */
	bool has_config;                      /* the client sent display names */
	int64_t from, until;                  /* 0 if not given */
	int64_t hz;                           /* the same */
	const char *unit;                     /* NULL if not given */
};

static void ingest_http_fini(struct ingest_http *g)
{
	profile_free(g->p);
	jfr_profiles_fini(&g->recording);
	ingest_fini(&g->in);
	free(g->app);
}

static bool is_multipart(const char *content_type)
{
	return content_type && !strncasecmp(content_type, "multipart/", 10);
}

static const char *arg(const struct ingest_http *g, const char *name)
{
	return arguments_text(g->rpc, name);
}

/*
 * Values of "units" and "aggregationType" are checked for every format, although only stacks with
 * counts have units and the store always adds.
 */
static int read_arguments(struct ingest_http *g)
{
	static const char *const aggregations[] = { "sum", "average", "avg", NULL };
	const struct rpc *rpc = g->rpc;
	size_t i = 0, aggregation;
	int r = arguments_time(rpc, "from", g->in.now_ns, &g->from);

	if (r == 0)
		r = arguments_time(rpc, "until", g->in.now_ns, &g->until);
	if (r == 0)
		r = arguments_int(rpc, "sampleRate", 0, MAX_HZ, &g->hz);
	if (r == 0)
		r = arguments_choice(rpc, "aggregationType", aggregations, &aggregation);
	if (r < 0)
		return r;
	if (g->from && g->until && g->until < g->from)
		return err_set(rpc->err, -EINVAL, "argument \"until\" is before \"from\"");
	g->unit = arg(g, "units");
	while (g->unit && i < sizeof(units) / sizeof(units[0]) &&
	       strcmp(g->unit, units[i].name) != 0)
		i++;
	return i < sizeof(units) / sizeof(units[0])
		       ? 0
		       : err_set(rpc->err, -EINVAL, "argument \"units\": unknown unit \"%.40s\"",
				 g->unit);
}

/* Sets the period's type, unit and length. */
static int set_period(struct profile *p, const struct ingest_kind *k, int64_t period)
{
	struct profile_meta *m = profile_meta(p);
	int r = profile_add_string(p, k->period_type, strlen(k->period_type), &m->period_type.type);

	if (r == 0)
		r = profile_add_string(p, k->period_unit, strlen(k->period_unit),
				       &m->period_type.unit);
	m->period = period;
	return r;
}

/*
 * Converts the profile's only sample type to the one of the application's name. Without
 * "sampleRate" the rate is Pyroscope's default of 100 Hz. Values of a time type are times already
 * if the argument "units" names a unit of time; otherwise they are numbers of samples.
 */
static int retype(struct ingest_http *g, const char *unit)
{
	int64_t hz = g->hz ? g->hz : DEFAULT_HZ;
	const struct ingest_kind *k = ingest_kind_split(g->app);
	int64_t factor = 1, period;
	int r;

	if (!k)
		return err_set(g->rpc->err, -EINVAL,
			       "argument \"name\": cannot determine the profile type of \"%.60s\"",
			       g->app);
	period = k->sampled ? CLOCK_SECOND_NS / hz : 1;
	if (!strcmp(k->unit, "nanoseconds"))
		factor = unit_ns(unit) ? unit_ns(unit) : period;
	g->labels.name = k->name;
	r = profile_convert_sample_type(g->p, 0, k->type, k->unit, factor);
	if (r == -EFBIG)
		return err_set(g->rpc->err, r,
			       "a sample count times the sampling interval exceeds 64 bits");
	if (r == 0)
		r = set_period(g->p, k, period);
	profile_meta(g->p)->time_ns = g->from;
	profile_meta(g->p)->duration_ns = g->until > g->from ? g->until - g->from : 0;
	return r;
}

/* Stacks in four encodings are converted to folded text, which has one reader. */
static int read_stacks(struct ingest_http *g, enum ingest_text kind)
{
	const struct codec_limits max = ingest_limits(g->rpc);
	_cleanup_(buf_fini) struct buf text = { 0 };
	int r = ingest_text(kind, g->rpc->body, g->rpc->len, &max, &text, g->rpc->err);

	if (r == 0)
		r = folded_read(&g->p, text.data, text.len, &max, g->rpc->err);
	return r < 0 ? r : retype(g, g->unit);
}

/* The unit of the file's weights takes the place of the argument "units". */
static int read_speedscope(struct ingest_http *g)
{
	const struct codec_limits max = ingest_limits(g->rpc);
	int r = speedscope_read(&g->p, g->rpc->body, g->rpc->len, &max, g->rpc->err);

	if (r < 0)
		return r == -ENOTSUP ? -EBADMSG : r;
	if (profile_n_sample_types(g->p) != 1)
		return err_set(g->rpc->err, -EBADMSG,
			       "expected a speedscope file with one profile");
	return retype(g, profile_string(g->p, profile_sample_type(g->p, 0).unit));
}

/* The configuration of one sample type. */
struct type_config {
	struct ingest_http *g;
	size_t type;
};

static int read_type_member(struct json_read *j, void *ctx)
{
	struct type_config *c = ctx;
	int r;

	if (!json_read_is(j, "display-name") || json_read_peek(j) != '"' ||
	    c->type >= BLOCK_MAX_TYPES)
		return json_read_skip(j);
	r = json_read_string(j);
	if (r == 0 && j->text.len) {
		c->g->display[c->type] = ingest_copy_text(&c->g->in, (const char *)j->text.data);
		r = c->g->display[c->type] ? 0 : -ENOMEM;
	}
	return r;
}

/* A member of the configuration is named after a sample type of the profile. */
static int read_types_config(struct json_read *j, void *ctx)
{
	struct type_config c = { .g = ctx };
	const struct profile *p = c.g->p;

	for (; c.type < profile_n_sample_types(p); c.type++)
		if (json_read_is(j, profile_string(p, profile_sample_type(p, c.type).type)))
			return json_read_each(j, '{', read_type_member, &c);
	return json_read_skip(j);
}

/*
 * Clients describe by display names what kind of profile it is. Type and unit remain those of the
 * pprof, as in Pyroscope: dashboards query mutex:contentions:count:contentions:count, which
 * pyroscope-go configures as mutex_count in lock_samples. Types that the profile lacks are ignored.
 */
static int configure_types(struct ingest_http *g, const struct multipart_part *config)
{
	struct json_read j;
	int r;

	json_read_init(&j, config->data, config->len);
	r = json_read_peek(&j) == '{' ? json_read_each(&j, '{', read_types_config, g) : -EBADMSG;
	g->has_config = true;
	json_read_fini(&j);
	return r == -EBADMSG ? err_set(g->rpc->err, r,
				       "the part \"sample_type_config\" is not valid JSON, or has "
				       "unexpected members")
			     : r;
}

/*
 * A pprof's own time and duration take precedence over the arguments. Some clients wrote times in
 * microseconds, which are in 1970 if they are read as nanoseconds.
 */
static int read_pprof(struct ingest_http *g, const void *data, size_t len)
{
	const struct codec_limits max = ingest_limits(g->rpc);
	struct profile_meta *m;
	int r = pprof_read(&g->p, data, len, &max, g->rpc->err);

	if (r < 0)
		return r;
	m = profile_meta(g->p);
	if (m->time_ns >= 0 && m->time_ns < YEAR_NS)
		m->time_ns = g->from;
	if (!m->duration_ns && g->until > g->from)
		m->duration_ns = g->until - g->from;
	return 0;
}

/*
 * "sample_type_config" is optional: only some SDKs send it. A profile with "prev_profile" holds
 * values since the program's start, which would be added again with each upload.
 */
static int read_multipart(struct ingest_http *g, const char *type)
{
	struct multipart_part profile, config;
	int r = multipart_find(type, g->rpc->body, g->rpc->len, "profile", &profile);

	if (r < 0)
		return err_set(g->rpc->err, -EBADMSG, "the form has no part \"profile\"");
	if (multipart_find(type, g->rpc->body, g->rpc->len, "prev_profile", &config) == 0)
		return err_set(
			g->rpc->err, -EBADMSG,
			"the form has a part \"prev_profile\", whose profiles are cumulative; "
			"update the SDK");
	r = read_pprof(g, profile.data, profile.len);
	if (r == 0 &&
	    multipart_find(type, g->rpc->body, g->rpc->len, "sample_type_config", &config) == 0)
		r = configure_types(g, &config);
	return r;
}

/* Decompresses a part of a form, which may be gzip. *@part borrows from @mem then. */
static int decompress(struct ingest_http *g, struct multipart_part *part, struct buf *mem)
{
	int r;

	if (!gzip_is(part->data, part->len))
		return 0;
	r = gzip_read_claiming(part->data, part->len, ingest_limits(g->rpc).bytes, mem,
			       g->rpc->claim, g->rpc->claim_ctx, g->rpc->err);
	*part = (struct multipart_part){ mem->data, mem->len };
	return r;
}

/* Reads the labels of contexts; an agent without contexts omits the part. */
static int read_jfr_labels(struct ingest_http *g, const char *type, struct jfr_labels *out,
			   struct buf *mem)
{
	struct multipart_part part;
	int r;

	if (multipart_find(type, g->rpc->body, g->rpc->len, "labels", &part) < 0)
		return 0;
	r = decompress(g, &part, mem);
	return r < 0 ? r
		     : jfr_labels_read(out, part.data, part.len, ingest_limits(g->rpc).label_sum,
				       g->rpc->err);
}

/* Sets the times that the arguments state; without them, those of the recording remain. */
static void set_times(struct ingest_http *g)
{
	for (size_t i = 0; i < g->recording.n; i++) {
		struct profile_meta *m = profile_meta(g->recording.all[i].p);

		if (g->from)
			m->time_ns = g->from;
		if (g->from && g->until > g->from)
			m->duration_ns = g->until - g->from;
	}
}

/*
 * A recording of the Java agent: the body, or the part "jfr" of a form whose part "labels" has the
 * labels of contexts. The argument "sampleRate" takes precedence over the recorded period.
 */
static int read_jfr(struct ingest_http *g, const char *type)
{
	_cleanup_(buf_fini) struct buf jfr_mem = { 0 }, labels_mem = { 0 };
	_cleanup_(jfr_labels_fini) struct jfr_labels labels = { 0 };
	const struct codec_limits max = ingest_limits(g->rpc);
	struct jfr_options opt = { .labels = &labels };
	struct multipart_part jfr = { g->rpc->body, g->rpc->len };
	int r = 0;

	if (g->hz)
		opt.period_ns = CLOCK_SECOND_NS / g->hz;
	if (is_multipart(type)) {
		if (multipart_find(type, g->rpc->body, g->rpc->len, "jfr", &jfr) < 0)
			return err_set(g->rpc->err, -EBADMSG, "the form has no part \"jfr\"");
		r = read_jfr_labels(g, type, &labels, &labels_mem);
	}
	if (r == 0)
		r = decompress(g, &jfr, &jfr_mem);
	if (r == 0)
		r = jfr_read_profiles(&g->recording, jfr.data, jfr.len, &opt, &max, g->rpc->err);
	if (r == 0 && g->recording.event[0])
		r = ingest_label(&g->labels, "jfr_event", g->recording.event, g->rpc->err);
	set_times(g);
	return r == -ENOTSUP ? -EBADMSG : r;
}

/* Decodes the body by the argument "format" or, without it, by the content type. */
static int read_body(struct ingest_http *g)
{
	static const char *const texts[] = { "folded", "lines", "trie", "tree" };
	const char *format = arg(g, "format");
	const char *type = http_request_header(g->rpc->rq, "Content-Type");
	int r;

	if (!format)
		format = is_multipart(type) ? "multipart" : "folded";
	if (!strcmp(format, "groups"))
		format = "folded";
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (!strcmp(format, texts[i]))
			return read_stacks(g, (enum ingest_text)i);
	if (!strcmp(format, "speedscope"))
		return read_speedscope(g);
	if (!strcmp(format, "jfr"))
		return read_jfr(g, type);
	if (!strcmp(format, "multipart"))
		r = read_multipart(g, type);
	else if (!strcmp(format, "pprof"))
		r = read_pprof(g, g->rpc->body, g->rpc->len);
	else
		return err_set(g->rpc->err, -EINVAL,
			       "argument \"format\": unknown format \"%.20s\"", format);
	if (r == 0)
		g->labels.name = ingest_kind_of_pprof(g->p, g->has_config ? g->display : NULL);
	return r;
}

/* Reads the arguments that all formats share. */
static int begin(struct ingest_http *g)
{
	const char *name = arg(g, "name"), *spy = arg(g, "spyName");
	int r;

	ingest_init(&g->in, g->rpc->opt->max_age_ns);
	g->in.max_names = g->rpc->opt->max_names;
	g->app = name ? strdup(name) : NULL;
	if (!g->app)
		return err_set(g->rpc->err, -EINVAL, "argument \"name\" is missing");
	r = read_arguments(g);
	if (r == 0)
		r = read_name(g->app, &g->labels, g->rpc->err);
	if (r == 0 && !g->app[0])
		r = err_set(g->rpc->err, -EINVAL, "argument \"name\" has no application name");
	return r < 0 ? r
		     : ingest_label(&g->labels, "pyroscope_spy", spy ? spy : "unknown",
				    g->rpc->err);
}

static int ingest(struct rpc *rpc)
{
	_cleanup_(ingest_http_fini) struct ingest_http g = { .rpc = rpc };
	int r = begin(&g);

	if (r == 0)
		r = read_body(&g);
	if (r < 0)
		return r;
	ingest_labels_finish(&g.labels, g.app);
	r = g.p ? ingest_profile(&g.in, &g.labels, NULL, steal_ptr(&g.p), rpc->err) : 0;
	for (size_t i = 0; r == 0 && i < g.recording.n; i++) {
		g.labels.name = g.recording.all[i].name;
		r = ingest_profile(&g.in, &g.labels, NULL, steal_ptr(&g.recording.all[i].p),
				   rpc->err);
	}
	return r < 0 ? r : ingest_store(&g.in, rpc);
}

/* SDKs of other versions may send more. */
#define ARGUMENTS "name from until sampleRate spyName units aggregationType format *"

static const struct api_method methods[] = {
	{ "/ingest", connect_upload, ingest, API_WRITE, API_PUSH,
	  "Store one profile in any format that Pyroscope accepts here", NULL, ARGUMENTS },
	{ "/pyroscope/ingest", connect_upload, ingest, API_WRITE, API_PUSH,
	  "Store one profile; an alias of /ingest", NULL, ARGUMENTS },
};
API_LIST(ingest_api, methods);
