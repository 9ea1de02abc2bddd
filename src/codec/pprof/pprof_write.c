/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples are written first. Entries get their id in the file when they are first referred to,
 * so the tables that follow contain only what is used. String ids start at 0, which is "", all
 * others at 1, as profile.proto requires.
 *
 * Mappings keep their order, because pprof assumes that the first one is the main program.
 *
 * Order of messages: sample types, samples, mappings, locations, functions, metadata and at last
 * the strings, which are only complete then. Readers accept any order.
 */
#include "codec/pprof/pprof.h"

#include <errno.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/saturate.h"
#include "codec/common/compact_ids.h"
#include "codec/common/format_codec.h"
#include "codec/common/frame_kind.h"
#include "codec/common/gzip.h"
#include "codec/common/text_read.h"
#include "codec/common/wire.h"
#include "codec/pprof/pprof_fields.h"
#include "profile/profile.h"

struct writer {
	const struct profile *p;
	struct buf *out;
	struct compact_ids strings, functions, locations, mappings;
};

static uint32_t string_ref(struct writer *w, uint32_t id)
{
	return id ? compact_ids_get(&w->strings, id) : 0;
}

static uint32_t mapping_ref(const struct writer *w, uint32_t id)
{
	return id == PROFILE_NONE ? 0 : w->mappings.numbers[id];
}

static void put_string_ref(struct writer *w, uint32_t number, uint32_t id)
{
	wire_put_uint(w->out, number, string_ref(w, id));
}

static void put_value_type(struct writer *w, uint32_t number, struct profile_value_type t)
{
	size_t at = wire_begin(w->out, number);

	put_string_ref(w, PPROF_VALUE_TYPE_TYPE, t.type);
	put_string_ref(w, PPROF_VALUE_TYPE_UNIT, t.unit);
	wire_end(w->out, at);
}

/* A text label has no number, even if num is set: a reader would show both. */
static void put_label(struct writer *w, const struct profile_label *l)
{
	size_t at = wire_begin(w->out, PPROF_SAMPLE_LABEL);

	put_string_ref(w, PPROF_LABEL_KEY, l->key);
	if (l->str) {
		put_string_ref(w, PPROF_LABEL_STR, l->str);
	} else {
		wire_put_int(w->out, PPROF_LABEL_NUM, l->num);
		put_string_ref(w, PPROF_LABEL_NUM_UNIT, l->num_unit);
	}
	wire_end(w->out, at);
}

static void put_sample(struct writer *w, const struct profile_sample *s)
{
	size_t depth, at, packed;
	const uint32_t *stack = profile_stack(w->p, s->stack, &depth);

	at = wire_begin(w->out, PPROF_SAMPLE);
	packed = wire_begin(w->out, PPROF_SAMPLE_LOCATION_ID);
	for (size_t k = 0; k < depth; k++)
		wire_put_varint(w->out, compact_ids_get(&w->locations, stack[k]));
	wire_end(w->out, packed);
	packed = wire_begin(w->out, PPROF_SAMPLE_VALUE);
	for (size_t k = 0; k < profile_n_sample_types(w->p); k++)
		wire_put_varint(w->out, (uint64_t)s->values[k]);
	wire_end(w->out, packed);
	for (uint32_t k = 0; k < s->n_labels; k++)
		put_label(w, &s->labels[k]);
	wire_end(w->out, at);
}

static void put_samples(struct writer *w)
{
	for (uint32_t i = 0; i < profile_n_samples(w->p); i++) {
		const struct profile_sample s = profile_sample(w->p, i);

		put_sample(w, &s);
	}
}

/* Writes one sample per stack with the sums of its values; stacks with only zeros are omitted. */
static int put_stacks(struct writer *w)
{
	size_t n_types = profile_n_sample_types(w->p), n = profile_n_stacks(w->p);
	_cleanup_(freep) int64_t *sums = calloc(n * n_types + 1, sizeof(*sums));

	if (!sums)
		return -ENOMEM;
	for (uint32_t i = 0; i < profile_n_samples(w->p); i++) {
		const struct profile_sample s = profile_sample(w->p, i);

		for (size_t k = 0; k < n_types; k++)
			sums[s.stack * n_types + k] =
				saturating_add(sums[s.stack * n_types + k], s.values[k]);
	}
	for (uint32_t stack = 0; stack < n; stack++) {
		const struct profile_sample s = { .stack = stack,
						  .values = &sums[stack * n_types] };
		bool counted = false;

		for (size_t k = 0; k < n_types; k++)
			counted |= s.values[k] != 0;
		if (counted)
			put_sample(w, &s);
	}
	return 0;
}

