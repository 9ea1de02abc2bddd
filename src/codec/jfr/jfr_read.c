/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events of a chunk follow each other, each with its length and class. Values of CPU and
 * wall-clock time are counted in samples, and converted when the sampling period is known, which
 * an event of settings holds.
 */
#include "codec/jfr/jfr_read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/saturate.h"
#include "codec/common/limits.h"
#include "codec/jfr/jfr_chunk.h"
#include "codec/jfr/jfr_labels.h"
#include "codec/jfr/jfr_stacks.h"
#include "profile/profile.h"

enum kind {
#define X(symbol, ...) KIND_##symbol,
#include "codec/jfr/jfr_kinds.def"
#undef X
	KINDS
};
_Static_assert((int)KINDS == (int)JFR_PROFILES_MAX, "each kind may occur");

static const struct kind_info {
	const char *name;
	struct {
		const char *type, *unit;
	} types[2], period;
} kinds[KINDS] = {
#define X(symbol, name, type1, unit1, type2, unit2, period_type, period_unit)                      \
	{ name, { { type1, unit1 }, { type2, unit2 } }, { period_type, period_unit } },
#include "codec/jfr/jfr_kinds.def"
#undef X
};

/* The values of an event, in the order of event_fields. */
enum { EVENT_STACK, EVENT_VALUE, EVENT_THREAD, EVENT_STATE, EVENT_CONTEXT };

/* An event that is a sample: its value field is the second value of its kind. */
static const struct event {
	const char *class, *value, *thread;
	enum kind kind;
	bool ticks; /* the value is a duration in ticks */
} events[] = {
	{ "jdk.ExecutionSample", "", "sampledThread", KIND_CPU, false },
	{ "jdk.CPUTimeSample", "samplingPeriod", "eventThread", KIND_CPU_TIME, true },
	{ "profiler.WallClockSample", "samples", "sampledThread", KIND_WALL, false },
	{ "jdk.ObjectAllocationInNewTLAB", "tlabSize", "eventThread", KIND_IN_NEW_TLAB, false },
	{ "jdk.ObjectAllocationOutsideTLAB", "allocationSize", "eventThread", KIND_OUTSIDE_TLAB,
	  false },
	{ "jdk.ObjectAllocationSample", "weight", "eventThread", KIND_ALLOC_SAMPLE, false },
	{ "profiler.Malloc", "size", "eventThread", KIND_MALLOC, false },
	{ "profiler.LiveObject", "", "eventThread", KIND_LIVE, false },
	{ "jdk.JavaMonitorEnter", "duration", "eventThread", KIND_MONITOR, true },
	{ "jdk.ThreadPark", "duration", "eventThread", KIND_PARK, true },
};
enum { N_EVENTS = sizeof(events) / sizeof(events[0]) };

struct reader {
	const struct jfr_options *opt;
	struct codec_limits limits;
	struct err *err;
	struct profile *profiles[KINDS];
	struct codec_account accounts[KINDS];
	struct jfr_stack_ids ids[KINDS];
	struct jfr_stacks stacks;
	struct jfr_chunk *chunk;
	struct jfr_shape shapes[N_EVENTS], setting;
	struct buf text, value;
	char event[JFR_EVENT_MAX];
	bool is_wall;      /* async-profiler sampled wall-clock time */
	int64_t period_ns; /* of samples, from a setting; 0: unknown */
	int64_t start_ns, end_ns;
	uint32_t n_samples;
	size_t n_labels;
	struct {
		VEC(struct profile_label);
	} labels;
};

static void reader_fini(struct reader *rd)
{
	for (size_t i = 0; i < KINDS; i++) {
		profile_free(rd->profiles[i]);
		jfr_stack_ids_fini(&rd->ids[i]);
	}
	jfr_stacks_fini(&rd->stacks);
	buf_fini(&rd->text);
	buf_fini(&rd->value);
	vec_fini(&rd->labels);
}

static int malformed(struct reader *rd, const char *what)
{
	return err_set(rd->err, -EBADMSG, "malformed %s in a Flight Recorder file", what);
}

/* ---- settings --------------------------------------------------------------- */

