/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The profiles are written first and the dictionary after them, from what the
 * profiles were found to refer to. Entry 0 of each of its tables is the empty
 * one, so all numbers start at 1; the strings are a strtab, which has "" as 0
 * anyway.
 */
#include "codec/otlp_write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/strtab.h"
#include "codec/otlp_fields.h"
#include "codec/otlp_frame_type.h"
#include "codec/renumber.h"
#include "codec/wire.h"
#include "profile/profile.h"
#include "profile/seqtab.h"

enum { OTLP_PROFILE_ID_LEN = 16 };

/* An entry of the attribute table; no padding, as it is interned. */
struct attribute {
	uint32_t key, str, unit, is_num;
	int64_t num;
};

struct writer {
	const struct profile *p;
	const struct otlp_options *opt;
	struct buf *out;
	struct strtab *strings;
	uint32_t *string_ids; /* of the profile's strings, plus 1 */
	struct seqtab attributes;
	struct renumber stacks, locations, functions, mappings;
	int error;
};

static void writer_fini(struct writer *w)
{
	strtab_free(w->strings);
	free(w->string_ids);
	seqtab_fini(&w->attributes);
	renumber_fini(&w->stacks);
	renumber_fini(&w->locations);
	renumber_fini(&w->functions);
	renumber_fini(&w->mappings);
}

static uint32_t text_ref(struct writer *w, const char *s, size_t len)
{
	uint32_t id = 0;

	if (strtab_add(w->strings, s, len, &id) < 0)
		w->error = -ENOMEM;
	return id;
}

static uint32_t string_ref(struct writer *w, uint32_t id)
{
	if (!w->string_ids[id])
		w->string_ids[id] =
			text_ref(w, profile_string(w->p, id), profile_string_len(w->p, id)) + 1;
	return w->string_ids[id] - 1;
}

static uint32_t attribute_ref(struct writer *w, const struct attribute *a)
{
	uint32_t id = 0;

	if (seqtab_add(&w->attributes, a, 1, &id) < 0)
		w->error = -ENOMEM;
	return id + 1;
}

static uint32_t label_ref(struct writer *w, const struct profile_label *l)
{
	const struct attribute a = {
		.key = string_ref(w, l->key),
		.str = string_ref(w, l->str),
		.unit = string_ref(w, l->num_unit),
		.is_num = !l->str,
		.num = l->num,
	};

	return attribute_ref(w, &a);
}

static uint32_t text_attribute_ref(struct writer *w, const char *key, uint32_t str)
{
	const struct attribute a = { .key = text_ref(w, key, strlen(key)), .str = str };

	return attribute_ref(w, &a);
}

static void put_value_type(struct writer *w, uint32_t number, struct profile_value_type t)
{
	size_t at = wire_begin(w->out, number);

	wire_put_uint(w->out, OTLP_VALUE_TYPE_TYPE, string_ref(w, t.type));
	wire_put_uint(w->out, OTLP_VALUE_TYPE_UNIT, string_ref(w, t.unit));
	wire_end(w->out, at);
}

static void put_sample(struct writer *w, const struct profile_sample *s, size_t type)
{
	size_t at = wire_begin(w->out, OTLP_PROFILE_SAMPLES), packed;
	bool as_times = type == 0 && s->n_times && s->values[0] == (int64_t)s->n_times;

	wire_put_uint(w->out, OTLP_SAMPLE_STACK, renumber_get(&w->stacks, s->stack));
	if (s->n_labels) {
		packed = wire_begin(w->out, OTLP_SAMPLE_ATTRIBUTES);
		for (uint32_t i = 0; i < s->n_labels; i++)
			wire_put_varint(w->out, label_ref(w, &s->labels[i]));
		wire_end(w->out, packed);
	}
	if (as_times) {
		packed = wire_begin(w->out, OTLP_SAMPLE_TIMES);
		for (uint32_t i = 0; i < s->n_times; i++)
			wire_put_fixed64_raw(w->out, s->times[i]);
	} else {
		packed = wire_begin(w->out, OTLP_SAMPLE_VALUES);
		wire_put_varint(w->out, (uint64_t)s->values[type]);
	}
	wire_end(w->out, packed);
	wire_end(w->out, at);
}

