/* SPDX-License-Identifier: Apache-2.0 */
/*
 * After the dictionary all profiles are walked through three times: for the
 * shape of their samples, which tells the layout; for their sample types, which
 * must be known before the first sample; and for the samples. Read as parts,
 * each profile has its own strings and stacks: those that it needs.
 */
#include "codec/otlp_read.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/vec.h"
#include "codec/limits.h"
#include "codec/otlp_dictionary.h"
#include "codec/otlp_fields.h"
#include "codec/reading.h"
#include "codec/wire.h"
#include "profile/profile.h"

enum { OTLP_MAX_TYPES = 64 };

/* For and against the old numbering of samples. */
struct votes {
	size_t is_old, is_new, may_be_old, may_be_new;
};

struct labels {
	VEC(struct profile_label);
};

struct reader {
	struct otlp_dictionary d;
	struct profile *p; /* being made */
	otlp_part_fn fn;   /* NULL: all profiles become one */
	void *ctx;
	struct wire_parts resource_profiles;
	struct wire resource, scope; /* that the profile is in */
	struct labels labels, own;   /* of samples, of the resource */
	struct {
		VEC(uint64_t);
	} times;
	size_t label_sum;
	struct votes votes;
	bool old_layout;
};

static void reader_fini(struct reader *rd)
{
	profile_free(rd->p);
	otlp_dictionary_fini(&rd->d);
	vec_fini(&rd->resource_profiles);
	vec_fini(&rd->labels);
	vec_fini(&rd->own);
	vec_fini(&rd->times);
}

static int cut_request(struct reader *rd, struct wire w)
{
	struct wire_field f;
	bool has_dictionary = false;
	int r;

	while ((r = wire_next(&w, &f)) > 0) {
		if (f.number == OTLP_REQUEST_RESOURCE_PROFILES) {
			r = reading_keep(&rd->d.at, &f, &rd->resource_profiles);
		} else if (f.number == OTLP_REQUEST_DICTIONARY && f.type == WIRE_LEN) {
			has_dictionary = true;
			r = otlp_dictionary_cut(&rd->d, f.bytes);
		}
		if (r < 0)
			return r;
	}
	if (r < 0)
		return reading_malformed(&rd->d.at, w);
	if ((rd->resource_profiles.len || rd->fn) && !has_dictionary)
		return reading_bad(&rd->d.at, -EBADMSG,
				   "it has no dictionary: a layout before 1.8 is not read");
	return 0;
}

static int add_label(struct reader *rd, struct labels *to, const struct otlp_attribute_entry *a)
{
	if (!a->usable)
		return 0;
	if (to->len == rd->d.limits.labels)
		return reading_bad(&rd->d.at, -EFBIG, "it has more than %u labels",
				   rd->d.limits.labels);
	return vec_push(to, a->label) < 0 ? reading_no_memory(&rd->d.at) : 0;
}

static int add_labels(struct reader *rd, const struct wire_field *f)
{
	struct wire_nums it = wire_nums(f, WIRE_VARINT);
	const struct otlp_attribute_entry *a = NULL;
	int r;

	while ((r = otlp_next_attribute(&rd->d, &it, &a)) > 0) {
		r = add_label(rd, &rd->labels, a);
		if (r < 0)
			return r;
	}
	return r;
}

/* An attribute of a resource has its key and value in itself, or refers to strings. */
static int read_key_value(struct reader *rd, struct wire w, struct labels *to)
{
	struct otlp_attribute_entry a = { 0 };
	struct wire_field f;
	int r;

	while ((r = wire_next(&w, &f)) > 0) {
		if (f.number == OTLP_KV_KEY && f.type == WIRE_LEN)
			r = otlp_add_text(&rd->d, f.bytes.p, wire_len(f.bytes), &a.label.key);
		else if (f.number == OTLP_KV_KEY_REF && f.type == WIRE_VARINT && f.value)
			r = otlp_string(&rd->d, f.value, &a.label.key);
		else if (f.number == OTLP_KV_VALUE && f.type == WIRE_LEN)
			r = otlp_any_value(&rd->d, f.bytes, &a);
		if (r < 0)
			return r;
	}
	if (r < 0)
		return reading_bad(&rd->d.at, r, "an attribute is malformed");
	r = otlp_label_key(&rd->d, &a.label.key);
	return r < 0 ? r : add_label(rd, to, &a);
}

