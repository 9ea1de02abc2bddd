/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles that come in. Everything of a request is read and checked before
 * anything is stored, so what is refused has left nothing behind.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/vec.h"
#include "codec/folded_read.h"
#include "codec/limits.h"
#include "codec/pprof_read.h"
#include "net/http_server.h"
#include "profile/profile.h"
#include "server/message.h"
#include "server/rpc.h"
#include "store/store.h"

#define SECOND_NS    1000000000LL
#define MAX_AHEAD_NS (600 * SECOND_NS)

enum {
	MAX_LABELS = 40,
	MAX_NAME = 1024,
	MAX_VALUE = 2048,
	MAX_PROFILES = 10000,
};

/* As the messages have them. */
struct pushed_sample {
	struct message_bytes raw;
	const char *id;
};

struct pushed_series {
	struct message_list labels, samples;
};

struct pushed {
	struct message_list series;
};

static const struct message_field label_fields[] = {
	{ 1, "name", MESSAGE_STRING, offsetof(struct store_label, name), NULL, NULL },
	{ 2, "value", MESSAGE_STRING, offsetof(struct store_label, value), NULL, NULL },
};
static const struct message label_message = { label_fields, 2, sizeof(struct store_label) };

static const struct message_field sample_fields[] = {
	{ 1, "rawProfile", MESSAGE_BYTES, offsetof(struct pushed_sample, raw), NULL, NULL },
	{ 2, "ID", MESSAGE_STRING, offsetof(struct pushed_sample, id), NULL, NULL },
};
static const struct message sample_message = { sample_fields, 2, sizeof(struct pushed_sample) };

static const struct message_field series_fields[] = {
	{ 1, "labels", MESSAGE_LIST, offsetof(struct pushed_series, labels), &label_message, NULL },
	{ 2, "samples", MESSAGE_LIST, offsetof(struct pushed_series, samples), &sample_message,
	  NULL },
};
static const struct message series_message = { series_fields, 2, sizeof(struct pushed_series) };

static const struct message_field push_fields[] = {
	{ 1, "series", MESSAGE_LIST, offsetof(struct pushed, series), &series_message, NULL },
};
static const struct message push_message = { push_fields, 1, sizeof(struct pushed) };

/* Labels of one series, checked and sorted. */
struct labels {
	struct store_label v[MAX_LABELS + 1];
	size_t n;
	const char *name; /* __name__ */
};

struct batch {
	struct {
		VEC(struct store_profile);
	} profiles;
	struct {
		VEC(struct profile *);
	} owned;
	struct message_memory memory; /* of labels */
	int64_t now_ns;
};

static void batch_fini(struct batch *b)
{
	for (size_t i = 0; i < b->owned.len; i++)
		profile_free(b->owned.data[i]);
	vec_fini(&b->owned);
	vec_fini(&b->profiles);
	message_memory_fini(&b->memory);
}

static struct codec_limits limits(void)
{
	return (struct codec_limits){
		.bytes = 64 << 20,
		.strings = 1 << 20,
		.things = 1 << 20,
		.samples = 1 << 20,
		.depth = 4096,
		.labels = 64,
		.label_sum = 4 << 20,
	};
}

static int cmp_label(const void *a, const void *b)
{
	return strcmp(((const struct store_label *)a)->name, ((const struct store_label *)b)->name);
}

static int add_label(struct labels *l, const char *name, const char *value, struct err *err)
{
	if (!name || !name[0])
		return err_set(err, -EINVAL, "a label has no name");
	value = value ? value : "";
	if (strlen(name) > MAX_NAME || strlen(value) > MAX_VALUE)
		return err_set(err, -EINVAL, "label %.60s is too long", name);
	if (!strcmp(name, "__name__"))
		l->name = value;
	/* these say how a client sends, not what it is */
	if (!strcmp(name, "__name__") || !strcmp(name, "__delta__") ||
	    !strcmp(name, "__session_id__"))
		return 0;
	for (size_t i = 0; i < l->n; i++) {
		if (strcmp(l->v[i].name, name) != 0)
			continue;
		if (!strcmp(l->v[i].value, value))
			return 0;
		return err_set(err, -EINVAL, "label %.60s has two values", name);
	}
	if (l->n == MAX_LABELS)
		return err_set(err, -EINVAL, "more than %d labels", MAX_LABELS);
	l->v[l->n++] = (struct store_label){ name, value };
	return 0;
}

