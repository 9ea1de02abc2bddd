/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The profiles are written first and the dictionary after them, with the entries that the
 * profiles refer to. Its tables are interned, so that the profiles of one request share equal
 * entries; arrays map the ids of the profile being added to indices of the tables. Entry 0 of
 * each table is empty, so indices start at 1; the strings are a strtab, whose string 0 is "".
 *
 * A request is built for a limit: gRPC servers refuse messages above 4 MiB, and only the final
 * encoding knows its size. The estimate therefore counts bytes of the profiles exactly and each new
 * entry of the dictionary by its parts. An entry that several profiles share is counted once, when
 * it is added.
 */
#include "codec/otlp/otlp_write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "codec/common/wire.h"
#include "codec/otlp/otlp_fields.h"
#include "codec/otlp/otlp_frame_type.h"
#include "profile/profile.h"
#include "profile/seqtab.h"

enum {
	OTLP_PROFILE_ID_LEN = 16,
	LINE_WORDS = 2,
	LOCATION_WORDS = 2, /* before the lines */
	/* Estimated bytes of an entry without its parts, and of a frame of a stack. */
	ENTRY_BYTES = 8,
	FRAME_BYTES = 3,
};

/*
 * Entries of tables, with indices of the dictionary. They have no padding, as seqtab compares
 * bytes.
 */
struct attribute {
	uint32_t key, str, unit, is_num;
	int64_t num;
};

struct mapping {
	uint64_t start, limit, file_off;
	uint32_t file, gnu, htl, zero; /* gnu, htl: attributes */
};

struct function {
	uint32_t name, system_name, file, start_line;
};

struct otlp_request {
	struct buf profiles;
	size_t dictionary_bytes; /* estimate */
	struct strtab *strings;
	struct seqtab attributes, mappings, functions;
	struct seqtab locations; /* words: mapping and type, address, then two per line */
	struct seqtab stacks;    /* indices of locations */
	struct {
		VEC(uint64_t);
	} words;
	struct {
		VEC(uint32_t);
	} ids;
	int error;
};

/* A profile being added; the arrays map its ids to indices of the dictionary, 0: none yet. */
struct adding {
	struct otlp_request *q;
	const struct profile *p;
	const struct otlp_options *opt;
	uint32_t *strings, *mappings, *functions, *locations, *stacks;
};

int otlp_request_new(struct otlp_request **out)
{
	_cleanup_(otlp_request_freep) struct otlp_request *q = calloc(1, sizeof(*q));

	if (!q)
		return -ENOMEM;
	seqtab_init(&q->attributes, sizeof(struct attribute));
	seqtab_init(&q->mappings, sizeof(struct mapping));
	seqtab_init(&q->functions, sizeof(struct function));
	seqtab_init(&q->locations, sizeof(uint64_t));
	seqtab_init(&q->stacks, sizeof(uint32_t));
	if (strtab_new(&q->strings) < 0)
		return -ENOMEM;
	*out = steal_ptr(&q);
	return 0;
}

void otlp_request_free(struct otlp_request *q)
{
	if (!q)
		return;
	buf_fini(&q->profiles);
	strtab_free(q->strings);
	seqtab_fini(&q->attributes);
	seqtab_fini(&q->mappings);
	seqtab_fini(&q->functions);
	seqtab_fini(&q->locations);
	seqtab_fini(&q->stacks);
	vec_fini(&q->words);
	vec_fini(&q->ids);
	free(q);
}

size_t otlp_request_bytes(const struct otlp_request *q)
{
	return q->profiles.len + q->dictionary_bytes;
}

/*
 * The index of a string in the dictionary. Failures are stored in q->error, which
 * otlp_request_add() checks at its end.
 */
static uint32_t text_ref(struct otlp_request *q, const char *s, size_t len)
{
	uint32_t id = 0, n = strtab_count(q->strings);

	if (strtab_add(q->strings, s, len, &id) < 0)
		q->error = -ENOMEM;
	if (strtab_count(q->strings) > n)
		q->dictionary_bytes += len + ENTRY_BYTES / 2;
	return id;
}

/* The index of an entry, whose parts have about @bytes. */
static uint32_t entry_ref(struct otlp_request *q, struct seqtab *t, const void *elems, size_t n,
			  size_t bytes)
{
	uint32_t id = 0, before = seqtab_count(t);

	if (seqtab_add(t, elems, n, &id) < 0)
		q->error = -ENOMEM;
	if (seqtab_count(t) > before)
		q->dictionary_bytes += ENTRY_BYTES + bytes;
	return id + 1;
}

