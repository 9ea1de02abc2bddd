/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The message is first split into its tables. For each table an array maps an index of the file to
 * an id of the profile, with the generation in which it was read. Lookups recurse, but end: stacks
 * refer to locations, these to mappings and functions, all of them to strings, and nothing refers
 * back. Entry 0 of each table is empty; for mappings and functions it means none.
 *
 * Indices of attributes are looked up the same way, but their entries are labels and not ids and
 * therefore have an array of their own. A hostile request may refer to a large entry from each of
 * many profiles; interning makes the cost of each profile at most that of the dictionary, and the
 * limits of the caller bound both.
 */
#include "codec/otlp/otlp_dictionary.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/common/frame_kind.h"
#include "codec/otlp/otlp_frame_type.h"
#include "codec/otlp/otlp_labels.h"

enum {
	OTLP_MAX_LINES = 1024, /* per location */
	OTLP_N_TABLES = OTLP_DICT_STACK + 1,
};

void otlp_dictionary_fini(struct otlp_dictionary *d)
{
	for (size_t i = 0; i < OTLP_N_TABLES; i++) {
		vec_fini(&d->tables[i]);
		free(d->ids[i]);
	}
	free(d->attributes);
	free(d->symbolized);
	vec_fini(&d->stack);
	vec_fini(&d->lines);
}

static int read_string(struct otlp_dictionary *d, struct wire w, uint32_t *out);
static int read_mapping(struct otlp_dictionary *d, struct wire w, uint32_t *out);
static int read_function(struct otlp_dictionary *d, struct wire w, uint32_t *out);
static int read_location(struct otlp_dictionary *d, struct wire w, uint32_t *out);
static int read_stack(struct otlp_dictionary *d, struct wire w, uint32_t *out);

static const struct table {
	const char *what;
	int (*read)(struct otlp_dictionary *d, struct wire w, uint32_t *out);
} tables[OTLP_N_TABLES] = {
	[OTLP_DICT_MAPPING] = { "mapping", read_mapping },
	[OTLP_DICT_LOCATION] = { "location", read_location },
	[OTLP_DICT_FUNCTION] = { "function", read_function },
	[OTLP_DICT_STRING] = { "string", read_string },
	[OTLP_DICT_STACK] = { "stack", read_stack },
};

/*
 * Looks up an entry and reads it if this is its first use in the profile. While it is read, errors
 * name it instead of the entry that refers to it.
 */
static int lookup(struct otlp_dictionary *d, enum otlp_dictionary_field table, uint64_t i,
		  uint32_t *out)
{
	const struct proto_read outer = d->at;
	struct otlp_id *id;
	int r;

	if (i >= d->tables[table].len)
		return proto_read_error(&d->at, -EBADMSG, "%s %" PRIu64 " does not exist",
					tables[table].what, i);
	id = &d->ids[table][i];
	if (id->generation != d->generation) {
		d->at.what = tables[table].what;
		d->at.nth = (size_t)i;
		r = tables[table].read(d, d->tables[table].data[i], &id->id);
		if (r < 0)
			return r;
		id->generation = d->generation;
		d->at = outer;
	}
	*out = id->id;
	return 0;
}

int otlp_string(struct otlp_dictionary *d, uint64_t i, uint32_t *out)
{
	return lookup(d, OTLP_DICT_STRING, i, out);
}

int otlp_stack(struct otlp_dictionary *d, uint64_t i, uint32_t *out)
{
	return lookup(d, OTLP_DICT_STACK, i, out);
}

size_t otlp_n_attributes(const struct otlp_dictionary *d)
{
	return d->tables[OTLP_DICT_ATTRIBUTE].len;
}

/*
 * An empty entry takes two bytes of a message but eight times that in memory, so the number of
 * entries is limited while the message is split.
 */
static uint32_t max_entries(const struct otlp_dictionary *d, uint32_t table)
{
	return table == OTLP_DICT_STRING ? d->limits.strings : d->limits.entries;
}