static void finish_labels(struct labels *l)
{
	bool has_service = false;

	for (size_t i = 0; i < l->n; i++)
		has_service |= !strcmp(l->v[i].name, "service_name") && l->v[i].value[0];
	if (!has_service)
		l->v[l->n++] = (struct store_label){ "service_name", "unknown_service" };
	qsort(l->v, l->n, sizeof(*l->v), cmp_label);
}

static int read_labels(const struct message_list *from, struct labels *out, struct err *err)
{
	const struct store_label *l = (const void *)from->data;
	int r = 0;

	*out = (struct labels){ 0 };
	for (size_t i = 0; r == 0 && i < from->len; i++)
		r = add_label(out, l[i].name, l[i].value, err);
	if (r == 0 && (!out->name || !out->name[0]))
		r = err_set(err, -EINVAL, "a series has no label __name__");
	if (r == 0)
		finish_labels(out);
	return r;
}

/* Takes @p. */
static int add_profile(struct batch *b, const struct labels *l, const char *id, struct profile *p,
		       struct err *err)
{
	struct store_label *labels = malloc((l->n + 1) * sizeof(*labels));
	struct store_profile sp = { .name = l->name, .n_labels = l->n, .id = id, .profile = p };
	int64_t time_ns = profile_meta(p)->time_ns;

	if (vec_push(&b->owned, p) < 0) {
		profile_free(p);
		free(labels);
		return -ENOMEM;
	}
	if (!labels || vec_push(&b->memory, labels) < 0) {
		free(labels);
		return -ENOMEM;
	}
	memcpy(labels, l->v, l->n * sizeof(*labels));
	if (time_ns < 0 || time_ns > b->now_ns + MAX_AHEAD_NS)
		return err_set(err, -EINVAL, "a profile's time is outside of what is taken");
	if (b->profiles.len >= MAX_PROFILES)
		return err_set(err, -EINVAL, "more than %d profiles", MAX_PROFILES);
	sp.labels = labels;
	sp.id_time_ns = time_ns;
	sp.time_ns = time_ns ? time_ns : b->now_ns;
	return vec_push(&b->profiles, sp);
}

static int read_series(struct batch *b, const struct pushed_series *s, struct err *err)
{
	const struct pushed_sample *samples = (const void *)s->samples.data;
	const struct codec_limits max = limits();
	struct labels labels;
	int r = read_labels(&s->labels, &labels, err);

	for (size_t i = 0; r == 0 && i < s->samples.len; i++) {
		struct profile *p = NULL;

		if (!samples[i].raw.len)
			return err_set(err, -EINVAL, "a profile is empty");
		r = pprof_read(&p, samples[i].raw.data, samples[i].raw.len, &max, err);
		if (r == 0)
			r = add_profile(b, &labels, samples[i].id, p, err);
	}
	return r;
}

int push_rpc(struct rpc *rpc)
{
	_cleanup_(message_memory_fini) struct message_memory memory = { 0 };
	_cleanup_(batch_fini) struct batch b = { .now_ns = (int64_t)clock_unix_ns() };
	struct pushed pushed = { 0 };
	const struct pushed_series *series;
	struct answer a;
	int r = message_read(&push_message, rpc->json, rpc->body, rpc->len, &memory, &pushed,
			     rpc->err);

	series = (const void *)pushed.series.data;
	if (r == 0 && !pushed.series.len)
		return err_set(rpc->err, -EINVAL, "no profiles");
	for (size_t i = 0; r == 0 && i < pushed.series.len; i++)
		r = read_series(&b, &series[i], rpc->err);
	if (r == 0)
		r = store_append(rpc->store, rpc->tenant, b.profiles.data, b.profiles.len,
				 rpc->err);
	if (r < 0)
		return r;
	a = answer_to(&rpc->rs->body, rpc->json);
	answer_end(&a, answer_begin(&a, 0, NULL));
	return 0;
}

