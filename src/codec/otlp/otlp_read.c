/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three passes over the profiles of a request: for the layout of their samples (otlp_layout.h), for
 * their sample types, which must exist before the first sample, and for the samples.
 * otlp_read_profiles() gives each profile only the strings and stacks that it refers to.
 */
#include "codec/otlp/otlp_read.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/vec.h"
#include "codec/common/limits.h"
#include "codec/common/proto_read.h"
#include "codec/common/wire.h"
#include "codec/otlp/otlp_dictionary.h"
#include "codec/otlp/otlp_fields.h"
#include "codec/otlp/otlp_layout.h"
#include "codec/otlp/otlp_link.h"
#include "profile/profile.h"

enum { OTLP_MAX_TYPES = 64 };

struct labels {
	VEC(struct profile_label);
};

/*
 * The message is borrowed for the call; resource and scope are those of the profile being read, for
 * attributes.
 */
struct reader {
	struct otlp_dictionary d;
	struct profile *p;            /* being built */
	struct codec_account account; /* of p */
	otlp_profile_fn fn;           /* NULL: merge all profiles */
	void *ctx;
	struct proto_parts resource_profiles;
	struct wire resource, scope; /* of the current profile */
	struct labels labels, own;   /* labels of samples, labels of the resource */
	struct {
		VEC(uint64_t);
	} times;
	size_t label_sum;
	struct otlp_votes votes;
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

/*
 * A dictionary is required because versions before 1.8 had tables in each profile, with other field
 * numbers; reading those as the current ones would give wrong stacks instead of an error.
 */
static int split_request(struct reader *rd, struct wire w)
{
	struct wire_field f;
	bool has_dictionary = false;
	int r;

	while ((r = wire_next(&w, &f)) > 0) {
		if (f.number == OTLP_REQUEST_RESOURCE_PROFILES) {
			if (rd->resource_profiles.len >= rd->d.limits.entries)
				return proto_read_error(&rd->d.at, -EFBIG, "more than %u resources",
							rd->d.limits.entries);
			r = proto_read_collect(&rd->d.at, &f, &rd->resource_profiles);
		} else if (f.number == OTLP_REQUEST_DICTIONARY && f.type == WIRE_LEN) {
			has_dictionary = true;
			r = otlp_dictionary_split(&rd->d, f.bytes);
		}
		if (r < 0)
			return r;
	}
	if (r < 0)
		return proto_read_malformed(&rd->d.at, w);
	if (rd->resource_profiles.len && !has_dictionary)
		return proto_read_error(&rd->d.at, -EBADMSG,
					"no dictionary: versions before 1.8 are not supported");
	return 0;
}

/* Lists and bytes are dropped silently: labels cannot hold them. */
static int add_label(struct reader *rd, struct labels *to, const struct otlp_attribute_entry *a)
{
	if (!a->usable)
		return 0;
	if (to->len == rd->d.limits.labels)
		return proto_read_error(&rd->d.at, -EFBIG, "more than %u labels",
					rd->d.limits.labels);
	return vec_push(to, a->label) < 0 ? proto_read_no_memory(&rd->d.at) : 0;
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

static bool has_key(const struct labels *all, uint32_t key)
{
	for (size_t i = 0; i < all->len; i++)
		if (all->data[i].key == key)
			return true;
	return false;
}

/* Adds the ids of a link, except those that the sample has as attributes. */
static int add_link(struct reader *rd, uint64_t link)
{
	struct profile_label ids[OTLP_LINK_LABELS];
	size_t n;
	int r = otlp_link_labels(&rd->d, link, ids, &n);

	for (size_t i = 0; r == 0 && i < n; i++)
		if (!has_key(&rd->labels, ids[i].key))
			r = add_label(rd, &rd->labels,
				      &(struct otlp_attribute_entry){ ids[i], true, 0 });
	return r;
}

/* Reads an attribute of a resource, which contains its key and value or refers to strings. */
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
		return proto_read_error(&rd->d.at, r, "malformed attribute");
	r = otlp_label_key(&rd->d, &a.label.key);
	return r < 0 ? r : add_label(rd, to, &a);
}

static int read_key_values(struct reader *rd, struct wire w, uint32_t number, struct labels *to)
{
	struct wire kv;
	int r;

	while ((r = proto_read_next(&rd->d.at, &w, number, &kv)) > 0) {
		r = read_key_value(rd, kv, to);
		if (r < 0)
			return r;
	}
	return r;
}

/* Collects the attributes of the current resource and scope. */
static int read_own_labels(struct reader *rd, struct labels *to)
{
	int r;

	to->len = 0;
	r = read_key_values(rd, rd->resource, OTLP_RESOURCE_ATTRIBUTES, to);
	return r < 0 ? r : read_key_values(rd, rd->scope, OTLP_SCOPE_ATTRIBUTES, to);
}

typedef int (*profile_fn)(struct reader *rd, struct wire profile);

/* Reads a field that occurs at most once; empty if it is missing. */
static int read_only(struct reader *rd, struct wire w, uint32_t number, struct wire *out)
{
	*out = wire_of(NULL, 0);
	return proto_read_next(&rd->d.at, &w, number, out);
}

static int each_profile_of(struct reader *rd, struct wire rp, profile_fn fn)
{
	struct wire sp, profile;
	int r = read_only(rd, rp, OTLP_RP_RESOURCE, &rd->resource);

	if (r < 0)
		return r;
	while ((r = proto_read_next(&rd->d.at, &rp, OTLP_RP_SCOPE_PROFILES, &sp)) > 0) {
		r = read_only(rd, sp, OTLP_SP_SCOPE, &rd->scope);
		while (r >= 0 &&
		       (r = proto_read_next(&rd->d.at, &sp, OTLP_SP_PROFILES, &profile)) > 0)
			r = fn(rd, profile);
		if (r < 0)
			return r;
	}
	return r;
}

/* Errors name the resource's index, since profiles have no names. */
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
	struct proto_scalars s;
	struct wire vt;
	int r = proto_read_next(&rd->d.at, &w, number, &vt);