int otlp_dictionary_split(struct otlp_dictionary *d, struct wire w)
{
	struct wire_field f;
	int r;

	while ((r = wire_next(&w, &f)) > 0) {
		if (f.number >= OTLP_N_TABLES)
			continue;
		if (d->tables[f.number].len >= max_entries(d, f.number))
			return proto_read_error(&d->at, -EFBIG, "table %u has more than %u entries",
						f.number, max_entries(d, f.number));
		r = proto_read_collect(&d->at, &f, &d->tables[f.number]);
		if (r < 0)
			return r;
	}
	return r < 0 ? proto_read_error(&d->at, r, "malformed dictionary") : 0;
}

static int read_string(struct otlp_dictionary *d, struct wire w, uint32_t *out)
{
	return otlp_add_text(d, w.p, wire_len(w), out);
}

int otlp_add_text(struct otlp_dictionary *d, const void *s, size_t len, uint32_t *out)
{
	return proto_read_check(&d->at, profile_add_string(d->p, s, len, out));
}

static int add_double(struct otlp_dictionary *d, uint64_t bits, uint32_t *out)
{
	char text[32];
	double v;

	memcpy(&v, &bits, sizeof(v));
	return otlp_add_text(d, text, (size_t)snprintf(text, sizeof(text), "%g", v), out);
}

int otlp_any_value(struct otlp_dictionary *d, struct wire w, struct otlp_attribute_entry *out)
{
	struct wire_field f;
	int r;

	while ((r = wire_next(&w, &f)) > 0) {
		/* The value is a oneof, of which the last field counts. */
		out->usable = true;
		out->label.str = 0;
		out->label.num = 0;
		if (f.number == OTLP_ANY_STRING && f.type == WIRE_LEN)
			r = otlp_add_text(d, f.bytes.p, wire_len(f.bytes), &out->label.str);
		else if (f.number == OTLP_ANY_STRING_REF && f.type == WIRE_VARINT)
			r = otlp_string(d, f.value, &out->label.str);
		else if (f.number == OTLP_ANY_DOUBLE && f.type == WIRE_FIXED64)
			r = add_double(d, f.value, &out->label.str);
		else if ((f.number == OTLP_ANY_INT || f.number == OTLP_ANY_BOOL) &&
			 f.type == WIRE_VARINT)
			out->label.num = (int64_t)f.value;
		else
			out->usable = false;
		/* A label whose string is empty would be read as a number. */
		if (f.number == OTLP_ANY_STRING || f.number == OTLP_ANY_STRING_REF)
			out->usable = out->usable && out->label.str;
		if (r < 0)
			return r;
	}
	return r < 0 ? proto_read_error(&d->at, r, "malformed value") : 0;
}

int otlp_label_key(struct otlp_dictionary *d, uint32_t *io_key)
{
	const char *is = profile_string(d->p, *io_key), *ours = otlp_label_of(is);

	if (!d->rename_labels || ours == is)
		return 0;
	return otlp_add_text(d, ours, strlen(ours), io_key);
}

/* An attribute without a value, or with a list or bytes, is read but not usable. */
static int read_attribute(struct otlp_dictionary *d, struct wire w,
			  struct otlp_attribute_entry *out)
{
	struct otlp_attribute_entry a = { .generation = d->generation };
	struct proto_scalars s;
	struct wire value;
	int r = proto_read_scalars(
		&d->at, w, PROTO_BIT(OTLP_ATTRIBUTE_KEY) | PROTO_BIT(OTLP_ATTRIBUTE_UNIT), &s);

	if (r == 0)
		r = otlp_string(d, s.v[OTLP_ATTRIBUTE_KEY], &a.label.key);
	if (r == 0)
		r = otlp_label_key(d, &a.label.key);
	if (r == 0)
		r = otlp_string(d, s.v[OTLP_ATTRIBUTE_UNIT], &a.label.num_unit);
	if (r == 0)
		r = proto_read_next(&d->at, &w, OTLP_ATTRIBUTE_VALUE, &value);
	if (r > 0)
		r = otlp_any_value(d, value, &a);
	if (r < 0)
		return r;
	*out = a;
	return 0;
}

