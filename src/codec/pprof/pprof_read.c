/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of a profile.proto may come in any order and refer to each other, so the message is
 * first split into its fields, and then each table is read after those that it refers to.
 * Numbers from the file are checked against a count before they serve as an index, and
 * allocations are at most a small multiple of the input.
 *
 * Splitting stores 16 bytes per entry, the start and end of each. A message may hold many empty
 * entries of two bytes each, so limits are checked while it is split. Depth is checked
 * per stack and labels per sample; id 0 and duplicate ids are errors, because a reference could
 * mean either.
 */
#include "codec/pprof/pprof.h"

#include <errno.h>
#include <inttypes.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/vec.h"
#include "codec/common/frame_kind.h"
#include "codec/common/gzip.h"
#include "codec/common/id_map.h"
#include "codec/common/limits.h"
#include "codec/common/proto_read.h"
#include "codec/common/wire.h"
#include "codec/pprof/pprof_fields.h"
#include "profile/profile.h"

enum {
	PPROF_N_FIELDS = PPROF_DOC_URL + 1,
	PPROF_MAX_TYPES = 64,
	PPROF_MAX_LINES = 1024, /* per location */
	PPROF_MAX_COMMENTS = 4096,
	TYPICAL_BYTES = 8, /* few entries of a table are shorter */
};

struct reader {
	struct profile *p;
	struct codec_limits limits;
	struct codec_account account;
	struct proto_read at;
	struct proto_parts parts[PPROF_N_FIELDS]; /* of TOP_PARTS, by field number */
	struct proto_scalars top;                 /* of TOP_SCALARS */
	struct {
		VEC(uint32_t);
	} strings, ids, comments;
	struct {
		VEC(struct profile_line);
	} lines;
	struct {
		VEC(struct profile_label);
	} labels;
	struct {
		VEC(int64_t);
	} values;
	struct id_map mappings, functions, locations;
};

/* The fields of Profile that are numbers, and those that are repeated messages or strings. */
#define TOP_SCALARS                                                                                \
	(PROTO_BIT(PPROF_DROP_FRAMES) | PROTO_BIT(PPROF_KEEP_FRAMES) |                             \
	 PROTO_BIT(PPROF_TIME_NANOS) | PROTO_BIT(PPROF_DURATION_NANOS) | PROTO_BIT(PPROF_PERIOD) | \
	 PROTO_BIT(PPROF_DEFAULT_SAMPLE_TYPE) | PROTO_BIT(PPROF_DOC_URL))
#define TOP_PARTS                                                                                  \
	(PROTO_BIT(PPROF_SAMPLE_TYPE) | PROTO_BIT(PPROF_SAMPLE) | PROTO_BIT(PPROF_MAPPING) |       \
	 PROTO_BIT(PPROF_LOCATION) | PROTO_BIT(PPROF_FUNCTION) | PROTO_BIT(PPROF_STRING_TABLE) |   \
	 PROTO_BIT(PPROF_PERIOD_TYPE))

static void reader_fini(struct reader *rd)
{
	for (size_t i = 0; i < PPROF_N_FIELDS; i++)
		vec_fini(&rd->parts[i]);
	vec_fini(&rd->strings);
	vec_fini(&rd->ids);
	vec_fini(&rd->comments);
	vec_fini(&rd->lines);
	vec_fini(&rd->labels);
	vec_fini(&rd->values);
	vec_fini(&rd->mappings);
	vec_fini(&rd->functions);
	vec_fini(&rd->locations);
	profile_free(rd->p);
}

/* Translates an index of the string table into a string id of the profile. */
static int read_string(struct reader *rd, uint64_t i, uint32_t *out_id)
{
	if (i >= rd->strings.len)
		return proto_read_error(&rd->at, -EBADMSG, "string %" PRIu64 " does not exist", i);
	*out_id = rd->strings.data[i];
	return 0;
}