static uint32_t attribute_ref(struct otlp_request *q, const struct attribute *a)
{
	return entry_ref(q, &q->attributes, a, 1, ENTRY_BYTES);
}

static uint32_t text_attribute_ref(struct otlp_request *q, const char *key, uint32_t str)
{
	const struct attribute a = { .key = text_ref(q, key, strlen(key)), .str = str };

	return attribute_ref(q, &a);
}

static uint32_t string_ref(struct adding *a, uint32_t id)
{
	if (!a->strings[id])
		a->strings[id] =
			text_ref(a->q, profile_string(a->p, id), profile_string_len(a->p, id)) + 1;
	return a->strings[id] - 1;
}

static uint32_t build_id_ref(struct adding *a, const char *key, uint32_t id)
{
	return id ? text_attribute_ref(a->q, key, string_ref(a, id)) : 0;
}

static uint32_t mapping_ref(struct adding *a, uint32_t id)
{
	const struct profile_mapping *m;
	struct mapping e;

	if (id == PROFILE_NONE)
		return 0;
	if (!a->mappings[id]) {
		m = profile_mapping(a->p, id);
		e = (struct mapping){
			.start = m->start,
			.limit = m->limit,
			.file_off = m->file_off,
			.file = string_ref(a, m->file),
			.gnu = build_id_ref(a, OTLP_BUILD_ID_GNU, m->build_id),
			.htl = build_id_ref(a, OTLP_BUILD_ID_HTL, m->htl_hash),
		};
		a->mappings[id] = entry_ref(a->q, &a->q->mappings, &e, 1, 4 * ENTRY_BYTES);
	}
	return a->mappings[id];
}

static uint32_t function_ref(struct adding *a, uint32_t id)
{
	const struct profile_function *f;
	struct function e;

	if (!a->functions[id]) {
		f = profile_function(a->p, id);
		e = (struct function){
			.name = string_ref(a, f->name),
			.system_name = string_ref(a, f->system_name),
			.file = string_ref(a, f->file),
			.start_line = f->start_line,
		};
		a->functions[id] = entry_ref(a->q, &a->q->functions, &e, 1, ENTRY_BYTES);
	}
	return a->functions[id];
}

static uint32_t frame_type_ref(struct adding *a, enum profile_frame_kind kind)
{
	const char *type = otlp_frame_type(kind);

	return type ? text_attribute_ref(a->q, OTLP_FRAME_TYPE, text_ref(a->q, type, strlen(type)))
		    : 0;
}

/*
 * Nothing that is called in between changes words, so the pointer into it stays valid until the
 * entry is added.
 */
static uint32_t add_location(struct adding *a, uint32_t id)
{
	struct profile_location l = profile_location(a->p, id);
	struct otlp_request *q = a->q;
	size_t n = LOCATION_WORDS + (size_t)l.n_lines * LINE_WORDS;
	uint64_t *w;

	if (vec_reserve(&q->words, n) < 0) {
		q->error = -ENOMEM;
		return 0;
	}
	w = q->words.data;
	*w++ = (uint64_t)mapping_ref(a, l.mapping) << 32 | frame_type_ref(a, l.kind);
	*w++ = l.address;
	for (uint32_t i = 0; i < l.n_lines; i++) {
		*w++ = function_ref(a, l.lines[i].function);
		*w++ = (uint64_t)l.lines[i].line << 32 | l.lines[i].column;
	}
	return entry_ref(q, &q->locations, q->words.data, n, (1 + l.n_lines) * ENTRY_BYTES);
}

static uint32_t location_ref(struct adding *a, uint32_t id)
{
	if (!a->locations[id])
		a->locations[id] = add_location(a, id);
	return a->locations[id];
}

static uint32_t stack_ref(struct adding *a, uint32_t id)
{
	struct otlp_request *q = a->q;
	const uint32_t *locations;
	size_t depth;

	if (a->stacks[id])
		return a->stacks[id];
	locations = profile_stack(a->p, id, &depth);
	if (vec_reserve(&q->ids, depth) < 0) {
		q->error = -ENOMEM;
		return 0;
	}
	for (size_t i = 0; i < depth; i++)
		q->ids.data[i] = location_ref(a, locations[i]);
	a->stacks[id] = entry_ref(q, &q->stacks, q->ids.data, depth, depth * FRAME_BYTES);
	return a->stacks[id];
}

/* The attribute key of a label; NULL: the label is dropped. */
static const char *label_key(const struct adding *a, const char *key)
{
	for (size_t i = 0; i < a->opt->n_labels; i++)
		if (!strcmp(a->opt->labels[i].from, key))
			return a->opt->labels[i].to;
	return key;
}

