/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles as files: everything that a query chooses, merged, in any format there is. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "codec/format.h"
#include "net/http_server.h"
#include "profile/profile.h"
#include "server/question.h"

/* What is fetched is a file and nothing to be shown, whatever is in it. */
static const struct {
	const char *id, *disposition;
} files[] = {
	{ "pprof", "attachment; filename=\"profile.pb.gz\"" },
	{ "folded", "attachment; filename=\"profile.folded\"" },
	{ "speedscope", "attachment; filename=\"profile.speedscope.json\"" },
	{ "html", "attachment; filename=\"profile.html\"" },
};

static const char *disposition_of(const struct format *f)
{
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (!strcmp(files[i].id, format_id(f)))
			return files[i].disposition;
	return "attachment";
}

static int read_ms(const char *text, int64_t *out)
{
	char *end;

	errno = 0;
	*out = text ? strtoll(text, &end, 10) : 0;
	return !text || errno || *end || !*text ? -EINVAL : 0;
}

static int read_request(struct rpc *rpc, struct request *out)
{
	const char *selector = http_request_arg(rpc->rq, "query");

	*out = (struct request){ .type = http_request_arg(rpc->rq, "type"),
				 .selector = selector ? selector : "{}" };
	if (!out->type)
		return query_bad(rpc, "type is missing");
	if (read_ms(http_request_arg(rpc->rq, "from"), &out->start) < 0 ||
	    read_ms(http_request_arg(rpc->rq, "until"), &out->end) < 0)
		return query_bad(rpc, "from and until are milliseconds since 1970");
	return 0;
}

int download_profile(struct rpc *rpc)
{
	const char *id = http_request_arg(rpc->rq, "format");
	const struct format *f = format_by_id(id ? id : "pprof");
	const struct format_options opt = { .title = http_request_arg(rpc->rq, "query") };
	_cleanup_(query_fini) struct query q = { 0 };
	_cleanup_(profile_freep) struct profile *p = NULL;
	struct request rq = { 0 };
	int r = read_request(rpc, &rq);

	if (r == 0 && (!f || !format_can_write(f)))
		r = err_set(rpc->err, -EINVAL, "format is one of %s", format_ids());
	if (r == 0)
		r = query_values(&q, &rq, rpc);
	if (r == 0)
		r = query_profile(&q, rpc, &p);
	if (r < 0)
		return r;
	rpc->rs->content_type = "application/octet-stream";
	http_response_add(rpc->rs, "Content-Disposition", disposition_of(f));
	http_response_add(rpc->rs, "X-Content-Type-Options", "nosniff");
	return format_write(f, p, &opt, &rpc->rs->body, rpc->err);
}