/* Indices that exceed 32 bits become one that does not exist, which read_meta() reports. */
static int read_comment(struct reader *rd, const struct wire_field *f)
{
	struct wire_nums it = wire_nums(f, WIRE_VARINT);
	uint64_t v;
	int r;

	while ((r = wire_nums_next(&it, &v)) > 0) {
		if (rd->comments.len == PPROF_MAX_COMMENTS)
			return err_set(rd->at.err, -EFBIG, "profile has more than %d comments",
				       PPROF_MAX_COMMENTS);
		if (vec_push(&rd->comments, v < UINT32_MAX ? (uint32_t)v : UINT32_MAX) < 0)
			return proto_read_no_memory(&rd->at);
	}
	return r < 0 ? proto_read_error(&rd->at, r, "comments are malformed") : 0;
}

/* The greatest number of entries of a table, and their name. */
static uint32_t limit_of(const struct reader *rd, uint32_t field, const char **out_name)
{
	const struct {
		enum pprof_field field;
		uint32_t max;
		const char *name;
	} tables[] = {
		{ PPROF_STRING_TABLE, rd->limits.strings, "strings" },
		{ PPROF_SAMPLE, rd->limits.samples, "samples" },
		{ PPROF_MAPPING, rd->limits.entries, "mappings" },
		{ PPROF_FUNCTION, rd->limits.entries, "functions" },
		{ PPROF_LOCATION, rd->limits.entries, "locations" },
		{ PPROF_SAMPLE_TYPE, PPROF_MAX_TYPES, "sample types" },
	};

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		*out_name = tables[i].name;
		if (tables[i].field == field)
			return tables[i].max;
	}
	return UINT32_MAX;
}

static int collect(struct reader *rd, const struct wire_field *f)
{
	struct proto_parts *parts = &rd->parts[f->number];
	const char *name;
	uint32_t max = limit_of(rd, f->number, &name);

	/* The only message that is not repeated. */
	if (f->number == PPROF_PERIOD_TYPE && parts->len)
		return 0;
	if (parts->len >= max)
		return err_set(rd->at.err, -EFBIG, "profile has more than %u %s", max, name);
	return proto_read_collect(&rd->at, f, parts);
}

/* Stores a top-level field: a scalar in top, an entry of a table in parts. */
static int split_field(struct reader *rd, const struct wire_field *f, uint32_t *seen)
{
	if (f->number == PPROF_COMMENT)
		return read_comment(rd, f);
	if (f->number >= PPROF_N_FIELDS)
		return 0;
	if (TOP_PARTS & PROTO_BIT(f->number)) {
		return collect(rd, f);
	} else if (TOP_SCALARS & PROTO_BIT(f->number)) {
		/* A repeated scalar means concatenated profiles, which would be mixed up. */
		if (f->number == PPROF_TIME_NANOS && *seen & PROTO_BIT(f->number))
			return proto_read_error(&rd->at, -EBADMSG,
						"data contains more than one profile");
		if (f->type != WIRE_VARINT)
			return proto_read_error(&rd->at, -EBADMSG, "field %u is not a number",
						f->number);
		rd->top.v[f->number] = f->value;
		*seen |= PROTO_BIT(f->number);
	}
	return 0;
}

static int split(struct reader *rd, struct wire w)
{
	struct wire_field f;
	uint32_t seen = 0;
	int r;

	while ((r = wire_next(&w, &f)) > 0) {
		r = split_field(rd, &f, &seen);
		if (r < 0)
			return r;
	}
	return r < 0 ? proto_read_malformed(&rd->at, w) : 0;
}

/* Strings are interned, so two equal strings of the file get one id. */
static int read_strings(struct reader *rd)
{
	const struct proto_parts *parts = &rd->parts[PPROF_STRING_TABLE];

	for (size_t i = 0; i < parts->len; i++) {
		const struct wire *w = &parts->data[i];
		uint32_t id;

		if (i == 0 && wire_len(*w))
			return proto_read_error(&rd->at, -EBADMSG,
						"string table entry 0 is not empty");
		if (profile_add_string(rd->p, (const char *)w->p, wire_len(*w), &id) < 0 ||
		    vec_push(&rd->strings, id) < 0)
			return proto_read_no_memory(&rd->at);
	}
	/* An empty profile may lack even the empty string. */
	if (!rd->strings.len && vec_push(&rd->strings, 0) < 0)
		return proto_read_no_memory(&rd->at);
	return 0;
}