static int read_key_values(struct reader *rd, struct wire w, uint32_t number, struct labels *to)
{
	struct wire kv;
	int r;

	while ((r = reading_next_message(&rd->d.at, &w, number, &kv)) > 0) {
		r = read_key_value(rd, kv, to);
		if (r < 0)
			return r;
	}
	return r;
}

static int read_own_labels(struct reader *rd, struct labels *to)
{
	int r;

	to->len = 0;
	r = read_key_values(rd, rd->resource, OTLP_RESOURCE_ATTRIBUTES, to);
	return r < 0 ? r : read_key_values(rd, rd->scope, OTLP_SCOPE_ATTRIBUTES, to);
}

typedef int (*profile_fn)(struct reader *rd, struct wire profile);

/* A message's only one of @number; nothing when there is none. */
static int read_only(struct reader *rd, struct wire w, uint32_t number, struct wire *out)
{
	*out = wire_of(NULL, 0);
	return reading_next_message(&rd->d.at, &w, number, out);
}

static int each_profile_of(struct reader *rd, struct wire rp, profile_fn fn)
{
	struct wire sp, profile;
	int r = read_only(rd, rp, OTLP_RP_RESOURCE, &rd->resource);

	if (r < 0)
		return r;
	while ((r = reading_next_message(&rd->d.at, &rp, OTLP_RP_SCOPE_PROFILES, &sp)) > 0) {
		r = read_only(rd, sp, OTLP_SP_SCOPE, &rd->scope);
		while (r >= 0 &&
		       (r = reading_next_message(&rd->d.at, &sp, OTLP_SP_PROFILES, &profile)) > 0)
			r = fn(rd, profile);
		if (r < 0)
			return r;
	}
	return r;
}

static int each_profile(struct reader *rd, profile_fn fn)
{
	for (size_t i = 0; i < rd->resource_profiles.len; i++) {
		int r;

		rd->d.at.what = "resource";
		rd->d.at.nth = i;
		r = each_profile_of(rd, rd->resource_profiles.data[i], fn);
		if (r < 0)
			return r;
	}
	return 0;
}

static int read_value_type(struct reader *rd, struct wire w, uint32_t number,
			   struct profile_value_type *out)
{
	struct wire_scalars s;
	struct wire vt;
	int r = reading_next_message(&rd->d.at, &w, number, &vt);

	*out = (struct profile_value_type){ 0 };
	if (r <= 0)
		return r;
	r = reading_scalars(&rd->d.at, vt, WIRE_BITS_UP_TO(OTLP_VALUE_TYPE_UNIT), &s);
	if (r == 0)
		r = otlp_string(&rd->d, s.v[OTLP_VALUE_TYPE_TYPE], &out->type);
	return r < 0 ? r : otlp_string(&rd->d, s.v[OTLP_VALUE_TYPE_UNIT], &out->unit);
}

static bool find_sample_type(const struct profile *p, struct profile_value_type t, size_t *out_i)
{
	for (size_t i = 0; i < profile_n_sample_types(p); i++) {
		struct profile_value_type have = profile_sample_type(p, i);

		if (have.type == t.type && have.unit == t.unit) {
			*out_i = i;
			return true;
		}
	}
	return false;
}