enum { SETTING_ID, SETTING_NAME, SETTING_VALUE };

/*
 * Returns the nanoseconds of "20 ms", or of a number without a unit, as async-profiler writes it.
 */
static int64_t parse_period(const char *s)
{
	static const struct {
		const char *unit;
		int64_t ns;
	} units[] = {
		{ "", 1 }, { " ns", 1 }, { " us", 1000 }, { " ms", 1000000 }, { " s", 1000000000 }
	};
	char *end;
	long long v = strtoll(s, &end, 10);

	for (size_t i = 0; v > 0 && i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(end, units[i].unit))
			return saturating_mul(v, units[i].ns);
	return 0;
}

/*
 * The JDK has a setting "period" for each class of events; async-profiler has "interval" and
 * "event" for all.
 */
static int read_setting(struct reader *rd, struct jfr_cursor *c)
{
	struct jfr_value v[JFR_SHAPE_VALUES];
	const struct jfr_class *classes = rd->chunk->types.classes.data;
	uint32_t samples = rd->shapes[0].class;
	const char *name, *value;
	int r;

	jfr_shape_read(&rd->setting, &rd->chunk->types, c, v);
	rd->text.len = rd->value.len = 0;
	r = c->bad ? -EBADMSG : jfr_resolve_text(&rd->stacks, v[SETTING_NAME].text, &rd->text);
	if (r == 0)
		r = jfr_resolve_text(&rd->stacks, v[SETTING_VALUE].text, &rd->value);
	if (r < 0)
		return malformed(rd, "setting");
	buf_put_byte(&rd->text, 0);
	buf_put_byte(&rd->value, 0);
	if (buf_error(&rd->text) || buf_error(&rd->value))
		return -ENOMEM;
	name = (const char *)rd->text.data;
	value = (const char *)rd->value.data;
	if (!strcmp(name, "event") && strlen(value) < sizeof(rd->event)) {
		strcpy(rd->event, value);
		rd->is_wall = !strcmp(value, "wall");
	} else if (!strcmp(name, "interval") ||
		   (!strcmp(name, "period") && samples != JFR_NO_CLASS &&
		    v[SETTING_ID].number == classes[samples].id)) {
		rd->period_ns = parse_period(value) ? parse_period(value) : rd->period_ns;
	}
	return 0;
}

/* ---- samples ---------------------------------------------------------------- */

static int new_profile(struct reader *rd, enum kind kind)
{
	const struct kind_info *k = &kinds[kind];
	int r = profile_new(&rd->profiles[kind]);

	for (size_t i = 0; r == 0 && i < 2 && k->types[i].type; i++)
		r = profile_add_sample_type(rd->profiles[kind], k->types[i].type, k->types[i].unit);
	return r;
}

static int add_label(struct reader *rd, struct profile *p, const char *key, size_t key_len,
		     const char *value, size_t len)
{
	struct profile_label l = { 0 };
	int r;

	if (rd->labels.len == rd->limits.labels)
		return err_set(rd->err, -EFBIG, "a sample has more than %u labels",
			       rd->limits.labels);
	if (rd->n_labels++ == rd->limits.label_sum)
		return err_set(rd->err, -EFBIG, "the samples have more than %u labels",
			       rd->limits.label_sum);
	r = profile_add_string(p, key, key_len, &l.key);
	if (r == 0)
		r = profile_add_string(p, value, len, &l.str);
	return r < 0 || !l.str ? r : vec_push(&rd->labels, l);
}

static int add_context_labels(struct reader *rd, struct profile *p, uint64_t context)
{
	const struct jfr_label *l;
	size_t n = 0;
	int r = 0;

	l = rd->opt->labels && context ? jfr_labels_of(rd->opt->labels, (int64_t)context, &n)
				       : NULL;
	for (size_t i = 0; r == 0 && i < n; i++) {
		const struct jfr_label_string *key = jfr_labels_string(rd->opt->labels, l[i].key);
		const struct jfr_label_string *value =
			jfr_labels_string(rd->opt->labels, l[i].value);

		if (key && value)
			r = add_label(rd, p, key->s, key->len, value->s, value->len);
	}
	return r;
}