/* A label that is renamed to NULL leaves no trace. */
static void put_label(struct adding *a, struct buf *out, const struct profile_label *l)
{
	const char *key = label_key(a, profile_string(a->p, l->key));
	struct attribute e = { .is_num = !l->str, .num = l->num };

	if (!key)
		return;
	e.key = text_ref(a->q, key, strlen(key));
	e.str = string_ref(a, l->str);
	e.unit = string_ref(a, l->num_unit);
	wire_put_varint(out, attribute_ref(a->q, &e));
}

static void put_value_type(struct adding *a, uint32_t number, struct profile_value_type t)
{
	struct buf *out = &a->q->profiles;
	size_t at = wire_begin(out, number);

	wire_put_uint(out, OTLP_VALUE_TYPE_TYPE, string_ref(a, t.type));
	wire_put_uint(out, OTLP_VALUE_TYPE_UNIT, string_ref(a, t.unit));
	wire_end(out, at);
}

/*
 * Writes a sample as timestamps if each of its counts has one, because receivers count a timestamp
 * as 1; else as a value.
 */
static void put_sample(struct adding *a, const struct profile_sample *s, size_t type)
{
	struct buf *out = &a->q->profiles;
	size_t at = wire_begin(out, OTLP_PROFILE_SAMPLES), packed;
	bool as_times = type == 0 && s->n_times && s->values[0] == (int64_t)s->n_times;

	wire_put_uint(out, OTLP_SAMPLE_STACK, stack_ref(a, s->stack));
	if (s->n_labels) {
		packed = wire_begin(out, OTLP_SAMPLE_ATTRIBUTES);
		for (uint32_t i = 0; i < s->n_labels; i++)
			put_label(a, out, &s->labels[i]);
		wire_end(out, packed);
	}
	if (as_times) {
		packed = wire_begin(out, OTLP_SAMPLE_TIMES);
		for (uint32_t i = 0; i < s->n_times; i++)
			wire_put_fixed64_raw(out, s->times[i]);
	} else {
		packed = wire_begin(out, OTLP_SAMPLE_VALUES);
		wire_put_varint(out, (uint64_t)s->values[type]);
	}
	wire_end(out, packed);
	wire_end(out, at);
}

/*
 * Writes samples from *@io on. False: none of them had a value. At least one sample is written even
 * if the request is full already, so that a caller that starts a new request always advances.
 */
static bool put_samples(struct adding *a, size_t type, size_t max_bytes, uint32_t *io)
{
	uint32_t n = profile_n_samples(a->p);
	bool any = false;

	for (; *io < n && (!any || otlp_request_bytes(a->q) < max_bytes); (*io)++) {
		struct profile_sample s = profile_sample(a->p, *io);

		if (!s.values[type])
			continue;
		put_sample(a, &s, type);
		any = true;
	}
	return any;
}

/*
 * Writes the profile of one sample type; @io is the first sample and then the first one not
 * written. False: no sample had a value.
 */
static bool put_profile(struct adding *a, size_t type, size_t max_bytes, uint32_t *io)
{
	const struct profile_meta *m = profile_meta_const(a->p);
	struct buf *out = &a->q->profiles;
	size_t at = wire_begin(out, OTLP_SP_PROFILES);
	bool any;

	put_value_type(a, OTLP_PROFILE_SAMPLE_TYPE, profile_sample_type(a->p, type));
	any = put_samples(a, type, max_bytes, io);
	wire_put_fixed64(out, OTLP_PROFILE_TIME, (uint64_t)m->time_ns);
	wire_put_uint(out, OTLP_PROFILE_DURATION, (uint64_t)m->duration_ns);
	if (m->period_type.type || m->period_type.unit)
		put_value_type(a, OTLP_PROFILE_PERIOD_TYPE, m->period_type);
	wire_put_int(out, OTLP_PROFILE_PERIOD, m->period);
	if (a->opt->profile_id)
		wire_put_bytes(out, OTLP_PROFILE_ID, a->opt->profile_id, OTLP_PROFILE_ID_LEN);
	wire_end(out, at);
	return any;
}

static void put_text(struct buf *out, uint32_t number, const char *s)
{
	if (s)
		wire_put_text(out, number, s, strlen(s));
}