static int read_value_type(struct reader *rd, struct wire w, struct profile_value_type *out)
{
	struct proto_scalars s;
	int r = proto_read_scalars(
		&rd->at, w, PROTO_BIT(PPROF_VALUE_TYPE_TYPE) | PROTO_BIT(PPROF_VALUE_TYPE_UNIT),
		&s);

	if (r == 0)
		r = read_string(rd, s.v[PPROF_VALUE_TYPE_TYPE], &out->type);
	if (r == 0)
		r = read_string(rd, s.v[PPROF_VALUE_TYPE_UNIT], &out->unit);
	return r;
}

static int read_sample_type(struct reader *rd, struct wire w)
{
	struct profile_value_type t = { 0 };
	int r = read_value_type(rd, w, &t);

	if (r < 0)
		return r;
	return proto_read_check(&rd->at,
				profile_add_sample_type(rd->p, profile_string(rd->p, t.type),
							profile_string(rd->p, t.unit)));
}

/* Adds to the ids of a table. 0 means "none" in references, so no entry may have it. */
static int add_id(struct reader *rd, struct id_map *m, uint64_t id, uint32_t value)
{
	if (!id)
		return proto_read_error(&rd->at, -EBADMSG, "id is 0");
	return id_map_add(m, id, value) < 0 ? proto_read_no_memory(&rd->at) : 0;
}

/* Flags are copied from the file; a symbolizer uses has_functions to skip the mapping. */
static int read_mapping(struct reader *rd, struct wire w)
{
	struct profile_mapping m = { 0 };
	struct proto_scalars s;
	uint32_t id;
	int r = proto_read_scalars(&rd->at, w, PROTO_BITS_UP_TO(PPROF_MAPPING_HAS_INLINES), &s);

	if (r == 0)
		r = read_string(rd, s.v[PPROF_MAPPING_FILE], &m.file);
	if (r == 0)
		r = read_string(rd, s.v[PPROF_MAPPING_BUILD_ID], &m.build_id);
	if (r < 0)
		return r;
	m.start = s.v[PPROF_MAPPING_START];
	m.limit = s.v[PPROF_MAPPING_LIMIT];
	m.file_off = s.v[PPROF_MAPPING_OFFSET];
	m.has_functions = s.v[PPROF_MAPPING_HAS_FUNCTIONS];
	m.has_filenames = s.v[PPROF_MAPPING_HAS_FILENAMES];
	m.has_lines = s.v[PPROF_MAPPING_HAS_LINES];
	m.has_inlines = s.v[PPROF_MAPPING_HAS_INLINES];
	r = proto_read_check(&rd->at, profile_add_mapping(rd->p, &m, &id));
	return r < 0 ? r : add_id(rd, &rd->mappings, s.v[PPROF_MAPPING_ID], id);
}

static int read_function(struct reader *rd, struct wire w)
{
	struct profile_function f = { 0 };
	struct proto_scalars s;
	uint32_t id;
	int r = proto_read_scalars(&rd->at, w, PROTO_BITS_UP_TO(PPROF_FUNCTION_START_LINE), &s);

	if (r == 0)
		r = read_string(rd, s.v[PPROF_FUNCTION_NAME], &f.name);
	if (r == 0)
		r = read_string(rd, s.v[PPROF_FUNCTION_SYSTEM_NAME], &f.system_name);
	if (r == 0)
		r = read_string(rd, s.v[PPROF_FUNCTION_FILE], &f.file);
	if (r < 0)
		return r;
	f.start_line = proto_line_number(s.v[PPROF_FUNCTION_START_LINE]);
	r = proto_read_check(&rd->at, profile_add_function(rd->p, &f, &id));
	return r < 0 ? r : add_id(rd, &rd->functions, s.v[PPROF_FUNCTION_ID], id);
}