static int add_labels(struct reader *rd, struct profile *p, const struct jfr_value v[])
{
	int r;

	rd->labels.len = 0;
	r = add_context_labels(rd, p, v[EVENT_CONTEXT].number);
	if (r < 0 || !rd->opt->threads)
		return r;
	rd->text.len = 0;
	r = jfr_thread_name(&rd->stacks, v[EVENT_THREAD].number, &rd->text);
	if (r == 0 && buf_error(&rd->text))
		r = -ENOMEM;
	return r < 0 || !rd->text.len ? r
				      : add_label(rd, p, "thread", strlen("thread"),
						  (const char *)rd->text.data, rd->text.len);
}

/* Adds a sample to the profile of a kind, whose second type may be absent. */
static int add_sample(struct reader *rd, enum kind kind, const struct jfr_value v[], int64_t first,
		      int64_t second)
{
	int64_t values[2] = { first, second };
	struct profile_sample s = { .values = values };
	struct profile *p;
	int r = rd->profiles[kind] ? 0 : new_profile(rd, kind);

	if (r < 0)
		return r;
	if (rd->n_samples++ == rd->limits.samples)
		return err_set(rd->err, -EFBIG, "the recording has more than %u samples",
			       rd->limits.samples);
	p = rd->profiles[kind];
	r = jfr_stack_add(&rd->stacks, &rd->ids[kind], p, v[EVENT_STACK].number, &s.stack, rd->err);
	if (r == 0)
		r = add_labels(rd, p, v);
	s.labels = rd->labels.data;
	s.n_labels = (uint32_t)rd->labels.len;
	if (r == 0)
		r = profile_add_sample(p, &s);
	return r < 0 ? r : codec_account(&rd->accounts[kind], &rd->limits, p, rd->err);
}

/*
 * async-profiler's wall-clock mode also samples threads that sleep; those that run are samples of
 * CPU time as well.
 */
static int add_execution(struct reader *rd, const struct jfr_value v[])
{
	static const char sleeping[] = "STATE_SLEEPING";
	bool asleep;
	int r = 0;

	rd->text.len = 0;
	if (jfr_state_name(&rd->stacks, v[EVENT_STATE].number, &rd->text) < 0)
		return -EBADMSG;
	asleep = rd->text.len == strlen(sleeping) &&
		 !memcmp(rd->text.data, sleeping, strlen(sleeping));
	if (!asleep)
		r = add_sample(rd, KIND_CPU, v, 1, 0);
	if (r == 0 && rd->is_wall)
		r = add_sample(rd, KIND_WALL, v, 1, 0);
	return r;
}

static int add_event(struct reader *rd, size_t i, struct jfr_cursor *c)
{
	const struct event *e = &events[i];
	struct jfr_value v[JFR_SHAPE_VALUES];
	int64_t amount;

	jfr_shape_read(&rd->shapes[i], &rd->chunk->types, c, v);
	if (c->bad)
		return -EBADMSG;
	amount = e->ticks ? jfr_chunk_ns(rd->chunk, v[EVENT_VALUE].number)
			  : (int64_t)(v[EVENT_VALUE].number & INT64_MAX);
	if (e->kind == KIND_CPU)
		return add_execution(rd, v);
	/* These have one value, which is the amount. */
	if (e->kind == KIND_WALL || e->kind == KIND_CPU_TIME)
		return add_sample(rd, e->kind, v, amount, 0);
	return add_sample(rd, e->kind, v, 1, amount);
}

/* ---- chunks ----------------------------------------------------------------- */

static int read_event(struct reader *rd, uint64_t class_id, struct jfr_cursor *c)
{
	uint32_t class = jfr_class_by_id(&rd->chunk->types, class_id);
	int r = 0;

	if (class == JFR_NO_CLASS)
		return 0;
	if (class == rd->setting.class)
		return read_setting(rd, c);
	for (size_t i = 0; i < N_EVENTS; i++) {
		if (rd->shapes[i].class != class)
			continue;
		r = add_event(rd, i, c);
		return r == -EBADMSG ? malformed(rd, events[i].class) : r;
	}
	return 0;
}

