/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a file holds is told by its beginning: JSON by its brace (and which, by its
 * members), gperftools' and Austin's by theirs, `perf script` by the first sample's line, folded
 * stacks by a first line of text that ends in a number, and of the two protobuf messages pprof's
 * has top-level fields (its strings are one) that OTLP's has not. A gzip file is looked into first.
 */
#include "codec/format.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/json_read.h"
#include "codec/austin_read.h"
#include "codec/chrome_read.h"
#include "codec/chrome_write.h"
#include "codec/cpuprofile_read.h"
#include "codec/firefox_read.h"
#include "codec/firefox_write.h"
#include "codec/folded_read.h"
#include "codec/folded_write.h"
#include "codec/frame_kind.h"
#include "codec/gperftools_read.h"
#include "codec/gzip.h"
#include "codec/html.h"
#include "codec/limits.h"
#include "codec/otlp_fields.h"
#include "codec/otlp_json.h"
#include "codec/otlp_labels.h"
#include "codec/otlp_read.h"
#include "codec/otlp_write.h"
#include "codec/page_json.h"
#include "codec/perfscript_read.h"
#include "codec/pprof_read.h"
#include "codec/pprof_write.h"
#include "codec/speedscope_read.h"
#include "codec/speedscope_write.h"
#include "codec/svg_write.h"
#include "codec/wire.h"
#include "profile/profile.h"

typedef int (*read_fn)(struct profile **out, const void *data, size_t len,
		       const struct codec_limits *limits, struct err *err);
typedef int (*write_fn)(const struct profile *p, const struct format_options *opt, struct buf *out,
			struct err *err);

/* What a format has a place for. */
enum holds {
	HOLDS_TYPES = 1u << 0,
	HOLDS_LABELS = 1u << 1,
	HOLDS_TIMES = 1u << 2,
	HOLDS_KINDS = 1u << 3,
	HOLDS_BINARY_KINDS = 1u << 4, /* those that follow from the names of binaries */
	HOLDS_SOURCE_KINDS = 1u << 5, /* and of source files */
	HOLDS_MAPPINGS = 1u << 6,
	HOLDS_LINES = 1u << 7,
	HOLDS_META = 1u << 8,
	HOLDS_INLINED = 1u << 9, /* which frames are */

	HOLDS_ANY_KINDS = HOLDS_KINDS | HOLDS_BINARY_KINDS | HOLDS_SOURCE_KINDS,
	HOLDS_PPROF = HOLDS_TYPES | HOLDS_LABELS | HOLDS_BINARY_KINDS | HOLDS_SOURCE_KINDS |
		      HOLDS_MAPPINGS | HOLDS_LINES | HOLDS_META | HOLDS_INLINED,
};

struct format {
	const char *suffix;
	const char *id;
	write_fn write; /* NULL: it can only be read */
	read_fn read;   /* NULL: it can only be written */
	unsigned int holds;
};

static int write_pprof_gz(const struct profile *p, const struct format_options *opt,
			  struct buf *out, struct err *err)
{
	(void)opt;
	return pprof_write_gz(p, out, err);
}

static int write_pprof(const struct profile *p, const struct format_options *opt, struct buf *out,
		       struct err *err)
{
	(void)opt;
	return pprof_write(p, out, err);
}

static int write_folded(const struct profile *p, const struct format_options *opt, struct buf *out,
			struct err *err)
{
	const struct folded_options folded = {
		.root_label = opt->root_label,
		.value_num = opt->value_num,
	};

	return folded_write(p, &folded, out, err);
}

static int write_html(const struct profile *p, const struct format_options *opt, struct buf *out,
		      struct err *err)
{
	const struct page_options page = {
		.title = opt->title,
		.value_num = opt->value_num,
		.root_label = opt->root_label,
	};
	_cleanup_(buf_fini) struct buf json = { 0 };
	int r = page_json_write(p, &page, &json, err);

	return r < 0 ? r : html_page_write(json.data, json.len, opt->title, out, err);
}

