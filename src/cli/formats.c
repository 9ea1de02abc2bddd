/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/formats.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "codec/folded_write.h"
#include "codec/html.h"
#include "codec/page_json.h"
#include "codec/pprof_write.h"

static int write_folded(const struct profile *p, struct buf *out, struct err *err)
{
	return folded_write(p, &(struct folded_options){ .comm = true }, out, err);
}

static int write_html(const struct profile *p, struct buf *out, struct err *err)
{
	const struct page_options opt = { .title = "cameo record", .root_label = "comm" };
	_cleanup_(buf_fini) struct buf json = { 0 };
	int r = page_json_write(p, &opt, &json, err);

	return r < 0 ? r : html_page_write(json.data, json.len, opt.title, out, err);
}

static const struct format formats[] = {
	{ ".pb.gz", "pprof", pprof_write_gz },
	{ ".folded", "folded", write_folded },
	{ ".html", "html", write_html },
};

enum { N_FORMATS = sizeof(formats) / sizeof(formats[0]) };

static const char *known_suffixes(void)
{
	return ".pb.gz, .folded, .html";
}

const struct format *format_by_suffix(const char *path, struct err *err)
{
	size_t len = strlen(path);

	for (int i = 0; i < N_FORMATS; i++) {
		size_t n = strlen(formats[i].suffix);

		if (len > n && !strcmp(path + len - n, formats[i].suffix))
			return &formats[i];
	}
	err_set(err, -EINVAL, "unknown format of %.120s: its name must end in one of %s", path,
		known_suffixes());
	return NULL;
}

const struct format *format_by_name(const char *name, struct err *err)
{
	for (int i = 0; i < N_FORMATS; i++)
		if (!strcmp(name, formats[i].name))
			return &formats[i];
	err_set(err, -EINVAL, "unknown format %.60s: pprof, folded or html", name);
	return NULL;
}