static int collect_type(struct reader *rd, struct wire profile)
{
	struct profile_value_type t;
	size_t i;
	int r = read_value_type(rd, profile, OTLP_PROFILE_SAMPLE_TYPE, &t);

	if (r < 0 || find_sample_type(rd->d.p, t, &i))
		return r;
	if (profile_n_sample_types(rd->d.p) == OTLP_MAX_TYPES)
		return reading_bad(&rd->d.at, -EFBIG, "there are more than %d sample types",
				   OTLP_MAX_TYPES);
	return reading_interned(&rd->d.at,
				profile_add_sample_type(rd->d.p, profile_string(rd->d.p, t.type),
							profile_string(rd->d.p, t.unit)));
}

/* A field 2 that stands alone: values (old), or attributes beside times (new)? */
static void vote_on_field_2(struct reader *rd, const struct wire_field *f, size_t n_times)
{
	struct wire_nums it = wire_nums(f, WIRE_VARINT);
	size_t n = 0;
	uint64_t v;

	while (wire_nums_next(&it, &v) > 0) {
		n++;
		if (v == 0 || v >= otlp_n_attributes(&rd->d)) {
			rd->votes.may_be_old++;
			return;
		}
	}
	if (!n_times)
		rd->votes.may_be_old++;
	else if (n != n_times)
		rd->votes.may_be_new++;
}

static int vote(struct reader *rd, struct wire sample)
{
	struct wire_field f, two = { 0 };
	size_t n_times = 0;
	bool sure = false;
	int r;

	while ((r = wire_next(&sample, &f)) > 0) {
		bool packed = f.type == WIRE_LEN;

		if (f.number == OTLP_SAMPLE_1_9_VALUES && packed)
			two = f;
		if (f.number == OTLP_SAMPLE_TIMES && packed)
			n_times += wire_len(f.bytes) / 8;
		if (f.number != 3 && f.number != 4)
			continue;
		sure = true;
		/* values are packed and a link is one number: 3 and 4 changed their places */
		if ((f.number == OTLP_SAMPLE_VALUES) == packed)
			rd->votes.is_new++;
		else
			rd->votes.is_old++;
	}
	if (r < 0)
		return reading_bad(&rd->d.at, r, "a sample is malformed or cut short");
	if (!sure && two.number)
		vote_on_field_2(rd, &two, n_times);
	return 0;
}

static int collect_votes(struct reader *rd, struct wire profile)
{
	struct wire sample;
	int r;

	while ((r = reading_next_message(&rd->d.at, &profile, OTLP_PROFILE_SAMPLES, &sample)) > 0) {
		r = vote(rd, sample);
		if (r < 0)
			return r;
	}
	return r;
}

static bool is_old_layout(const struct votes *v)
{
	if (v->is_new || v->is_old)
		return v->is_old > v->is_new;
	return v->may_be_old > v->may_be_new;
}

static int sum_values(struct reader *rd, const struct wire_field *f, int64_t *sum, size_t *n)
{
	struct wire_nums it = wire_nums(f, WIRE_VARINT);
	uint64_t v;
	int r;

	while ((r = wire_nums_next(&it, &v)) > 0) {
		if (__builtin_add_overflow(*sum, (int64_t)v, sum))
			return reading_bad(&rd->d.at, -EBADMSG, "its values are too large");
		++*n;
	}
	return r < 0 ? reading_bad(&rd->d.at, r, "its values are malformed") : 0;
}

static int read_times(struct reader *rd, const struct wire_field *f)
{
	struct wire_nums it = wire_nums(f, WIRE_FIXED64);
	uint64_t v;
	int r;

	while ((r = wire_nums_next(&it, &v)) > 0)
		if (vec_push(&rd->times, v) < 0)
			return reading_no_memory(&rd->d.at);
	return r < 0 ? reading_bad(&rd->d.at, r, "its times are malformed") : 0;
}