static void init_shapes(struct reader *rd)
{
	static const char *const setting[] = { "id", "name", "value", NULL };
	const struct jfr_types *t = &rd->chunk->types;

	for (size_t i = 0; i < N_EVENTS; i++) {
		const char *const fields[] = { "stackTrace", events[i].value, events[i].thread,
					       "state",      "contextId",     NULL };

		jfr_shape_init(&rd->shapes[i], t, events[i].class, fields);
	}
	jfr_shape_init(&rd->setting, t, "jdk.ActiveSetting", setting);
}

static int read_events(struct reader *rd)
{
	size_t at = rd->chunk->events;
	struct jfr_cursor c;
	uint64_t class_id;
	int r;

	init_shapes(rd);
	jfr_stacks_init(&rd->stacks, rd->chunk, &rd->limits);
	while ((r = jfr_chunk_next(rd->chunk, &at, &class_id, &c)) > 0) {
		r = read_event(rd, class_id, &c);
		if (r < 0)
			break;
	}
	return r == -EBADMSG ? malformed(rd, "event") : r;
}

static void extend_time(struct reader *rd)
{
	int64_t end = saturating_add(rd->chunk->start_ns, rd->chunk->duration_ns);

	if (!rd->start_ns || rd->chunk->start_ns < rd->start_ns)
		rd->start_ns = rd->chunk->start_ns;
	if (end > rd->end_ns)
		rd->end_ns = end;
}

/* Ids of constants belong to a chunk, so what was remembered of them is forgotten. */
static int read_chunk(struct reader *rd, const uint8_t *data, size_t len, size_t *out_len)
{
	_cleanup_(jfr_chunk_fini) struct jfr_chunk chunk = { 0 };
	int r = jfr_chunk_read(&chunk, data, len, rd->limits.entries, rd->err);

	if (r < 0)
		return r;
	*out_len = chunk.cursor.end;
	rd->chunk = &chunk;
	for (size_t i = 0; i < KINDS; i++)
		jfr_stack_ids_fini(&rd->ids[i]);
	extend_time(rd);
	r = read_events(rd);
	rd->chunk = NULL;
	return r;
}

static int read_chunks(struct reader *rd, const uint8_t *data, size_t len)
{
	size_t at = 0, n = 0;
	int r = len ? 0 : malformed(rd, "header");

	if (len > rd->limits.bytes)
		return err_set(rd->err, -EFBIG, "the recording exceeds %zu bytes",
			       rd->limits.bytes);
	for (; r == 0 && at < len; at += n) {
		if (!jfr_chunk_is(data + at, len - at))
			return malformed(rd, "header of a chunk");
		r = read_chunk(rd, data + at, len - at, &n);
	}
	return r;
}

/* ---- results ---------------------------------------------------------------- */

static int set_period(struct profile *p, const struct kind_info *k, int64_t period)
{
	struct profile_meta *m = profile_meta(p);
	int r = profile_add_string(p, k->period.type, strlen(k->period.type), &m->period_type.type);

	if (r == 0)
		r = profile_add_string(p, k->period.unit, strlen(k->period.unit),
				       &m->period_type.unit);
	m->period = period;
	return r;
}

/* Converts counts of samples to time, and completes the metadata. */
static int finish(struct reader *rd, enum kind kind)
{
	struct profile *p = rd->profiles[kind];
	int64_t period = rd->opt->period_ns ? rd->opt->period_ns : rd->period_ns;
	bool counted = kind == KIND_CPU || kind == KIND_WALL;
	int r = 0;

	profile_meta(p)->time_ns = rd->start_ns;
	profile_meta(p)->duration_ns = rd->end_ns - rd->start_ns;
	if (counted && !period)
		return profile_convert_sample_type(p, 0, "samples", "count", 1);
	if (counted)
		r = profile_convert_sample_type(p, 0, kinds[kind].types[0].type,
						kinds[kind].types[0].unit, period);
	if (r == -EFBIG)
		return err_set(rd->err, r,
			       "a number of samples times their period exceeds 64 bits");
	return r < 0 ? r : set_period(p, &kinds[kind], counted ? period : 0);
}