	*out = (struct profile_value_type){ 0 };
	if (r <= 0)
		return r;
	r = proto_read_scalars(&rd->d.at, vt, PROTO_BITS_UP_TO(OTLP_VALUE_TYPE_UNIT), &s);
	if (r == 0)
		r = otlp_string(&rd->d, s.v[OTLP_VALUE_TYPE_TYPE], &out->type);
	return r < 0 ? r : otlp_string(&rd->d, s.v[OTLP_VALUE_TYPE_UNIT], &out->unit);
}

/* Strings are interned, so equal types have equal ids. */
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

/* Profiles of the same type share a sample type. */
static int collect_type(struct reader *rd, struct wire profile)
{
	struct profile_value_type t;
	size_t i;
	int r = read_value_type(rd, profile, OTLP_PROFILE_SAMPLE_TYPE, &t);

	if (r < 0 || find_sample_type(rd->d.p, t, &i))
		return r;
	if (profile_n_sample_types(rd->d.p) == OTLP_MAX_TYPES)
		return proto_read_error(&rd->d.at, -EFBIG, "more than %d sample types",
					OTLP_MAX_TYPES);
	return proto_read_check(&rd->d.at,
				profile_add_sample_type(rd->d.p, profile_string(rd->d.p, t.type),
							profile_string(rd->d.p, t.unit)));
}

static int collect_votes(struct reader *rd, struct wire profile)
{
	struct wire sample;
	int r;

	while ((r = proto_read_next(&rd->d.at, &profile, OTLP_PROFILE_SAMPLES, &sample)) > 0) {
		r = otlp_vote(&rd->votes, sample, otlp_n_attributes(&rd->d));
		if (r < 0)
			return proto_read_error(&rd->d.at, r, "malformed or truncated sample");
	}
	return r;
}