static int add_sample(struct reader *rd, uint64_t stack, size_t type, int64_t value)
{
	int64_t values[OTLP_MAX_TYPES] = { 0 };
	struct profile_sample s = {
		.n_labels = (uint32_t)rd->labels.len,
		.labels = rd->labels.data,
		.values = values,
		.n_times = (uint32_t)rd->times.len,
		.times = rd->times.data,
	};
	int r = otlp_stack(&rd->d, stack, &s.stack);

	if (r < 0)
		return r;
	values[type] = value;
	rd->label_sum += rd->labels.len;
	if (rd->label_sum > rd->d.limits.label_sum)
		return reading_bad(&rd->d.at, -EFBIG,
				   "all samples have more than %u labels together",
				   rd->d.limits.label_sum);
	r = reading_interned(&rd->d.at, profile_add_sample(rd->d.p, &s));
	if (r == 0 && profile_n_samples(rd->d.p) > rd->d.limits.samples)
		r = reading_bad(&rd->d.at, -EFBIG, "there are more than %u samples",
				rd->d.limits.samples);
	return r;
}

static int read_sample(struct reader *rd, struct wire w, size_t type)
{
	uint32_t values = rd->old_layout ? OTLP_SAMPLE_1_9_VALUES : OTLP_SAMPLE_VALUES;
	uint32_t attributes = rd->old_layout ? OTLP_SAMPLE_1_9_ATTRIBUTES : OTLP_SAMPLE_ATTRIBUTES;
	uint64_t stack = 0;
	size_t n_values = 0;
	int64_t sum = 0;
	struct wire_field f;
	int r;

	rd->times.len = 0;
	while ((r = wire_next(&w, &f)) > 0) {
		if (f.number == OTLP_SAMPLE_STACK && f.type == WIRE_VARINT)
			stack = f.value;
		else if (f.number == values)
			r = sum_values(rd, &f, &sum, &n_values);
		else if (f.number == attributes)
			r = add_labels(rd, &f);
		else if (f.number == OTLP_SAMPLE_TIMES)
			r = read_times(rd, &f);
		if (r < 0)
			return r;
	}
	if (r < 0)
		return reading_malformed(&rd->d.at, w);
	if (!n_values && !rd->times.len)
		return 0;
	/* times alone count one each */
	return add_sample(rd, stack, type, n_values ? sum : (int64_t)rd->times.len);
}

static int read_meta(struct reader *rd, struct wire profile)
{
	struct profile_meta *m = profile_meta(rd->d.p);
	struct wire_scalars s;
	int64_t time, duration;
	int r = reading_scalars(&rd->d.at, profile,
				WIRE_BIT(OTLP_PROFILE_TIME) | WIRE_BIT(OTLP_PROFILE_DURATION) |
					WIRE_BIT(OTLP_PROFILE_PERIOD),
				&s);

	if (r < 0)
		return r;
	time = (int64_t)s.v[OTLP_PROFILE_TIME];
	duration = (int64_t)s.v[OTLP_PROFILE_DURATION];
	if (!m->time_ns || (time && time < m->time_ns))
		m->time_ns = time;
	if (m->duration_ns < duration)
		m->duration_ns = duration;
	if (m->period_type.type)
		return 0;
	m->period = (int64_t)s.v[OTLP_PROFILE_PERIOD];
	return read_value_type(rd, profile, OTLP_PROFILE_PERIOD_TYPE, &m->period_type);
}

/* The profile's own attributes are added to those of its resource. */
static int read_profile_attributes(struct reader *rd, struct wire w)
{
	struct wire_field f;

	while (wire_next(&w, &f) > 0) {
		int r = f.number == OTLP_PROFILE_ATTRIBUTES ? add_labels(rd, &f) : 0;

		if (r < 0)
			return r;
	}
	return 0;
}

static int read_samples(struct reader *rd, struct wire profile, size_t type)
{
	const struct reading outer = rd->d.at;
	size_t n_labels = rd->labels.len;
	struct wire sample;
	int r;

	rd->d.at.what = "sample";
	for (rd->d.at.nth = 0;
	     (r = reading_next_message(&rd->d.at, &profile, OTLP_PROFILE_SAMPLES, &sample)) > 0;
	     rd->d.at.nth++) {
		r = read_sample(rd, sample, type);
		if (r < 0)
			return r;
		rd->labels.len = n_labels;
	}
	if (r == 0)
		rd->d.at = outer;
	return r;
}

