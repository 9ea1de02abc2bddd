/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "base/cleanup.h"
#include "codec/common/format_codec.h"
#include "codec/common/json_profile.h"
#include "codec/common/text_read.h"
#include "codec/common/wire.h"
#include "codec/otlp/otlp_fields.h"
#include "codec/otlp/otlp_json.h"
#include "codec/otlp/otlp_labels.h"
#include "codec/otlp/otlp_read.h"
#include "codec/otlp/otlp_write.h"
#include "profile/profile.h"

/*
 * A request has resource profiles and a dictionary at its top level and nothing else. A pprof
 * message always has a string table, which is field 6.
 */
static enum format_match detect(const void *data, size_t len)
{
	struct wire w = wire_of(data, len);
	struct wire_field f;
	int r;

	if (text_is_printable(data, len))
		return FORMAT_MATCH_NONE;
	while ((r = wire_next(&w, &f)) > 0)
		if (f.type != WIRE_LEN || f.number > OTLP_REQUEST_DICTIONARY)
			return FORMAT_MATCH_NONE;
	return r == 0 ? FORMAT_MATCH_POSSIBLE : FORMAT_MATCH_NONE;
}

static int read_either(struct profile **out, const void *data, size_t len,
		       const struct codec_limits *limits, struct err *err)
{
	_cleanup_(buf_fini) struct buf proto = { 0 };
	int r;

	if (!json_profile_is_json(data, len))
		return otlp_read(out, data, len, limits, err);
	r = otlp_json_read(data, len, &proto, err);
	return r < 0 ? r : otlp_read(out, proto.data, proto.len, limits, err);
}

/* Resources are unknown here, so labels of the process stay labels of samples. */
static int write_request(const struct profile *p, const struct format_options *opt, struct buf *out,
			 struct err *err)
{
	const struct otlp_options otlp = { .labels = otlp_labels, .n_labels = otlp_n_labels };

	(void)opt;
	return otlp_write(p, &otlp, out, err);
}

const struct format_codec otlp_codec = {
	.detect = detect,
	.json_keys = { "resourceProfiles", "resource_profiles", "dictionary" },
	.read = read_either,
	.write = write_request,
	.features = FORMAT_LIKE_PPROF | FORMAT_TIMES,
};