/* /ingest */

/* What the last part of an application's name stands for. */
static const struct folded_type {
	const char *suffix, *name, *type, *unit, *period_type, *period_unit;
} folded_types[] = {
	{ "cpu", "process_cpu", "cpu", "nanoseconds", "cpu", "nanoseconds" },
	{ "inuse_space", "memory", "inuse_space", "bytes", "", "" },
	{ "inuse_objects", "memory", "inuse_objects", "count", "", "" },
	{ "alloc_space", "memory", "alloc_space", "bytes", "", "" },
	{ "alloc_objects", "memory", "alloc_objects", "count", "", "" },
};

static const struct folded_type *folded_type(char *app)
{
	char *dot = strrchr(app, '.');

	if (!dot)
		return &folded_types[0];
	for (size_t i = 0; i < sizeof(folded_types) / sizeof(folded_types[0]); i++) {
		if (!strcmp(dot + 1, folded_types[i].suffix)) {
			*dot = 0;
			return &folded_types[i];
		}
	}
	return NULL;
}

/* Seconds, milliseconds or nanoseconds since 1970, told apart by size; 0: not said. */
static int64_t read_time(const char *s)
{
	long long v = s ? strtoll(s, NULL, 10) : 0;

	if (v <= 0)
		return 0;
	if (v < 100000000000LL)
		return v * SECOND_NS;
	return v < 100000000000000LL ? v * 1000000 : v;
}

/* "app{k=v,k2=v2}": cut @name into its parts. */
static int read_name(char *name, struct labels *out, struct err *err)
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
			return err_set(err, -EINVAL, "name: k=v is expected within the braces");
		*value++ = 0;
		r = add_label(out, pair, value, err);
	}
	return r;
}

/* Copy one stack of @from, whose locations have a function of their name each. */
static int copy_stack(struct profile *to, const struct profile *from, uint32_t stack, uint32_t *out)
{
	size_t n;
	const uint32_t *ids = profile_stack(from, stack, &n);
	_cleanup_(freep) uint32_t *mine = malloc((n + 1) * sizeof(*mine));
	int r = mine ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < n; i++) {
		struct profile_location l = profile_location(from, ids[i]);
		uint32_t name = profile_function(from, l.lines[0].function)->name;
		struct profile_function f = { 0 };
		struct profile_line line = { 0 };

		r = profile_add_string(to, profile_string(from, name),
				       profile_string_len(from, name), &f.name);
		if (r == 0)
			r = profile_add_function(to, &f, &line.function);
		l.mapping = PROFILE_NONE;
		l.n_lines = 1;
		l.lines = &line;
		if (r == 0)
			r = profile_add_location(to, &l, &mine[i]);
	}
	return r < 0 ? r : profile_add_stack(to, mine, n, out);
}

static int copy_samples(struct profile *to, const struct profile *from, int64_t factor)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < profile_n_samples(from); i++) {
		int64_t value;
		struct profile_sample s = { .values = &value };

		if (__builtin_mul_overflow(profile_sample(from, i).values[0], factor, &value))
			return -EFBIG;
		r = copy_stack(to, from, profile_sample(from, i).stack, &s.stack);
		if (r == 0)
			r = profile_add_sample(to, &s);
	}
	return r;
}

/* Counts of folded text as values of the type. */
static int retype(const struct profile *from, const struct folded_type *t, int64_t factor,
		  struct profile **out)
{
	_cleanup_(profile_freep) struct profile *p = NULL;
	struct profile_value_type *period;
	int r = profile_new(&p);

