/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET /api/v1/profile: the merged profiles of a query as a file, in any writable format. It uses
 * the same codecs as `cameo convert`.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "codec/format.h"
#include "net/http_server.h"
#include "profile/profile.h"
#include "server/api.h"
#include "server/arguments.h"
#include "server/connect.h"
#include "server/query_request.h"

/* Browsers must save the file and never display it, whatever it contains. */
static const struct {
	const char *id, *disposition;
} files[] = {
#define FORMAT_READ_WRITE(codec, id, suffix, description)                                          \
	{ id, "attachment; filename=\"profile" suffix "\"" },
#define FORMAT_READ(...)
#define FORMAT_WRITE(...) FORMAT_READ_WRITE(__VA_ARGS__)
#include "codec/formats.def"
#undef FORMAT_READ_WRITE
#undef FORMAT_READ
#undef FORMAT_WRITE
};

static const char *disposition_of(const struct format *f)
{
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (!strcmp(files[i].id, format_id(f)))
			return files[i].disposition;
	return "attachment";
}

static int read_request(struct rpc *rpc, struct request *out)
{
	const char *selector = arguments_text(rpc, "query");
	int r;

	*out = (struct request){ .type = arguments_text(rpc, "type"),
				 .selector = selector ? selector : "{}" };
	if (!out->type)
		return query_invalid(rpc, "argument \"type\" is missing");
	r = arguments_int(rpc, "from", 1, INT64_MAX, &out->start);
	if (r == 0)
		r = arguments_int(rpc, "until", 1, INT64_MAX, &out->end);
	if (r == 0 && (!out->start || !out->end))
		r = query_invalid(
			rpc, "arguments \"from\" and \"until\" must be milliseconds since 1970");
	return r;
}

/*
 * An error that occurs while the file is written replaces it by an error response, because nothing
 * is sent before the handler returns.
 */
static int download_profile(struct rpc *rpc)
{
	const char *id = arguments_text(rpc, "format");
	const struct format *f = format_by_id(id ? id : "pprof");
	const struct format_options opt = { .title = arguments_text(rpc, "query"),
					    .max_bytes = rpc->rs->body.max };
	_cleanup_(query_fini) struct query q = { 0 };
	_cleanup_(profile_freep) struct profile *p = NULL;
	struct request rq = { 0 };
	int r = read_request(rpc, &rq);

	if (r == 0 && (!f || !format_can_write(f)))
		r = err_set(rpc->err, -EINVAL, "unknown format; use one of %s",
			    format_writable_ids());
	if (r == 0)
		r = query_check_profiles(&q, &rq, rpc);
	if (r == 0)
		r = query_profile(&q, rpc, &p);
	if (r < 0)
		return r;
	rpc->rs->content_type = "application/octet-stream";
	http_response_add(rpc->rs, "Content-Disposition", disposition_of(f));
	return format_write(f, p, &opt, &rpc->rs->body, rpc->err);
}

static const struct api_method methods[] = {
	{ "/api/v1/profile", connect_get, download_profile, API_READ, API_QUERY,
	  "Download merged profiles as a file", NULL, "type query from until format" },
};
API_LIST(download_api, methods);