static int lookup_attribute(struct otlp_dictionary *d, uint64_t i,
			    const struct otlp_attribute_entry **out)
{
	const struct proto_read outer = d->at;

	if (i >= otlp_n_attributes(d))
		return proto_read_error(&d->at, -EBADMSG, "attribute %" PRIu64 " does not exist",
					i);
	if (d->attributes[i].generation != d->generation) {
		int r;

		d->at.what = "attribute";
		d->at.nth = (size_t)i;
		r = read_attribute(d, d->tables[OTLP_DICT_ATTRIBUTE].data[i], &d->attributes[i]);
		if (r < 0)
			return r;
		d->at = outer;
	}
	*out = &d->attributes[i];
	return 0;
}

int otlp_next_attribute(struct otlp_dictionary *d, struct wire_nums *it,
			const struct otlp_attribute_entry **out)
{
	uint64_t i;
	int r = wire_nums_next(it, &i);

	if (r < 0)
		return proto_read_error(&d->at, r, "malformed attributes");
	if (r > 0) {
		r = lookup_attribute(d, i, out);
		return r < 0 ? r : 1;
	}
	return 0;
}

/*
 * Finds the value of the first attribute whose key starts with @key; 0: there is none. The message
 * was checked by proto_read_scalars() before, so wire_next() cannot fail here.
 */
static int find_text(struct otlp_dictionary *d, struct wire w, uint32_t number, const char *key,
		     uint32_t *out)
{
	struct wire_field f;

	*out = 0;
	while (wire_next(&w, &f) > 0) {
		struct wire_nums it = wire_nums(&f, WIRE_VARINT);
		const struct otlp_attribute_entry *a = NULL;
		int r;

		if (f.number != number)
			continue;
		while ((r = otlp_next_attribute(d, &it, &a)) > 0)
			if (!*out && !strncmp(profile_string(d->p, a->label.key), key, strlen(key)))
				*out = a->label.str;
		if (r < 0)
			return r;
	}
	return 0;
}

/*
 * The GNU build id is preferred, since symbol servers know it; any other build id is better than
 * none.
 */
static int read_build_id(struct otlp_dictionary *d, struct wire w, uint32_t *out)
{
	int r = find_text(d, w, OTLP_MAPPING_ATTRIBUTES, OTLP_BUILD_ID_GNU, out);

	if (r == 0 && !*out)
		r = find_text(d, w, OTLP_MAPPING_ATTRIBUTES, OTLP_BUILD_ID, out);
	return r;
}

static int read_mapping(struct otlp_dictionary *d, struct wire w, uint32_t *out)
{
	struct profile_mapping m = { .has_functions = d->symbolized[d->at.nth] };
	struct proto_scalars s;
	int r = proto_read_scalars(&d->at, w, PROTO_BITS_UP_TO(OTLP_MAPPING_FILE), &s);

	if (r == 0 && d->at.nth == 0) {
		*out = PROFILE_NONE;
		return 0;
	}
	if (r == 0)
		r = otlp_string(d, s.v[OTLP_MAPPING_FILE], &m.file);
	if (r == 0)
		r = read_build_id(d, w, &m.build_id);
	if (r < 0)
		return r;
	m.start = s.v[OTLP_MAPPING_START];
	m.limit = s.v[OTLP_MAPPING_LIMIT];
	m.file_off = s.v[OTLP_MAPPING_OFFSET];
	return proto_read_check(&d->at, profile_add_mapping(d->p, &m, out));
}