/* Numbers the mappings that written locations refer to, in the order of the profile. */
static void number_mappings(struct writer *w)
{
	for (size_t i = 0; i < w->locations.ids.len; i++) {
		uint32_t m = profile_location(w->p, w->locations.ids.data[i]).mapping;

		if (m != PROFILE_NONE)
			w->mappings.numbers[m] = 1;
	}
	for (uint32_t m = 0; m < profile_n_mappings(w->p); m++) {
		if (w->mappings.numbers[m]) {
			w->mappings.numbers[m] = 0;
			compact_ids_get(&w->mappings, m);
		}
	}
}

static void put_mapping(struct writer *w, uint32_t id)
{
	const struct profile_mapping *m = profile_mapping(w->p, id);
	size_t at = wire_begin(w->out, PPROF_MAPPING);

	wire_put_uint(w->out, PPROF_MAPPING_ID, w->mappings.numbers[id]);
	wire_put_uint(w->out, PPROF_MAPPING_START, m->start);
	wire_put_uint(w->out, PPROF_MAPPING_LIMIT, m->limit);
	wire_put_uint(w->out, PPROF_MAPPING_OFFSET, m->file_off);
	put_string_ref(w, PPROF_MAPPING_FILE, m->file);
	put_string_ref(w, PPROF_MAPPING_BUILD_ID, m->build_id);
	wire_put_bool(w->out, PPROF_MAPPING_HAS_FUNCTIONS, m->has_functions);
	wire_put_bool(w->out, PPROF_MAPPING_HAS_FILENAMES, m->has_filenames);
	wire_put_bool(w->out, PPROF_MAPPING_HAS_LINES, m->has_lines);
	wire_put_bool(w->out, PPROF_MAPPING_HAS_INLINES, m->has_inlines);
	wire_end(w->out, at);
}

static void put_line(struct writer *w, const struct profile_line *l)
{
	size_t at = wire_begin(w->out, PPROF_LOCATION_LINE);

	wire_put_uint(w->out, PPROF_LINE_FUNCTION_ID, compact_ids_get(&w->functions, l->function));
	wire_put_uint(w->out, PPROF_LINE_LINE, l->line);
	wire_put_uint(w->out, PPROF_LINE_COLUMN, l->column);
	wire_end(w->out, at);
}

static void put_location(struct writer *w, uint32_t id)
{
	struct profile_location l = profile_location(w->p, id);
	size_t at = wire_begin(w->out, PPROF_LOCATION);

	wire_put_uint(w->out, PPROF_LOCATION_ID, w->locations.numbers[id]);
	wire_put_uint(w->out, PPROF_LOCATION_MAPPING_ID, mapping_ref(w, l.mapping));
	wire_put_uint(w->out, PPROF_LOCATION_ADDRESS, l.address);
	for (uint32_t i = 0; i < l.n_lines; i++)
		put_line(w, &l.lines[i]);
	if (l.kind != frame_kind_guess_location(w->p, &l))
		wire_put_uint(w->out, PPROF_LOCATION_FRAME_KIND, l.kind);
	wire_end(w->out, at);
}

/* pprof compares and demangles the system name, so a function without one gets its name there. */
static void put_function(struct writer *w, uint32_t id)
{
	const struct profile_function *f = profile_function(w->p, id);
	size_t at = wire_begin(w->out, PPROF_FUNCTION);

	wire_put_uint(w->out, PPROF_FUNCTION_ID, w->functions.numbers[id]);
	put_string_ref(w, PPROF_FUNCTION_NAME, f->name);
	put_string_ref(w, PPROF_FUNCTION_SYSTEM_NAME, f->system_name ? f->system_name : f->name);
	put_string_ref(w, PPROF_FUNCTION_FILE, f->file);
	wire_put_uint(w->out, PPROF_FUNCTION_START_LINE, f->start_line);
	wire_end(w->out, at);
}

static void put_comments(struct writer *w)
{
	size_t at, n = profile_n_comments(w->p);

	if (!n)
		return;
	at = wire_begin(w->out, PPROF_COMMENT);
	for (size_t i = 0; i < n; i++)
		wire_put_varint(w->out, string_ref(w, profile_comment(w->p, i)));
	wire_end(w->out, at);
}