	if (r < 0)
		return r;
	period = &profile_meta(p)->period_type;
	r = profile_add_sample_type(p, t->type, t->unit);
	if (r == 0)
		r = profile_add_string(p, t->period_type, strlen(t->period_type), &period->type);
	if (r == 0)
		r = profile_add_string(p, t->period_unit, strlen(t->period_unit), &period->unit);
	if (r == 0)
		r = copy_samples(p, from, factor);
	if (r == 0)
		*out = steal_ptr(&p);
	return r;
}

static int ingest_folded(struct rpc *rpc, const struct folded_type *t, struct profile **out)
{
	_cleanup_(profile_freep) struct profile *folded = NULL;
	const char *rate = http_request_arg(rpc->rq, "sampleRate");
	long long hz = rate ? strtoll(rate, NULL, 10) : 100;
	const struct codec_limits max = limits();
	int64_t from = read_time(http_request_arg(rpc->rq, "from"));
	int64_t until = read_time(http_request_arg(rpc->rq, "until"));
	int64_t period = 1;
	int r = folded_read(&folded, rpc->body, rpc->len, &max, rpc->err);

	if (hz <= 0 || hz > 1000000)
		return err_set(rpc->err, -EINVAL, "sampleRate is not one");
	if (!strcmp(t->suffix, "cpu"))
		period = SECOND_NS / hz;
	if (r == 0)
		r = retype(folded, t, period, out);
	if (r < 0)
		return r;
	profile_meta(*out)->time_ns = from;
	profile_meta(*out)->duration_ns = until > from ? until - from : 0;
	profile_meta(*out)->period = period;
	return 0;
}

static int ingest_profile(struct rpc *rpc, char *app, struct labels *l, struct profile **out)
{
	const char *format = http_request_arg(rpc->rq, "format");
	const struct codec_limits max = limits();
	const struct folded_type *t;
	int r;

	if (format && !strcmp(format, "pprof")) {
		l->name = "process_cpu";
		r = pprof_read(out, rpc->body, rpc->len, &max, rpc->err);
		if (r == 0 && !profile_meta(*out)->time_ns)
			profile_meta(*out)->time_ns = read_time(http_request_arg(rpc->rq, "from"));
		return r;
	}
	if (format && strcmp(format, "folded") != 0 && strcmp(format, "groups") != 0)
		return err_set(rpc->err, -EINVAL,
			       "format %.20s is not taken: folded, groups or pprof", format);
	t = folded_type(app);
	if (!t)
		return err_set(rpc->err, -EINVAL, "%.60s: not a known kind of profile", app);
	l->name = t->name;
	return ingest_folded(rpc, t, out);
}

int push_ingest(struct rpc *rpc)
{
	_cleanup_(batch_fini) struct batch b = { .now_ns = (int64_t)clock_unix_ns() };
	const char *arg = http_request_arg(rpc->rq, "name");
	const char *spy = http_request_arg(rpc->rq, "spyName");
	_cleanup_(freep) char *name = arg && arg[0] ? strdup(arg) : NULL;
	struct labels labels = { 0 };
	struct profile *p = NULL;
	int r;

	if (!name)
		return err_set(rpc->err, -EINVAL, "name is missing");
	r = read_name(name, &labels, rpc->err);
	if (r == 0)
		r = add_label(&labels, "pyroscope_spy", spy ? spy : "unknown", rpc->err);
	if (r == 0)
		r = ingest_profile(rpc, name, &labels, &p);
	if (r < 0)
		return r;
	/* a service named within the braces stays */
	add_label(&labels, "service_name", name, NULL);
	finish_labels(&labels);
	r = add_profile(&b, &labels, NULL, p, rpc->err);
	return r < 0 ? r
		     : store_append(rpc->store, rpc->tenant, b.profiles.data, b.profiles.len,
				    rpc->err);
}
