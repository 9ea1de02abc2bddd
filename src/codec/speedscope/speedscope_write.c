/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each line of a location becomes a frame of the file, so inlined calls are frames of their own.
 * Frames are not merged by name: the table has the file and line of each, by which viewers merge.
 *
 * Each sample type repeats all stacks, since a speedscope profile has one list of weights; the file
 * grows with the number of types.
 */
#include "codec/speedscope/speedscope.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/json.h"
#include "codec/common/format_codec.h"
#include "profile/frame_name.h"
#include "profile/profile.h"

struct writer {
	const struct profile *p;
	struct json j;
	uint32_t *first_frame; /* by location: number of its innermost frame */
	struct buf name;
};

static void writer_fini(struct writer *w)
{
	free(w->first_frame);
	buf_fini(&w->name);
}

static void put_frame(struct writer *w, const struct profile_location *l, uint32_t i)
{
	json_object(&w->j);
	json_key(&w->j, "name");
	w->name.len = 0;
	profile_put_frame_name(w->p, l, i, &w->name);
	json_strn(&w->j, (const char *)w->name.data, w->name.len);
	if (i < l->n_lines) {
		const struct profile_function *f = profile_function(w->p, l->lines[i].function);

		if (f->file) {
			json_key(&w->j, "file");
			json_strn(&w->j, profile_string(w->p, f->file),
				  profile_string_len(w->p, f->file));
		}
		if (l->lines[i].line) {
			json_member_uint(&w->j, "line", l->lines[i].line);
		}
		if (l->lines[i].column) {
			json_member_uint(&w->j, "col", l->lines[i].column);
		}
	}
	json_object_end(&w->j);
}

static void put_frames(struct writer *w)
{
	uint32_t next = 0;

	json_member_object(&w->j, "shared");
	json_member_array(&w->j, "frames");
	for (uint32_t id = 0; id < profile_n_locations(w->p); id++) {
		struct profile_location l = profile_location(w->p, id);

		w->first_frame[id] = next;
		next += profile_location_n_frames(&l);
		for (uint32_t i = 0; i < profile_location_n_frames(&l); i++)
			put_frame(w, &l, i);
	}
	json_array_end(&w->j);
	json_object_end(&w->j);
}

/* Stacks are leaf first in the profile and root first in the file. */
static void put_stack(struct writer *w, uint32_t stack)
{
	size_t depth;
	const uint32_t *ids = profile_stack(w->p, stack, &depth);

	json_array(&w->j);
	while (depth-- > 0) {
		struct profile_location l = profile_location(w->p, ids[depth]);

		for (uint32_t i = profile_location_n_frames(&l); i-- > 0;)
			json_uint(&w->j, w->first_frame[ids[depth]] + i);
	}
	json_array_end(&w->j);
}

/* speedscope has units of time and bytes; any other unit is "none". */
static const char *unit_name(const char *unit)
{
	static const char *const known[] = { "nanoseconds", "microseconds", "milliseconds",
					     "seconds", "bytes" };

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(unit, known[i]))
			return unit;
	return "none";
}

/*
 * endValue is the sum of the weights, which viewers use as the width of the picture. It saturates.
 */
static void put_profile(struct writer *w, size_t type)
{
	struct profile_value_type t = profile_sample_type(w->p, type);
	uint32_t n = profile_n_samples(w->p);
	int64_t total = 0;

	json_object(&w->j);
	json_member_str(&w->j, "type", "sampled");
	json_member_str(&w->j, "name", profile_string(w->p, t.type));
	json_member_str(&w->j, "unit", unit_name(profile_string(w->p, t.unit)));
	json_member_array(&w->j, "samples");
	for (uint32_t i = 0; i < n; i++)
		put_stack(w, profile_sample(w->p, i).stack);
	json_array_end(&w->j);
	json_member_array(&w->j, "weights");
	for (uint32_t i = 0; i < n; i++) {
		int64_t v = profile_sample(w->p, i).values[type];

		json_int(&w->j, v);
		if (__builtin_add_overflow(total, v, &total))
			total = v < 0 ? INT64_MIN : INT64_MAX;
	}
	json_array_end(&w->j);
	json_member_uint(&w->j, "startValue", 0);
	json_member_int(&w->j, "endValue", total);
	json_object_end(&w->j);
}

static void put_file(struct writer *w, const char *title)
{
	json_object(&w->j);
	json_member_str(&w->j, "$schema", "https://www.speedscope.app/file-format-schema.json");
	json_member_str(&w->j, "exporter", "cameo");
	json_member_str(&w->j, "name", title ? title : "cameo");
	json_member_uint(&w->j, "activeProfileIndex", 0);
	put_frames(w);
	json_member_array(&w->j, "profiles");
	for (size_t type = 0; type < profile_n_sample_types(w->p); type++)
		put_profile(w, type);
	json_array_end(&w->j);
	json_object_end(&w->j);
}

int speedscope_write(const struct profile *p, const struct format_options *opt, struct buf *out,
		     struct err *err)
{
	_cleanup_(writer_fini) struct writer w = { .p = p, .j = json_to(out) };

	w.first_frame = calloc((size_t)profile_n_locations(p) + 1, sizeof(*w.first_frame));
	if (!w.first_frame)
		return err_set(err, -ENOMEM, "out of memory while writing the profile");
	put_file(&w, opt->title);
	return buf_error(out) || buf_error(&w.name)
		       ? err_set(err, -ENOMEM, "out of memory while writing the profile")
		       : 0;
}

const struct format_codec speedscope_codec = {
	.json_keys = { "profiles" },
	.read = speedscope_read,
	.write = speedscope_write,
	.features = FORMAT_TYPES | FORMAT_KINDS_BY_SOURCE | FORMAT_LINES,
};