/* Writes the resource with its attributes in full: see otlp_write.h. */
static void put_resource(struct buf *out, const struct otlp_options *opt)
{
	size_t resource = wire_begin(out, OTLP_RP_RESOURCE);

	for (size_t i = 0; i < opt->n_resource; i++) {
		const struct otlp_attribute *a = &opt->resource[i];
		size_t kv = wire_begin(out, OTLP_RESOURCE_ATTRIBUTES), any;

		put_text(out, OTLP_KV_KEY, a->key);
		any = wire_begin(out, OTLP_KV_VALUE);
		if (a->str)
			put_text(out, OTLP_ANY_STRING, a->str);
		else
			wire_put_uint_always(out, OTLP_ANY_INT, (uint64_t)a->num);
		wire_end(out, any);
		wire_end(out, kv);
	}
	wire_end(out, resource);
}

/* False: no sample had a value. */
static bool put_resource_profiles(struct adding *a, size_t max_bytes, uint32_t *io)
{
	struct buf *out = &a->q->profiles;
	size_t at = wire_begin(out, OTLP_REQUEST_RESOURCE_PROFILES), sp, scope;
	size_t n_types = profile_n_sample_types(a->p);
	uint32_t from = *io;
	bool any = false;

	put_resource(out, a->opt);
	sp = wire_begin(out, OTLP_RP_SCOPE_PROFILES);
	scope = wire_begin(out, OTLP_SP_SCOPE);
	put_text(out, OTLP_SCOPE_NAME, a->opt->scope_name);
	put_text(out, OTLP_SCOPE_VERSION, a->opt->scope_version);
	wire_end(out, scope);
	if (a->opt->first_type_only && n_types > 1)
		n_types = 1;
	for (size_t type = 0; type < n_types; type++) {
		*io = from;
		any |= put_profile(a, type, n_types > 1 ? SIZE_MAX : max_bytes, io);
	}
	wire_end(out, sp);
	wire_end(out, at);
	return any;
}