/* A line must have a function: pprof's own readers refuse profiles without it. */
static int read_line(struct reader *rd, struct wire w)
{
	struct profile_line l = { 0 };
	struct proto_scalars s;
	int r = proto_read_scalars(&rd->at, w, PROTO_BITS_UP_TO(PPROF_LINE_COLUMN), &s);

	if (r < 0)
		return r;
	if (!id_map_find(&rd->functions, s.v[PPROF_LINE_FUNCTION_ID], &l.function))
		return proto_read_error(&rd->at, -EBADMSG, "function %" PRIu64 " does not exist",
					s.v[PPROF_LINE_FUNCTION_ID]);
	if (rd->lines.len == PPROF_MAX_LINES)
		return proto_read_error(&rd->at, -EFBIG, "more than %d lines", PPROF_MAX_LINES);
	l.line = proto_line_number(s.v[PPROF_LINE_LINE]);
	l.column = proto_line_number(s.v[PPROF_LINE_COLUMN]);
	return vec_push(&rd->lines, l) < 0 ? proto_read_no_memory(&rd->at) : 0;
}

static int read_lines(struct reader *rd, struct wire w)
{
	struct wire_field f;

	rd->lines.len = 0;
	/* proto_read_scalars() has checked that the message is well-formed. */
	while (wire_next(&w, &f) > 0) {
		int r;

		if (f.number != PPROF_LOCATION_LINE)
			continue;
		r = f.type == WIRE_LEN
			    ? read_line(rd, f.bytes)
			    : proto_read_error(&rd->at, -EBADMSG, "line is not a message");
		if (r < 0)
			return r;
	}
	return 0;
}

/* Returns the kind that the message of @l has, or else the one that its files suggest. */
static uint8_t read_kind(const struct reader *rd, struct wire w, const struct profile_location *l)
{
	struct wire_field f;
	uint64_t kind = PROFILE_FRAME_UNKNOWN;

	while (wire_next(&w, &f) > 0)
		if (f.number == PPROF_LOCATION_FRAME_KIND && f.type != WIRE_LEN)
			kind = f.value;
	return kind > PROFILE_FRAME_UNKNOWN && kind < PROFILE_FRAME_MAX
		       ? (uint8_t)kind
		       : (uint8_t)frame_kind_guess_location(rd->p, l);
}

/* The id is the file's own; it is forgotten after the samples were read. */
static int read_location(struct reader *rd, struct wire w)
{
	struct profile_location l = { .mapping = PROFILE_NONE };
	struct proto_scalars s;
	uint32_t id;
	int r = proto_read_scalars(&rd->at, w, PROTO_BITS_UP_TO(PPROF_LOCATION_ADDRESS), &s);

	if (r == 0)
		r = read_lines(rd, w);
	if (r < 0)
		return r;
	if (s.v[PPROF_LOCATION_MAPPING_ID] &&
	    !id_map_find(&rd->mappings, s.v[PPROF_LOCATION_MAPPING_ID], &l.mapping))
		return proto_read_error(&rd->at, -EBADMSG, "mapping %" PRIu64 " does not exist",
					s.v[PPROF_LOCATION_MAPPING_ID]);
	l.address = s.v[PPROF_LOCATION_ADDRESS];
	l.n_lines = (uint32_t)rd->lines.len;
	l.lines = rd->lines.data;
	l.kind = read_kind(rd, w, &l);
	r = proto_read_check(&rd->at, profile_add_location(rd->p, &l, &id));
	return r < 0 ? r : add_id(rd, &rd->locations, s.v[PPROF_LOCATION_ID], id);
}

/*
 * A label is text if str is not 0, otherwise a number with an optional unit. 0 is a valid number.
 */
static int read_label(struct reader *rd, const struct wire_field *f)
{
	struct profile_label l = { 0 };
	struct proto_scalars s;
	int r;

	if (f->type != WIRE_LEN)
		return proto_read_error(&rd->at, -EBADMSG, "label is not a message");
	if (rd->labels.len == rd->limits.labels)
		return proto_read_error(&rd->at, -EFBIG, "more than %u labels", rd->limits.labels);
	r = proto_read_scalars(&rd->at, f->bytes, PROTO_BITS_UP_TO(PPROF_LABEL_NUM_UNIT), &s);
	if (r == 0)
		r = read_string(rd, s.v[PPROF_LABEL_KEY], &l.key);
	if (r == 0)
		r = read_string(rd, s.v[PPROF_LABEL_STR], &l.str);
	if (r == 0)
		r = read_string(rd, s.v[PPROF_LABEL_NUM_UNIT], &l.num_unit);
	if (r < 0)
		return r;
	l.num = (int64_t)s.v[PPROF_LABEL_NUM];
	return vec_push(&rd->labels, l) < 0 ? proto_read_no_memory(&rd->at) : 0;
}