static void put_profile(struct writer *w, size_t type)
{
	const struct profile_meta *m = profile_meta_const(w->p);
	size_t at = wire_begin(w->out, OTLP_SP_PROFILES);

	put_value_type(w, OTLP_PROFILE_SAMPLE_TYPE, profile_sample_type(w->p, type));
	for (uint32_t i = 0; i < profile_n_samples(w->p); i++) {
		struct profile_sample s = profile_sample(w->p, i);

		if (s.values[type])
			put_sample(w, &s, type);
	}
	wire_put_fixed64(w->out, OTLP_PROFILE_TIME, (uint64_t)m->time_ns);
	wire_put_uint(w->out, OTLP_PROFILE_DURATION, (uint64_t)m->duration_ns);
	if (m->period_type.type || m->period_type.unit)
		put_value_type(w, OTLP_PROFILE_PERIOD_TYPE, m->period_type);
	wire_put_int(w->out, OTLP_PROFILE_PERIOD, m->period);
	if (w->opt->profile_id)
		wire_put_bytes(w->out, OTLP_PROFILE_ID, w->opt->profile_id, OTLP_PROFILE_ID_LEN);
	wire_end(w->out, at);
}

static void put_text(struct buf *out, uint32_t number, const char *s)
{
	if (s)
		wire_put_text(out, number, s, strlen(s));
}

static void put_resource(struct writer *w)
{
	size_t resource = wire_begin(w->out, OTLP_RP_RESOURCE);

	for (size_t i = 0; i < w->opt->n_resource; i++) {
		const struct otlp_attribute *a = &w->opt->resource[i];
		size_t kv = wire_begin(w->out, OTLP_RESOURCE_ATTRIBUTES), any;

		put_text(w->out, OTLP_KV_KEY, a->key);
		any = wire_begin(w->out, OTLP_KV_VALUE);
		if (a->str)
			put_text(w->out, OTLP_ANY_STRING, a->str);
		else
			wire_put_uint_always(w->out, OTLP_ANY_INT, (uint64_t)a->num);
		wire_end(w->out, any);
		wire_end(w->out, kv);
	}
	wire_end(w->out, resource);
}

static void put_resource_profiles(struct writer *w)
{
	size_t at = wire_begin(w->out, OTLP_REQUEST_RESOURCE_PROFILES), sp, scope;
	size_t n_types = profile_n_sample_types(w->p);

	put_resource(w);
	sp = wire_begin(w->out, OTLP_RP_SCOPE_PROFILES);
	scope = wire_begin(w->out, OTLP_SP_SCOPE);
	put_text(w->out, OTLP_SCOPE_NAME, w->opt->scope_name);
	put_text(w->out, OTLP_SCOPE_VERSION, w->opt->scope_version);
	wire_end(w->out, scope);
	if (w->opt->first_type_only && n_types > 1)
		n_types = 1;
	for (size_t type = 0; type < n_types; type++)
		put_profile(w, type);
	wire_end(w->out, sp);
	wire_end(w->out, at);
}

static void put_stack(struct writer *w, uint32_t id)
{
	size_t depth, at = wire_begin(w->out, OTLP_DICT_STACK), packed;
	const uint32_t *locations = profile_stack(w->p, id, &depth);

	packed = wire_begin(w->out, OTLP_STACK_LOCATIONS);
	for (size_t i = 0; i < depth; i++)
		wire_put_varint(w->out, renumber_get(&w->locations, locations[i]));
	wire_end(w->out, packed);
	wire_end(w->out, at);
}

static void put_line(struct writer *w, const struct profile_line *l)
{
	size_t at = wire_begin(w->out, OTLP_LOCATION_LINES);

	wire_put_uint(w->out, OTLP_LINE_FUNCTION, renumber_get(&w->functions, l->function));
	wire_put_uint(w->out, OTLP_LINE_LINE, l->line);
	wire_put_uint(w->out, OTLP_LINE_COLUMN, l->column);
	wire_end(w->out, at);
}

static void put_attribute_index(struct buf *out, uint32_t number, uint32_t index)
{
	size_t packed = wire_begin(out, number);

	wire_put_varint(out, index);
	wire_end(out, packed);
}

static void put_location(struct writer *w, uint32_t id)
{
	struct profile_location l = profile_location(w->p, id);
	const char *type = otlp_frame_type(l.kind);
	size_t at = wire_begin(w->out, OTLP_DICT_LOCATION);

	if (l.mapping != PROFILE_NONE)
		wire_put_uint(w->out, OTLP_LOCATION_MAPPING, renumber_get(&w->mappings, l.mapping));
	wire_put_uint(w->out, OTLP_LOCATION_ADDRESS, l.address);
	for (uint32_t i = 0; i < l.n_lines; i++)
		put_line(w, &l.lines[i]);
	if (type)
		put_attribute_index(
			w->out, OTLP_LOCATION_ATTRIBUTES,
			text_attribute_ref(w, OTLP_FRAME_TYPE, text_ref(w, type, strlen(type))));
	wire_end(w->out, at);
}