static void put_meta(struct writer *w)
{
	const struct profile_meta *m = profile_meta_const(w->p);

	put_string_ref(w, PPROF_DROP_FRAMES, m->drop_frames);
	put_string_ref(w, PPROF_KEEP_FRAMES, m->keep_frames);
	wire_put_int(w->out, PPROF_TIME_NANOS, m->time_ns);
	wire_put_int(w->out, PPROF_DURATION_NANOS, m->duration_ns);
	if (m->period_type.type || m->period_type.unit)
		put_value_type(w, PPROF_PERIOD_TYPE, m->period_type);
	wire_put_int(w->out, PPROF_PERIOD, m->period);
	put_comments(w);
	put_string_ref(w, PPROF_DEFAULT_SAMPLE_TYPE, m->default_sample_type);
	put_string_ref(w, PPROF_DOC_URL, m->doc_url);
}

/* `go tool pprof` prints strings unmodified, so control characters must not get into them. */
static void put_strings(struct writer *w)
{
	wire_put_bytes(w->out, PPROF_STRING_TABLE, "", 0);
	for (size_t i = 0; i < w->strings.ids.len; i++) {
		uint32_t id = w->strings.ids.data[i];

		wire_put_line(w->out, PPROF_STRING_TABLE, profile_string(w->p, id),
			      profile_string_len(w->p, id));
	}
}

static int put_profile(struct writer *w, const struct pprof_write_options *opt)
{
	int r = 0;

	for (size_t i = 0; i < profile_n_sample_types(w->p); i++)
		put_value_type(w, PPROF_SAMPLE_TYPE, profile_sample_type(w->p, i));
	if (opt->no_labels)
		r = put_stacks(w);
	else
		put_samples(w);
	number_mappings(w);
	for (size_t i = 0; i < w->mappings.ids.len; i++)
		put_mapping(w, w->mappings.ids.data[i]);
	for (size_t i = 0; i < w->locations.ids.len; i++)
		put_location(w, w->locations.ids.data[i]);
	for (size_t i = 0; i < w->functions.ids.len; i++)
		put_function(w, w->functions.ids.data[i]);
	put_meta(w);
	put_strings(w);
	return r;
}

static void writer_fini(struct writer *w)
{
	compact_ids_fini(&w->strings);
	compact_ids_fini(&w->functions);
	compact_ids_fini(&w->locations);
	compact_ids_fini(&w->mappings);
}

int pprof_write_with(const struct profile *p, const struct pprof_write_options *opt,
		     struct buf *out, struct err *err)
{
	_cleanup_(writer_fini) struct writer w = { .p = p, .out = out };

	if (compact_ids_init(&w.strings, profile_n_strings(p)) < 0 ||
	    compact_ids_init(&w.functions, profile_n_functions(p)) < 0 ||
	    compact_ids_init(&w.locations, profile_n_locations(p)) < 0 ||
	    compact_ids_init(&w.mappings, profile_n_mappings(p)) < 0)
		return err_set(err, -ENOMEM, "out of memory while writing the profile");
	if (put_profile(&w, opt) < 0 || w.strings.error || w.functions.error || w.locations.error ||
	    w.mappings.error || buf_error(out))
		return err_set(err, -ENOMEM, "out of memory while writing the profile");
	return 0;
}

int pprof_write(const struct profile *p, struct buf *out, struct err *err)
{
	return pprof_write_with(p, &(struct pprof_write_options){ 0 }, out, err);
}

int pprof_write_gz(const struct profile *p, struct buf *out, struct err *err)
{
	_cleanup_(buf_fini) struct buf raw = { 0 };
	int r = pprof_write(p, &raw, err);

	return r < 0 ? r : gzip_write(raw.data, raw.len, GZIP_DEFAULT, out, err);
}

/* pprof has no magic number: any data that is not text may be a message of protobuf. */
static enum format_match detect(const void *data, size_t len)
{
	return text_is_printable(data, len) ? FORMAT_MATCH_NONE : FORMAT_MATCH_FALLBACK;
}

static int write_gz(const struct profile *p, const struct format_options *opt, struct buf *out,
		    struct err *err)
{
	(void)opt;
	return pprof_write_gz(p, out, err);
}

static int write_raw(const struct profile *p, const struct format_options *opt, struct buf *out,
		     struct err *err)
{
	(void)opt;
	return pprof_write(p, out, err);
}

const struct format_codec pprof_gz_codec = {
	.detect = detect,
	.read = pprof_read,
	.write = write_gz,
	.features = FORMAT_LIKE_PPROF,
};

/*
 * Compressed and plain data are both read by the codec above; this one exists for its name and
 * suffix.
 */
const struct format_codec pprof_codec = {
	.read = pprof_read,
	.write = write_raw,
	.features = FORMAT_LIKE_PPROF,
};