/* Locations are leaf first, like those of a profile. */
static int read_stack(struct reader *rd, const struct wire_field *f)
{
	struct wire_nums it = wire_nums(f, WIRE_VARINT);
	uint64_t id;
	uint32_t loc;
	int r;

	while ((r = wire_nums_next(&it, &id)) > 0) {
		if (!id_map_find(&rd->locations, id, &loc))
			return proto_read_error(&rd->at, -EBADMSG,
						"location %" PRIu64 " does not exist", id);
		if (rd->ids.len == rd->limits.depth)
			return proto_read_error(&rd->at, -EFBIG, "more than %u frames",
						rd->limits.depth);
		if (vec_push(&rd->ids, loc) < 0)
			return proto_read_no_memory(&rd->at);
	}
	return r < 0 ? proto_read_error(&rd->at, r, "locations are malformed") : 0;
}

/* More values than types are cut here and refused by read_sample(), which compares the numbers. */
static int read_values(struct reader *rd, const struct wire_field *f)
{
	struct wire_nums it = wire_nums(f, WIRE_VARINT);
	uint64_t v;
	int r;

	while ((r = wire_nums_next(&it, &v)) > 0) {
		if (rd->values.len > PPROF_MAX_TYPES)
			break;
		if (vec_push(&rd->values, (int64_t)v) < 0)
			return proto_read_no_memory(&rd->at);
	}
	return r < 0 ? proto_read_error(&rd->at, r, "values are malformed") : 0;
}

static int read_sample_field(struct reader *rd, const struct wire_field *f)
{
	switch (f->number) {
	case PPROF_SAMPLE_LOCATION_ID:
		return read_stack(rd, f);
	case PPROF_SAMPLE_VALUE:
		return read_values(rd, f);
	case PPROF_SAMPLE_LABEL:
		return read_label(rd, f);
	default:
		return 0;
	}
}

/* ids, values and labels are scratch memory, which each sample uses again. */
static int read_sample(struct reader *rd, struct wire w)
{
	struct profile_sample s = { 0 };
	struct wire_field f;
	int r;

	rd->ids.len = rd->values.len = rd->labels.len = 0;
	while ((r = wire_next(&w, &f)) > 0) {
		r = read_sample_field(rd, &f);
		if (r < 0)
			return r;
	}
	if (r < 0)
		return proto_read_malformed(&rd->at, w);
	if (rd->values.len != profile_n_sample_types(rd->p) || !rd->values.len)
		return proto_read_error(&rd->at, -EBADMSG, "%zu values for %zu sample types",
					rd->values.len, profile_n_sample_types(rd->p));
	r = proto_read_check(&rd->at,
			     profile_add_stack(rd->p, rd->ids.data, rd->ids.len, &s.stack));
	if (r < 0)
		return r;
	s.n_labels = (uint32_t)rd->labels.len;
	s.labels = rd->labels.data;
	s.values = rd->values.data;
	r = proto_read_check(&rd->at, profile_add_sample(rd->p, &s));
	return r < 0 ? r : codec_account(&rd->account, &rd->limits, rd->p, rd->at.err);
}

/* Reads the entries of one table; errors name the entry by its index in the file. */
static int read_table(struct reader *rd, enum pprof_field field, const char *what,
		      int (*read)(struct reader *, struct wire), struct id_map *ids)
{
	uint64_t duplicate;

	rd->at.what = what;
	for (rd->at.nth = 0; rd->at.nth < rd->parts[field].len; rd->at.nth++) {
		int r = read(rd, rd->parts[field].data[rd->at.nth]);

		if (r < 0)
			return r;
	}
	if (ids && !id_map_build(ids, &duplicate))
		return err_set(rd->at.err, -EBADMSG, "two %ss have the id %" PRIu64, what,
			       duplicate);
	return 0;
}