static int finish_all(struct reader *rd, struct jfr_profiles *out)
{
	int r = 0;

	*out = (struct jfr_profiles){ 0 };
	/* jdk.CPUTimeSample measures what jdk.ExecutionSample estimates. */
	if (rd->profiles[KIND_CPU_TIME]) {
		profile_free(rd->profiles[KIND_CPU]);
		rd->profiles[KIND_CPU] = NULL;
	}
	for (size_t i = 0; r == 0 && i < KINDS; i++)
		if (rd->profiles[i])
			r = finish(rd, (enum kind)i);
	for (size_t i = 0; r == 0 && i < KINDS; i++) {
		if (!rd->profiles[i])
			continue;
		out->all[out->n].name = kinds[i].name;
		out->all[out->n++].p = steal_ptr(&rd->profiles[i]);
	}
	memcpy(out->event, rd->event, sizeof(out->event));
	return r;
}

void jfr_profiles_fini(struct jfr_profiles *r)
{
	for (size_t i = 0; i < r->n; i++)
		profile_free(r->all[i].p);
}

int jfr_read_profiles(struct jfr_profiles *out, const void *data, size_t len,
		      const struct jfr_options *opt, const struct codec_limits *limits,
		      struct err *err)
{
	_cleanup_(reader_fini) struct reader rd = {
		.opt = opt, .limits = limits ? *limits : codec_limits_default(), .err = err
	};
	int r = read_chunks(&rd, data, len);

	return r < 0 ? r : finish_all(&rd, out);
}

enum format_match jfr_detect(const void *data, size_t len)
{
	return jfr_chunk_is(data, len) ? FORMAT_MATCH_CERTAIN : FORMAT_MATCH_NONE;
}

static bool has_type(const struct profile *p, const char *type)
{
	for (size_t i = 0; i < profile_n_sample_types(p); i++)
		if (!strcmp(profile_string(p, profile_sample_type(p, i).type), type))
			return true;
	return false;
}

/* If two profiles have types of the same name, the second type also gets its profile's name. */
static int add_types(struct profile *p, const struct profile *from, const char *name)
{
	char longer[64];
	int r = 0;

	for (size_t i = 0; r == 0 && i < profile_n_sample_types(from); i++) {
		struct profile_value_type t = profile_sample_type(from, i);
		const char *type = profile_string(from, t.type);

		if (has_type(p, type)) {
			snprintf(longer, sizeof(longer), "%s_%s", name, type);
			type = longer;
		}
		r = profile_add_sample_type(p, type, profile_string(from, t.unit));
	}
	return r;
}

/* All types come first, as a profile gets none after its first sample. */
static int combine(struct profile *p, const struct jfr_profiles *from)
{
	size_t first = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < from->n; i++)
		r = add_types(p, from->all[i].p, from->all[i].name);
	for (size_t i = 0; r == 0 && i < from->n; i++) {
		r = profile_merge_columns(p, from->all[i].p, first);
		first += profile_n_sample_types(from->all[i].p);
	}
	if (r < 0 || !from->n)
		return r;
	/*
	 * All profiles of a recording cover the same time. If one of them is CPU time, it is the
	 * last type of the first profile.
	 */
	profile_meta(p)->duration_ns = profile_meta(from->all[0].p)->duration_ns;
	first = profile_n_sample_types(from->all[0].p) - 1;
	profile_meta(p)->default_sample_type = profile_sample_type(p, first).type;
	return 0;
}

int jfr_read(struct profile **out, const void *data, size_t len, const struct codec_limits *limits,
	     struct err *err)
{
	_cleanup_(jfr_profiles_fini) struct jfr_profiles all = { 0 };
	_cleanup_(profile_freep) struct profile *p = NULL;
	const struct jfr_options opt = { .threads = true };
	int r = jfr_read_profiles(&all, data, len, &opt, limits, err);

	if (r == 0)
		r = profile_new(&p);
	if (r == 0)
		r = combine(p, &all);
	if (r == 0)
		*out = steal_ptr(&p);
	return r;
}

const struct format_codec jfr_codec = { .detect = jfr_detect, .read = jfr_read };