static int sum_values(struct reader *rd, const struct wire_field *f, int64_t *sum, size_t *n)
{
	struct wire_nums it = wire_nums(f, WIRE_VARINT);
	uint64_t v;
	int r;

	while ((r = wire_nums_next(&it, &v)) > 0) {
		if (__builtin_add_overflow(*sum, (int64_t)v, sum))
			return proto_read_error(&rd->d.at, -EBADMSG,
						"sum of values is out of range");
		++*n;
	}
	return r < 0 ? proto_read_error(&rd->d.at, r, "malformed values") : 0;
}

static int read_times(struct reader *rd, const struct wire_field *f)
{
	struct wire_nums it = wire_nums(f, WIRE_FIXED64);
	uint64_t v;
	int r;

	while ((r = wire_nums_next(&it, &v)) > 0)
		if (vec_push(&rd->times, v) < 0)
			return proto_read_no_memory(&rd->d.at);
	return r < 0 ? proto_read_error(&rd->d.at, r, "malformed timestamps") : 0;
}

/*
 * The value of the profile's own type is set; the others are 0 and are merged with those of other
 * profiles when labels and stack are equal.
 */
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
		return proto_read_error(&rd->d.at, -EFBIG,
					"more than %u labels in all samples together",
					rd->d.limits.label_sum);
	r = proto_read_check(&rd->d.at, profile_add_sample(rd->d.p, &s));
	if (r == 0 && profile_n_samples(rd->d.p) > rd->d.limits.samples)
		r = proto_read_error(&rd->d.at, -EFBIG, "more than %u samples",
				     rd->d.limits.samples);
	return r < 0 ? r : codec_account(&rd->account, &rd->d.limits, rd->d.p, rd->d.at.err);
}

