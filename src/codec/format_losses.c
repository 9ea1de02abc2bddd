/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A conversion loses the features that the profile uses and the format does not have. Frame kinds
 * are special, as readers of some formats derive them from file names: a kind that a reader would
 * guess right is not lost. The result is a set of bits, so one sample with a label is enough to
 * report that labels are lost.
 */
#include "codec/format.h"

#include "base/buf.h"
#include "codec/common/format_codec.h"
#include "codec/common/frame_kind.h"
#include "profile/profile.h"

static unsigned int kind_feature(enum profile_frame_kind kind, const char *binary,
				 const char *source)
{
	if (kind == PROFILE_FRAME_UNKNOWN)
		return 0;
	if (kind == frame_kind_guess("", source))
		return FORMAT_KINDS_BY_SOURCE;
	if (kind == frame_kind_guess(binary, source))
		return FORMAT_KINDS_BY_BINARY;
	return FORMAT_KINDS;
}

/*
 * The source file of the innermost line decides the kind that a reader would guess, as in the
 * readers.
 */
static unsigned int location_features(const struct profile *p, const struct profile_location *l)
{
	const char *binary = "", *source = "";
	unsigned int features = l->n_lines > 1 ? FORMAT_INLINED : 0;

	if (l->mapping != PROFILE_NONE) {
		binary = profile_string(p, profile_mapping(p, l->mapping)->file);
		features |= FORMAT_MAPPINGS;
	}
	for (uint32_t i = 0; i < l->n_lines; i++) {
		const struct profile_function *f = profile_function(p, l->lines[i].function);

		if (f->file || l->lines[i].line)
			features |= FORMAT_LINES;
		if (i == 0)
			source = profile_string(p, f->file);
	}
	return features | kind_feature(l->kind, binary, source);
}

static unsigned int profile_features(const struct profile *p)
{
	const struct profile_meta *m = profile_meta_const(p);
	unsigned int features = profile_n_sample_types(p) > 1 ? FORMAT_TYPES : 0;

	if (m->time_ns || m->duration_ns || m->period)
		features |= FORMAT_META;
	for (uint32_t i = 0; i < profile_n_locations(p); i++) {
		struct profile_location l = profile_location(p, i);

		features |= location_features(p, &l);
	}
	for (uint32_t i = 0; i < profile_n_samples(p); i++) {
		struct profile_sample s = profile_sample(p, i);

		features |= (s.n_labels ? FORMAT_LABELS : 0) | (s.n_times ? FORMAT_TIMES : 0);
	}
	return features;
}

void format_losses(const struct format *f, const struct profile *p, struct buf *out)
{
	static const struct {
		unsigned int features;
		const char *text;
	} parts[] = {
		{ FORMAT_TYPES, "all sample types but one" },
		{ FORMAT_LABELS, "labels" },
		{ FORMAT_TIMES, "timestamps of samples" },
		{ FORMAT_ALL_KINDS, "frame kinds" },
		{ FORMAT_INLINED, "inlining" },
		{ FORMAT_MAPPINGS, "binaries and addresses" },
		{ FORMAT_LINES, "source files and lines" },
		{ FORMAT_META, "period and duration" },
	};
	unsigned int lost = profile_features(p) & ~f->codec->features;
	const char *comma = "";

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (!(lost & parts[i].features))
			continue;
		buf_put_str(out, comma);
		buf_put_str(out, parts[i].text);
		comma = ", ";
	}
}