static int read_function(struct otlp_dictionary *d, struct wire w, uint32_t *out)
{
	struct profile_function f = { 0 };
	struct proto_scalars s;
	int r = proto_read_scalars(&d->at, w, PROTO_BITS_UP_TO(OTLP_FUNCTION_START_LINE), &s);

	if (r == 0)
		r = otlp_string(d, s.v[OTLP_FUNCTION_NAME], &f.name);
	if (r == 0)
		r = otlp_string(d, s.v[OTLP_FUNCTION_SYSTEM_NAME], &f.system_name);
	if (r == 0)
		r = otlp_string(d, s.v[OTLP_FUNCTION_FILE], &f.file);
	if (r < 0)
		return r;
	f.start_line = proto_line_number(s.v[OTLP_FUNCTION_START_LINE]);
	return proto_read_check(&d->at, profile_add_function(d->p, &f, out));
}

/* A line without a function is dropped: it could not be shown. */
static int read_line(struct otlp_dictionary *d, struct wire w)
{
	struct profile_line l = { 0 };
	struct proto_scalars s;
	int r = proto_read_scalars(&d->at, w, PROTO_BITS_UP_TO(OTLP_LINE_COLUMN), &s);

	/* Function 0 means none. */
	if (r < 0 || !s.v[OTLP_LINE_FUNCTION])
		return r;
	r = lookup(d, OTLP_DICT_FUNCTION, s.v[OTLP_LINE_FUNCTION], &l.function);
	if (r < 0)
		return r;
	if (d->lines.len == OTLP_MAX_LINES)
		return proto_read_error(&d->at, -EFBIG, "more than %d lines", OTLP_MAX_LINES);
	l.line = proto_line_number(s.v[OTLP_LINE_LINE]);
	l.column = proto_line_number(s.v[OTLP_LINE_COLUMN]);
	return vec_push(&d->lines, l) < 0 ? proto_read_no_memory(&d->at) : 0;
}

/* Determines the kind of a frame: from the attribute profile.frame.type, else from file names. */
static int read_kind(struct otlp_dictionary *d, struct wire w, struct profile_location *l)
{
	uint32_t type;
	int r = find_text(d, w, OTLP_LOCATION_ATTRIBUTES, OTLP_FRAME_TYPE, &type);

	if (r < 0)
		return r;
	l->kind = type ? (uint8_t)otlp_frame_kind(profile_string(d->p, type))
		       : (uint8_t)frame_kind_guess_location(d->p, l);
	return 0;
}

static int read_location(struct otlp_dictionary *d, struct wire w, uint32_t *out)
{
	struct profile_location l = { .mapping = PROFILE_NONE };
	struct proto_scalars s;
	struct wire rest = w, line;
	int r = proto_read_scalars(&d->at, w, PROTO_BITS_UP_TO(OTLP_LOCATION_ADDRESS), &s);

	d->lines.len = 0;
	if (r == 0 && s.v[OTLP_LOCATION_MAPPING])
		r = lookup(d, OTLP_DICT_MAPPING, s.v[OTLP_LOCATION_MAPPING], &l.mapping);
	while (r == 0 && (r = proto_read_next(&d->at, &rest, OTLP_LOCATION_LINES, &line)) > 0)
		r = read_line(d, line);
	if (r < 0)
		return r;
	l.address = s.v[OTLP_LOCATION_ADDRESS];
	l.n_lines = (uint32_t)d->lines.len;
	l.lines = d->lines.data;
	r = read_kind(d, w, &l);
	return r < 0 ? r : proto_read_check(&d->at, profile_add_location(d->p, &l, out));
}

/*
 * Marks the mapping of a location that has lines: such a mapping is symbolized. pprof keeps this
 * property per mapping, OTLP no longer has it; without it a reader would symbolize again.
 */
static int find_symbolized(struct otlp_dictionary *d, struct wire w)
{
	struct proto_scalars s;
	struct wire line;
	uint64_t m;
	int r = proto_read_scalars(&d->at, w, PROTO_BIT(OTLP_LOCATION_MAPPING), &s);

	if (r < 0)
		return r;
	m = s.v[OTLP_LOCATION_MAPPING];
	if (m < d->tables[OTLP_DICT_MAPPING].len) {
		r = proto_read_next(&d->at, &w, OTLP_LOCATION_LINES, &line);
		if (r > 0)
			d->symbolized[m] = true;
	}
	return r < 0 ? r : 0;
}