static int new_ids(uint32_t **out, uint32_t n)
{
	*out = calloc((size_t)n + 1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

static void adding_fini(struct adding *a)
{
	free(a->strings);
	free(a->mappings);
	free(a->functions);
	free(a->locations);
	free(a->stacks);
}

/*
 * A profile without values is removed by truncating the buffer; entries that it added to the
 * dictionary remain, which costs bytes but no correctness.
 */
int otlp_request_add(struct otlp_request *q, const struct profile *p,
		     const struct otlp_options *opt, size_t max_bytes, uint32_t *io_sample)
{
	_cleanup_(adding_fini) struct adding a = { .q = q, .p = p, .opt = opt };
	size_t before = q->profiles.len;
	bool any;

	if (new_ids(&a.strings, profile_n_strings(p)) < 0 ||
	    new_ids(&a.mappings, profile_n_mappings(p)) < 0 ||
	    new_ids(&a.functions, profile_n_functions(p)) < 0 ||
	    new_ids(&a.locations, profile_n_locations(p)) < 0 ||
	    new_ids(&a.stacks, profile_n_stacks(p)) < 0)
		return -ENOMEM;
	any = put_resource_profiles(&a, max_bytes, io_sample);
	if (q->error < 0 || buf_error(&q->profiles))
		return -ENOMEM;
	if (!any)
		q->profiles.len = before;
	return any;
}

static void put_stack(struct otlp_request *q, struct buf *out, uint32_t i)
{
	size_t depth, at = wire_begin(out, OTLP_DICT_STACK), packed;
	const uint32_t *locations = seqtab_get(&q->stacks, i, &depth);

	packed = wire_begin(out, OTLP_STACK_LOCATIONS);
	for (size_t k = 0; k < depth; k++)
		wire_put_varint(out, locations[k]);
	wire_end(out, packed);
	wire_end(out, at);
}

static void put_attribute_index(struct buf *out, uint32_t number, uint32_t index)
{
	size_t packed = wire_begin(out, number);

	wire_put_varint(out, index);
	wire_end(out, packed);
}

static void put_location(struct otlp_request *q, struct buf *out, uint32_t i)
{
	size_t n, at = wire_begin(out, OTLP_DICT_LOCATION), line;
	const uint64_t *w = seqtab_get(&q->locations, i, &n);

	wire_put_uint(out, OTLP_LOCATION_MAPPING, w[0] >> 32);
	wire_put_uint(out, OTLP_LOCATION_ADDRESS, w[1]);
	for (size_t k = LOCATION_WORDS; k < n; k += LINE_WORDS) {
		line = wire_begin(out, OTLP_LOCATION_LINES);
		wire_put_uint(out, OTLP_LINE_FUNCTION, w[k]);
		wire_put_uint(out, OTLP_LINE_LINE, w[k + 1] >> 32);
		wire_put_uint(out, OTLP_LINE_COLUMN, (uint32_t)w[k + 1]);
		wire_end(out, line);
	}
	if ((uint32_t)w[0])
		put_attribute_index(out, OTLP_LOCATION_ATTRIBUTES, (uint32_t)w[0]);
	wire_end(out, at);
}

static void put_function(struct buf *out, const struct function *f)
{
	size_t at = wire_begin(out, OTLP_DICT_FUNCTION);

	wire_put_uint(out, OTLP_FUNCTION_NAME, f->name);
	wire_put_uint(out, OTLP_FUNCTION_SYSTEM_NAME, f->system_name);
	wire_put_uint(out, OTLP_FUNCTION_FILE, f->file);
	wire_put_uint(out, OTLP_FUNCTION_START_LINE, f->start_line);
	wire_end(out, at);
}

static void put_mapping(struct buf *out, const struct mapping *m)
{
	size_t at = wire_begin(out, OTLP_DICT_MAPPING), packed;

	wire_put_uint(out, OTLP_MAPPING_START, m->start);
	wire_put_uint(out, OTLP_MAPPING_LIMIT, m->limit);
	wire_put_uint(out, OTLP_MAPPING_OFFSET, m->file_off);
	wire_put_uint(out, OTLP_MAPPING_FILE, m->file);
	packed = wire_begin(out, OTLP_MAPPING_ATTRIBUTES);
	if (m->gnu)
		wire_put_varint(out, m->gnu);
	if (m->htl)
		wire_put_varint(out, m->htl);
	wire_end(out, packed);
	wire_end(out, at);
}

static void put_attribute(struct otlp_request *q, struct buf *out, const struct attribute *a)
{
	size_t at = wire_begin(out, OTLP_DICT_ATTRIBUTE), any;

	wire_put_uint(out, OTLP_ATTRIBUTE_KEY, a->key);
	any = wire_begin(out, OTLP_ATTRIBUTE_VALUE);
	if (a->is_num)
		wire_put_uint_always(out, OTLP_ANY_INT, (uint64_t)a->num);
	else
		wire_put_text(out, OTLP_ANY_STRING, strtab_get(q->strings, a->str),
			      strtab_len(q->strings, a->str));
	wire_end(out, any);
	wire_put_uint(out, OTLP_ATTRIBUTE_UNIT, a->unit);
	wire_end(out, at);
}

/* Writes the tables, each with its empty entry first. */
static void put_dictionary(struct otlp_request *q, struct buf *out)
{
	size_t at = wire_begin(out, OTLP_REQUEST_DICTIONARY);

	for (uint32_t table = OTLP_DICT_MAPPING; table <= OTLP_DICT_STACK; table++)
		if (table != OTLP_DICT_STRING)
			wire_put_bytes(out, table, NULL, 0);
	for (uint32_t i = 0; i < seqtab_count(&q->stacks); i++)
		put_stack(q, out, i);
	for (uint32_t i = 0; i < seqtab_count(&q->locations); i++)
		put_location(q, out, i);
	for (uint32_t i = 0; i < seqtab_count(&q->functions); i++)
		put_function(out, seqtab_get(&q->functions, i, NULL));
	for (uint32_t i = 0; i < seqtab_count(&q->mappings); i++)
		put_mapping(out, seqtab_get(&q->mappings, i, NULL));
	for (uint32_t i = 0; i < seqtab_count(&q->attributes); i++)
		put_attribute(q, out, seqtab_get(&q->attributes, i, NULL));
	for (uint32_t i = 0; i < strtab_count(q->strings); i++)
		wire_put_text(out, OTLP_DICT_STRING, strtab_get(q->strings, i),
			      strtab_len(q->strings, i));
	wire_end(out, at);
}

int otlp_request_write(struct otlp_request *q, struct buf *out)
{
	buf_put(out, q->profiles.data, q->profiles.len);
	put_dictionary(q, out);
	return q->error < 0 ? q->error : buf_error(out);
}

int otlp_write(const struct profile *p, const struct otlp_options *opt, struct buf *out,
	       struct err *err)
{
	static const struct otlp_options none;
	_cleanup_(otlp_request_freep) struct otlp_request *q = NULL;
	uint32_t from = 0;
	int r = otlp_request_new(&q);

	if (r == 0)
		r = otlp_request_add(q, p, opt ? opt : &none, SIZE_MAX, &from);
	if (r >= 0)
		r = otlp_request_write(q, out);
	return r < 0 ? err_set(err, r, "out of memory while writing the profile") : 0;
}