static int write_otlp(const struct profile *p, const struct format_options *opt, struct buf *out,
		      struct err *err)
{
	const struct otlp_options otlp = { .labels = otlp_labels, .n_labels = otlp_n_labels };

	(void)opt;
	return otlp_write(p, &otlp, out, err);
}

static int write_speedscope(const struct profile *p, const struct format_options *opt,
			    struct buf *out, struct err *err)
{
	return speedscope_write(p, opt->title, out, err);
}

static int write_svg(const struct profile *p, const struct format_options *opt, struct buf *out,
		     struct err *err)
{
	const struct svg_options svg = { opt->title, opt->value_num, opt->root_label };

	return svg_write(p, &svg, out, err);
}

static int write_chrome(const struct profile *p, const struct format_options *opt, struct buf *out,
			struct err *err)
{
	return chrome_write(p, opt->value_num, out, err);
}

static int write_firefox(const struct profile *p, const struct format_options *opt, struct buf *out,
			 struct err *err)
{
	return firefox_write(p, opt->value_num, opt->title, out, err);
}

/* The longer suffix first where one ends in another. */
static const struct format formats[] = {
	{ ".pb.gz", "pprof", write_pprof_gz, pprof_read, HOLDS_PPROF },
	{ ".otlp.pb", "otlp", write_otlp, otlp_read, HOLDS_PPROF | HOLDS_ANY_KINDS | HOLDS_TIMES },
	{ ".pb", "pprof-raw", write_pprof, pprof_read, HOLDS_PPROF },
	{ ".folded", "folded", write_folded, folded_read, HOLDS_INLINED },
	{ ".html", "html", write_html, NULL,
	  HOLDS_ANY_KINDS | HOLDS_MAPPINGS | HOLDS_LINES | HOLDS_TIMES | HOLDS_META |
		  HOLDS_INLINED },
	{ ".speedscope.json", "speedscope", write_speedscope, speedscope_read,
	  HOLDS_TYPES | HOLDS_SOURCE_KINDS | HOLDS_LINES },
	{ ".svg", "svg", write_svg, NULL, HOLDS_ANY_KINDS },
	{ ".chrome.json", "chrome", write_chrome, chrome_read,
	  HOLDS_LABELS | HOLDS_ANY_KINDS | HOLDS_LINES },
	{ ".firefox.json", "firefox", write_firefox, firefox_read,
	  HOLDS_LABELS | HOLDS_ANY_KINDS | HOLDS_LINES | HOLDS_TIMES | HOLDS_META },
	{ ".cpuprofile", "cpuprofile", NULL, cpuprofile_read, 0 },
	{ ".perf", "perf", NULL, perfscript_read, 0 },
	{ ".prof", "gperftools", NULL, gperftools_read, 0 },
	{ ".austin", "austin", NULL, austin_read, 0 },
};

enum { N_FORMATS = sizeof(formats) / sizeof(formats[0]) };

const char *format_suffixes(void)
{
	return ".pb.gz, .pb, .folded, .html, .svg, .speedscope.json, .chrome.json, .firefox.json, "
	       ".otlp.pb";
}

const char *format_ids(void)
{
	return "pprof, pprof-raw, folded, html, svg, speedscope, chrome, firefox, otlp, "
	       "cpuprofile, perf, gperftools, austin";
}