static int read_stack_locations(struct otlp_dictionary *d, const struct wire_field *f)
{
	struct wire_nums it = wire_nums(f, WIRE_VARINT);
	uint32_t id = 0;
	uint64_t i;
	int r;

	while ((r = wire_nums_next(&it, &i)) > 0) {
		if (d->stack.len == d->limits.depth)
			return proto_read_error(&d->at, -EFBIG, "more than %u frames",
						d->limits.depth);
		r = lookup(d, OTLP_DICT_LOCATION, i, &id);
		if (r < 0)
			return r;
		if (vec_push(&d->stack, id) < 0)
			return proto_read_no_memory(&d->at);
	}
	return r < 0 ? proto_read_error(&d->at, r, "malformed or truncated location indices") : 0;
}

static int read_stack(struct otlp_dictionary *d, struct wire w, uint32_t *out)
{
	struct wire_field f;
	int r;

	d->stack.len = 0;
	while ((r = wire_next(&w, &f)) > 0) {
		r = f.number == OTLP_STACK_LOCATIONS ? read_stack_locations(d, &f) : 0;
		if (r < 0)
			return r;
	}
	if (r < 0)
		return proto_read_malformed(&d->at, w);
	return proto_read_check(&d->at, profile_add_stack(d->p, d->stack.data, d->stack.len, out));
}

/*
 * Allocates the arrays of ids. calloc() makes every entry one of generation 0, which is never
 * current.
 */
static int make_room(struct otlp_dictionary *d)
{
	for (size_t i = 0; i < OTLP_N_TABLES; i++) {
		d->ids[i] = calloc(d->tables[i].len + 1, sizeof(*d->ids[i]));
		if (!d->ids[i])
			return proto_read_no_memory(&d->at);
	}
	d->attributes = calloc(otlp_n_attributes(d) + 1, sizeof(*d->attributes));
	d->symbolized = calloc(d->tables[OTLP_DICT_MAPPING].len + 1, sizeof(*d->symbolized));
	return d->attributes && d->symbolized ? 0 : proto_read_no_memory(&d->at);
}

int otlp_dictionary_open(struct otlp_dictionary *d)
{
	const struct proto_parts *locations = &d->tables[OTLP_DICT_LOCATION];
	int r = make_room(d);

	d->at.what = "location";
	for (d->at.nth = 0; r == 0 && d->at.nth < locations->len; d->at.nth++) {
		r = find_symbolized(d, locations->data[d->at.nth]);
		if (r < 0)
			return r;
	}
	d->at.what = NULL;
	return r;
}

void otlp_dictionary_set_profile(struct otlp_dictionary *d, struct profile *p)
{
	d->p = p;
	d->generation++;
}

/*
 * Reads tables in the order of their dependencies. Entries that no sample uses are kept, as a
 * conversion should not lose them.
 */
int otlp_dictionary_read(struct otlp_dictionary *d)
{
	static const enum otlp_dictionary_field order[] = { OTLP_DICT_STRING,   OTLP_DICT_ATTRIBUTE,
							    OTLP_DICT_MAPPING,  OTLP_DICT_FUNCTION,
							    OTLP_DICT_LOCATION, OTLP_DICT_STACK };
	const struct otlp_attribute_entry *a;
	uint32_t id;

	for (size_t t = 0; t < sizeof(order) / sizeof(order[0]); t++) {
		for (size_t i = 0; i < d->tables[order[t]].len; i++) {
			int r = order[t] == OTLP_DICT_ATTRIBUTE ? lookup_attribute(d, i, &a)
								: lookup(d, order[t], i, &id);

			if (r < 0)
				return r;
		}
	}
	return 0;
}