static void put_function(struct writer *w, uint32_t id)
{
	const struct profile_function *f = profile_function(w->p, id);
	size_t at = wire_begin(w->out, OTLP_DICT_FUNCTION);

	wire_put_uint(w->out, OTLP_FUNCTION_NAME, string_ref(w, f->name));
	wire_put_uint(w->out, OTLP_FUNCTION_SYSTEM_NAME, string_ref(w, f->system_name));
	wire_put_uint(w->out, OTLP_FUNCTION_FILE, string_ref(w, f->file));
	wire_put_uint(w->out, OTLP_FUNCTION_START_LINE, f->start_line);
	wire_end(w->out, at);
}

static void put_mapping(struct writer *w, uint32_t id)
{
	const struct profile_mapping *m = profile_mapping(w->p, id);
	size_t at = wire_begin(w->out, OTLP_DICT_MAPPING);

	wire_put_uint(w->out, OTLP_MAPPING_START, m->start);
	wire_put_uint(w->out, OTLP_MAPPING_LIMIT, m->limit);
	wire_put_uint(w->out, OTLP_MAPPING_OFFSET, m->file_off);
	wire_put_uint(w->out, OTLP_MAPPING_FILE, string_ref(w, m->file));
	if (m->build_id)
		put_attribute_index(
			w->out, OTLP_MAPPING_ATTRIBUTES,
			text_attribute_ref(w, OTLP_BUILD_ID_GNU, string_ref(w, m->build_id)));
	wire_end(w->out, at);
}

static void put_attribute(struct writer *w, const struct attribute *a)
{
	size_t at = wire_begin(w->out, OTLP_DICT_ATTRIBUTE), any;

	wire_put_uint(w->out, OTLP_ATTRIBUTE_KEY, a->key);
	any = wire_begin(w->out, OTLP_ATTRIBUTE_VALUE);
	if (a->is_num)
		wire_put_uint_always(w->out, OTLP_ANY_INT, (uint64_t)a->num);
	else
		wire_put_text(w->out, OTLP_ANY_STRING, strtab_get(w->strings, a->str),
			       strtab_len(w->strings, a->str));
	wire_end(w->out, any);
	wire_put_uint(w->out, OTLP_ATTRIBUTE_UNIT, a->unit);
	wire_end(w->out, at);
}

/* Each table after those that refer to it, and its empty entry first. */
static void put_dictionary(struct writer *w)
{
	size_t at = wire_begin(w->out, OTLP_REQUEST_DICTIONARY);

	for (uint32_t table = OTLP_DICT_MAPPING; table <= OTLP_DICT_STACK; table++)
		if (table != OTLP_DICT_STRING)
			wire_put_bytes(w->out, table, NULL, 0);
	for (size_t i = 0; i < w->stacks.met.len; i++)
		put_stack(w, w->stacks.met.data[i]);
	for (size_t i = 0; i < w->locations.met.len; i++)
		put_location(w, w->locations.met.data[i]);
	for (size_t i = 0; i < w->functions.met.len; i++)
		put_function(w, w->functions.met.data[i]);
	for (size_t i = 0; i < w->mappings.met.len; i++)
		put_mapping(w, w->mappings.met.data[i]);
	for (uint32_t i = 0; i < seqtab_count(&w->attributes); i++)
		put_attribute(w, seqtab_get(&w->attributes, i, NULL));
	for (uint32_t i = 0; i < strtab_count(w->strings); i++)
		wire_put_text(w->out, OTLP_DICT_STRING, strtab_get(w->strings, i),
			       strtab_len(w->strings, i));
	wire_end(w->out, at);
}

static int writer_init(struct writer *w)
{
	seqtab_init(&w->attributes, sizeof(struct attribute));
	w->string_ids = calloc((size_t)profile_n_strings(w->p) + 1, sizeof(*w->string_ids));
	if (!w->string_ids || strtab_new(&w->strings) < 0 ||
	    renumber_init(&w->stacks, profile_n_stacks(w->p)) < 0 ||
	    renumber_init(&w->locations, profile_n_locations(w->p)) < 0 ||
	    renumber_init(&w->functions, profile_n_functions(w->p)) < 0 ||
	    renumber_init(&w->mappings, profile_n_mappings(w->p)) < 0)
		return -ENOMEM;
	return 0;
}

int otlp_write(const struct profile *p, const struct otlp_options *opt, struct buf *out,
	       struct err *err)
{
	static const struct otlp_options none;
	_cleanup_(writer_fini) struct writer w = { .p = p, .opt = opt ? opt : &none, .out = out };

	if (writer_init(&w) < 0)
		return err_set(err, -ENOMEM, "no memory to write the profile");
	put_resource_profiles(&w);
	put_dictionary(&w);
	if (w.error || w.stacks.error || w.locations.error || w.functions.error ||
	    w.mappings.error || buf_error(out))
		return err_set(err, -ENOMEM, "no memory to write the profile");
	return 0;
}