const struct format *format_by_name(const char *file_name)
{
	size_t len = strlen(file_name);

	for (size_t i = 0; i < N_FORMATS; i++) {
		size_t n = strlen(formats[i].suffix);

		if (formats[i].write && len >= n && !strcmp(file_name + len - n, formats[i].suffix))
			return &formats[i];
	}
	return NULL;
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

bool format_can_read(const struct format *f)
{
	return f->read;
}

bool format_has_times(const struct format *f)
{
	return f->holds & HOLDS_TIMES;
}

bool format_can_write(const struct format *f)
{
	return f->write;
}

/* What locations have, as flags of what a format must hold. */
static unsigned int location_has(const struct profile *p, const struct profile_location *l)
{
	const char *binary = "", *file = "";
	unsigned int has = l->n_lines > 1 ? HOLDS_INLINED : 0;

	if (l->mapping != PROFILE_NONE) {
		binary = profile_string(p, profile_mapping(p, l->mapping)->file);
		has |= HOLDS_MAPPINGS;
	}
	for (uint32_t i = 0; i < l->n_lines; i++) {
		const struct profile_function *f = profile_function(p, l->lines[i].function);

		if (f->file || l->lines[i].line)
			has |= HOLDS_LINES;
		if (i == 0)
			file = profile_string(p, f->file);
	}
	if (l->kind == PROFILE_FRAME_UNKNOWN)
		return has;
	if (l->kind == frame_kind_guess("", file))
		return has | HOLDS_SOURCE_KINDS;
	if (l->kind == frame_kind_guess(binary, file))
		return has | HOLDS_BINARY_KINDS;
	return has | HOLDS_KINDS;
}

static unsigned int profile_has(const struct profile *p)
{
	const struct profile_meta *m = profile_meta_const(p);
	unsigned int has = profile_n_sample_types(p) > 1 ? HOLDS_TYPES : 0;

	if (m->time_ns || m->duration_ns || m->period)
		has |= HOLDS_META;
	for (uint32_t i = 0; i < profile_n_locations(p); i++) {
		struct profile_location l = profile_location(p, i);

		has |= location_has(p, &l);
	}
	for (uint32_t i = 0; i < profile_n_samples(p); i++) {
		struct profile_sample s = profile_sample(p, i);

		has |= (s.n_labels ? HOLDS_LABELS : 0) | (s.n_times ? HOLDS_TIMES : 0);
	}
	return has;
}

void format_losses(const struct format *f, const struct profile *p, struct buf *out)
{
	static const struct {
		unsigned int flags;
		const char *text;
	} parts[] = {
		{ HOLDS_TYPES, "all sample types but one" },
		{ HOLDS_LABELS, "labels" },
		{ HOLDS_TIMES, "the times of samples" },
		{ HOLDS_ANY_KINDS, "the kinds of frames" },
		{ HOLDS_INLINED, "which frames are inlined" },
		{ HOLDS_MAPPINGS, "binaries and addresses" },
		{ HOLDS_LINES, "source files and lines" },
		{ HOLDS_META, "period and duration" },
	};
	unsigned int lost = profile_has(p) & ~f->holds;
	const char *comma = "";

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (!(lost & parts[i].flags))
			continue;
		buf_put_str(out, comma);
		buf_put_str(out, parts[i].text);
		comma = ", ";
	}
}

int format_write(const struct format *f, const struct profile *p, const struct format_options *opt,
		 struct buf *out, struct err *err)
{
	static const struct format_options none;

	return f->write(p, opt ? opt : &none, out, err);
}

/* Does the first line look like `frame;frame 17`? */
static bool is_folded(const uint8_t *data, size_t len)
{
	const uint8_t *nl = memchr(data, '\n', len);
	size_t n = nl ? (size_t)(nl - data) : len;

	if (n && data[n - 1] == '\r')
		n--;
	for (size_t i = 0; i < n; i++)
		if (data[i] < ' ' && data[i] != '\t')
			return false;
	return n >= 3 && data[n - 1] >= '0' && data[n - 1] <= '9' && memrchr(data, ' ', n);
}

/* A request has resource profiles and a dictionary, and nothing else at its top. */
static bool is_otlp(const uint8_t *data, size_t len)
{
	struct wire w = wire_of(data, len);
	struct wire_field f;
	int r;

	while ((r = wire_next(&w, &f)) > 0)
		if (f.type != WIRE_LEN || f.number > OTLP_REQUEST_DICTIONARY)
			return false;
	return r == 0;
}

static size_t skip_space(const uint8_t *data, size_t len, size_t i)
{
	while (i < len && data[i] && strchr(" \t\r\n", data[i]))
		i++;
	return i;
}

/*
 * pprof's first byte is a newline, too: only space before a brace is not enough. A folded
 * stack may begin with a bracket ("[unknown]"): what follows it tells.
 */
