/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a file holds is told by its beginning: JSON by its brace, folded stacks
 * by a first line of text that ends in a number, and of the two protobuf
 * messages pprof's has top-level fields (its strings are one) that OTLP's has
 * not. A gzip file is looked into first.
 */
#include "codec/format.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "codec/folded_read.h"
#include "codec/folded_write.h"
#include "codec/gzip.h"
#include "codec/html.h"
#include "codec/limits.h"
#include "codec/otlp_fields.h"
#include "codec/otlp_read.h"
#include "codec/otlp_write.h"
#include "codec/page_json.h"
#include "codec/pprof_read.h"
#include "codec/pprof_write.h"
#include "codec/speedscope_read.h"
#include "codec/speedscope_write.h"
#include "codec/wire.h"

struct format {
	const char *suffix;
	int (*write)(const struct profile *p, const struct format_options *opt, struct buf *out,
		     struct err *err);
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
		.comm = opt->root_label && !strcmp(opt->root_label, "comm"),
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
	(void)opt;
	return otlp_write(p, NULL, out, err);
}

static int write_speedscope(const struct profile *p, const struct format_options *opt,
			    struct buf *out, struct err *err)
{
	return speedscope_write(p, opt->title, out, err);
}

/* The longer suffix first where one ends in another. */
static const struct format formats[] = {
	{ ".pb.gz", write_pprof_gz }, { ".otlp.pb", write_otlp },
	{ ".pb", write_pprof },       { ".folded", write_folded },
	{ ".html", write_html },      { ".speedscope.json", write_speedscope },
};

const char *format_suffixes(void)
{
	return ".pb.gz, .pb, .folded, .html, .speedscope.json, .otlp.pb";
}

const struct format *format_by_name(const char *file_name)
{
	size_t len = strlen(file_name);

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		size_t n = strlen(formats[i].suffix);

		if (len >= n && !strcmp(file_name + len - n, formats[i].suffix))
			return &formats[i];
	}
	return NULL;
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

typedef int (*read_fn)(struct profile **out, const void *data, size_t len,
		       const struct codec_limits *limits, struct err *err);

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

/* pprof's first byte is a newline, too: only space before a brace is not enough. */
static bool is_json(const uint8_t *data, size_t len)
{
	size_t i = 0;

	while (i < len && data[i] && strchr(" \t\r\n", data[i]))
		i++;
	return i < len && data[i] == '{' && (i == 0 || (len - i > 1 && data[i + 1] == '"'));
}

static read_fn reader_of(const uint8_t *data, size_t len)
{
	if (is_json(data, len))
		return speedscope_read;
	if (is_folded(data, len))
		return folded_read;
	return is_otlp(data, len) ? otlp_read : pprof_read;
}

int format_read(struct profile **out, const void *data, size_t len,
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
	return reader_of(data, len)(out, data, len, &max, err);
}
