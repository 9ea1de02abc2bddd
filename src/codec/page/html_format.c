/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "base/cleanup.h"
#include "codec/common/format_codec.h"
#include "codec/page/html.h"
#include "codec/page/page_json.h"

static int write_page(const struct profile *p, const struct format_options *opt, struct buf *out,
		      struct err *err)
{
	_cleanup_(buf_fini) struct buf json = { 0 };
	int r = page_json_write(p, opt, &json, err);

	return r < 0 ? r : html_page_write(json.data, json.len, opt->title, out, err);
}

const struct format_codec html_codec = {
	.write = write_page,
	.features = FORMAT_ALL_KINDS | FORMAT_MAPPINGS | FORMAT_LINES | FORMAT_TIMES | FORMAT_META |
		    FORMAT_INLINED,
};
