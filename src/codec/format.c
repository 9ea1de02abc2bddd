/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of formats, built from formats.def, and the choice among them. A JSON file is
 * recognized by the first top-level member that some format claims, other data by how well each
 * codec matches it. Compressed data is decompressed first. JSON formats are distinguished by their
 * top-level members, which differ; looking for the first known member reads no more of the file
 * than the members before it.
 */
#include "codec/format.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/json_read.h"
#include "codec/common/format_codec.h"
#include "codec/common/gzip.h"
#include "codec/common/json_profile.h"
#include "codec/common/limits.h"

/* Tests build this file with a table of their own. */
#ifndef FORMATS_DEF
#define FORMATS_DEF "codec/formats.def"
#endif

#define FORMAT_READ_WRITE(codec, id, suffix, description)                                          \
	extern const struct format_codec codec##_codec;
#define FORMAT_READ(...)  FORMAT_READ_WRITE(__VA_ARGS__)
#define FORMAT_WRITE(...) FORMAT_READ_WRITE(__VA_ARGS__)
#include FORMATS_DEF
#undef FORMAT_READ_WRITE

#define FORMAT_READ_WRITE(codec, id, suffix, description)                                          \
	{ id, suffix, description, &codec##_codec },
static const struct format formats[] = {
#include FORMATS_DEF
};
#undef FORMAT_READ
#undef FORMAT_WRITE
#undef FORMAT_READ_WRITE

enum { N_FORMATS = sizeof(formats) / sizeof(formats[0]) };

/* Each list starts with one separator too many. */
#define SEPARATOR ", "

#define FORMAT_READ_WRITE(codec, id, suffix, description) SEPARATOR id
#define FORMAT_READ(codec, id, suffix, description)       SEPARATOR id
#define FORMAT_WRITE(codec, id, suffix, description)
static const char readable_ids[] =
#include FORMATS_DEF
	;
#undef FORMAT_READ
#undef FORMAT_WRITE
#define FORMAT_READ(codec, id, suffix, description)
#define FORMAT_WRITE(codec, id, suffix, description) SEPARATOR id
static const char writable_ids[] =
#include FORMATS_DEF
	;
#undef FORMAT_READ_WRITE
#undef FORMAT_WRITE
#define FORMAT_READ_WRITE(codec, id, suffix, description) SEPARATOR suffix
#define FORMAT_WRITE(codec, id, suffix, description)      SEPARATOR suffix
static const char writable_suffixes[] =
#include FORMATS_DEF
	;
#undef FORMAT_READ_WRITE
#undef FORMAT_READ
#undef FORMAT_WRITE

static const char *list(const char *with_separator)
{
	return with_separator + strlen(SEPARATOR);
}

const char *format_suffixes(void)
{
	return list(writable_suffixes);
}

const char *format_readable_ids(void)
{
	return list(readable_ids);
}

const char *format_writable_ids(void)
{
	return list(writable_ids);
}

const struct format *format_get(size_t i)
{
	return i < N_FORMATS ? &formats[i] : NULL;
}

/* The longest suffix wins: ".otlp.pb" over ".pb". */
const struct format *format_by_name(const char *file_name)
{
	size_t len = strlen(file_name), longest = 0;
	const struct format *best = NULL;

	for (size_t i = 0; i < N_FORMATS; i++) {
		size_t n = strlen(formats[i].suffix);

		if (!formats[i].codec->write || n <= longest || n > len ||
		    strcmp(file_name + len - n, formats[i].suffix) != 0)
			continue;
		best = &formats[i];
		longest = n;
	}
	return best;
}

const struct format *format_by_id(const char *id)
{
	for (size_t i = 0; i < N_FORMATS; i++)
		if (!strcmp(id, formats[i].id))
			return &formats[i];
	return NULL;
}

const char *format_id(const struct format *f)
{
	return f->id;
}

const char *format_suffix(const struct format *f)
{
	return f->suffix;
}

const char *format_description(const struct format *f)
{
	return f->description;
}

bool format_can_read(const struct format *f)
{
	return f->codec->read;
}

bool format_can_write(const struct format *f)
{
	return f->codec->write;
}

bool format_has_times(const struct format *f)
{
	return f->codec->features & FORMAT_TIMES;
}

int format_write(const struct format *f, const struct profile *p, const struct format_options *opt,
		 struct buf *out, struct err *err)
{
	struct format_options o = { 0 };
	int r;

	if (opt)
		o = *opt;
	if (!o.max_bytes)
		o.max_bytes = FORMAT_OUTPUT_MAX;
	out->max = out->len + o.max_bytes;
	r = f->codec->write(p, &o, out, err);
	out->max = 0;
	if (r != -EFBIG && buf_error(out) != -EFBIG)
		return r;
	if (err)
		*err = (struct err){ 0 };
	return err_set(err, -EFBIG, "the profile as %s exceeds the limit of %zu bytes", f->id,
		       o.max_bytes);
}

static const struct format_codec *codec_by_json_key(const char *key)
{
	for (size_t i = 0; i < N_FORMATS; i++) {
		const struct format_codec *c = formats[i].codec;

		for (size_t k = 0; k < FORMAT_JSON_KEYS_MAX && c->json_keys[k]; k++)
			if (!strcmp(c->json_keys[k], key))
				return c;
	}
	return NULL;
}

/* 0 and the codec; -EBADMSG. */
static int detect_json(const struct format_codec **out, const uint8_t *data, size_t len,
		       struct err *err)
{
	_cleanup_(json_read_fini) struct json_read j = { 0 };
	int r;

	json_read_init(&j, data, len);
	if (json_read_peek(&j) == '[') {
		*out = codec_by_json_key(FORMAT_JSON_ARRAY);
		return *out ? 0 : -EBADMSG;
	}
	r = json_read_open(&j, '{');
	while (r == 0 && (r = json_read_key(&j)) > 0) {
		*out = codec_by_json_key((const char *)j.text.data);
		if (*out)
			return 0;
		r = json_read_skip(&j);
	}
	if (r == 0)
		return err_set(err, -EBADMSG,
			       "not a profile in a known format: its JSON has none of the members "
			       "that identify one; use --from to name the format");
	return err_set(err, r, "byte %zu: malformed JSON", json_read_at(&j));
}

/*
 * Data that looks like JSON is never offered to other codecs: a brace is also the start of a
 * plausible protobuf message, which pprof would claim as its fallback.
 */
static int detect(const struct format_codec **out, const void *data, size_t len, struct err *err)
{
	enum format_match best = FORMAT_MATCH_NONE;

	if (json_profile_is_json(data, len))
		return detect_json(out, data, len, err);
	for (size_t i = 0; i < N_FORMATS; i++) {
		const struct format_codec *c = formats[i].codec;
		enum format_match match = c->detect ? c->detect(data, len) : FORMAT_MATCH_NONE;

		if (match > best) {
			best = match;
			*out = c;
		}
	}
	return best ? 0
		    : err_set(err, -EBADMSG,
			      "not a profile in a known format; use --from to name the format");
}

/* Nothing identifies data of a fallback, so its reader's reason alone would mislead. */
static int read_fallback(const struct format_codec *codec, struct profile **out, const void *data,
			 size_t len, const struct codec_limits *limits, struct err *err)
{
	struct err why = { 0 };
	int r = codec->read(out, data, len, limits, &why);

	if (r == -EBADMSG)
		return err_set(err, r,
			       "not a profile in a known format (read as pprof: %.80s); use --from "
			       "to name the format",
			       why.msg);
	return r < 0 ? err_set(err, r, "%s", why.msg[0] ? why.msg : strerror(-r)) : r;
}

/* @codec NULL: detect it. */
static int read_with(const struct format_codec *codec, struct profile **out, const void *data,
		     size_t len, const struct codec_limits *limits, struct err *err)
{
	struct codec_limits max = limits ? *limits : codec_limits_default();
	_cleanup_(buf_fini) struct buf raw = { 0 };
	int r = 0;

	if (gzip_is(data, len)) {
		r = gzip_read(data, len, max.bytes, &raw, err);
		if (r < 0)
			return r;
		data = raw.data;
		len = raw.len;
	}
	if (!len)
		return err_set(err, -EBADMSG, "the file is empty");
	if (codec)
		return codec->read(out, data, len, &max, err);
	r = detect(&codec, data, len, err);
	if (r < 0)
		return r;
	if (codec->detect && codec->detect(data, len) == FORMAT_MATCH_FALLBACK)
		return read_fallback(codec, out, data, len, &max, err);
	return codec->read(out, data, len, &max, err);
}

int format_read(struct profile **out, const void *data, size_t len,
		const struct codec_limits *limits, struct err *err)
{
	return read_with(NULL, out, data, len, limits, err);
}

int format_read_as(const struct format *f, struct profile **out, const void *data, size_t len,
		   const struct codec_limits *limits, struct err *err)
{
	return read_with(f->codec, out, data, len, limits, err);
}