static int read_meta(struct reader *rd)
{
	const struct proto_parts *period_type = &rd->parts[PPROF_PERIOD_TYPE];
	struct profile_meta *m = profile_meta(rd->p);
	int r = 0;

	rd->at.what = NULL;
	m->time_ns = (int64_t)rd->top.v[PPROF_TIME_NANOS];
	m->duration_ns = (int64_t)rd->top.v[PPROF_DURATION_NANOS];
	m->period = (int64_t)rd->top.v[PPROF_PERIOD];
	if (period_type->len)
		r = read_value_type(rd, period_type->data[0], &m->period_type);
	if (r == 0)
		r = read_string(rd, rd->top.v[PPROF_DROP_FRAMES], &m->drop_frames);
	if (r == 0)
		r = read_string(rd, rd->top.v[PPROF_KEEP_FRAMES], &m->keep_frames);
	if (r == 0)
		r = read_string(rd, rd->top.v[PPROF_DOC_URL], &m->doc_url);
	if (r == 0)
		r = read_string(rd, rd->top.v[PPROF_DEFAULT_SAMPLE_TYPE], &m->default_sample_type);
	for (size_t i = 0; r == 0 && i < rd->comments.len; i++) {
		uint32_t id = 0;

		r = read_string(rd, rd->comments.data[i], &id);
		if (r == 0)
			r = proto_read_check(&rd->at,
					     profile_add_comment(rd->p, profile_string(rd->p, id)));
	}
	return r;
}

static size_t at_most(size_t n, size_t max)
{
	return n < max ? n : max;
}

/*
 * The number of entries is exact, so interning never has to rehash while it reads. It is limited to
 * @max, because a message may consist of empty entries, which take two bytes each.
 */
static int reserve(struct reader *rd, size_t max)
{
	const struct profile_counts counts = {
		.strings = at_most(rd->parts[PPROF_STRING_TABLE].len, max),
		.functions = at_most(rd->parts[PPROF_FUNCTION].len, max),
		.locations = at_most(rd->parts[PPROF_LOCATION].len, max),
		.samples = at_most(rd->parts[PPROF_SAMPLE].len, max),
	};

	if (profile_reserve(rd->p, &counts) < 0 ||
	    vec_reserve(&rd->strings, counts.strings + 1) < 0)
		return proto_read_no_memory(&rd->at);
	return 0;
}

/* The order is that of references: each table refers only to those above it. */
static int read_message(struct reader *rd, struct wire w)
{
	int r = split(rd, w);

	if (r == 0)
		r = reserve(rd, wire_len(w) / TYPICAL_BYTES);
	if (r == 0)
		r = read_strings(rd);
	if (r == 0)
		r = read_table(rd, PPROF_SAMPLE_TYPE, "sample type", read_sample_type, NULL);
	if (r == 0)
		r = read_table(rd, PPROF_MAPPING, "mapping", read_mapping, &rd->mappings);
	if (r == 0)
		r = read_table(rd, PPROF_FUNCTION, "function", read_function, &rd->functions);
	if (r == 0)
		r = read_table(rd, PPROF_LOCATION, "location", read_location, &rd->locations);
	if (r == 0)
		r = read_table(rd, PPROF_SAMPLE, "sample", read_sample, NULL);
	return r < 0 ? r : read_meta(rd);
}

int pprof_read(struct profile **out, const void *data, size_t len,
	       const struct codec_limits *limits, struct err *err)
{
	_cleanup_(reader_fini) struct reader rd = {
		.limits = limits ? *limits : codec_limits_default(),
		.at.err = err,
	};
	_cleanup_(buf_fini) struct buf raw = { 0 };
	int r;

	if (gzip_is(data, len)) {
		r = gzip_read_claiming(data, len, rd.limits.bytes, &raw, rd.limits.claim,
				       rd.limits.claim_ctx, err);
		if (r < 0)
			return r;
		data = raw.data;
		len = raw.len;
	}
	if (len > rd.limits.bytes)
		return err_set(err, -EFBIG, "profile exceeds the limit of %zu bytes",
			       rd.limits.bytes);
	r = profile_new(&rd.p);
	if (r < 0)
		return proto_read_no_memory(&rd.at);
	rd.at.begin = data;
	r = read_message(&rd, wire_of(data, len));
	if (r < 0)
		return r;
	*out = steal_ptr(&rd.p);
	return 0;
}