static int read_sample(struct reader *rd, struct wire w, size_t type)
{
	uint32_t values = rd->old_layout ? OTLP_SAMPLE_1_9_VALUES : OTLP_SAMPLE_VALUES;
	uint32_t attributes = rd->old_layout ? OTLP_SAMPLE_1_9_ATTRIBUTES : OTLP_SAMPLE_ATTRIBUTES;
	uint32_t link = rd->old_layout ? OTLP_SAMPLE_1_9_LINK : OTLP_SAMPLE_LINK;
	uint64_t stack = 0, link_index = 0;
	size_t n_values = 0;
	int64_t sum = 0;
	struct wire_field f;
	int r;

	rd->times.len = 0;
	while ((r = wire_next(&w, &f)) > 0) {
		if (f.number == OTLP_SAMPLE_STACK && f.type == WIRE_VARINT)
			stack = f.value;
		else if (f.number == link && f.type == WIRE_VARINT)
			link_index = f.value;
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
		return proto_read_malformed(&rd->d.at, w);
	if (!n_values && !rd->times.len)
		return 0;
	r = add_link(rd, link_index);
	if (r < 0)
		return r;
	/* Without values, each timestamp counts 1. */
	return add_sample(rd, stack, type, n_values ? sum : (int64_t)rd->times.len);
}

/*
 * The profiles of a request describe the same window: the merged profile begins with the earliest
 * of them and has the longest duration. Its period is that of the first profile that states the
 * type of its period.
 */
static int read_meta(struct reader *rd, struct wire profile)
{
	struct profile_meta *m = profile_meta(rd->d.p);
	struct proto_scalars s;
	int64_t time, duration;
	int r = proto_read_scalars(&rd->d.at, profile,
				   PROTO_BIT(OTLP_PROFILE_TIME) | PROTO_BIT(OTLP_PROFILE_DURATION) |
					   PROTO_BIT(OTLP_PROFILE_PERIOD),
				   &s);

	if (r < 0)
		return r;
	time = (int64_t)s.v[OTLP_PROFILE_TIME];
	duration = s.v[OTLP_PROFILE_DURATION] >> 63 ? INT64_MAX /* centuries */
						    : (int64_t)s.v[OTLP_PROFILE_DURATION];
	if (!m->time_ns || (time && time < m->time_ns))
		m->time_ns = time;
	if (m->duration_ns < duration)
		m->duration_ns = duration;
	if (m->period_type.type)
		return 0;
	m->period = (int64_t)s.v[OTLP_PROFILE_PERIOD];
	return read_value_type(rd, profile, OTLP_PROFILE_PERIOD_TYPE, &m->period_type);
}

/* Adds the profile's attributes to those of its resource. */
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

/*
 * Errors within a sample name its number, later ones the resource again. The labels of a sample are
 * removed before the next one is read.
 */
static int read_samples(struct reader *rd, struct wire profile, size_t type)
{
	const struct proto_read outer = rd->d.at;
	size_t n_labels = rd->labels.len;
	struct wire sample;
	int r;

	rd->d.at.what = "sample";
	for (rd->d.at.nth = 0;
	     (r = proto_read_next(&rd->d.at, &profile, OTLP_PROFILE_SAMPLES, &sample)) > 0;
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

/* Reads a profile; rd->labels are those of its resource. */
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
	rd->account = (struct codec_account){ 0 };
	if (profile_new(&rd->p) < 0)
		return proto_read_no_memory(&rd->d.at);
	otlp_dictionary_set_profile(&rd->d, rd->p);
	return 0;
}

/* Ownership of the profile moves to the callback, whatever it returns. */
static int deliver(struct reader *rd, struct wire profile)
{
	struct otlp_profile part = { .resource = rd->own.data, .n_resource = rd->own.len };
	struct wire id;
	int r = read_only(rd, profile, OTLP_PROFILE_ID, &id);

	if (r < 0)
		return r;
	part.id = id.p;
	part.id_len = wire_len(id);
	part.profile = steal_ptr(&rd->p);
	return rd->fn(rd->ctx, &part);
}

/* Lets the callback decide about a profile that cannot be read; the others can be. */
static int deliver_error(struct reader *rd, int r)
{
	const struct otlp_profile none = { .error = r };

	if (r != -EBADMSG && r != -EFBIG)
		return r;
	profile_free(rd->p);
	rd->p = NULL;
	r = rd->fn(rd->ctx, &none);
	if (r == 0 && rd->d.at.err)
		*rd->d.at.err = (struct err){ 0 };
	return r;
}

/*
 * Reads a profile into a struct profile of its own, which gets only the strings and stacks that it
 * refers to.
 */
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
	return r < 0 ? deliver_error(rd, r) : deliver(rd, profile);
}

/* A damaged profile has no vote; read_part() reports it. */
static int collect_votes_of_part(struct reader *rd, struct wire profile)
{
	int r = collect_votes(rd, profile);

	if (r == -EBADMSG && rd->d.at.err)
		*rd->d.at.err = (struct err){ 0 };
	return r == -EBADMSG ? 0 : r;
}

/*
 * The votes of all samples are needed before the first sample is read, which is why they are a pass
 * of their own.
 */
static int read_request(struct reader *rd, struct wire w)
{
	int r = split_request(rd, w);

	if (r == 0)
		r = otlp_dictionary_open(&rd->d);
	if (r == 0)
		r = each_profile(rd, rd->fn ? collect_votes_of_part : collect_votes);
	rd->old_layout = otlp_is_old_layout(&rd->votes);
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
		return err_set(rd->d.at.err, -EFBIG, "request exceeds the limit of %zu bytes",
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
		.d.rename_labels = true,
	};
	int r = read_bytes(&rd, data, len);

	if (r < 0)
		return r;
	*out = steal_ptr(&rd.p);
	return 0;
}

int otlp_read_profiles(const void *data, size_t len, const struct codec_limits *limits,
		       otlp_profile_fn fn, void *ctx, struct err *err)
{
	_cleanup_(reader_fini) struct reader rd = {
		.d.limits = limits ? *limits : codec_limits_default(),
		.d.at.err = err,
		.fn = fn,
		.ctx = ctx,
	};

	return read_bytes(&rd, data, len);
}