static bool is_json(const uint8_t *data, size_t len)
{
	size_t i = skip_space(data, len, 0), inner;

	if (i == len)
		return false;
	if (data[i] == '{')
		return i == 0 || (len - i > 1 && data[i + 1] == '"');
	inner = skip_space(data, len, i + 1);
	return data[i] == '[' && inner < len && (data[inner] == '{' || data[inner] == ']');
}

static int read_otlp_json(struct profile **out, const void *data, size_t len,
			  const struct codec_limits *limits, struct err *err)
{
	_cleanup_(buf_fini) struct buf proto = { 0 };
	int r = otlp_json_read(data, len, &proto, err);

	return r < 0 ? r : otlp_read(out, proto.data, proto.len, limits, err);
}

/* Which format's members the object has; an array is a trace of Chrome's. */
static read_fn json_reader_of(const uint8_t *data, size_t len)
{
	static const struct {
		const char *key;
		read_fn read;
	} keys[] = {
		{ "traceEvents", chrome_read },
		{ "nodes", cpuprofile_read },
		{ "threads", firefox_read },
		{ "profiles", speedscope_read },
		{ "resourceProfiles", read_otlp_json },
		{ "resource_profiles", read_otlp_json },
		{ "dictionary", read_otlp_json },
	};
	_cleanup_(json_read_fini) struct json_read j = { 0 };

	json_read_init(&j, data, len);
	if (json_read_peek(&j) == '[')
		return chrome_read;
	if (json_read_open(&j, '{') < 0)
		return speedscope_read;
	while (json_read_key(&j) > 0) {
		for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
			if (!strcmp((const char *)j.text.data, keys[i].key))
				return keys[i].read;
		if (json_read_skip(&j) < 0)
			break;
	}
	return speedscope_read;
}

static bool is_text(const uint8_t *data, size_t len)
{
	enum { LOOKED_AT = 512 };
	bool printable = false;

	for (size_t i = 0; i < len && i < LOOKED_AT; i++) {
		if (data[i] == 0x7f || (data[i] < ' ' && !(data[i] >= '\t' && data[i] <= '\r')))
			return false;
		printable |= data[i] > ' ';
	}
	return printable;
}

static int read_unknown(struct profile **out, const void *data, size_t len,
			const struct codec_limits *limits, struct err *err)
{
	return err_set(err, -EBADMSG, "line 1: this is text, but of no profile (--from names one)");
}

static read_fn reader_of(const uint8_t *data, size_t len)
{
	if (is_json(data, len))
		return json_reader_of(data, len);
	if (gperftools_is(data, len))
		return gperftools_read;
	if (austin_is(data, len))
		return austin_read;
	if (perfscript_is(data, len))
		return perfscript_read;
	if (is_folded(data, len))
		return folded_read;
	if (is_text(data, len))
		return read_unknown;
	return is_otlp(data, len) ? otlp_read : pprof_read;
}

/* @read: NULL: by what the data looks like. */
static int read_with(read_fn read, struct profile **out, const void *data, size_t len,
		     const struct codec_limits *limits, struct err *err)
{
	struct codec_limits max = limits ? *limits : codec_limits_default();
	_cleanup_(buf_fini) struct buf raw = { 0 };

	if (gzip_is(data, len)) {
		int r = gzip_read(data, len, max.bytes, &raw, err);

		if (r < 0)
			return r;
		data = raw.data;
		len = raw.len;
	}
	if (!len)
		return err_set(err, -EBADMSG, "it is empty");
	return (read ? read : reader_of(data, len))(out, data, len, &max, err);
}

int format_read(struct profile **out, const void *data, size_t len,
		const struct codec_limits *limits, struct err *err)
{
	return read_with(NULL, out, data, len, limits, err);
}

int format_read_as(const struct format *f, struct profile **out, const void *data, size_t len,
		   const struct codec_limits *limits, struct err *err)
{
	return read_with(f->read, out, data, len, limits, err);
}