/* After the labels of its resource. */
static int read_profile(struct reader *rd, struct wire profile)
{
	struct profile_value_type t;
	size_t type = 0;
	int r = read_value_type(rd, profile, OTLP_PROFILE_SAMPLE_TYPE, &t);

	if (r == 0)
		r = read_meta(rd, profile);
	if (r == 0)
		r = read_profile_attributes(rd, profile);
	if (r < 0)
		return r;
	find_sample_type(rd->d.p, t, &type);
	return read_samples(rd, profile, type);
}

static int add_profile(struct reader *rd, struct wire profile)
{
	int r = read_own_labels(rd, &rd->labels);

	return r < 0 ? r : read_profile(rd, profile);
}

static int new_profile(struct reader *rd)
{
	if (profile_new(&rd->p) < 0)
		return reading_no_memory(&rd->d.at);
	otlp_dictionary_into(&rd->d, rd->p);
	return 0;
}

static int hand_over(struct reader *rd, struct wire profile)
{
	struct otlp_part part = { .resource = rd->own.data, .n_resource = rd->own.len };
	struct wire id;
	int r = read_only(rd, profile, OTLP_PROFILE_ID, &id);

	if (r < 0)
		return r;
	part.id = id.p;
	part.id_len = wire_len(id);
	part.profile = steal_ptr(&rd->p);
	return rd->fn(rd->ctx, &part);
}

static int read_part(struct reader *rd, struct wire profile)
{
	int r = new_profile(rd);

	if (r == 0)
		r = read_own_labels(rd, &rd->own);
	if (r == 0)
		r = collect_type(rd, profile);
	rd->labels.len = 0;
	if (r == 0)
		r = read_profile(rd, profile);
	return r < 0 ? r : hand_over(rd, profile);
}

static int read_request(struct reader *rd, struct wire w)
{
	int r = cut_request(rd, w);

	if (r == 0)
		r = otlp_dictionary_open(&rd->d);
	if (r == 0)
		r = each_profile(rd, collect_votes);
	rd->old_layout = is_old_layout(&rd->votes);
	if (r < 0 || rd->fn)
		return r < 0 ? r : each_profile(rd, read_part);
	r = new_profile(rd);
	if (r == 0)
		r = otlp_dictionary_read(&rd->d);
	if (r == 0)
		r = each_profile(rd, collect_type);
	return r < 0 ? r : each_profile(rd, add_profile);
}

static int read_bytes(struct reader *rd, const void *data, size_t len)
{
	if (len > rd->d.limits.bytes)
		return err_set(rd->d.at.err, -EFBIG, "it has more than %zu bytes",
			       rd->d.limits.bytes);
	rd->d.at.begin = data;
	return read_request(rd, wire_of(data, len));
}

int otlp_read(struct profile **out, const void *data, size_t len, const struct codec_limits *limits,
	      struct err *err)
{
	_cleanup_(reader_fini) struct reader rd = {
		.d.limits = limits ? *limits : codec_limits_default(),
		.d.at.err = err,
		.d.own_labels = true,
	};
	int r = read_bytes(&rd, data, len);

	if (r < 0)
		return r;
	*out = steal_ptr(&rd.p);
	return 0;
}

int otlp_read_parts(const void *data, size_t len, const struct codec_limits *limits,
		    otlp_part_fn fn, void *ctx, struct err *err)
{
	_cleanup_(reader_fini) struct reader rd = {
		.d.limits = limits ? *limits : codec_limits_default(),
		.d.at.err = err,
		.fn = fn,
		.ctx = ctx,
	};

	return read_bytes(&rd, data, len);
}
