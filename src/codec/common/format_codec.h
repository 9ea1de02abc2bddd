/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The interface of a file format. To add one, define a struct format_codec in a folder of its own
 * and add a line to formats.def; detection, file suffixes, --format, --to, --from, help, man pages
 * and completion follow from these two. tests/unit/codec/seam.c adds a toy. All members are
 * constant and all functions may be called from several threads at once. A reader never keeps a
 * pointer into its input, and never reads a file itself; compression is removed before it is
 * called. Sources of formats are cited in the header of each reader.
 */
#include <stddef.h>

#include "codec/common/format_options.h"

struct buf;
struct codec_limits;
struct err;
struct profile;

/*
 * How well data matches a format. The codec with the best match reads it. If several codecs match
 * equally, the first one in formats.def is chosen.
 */
enum format_match {
	FORMAT_MATCH_NONE,
	FORMAT_MATCH_FALLBACK, /* the data is not incompatible */
	FORMAT_MATCH_POSSIBLE, /* the structure fits, but might be a coincidence */
	FORMAT_MATCH_LIKELY,   /* the first record is valid */
	FORMAT_MATCH_CERTAIN,  /* a magic number */
};

/*
 * Properties of profiles that a format can represent; a conversion loses others (format_losses()).
 */
enum format_feature {
	FORMAT_TYPES = 1u << 0, /* more than one sample type */
	FORMAT_LABELS = 1u << 1,
	FORMAT_TIMES = 1u << 2, /* a timestamp of each sample */
	FORMAT_KINDS = 1u << 3, /* any frame kind; the next two only those that can be derived */
	FORMAT_KINDS_BY_BINARY = 1u << 4,
	FORMAT_KINDS_BY_SOURCE = 1u << 5,
	FORMAT_MAPPINGS = 1u << 6,
	FORMAT_LINES = 1u << 7,
	FORMAT_META = 1u << 8, /* start time, duration, period */
	FORMAT_INLINED = 1u << 9,

	FORMAT_ALL_KINDS = FORMAT_KINDS | FORMAT_KINDS_BY_BINARY | FORMAT_KINDS_BY_SOURCE,
	FORMAT_LIKE_PPROF = FORMAT_TYPES | FORMAT_LABELS | FORMAT_ALL_KINDS | FORMAT_MAPPINGS |
			    FORMAT_LINES | FORMAT_META | FORMAT_INLINED,
};

enum { FORMAT_JSON_KEYS_MAX = 4 };

/* A key that stands for a file whose top level is an array. */
#define FORMAT_JSON_ARRAY "[]"

struct format_codec {
	/*
	 * Inspects the beginning of decompressed data, which is not empty and not JSON.
	 * NULL: never matches.
	 */
	enum format_match (*detect)(const void *data, size_t len);

	/* The top-level members by which a JSON format is recognized; the first in a file wins. */
	const char *json_keys[FORMAT_JSON_KEYS_MAX];

	/*
	 * Reads decompressed, untrusted data into a new profile. Returns 0; -EBADMSG with the
	 * place of the defect in @err; -EFBIG beyond @limits; -ENOMEM. NULL: write-only.
	 */
	int (*read)(struct profile **out, const void *data, size_t len,
		    const struct codec_limits *limits, struct err *err);

	/* Appends @p to @out. Returns 0, -EINVAL for a bad @opt, -ENOMEM. NULL: read-only. */
	int (*write)(const struct profile *p, const struct format_options *opt, struct buf *out,
		     struct err *err);

	unsigned int features; /* enum format_feature; 0 if read-only */
};

struct format {
	const char *id, *suffix, *description;
	const struct format_codec *codec;
};
