/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends ExportProfilesServiceRequests over gRPC or HTTP. The profiles of many processes share a
 * request and its dictionary. A request stays well below the 4 MiB that gRPC servers accept by
 * default; a larger profile is split.
 *
 * gRPC is used in its simplest form, a unary call over HTTP/2. otlp_judge.h decides what a response
 * means for the request, in the exporter's process.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "codec/common/gzip.h"
#include "codec/otlp/otlp_labels.h"
#include "codec/otlp/otlp_write.h"
#include "export/otlp_judge.h"
#include "export/otlp_resource.h"
#include "export/post.h"
#include "export/sink.h"
#include "export/window.h"
#include "profile/profile.h"

#define SERVICE   "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
#define HTTP_PATH "/v1development/profiles"

enum {
	REQUEST_BYTES = 1 << 20, /* a new request starts at this size */
	PROFILE_BYTES = 2 << 20, /* a profile is split at this size */
	DEFAULT_GRPC_PORT = 4317,
};

struct otlp {
	struct post *post;
	char *host;
	bool grpc, gzip;
};

static void otlp_free(void *sink)
{
	struct otlp *s = sink;

	if (!s)
		return;
	post_free(s->post);
	free(s->host);
	free(s);
}

/* Parses grpc[s]://HOST[:PORT] and http[s]://HOST[:PORT][/PATH]. */
static int target_of(const char *url, bool *out_grpc, char **out, struct err *err)
{
	const char *rest = strstr(url, "://"), *path, *at, *port;
	size_t scheme = rest ? (size_t)(rest - url) : 0;
	bool tls, grpc;
	int n;

	grpc = scheme >= 4 && !strncmp(url, "grpc", 4);
	tls = scheme && url[scheme - 1] == 's';
	if (scheme != 4u + tls || (!grpc && strncmp(url, "http", 4) != 0) || !rest[3])
		return err_set(
			err, -EINVAL,
			"OTLP URL \"%.100s\": expected grpc://, grpcs://, http:// or https://",
			url);
	rest += 3;
	path = rest + strcspn(rest, "/?#");
	at = memchr(rest, '@', (size_t)(path - rest));
	port = memrchr(at ? at : rest, ':', (size_t)(path - (at ? at : rest)));
	if (port && memchr(port, ']', (size_t)(path - port)))
		port = NULL; /* the colon is part of an IPv6 address */
	if (grpc && *path && strcmp(path, "/") != 0)
		return err_set(err, -EINVAL, "OTLP URL \"%.100s\": a gRPC URL cannot have a path",
			       url);
	if (grpc && !port)
		n = asprintf(out, "http%s://%.*s:%d" SERVICE, tls ? "s" : "", (int)(path - rest),
			     rest, DEFAULT_GRPC_PORT);
	else
		n = asprintf(out, "http%s://%.*s%s", tls ? "s" : "", (int)(path - rest), rest,
			     grpc                              ? SERVICE
			     : *path && strcmp(path, "/") != 0 ? path
							       : HTTP_PATH);
	if (n < 0)
		*out = NULL;
	*out_grpc = grpc;
	return *out ? 0 : -ENOMEM;
}

/*
 * The header about compression is the last one of each list, so that it is omitted by reducing the
 * count.
 */
static int open_post(struct otlp *s, const struct export_sink_options *opt,
		     const struct sink_setup *setup, const char *url, struct err *err)
{
	static const char *const grpc[] = { "Content-Type: application/grpc", "TE: trailers",
					    POST_USER_AGENT, "grpc-accept-encoding: identity",
					    "grpc-encoding: gzip" };
	static const char *const http[] = { "Content-Type: application/x-protobuf", POST_USER_AGENT,
					    "Content-Encoding: gzip" };
	struct post_options po = { .sink = opt,
				   .pool = setup->exporters,
				   .judge = s->grpc ? POST_OTLP_GRPC : POST_OTLP_HTTP,
				   .url = url,
				   .http2_only = s->grpc };

	po.headers = s->grpc ? grpc : http;
	po.n_headers = (s->grpc ? 5u : 3u) - !s->gzip; /* the last header is about compression */
	return post_new(&s->post, &po, err);
}

static int otlp_open(void **out, const struct export_sink_options *opt,
		     const struct sink_setup *setup, struct err *err)
{
	_cleanup_(freep) char *url = NULL;
	struct otlp *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->gzip = !opt->no_gzip;
	s->host = strdup(setup->host);
	r = s->host ? target_of(opt->url, &s->grpc, &url, err) : -ENOMEM;
	if (r == 0)
		r = open_post(s, opt, setup, url, err);
	if (r < 0) {
		otlp_free(s);
		return r;
	}
	*out = s;
	return 0;
}

/* A request being assembled. */
struct encoding {
	const struct otlp *sink;
	struct otlp_request *q; /* or NULL */
	uint32_t n_profiles;
	sink_emit_fn emit;
	void *ctx;
};

/*
 * Reserves the five bytes in front of a gRPC message (flag, length in big endian); the length is
 * set when the message is complete.
 */
static void put_frame_header(struct buf *b, bool compressed)
{
	static const uint8_t room[OTLP_FRAME_HEADER - 1];

	buf_put_byte(b, compressed);
	buf_put(b, room, sizeof(room));
}

static void set_frame_length(struct buf *b)
{
	size_t len = b->len - OTLP_FRAME_HEADER;

	for (int i = 0; !buf_error(b) && i < 4; i++)
		b->data[1 + i] = (uint8_t)(len >> (24 - 8 * i));
}

/* Encodes, compresses and emits the request; afterwards the encoding has none. */
static int flush(struct encoding *e)
{
	_cleanup_(buf_fini) struct buf raw = { 0 }, body = { 0 };
	int r;

	if (!e->n_profiles)
		return 0;
	r = otlp_request_write(e->q, &raw);
	if (e->sink->grpc)
		put_frame_header(&body, e->sink->gzip);
	if (r == 0 && e->sink->gzip)
		r = gzip_write(raw.data, raw.len, GZIP_FAST, &body, NULL);
	else if (r == 0)
		buf_put(&body, raw.data, raw.len);
	if (e->sink->grpc)
		set_frame_length(&body);
	otlp_request_free(e->q);
	e->q = NULL;
	if (r == 0)
		r = buf_error(&body) ? -ENOMEM : e->emit(e->ctx, &body, e->n_profiles);
	e->n_profiles = 0;
	return r;
}

/*
 * A profile that is split gets a different id for each piece, because a receiver may drop profiles
 * whose id it has seen.
 */
static int add_series(struct encoding *e, const struct export_series *s)
{
	struct otlp_attribute resource[OTLP_RESOURCE_MAX];
	uint8_t id[sizeof(s->id)];
	const struct otlp_options opt = {
		.resource = resource,
		.n_resource = otlp_resource(s, e->sink->host, resource),
		.labels = otlp_thread_labels,
		.n_labels = otlp_n_thread_labels,
		.scope_name = "cameo",
		.scope_version = CAMEO_VERSION,
		.profile_id = id,
		.first_type_only = true,
	};
	uint32_t n = profile_n_samples(s->profile), at = 0;
	int r = 0;

	memcpy(id, s->id, sizeof(id));
	while (r == 0 && at < n) {
		if (!e->q)
			r = otlp_request_new(&e->q);
		if (r == 0)
			r = otlp_request_add(e->q, s->profile, &opt, PROFILE_BYTES, &at);
		if (r < 0)
			break;
		e->n_profiles += (uint32_t)r;
		r = 0;
		id[0]++; /* the id of the next piece, if any */
		if (at < n || otlp_request_bytes(e->q) >= REQUEST_BYTES)
			r = flush(e);
	}
	return r;
}

static int otlp_encode(void *sink, const struct export_window *w, sink_emit_fn emit, void *ctx)
{
	struct encoding e = { .sink = sink, .emit = emit, .ctx = ctx };
	int r = 0;

	for (size_t i = 0; r == 0 && i < w->series.len; i++)
		r = add_series(&e, &w->series.data[i]);
	if (r == 0)
		r = flush(&e);
	otlp_request_free(e.q);
	return r;
}

static void otlp_send(void *sink, const struct export_item *item, struct sink_outcome *out)
{
	struct otlp *s = sink;

	(void)post_send(s->post, &item->body, item->n_profiles, out);
}

static void otlp_cancel(void *sink)
{
	struct otlp *s = sink;

	post_cancel(s->post);
}

const struct sink_ops sink_otlp = {
	.name = "otlp",
	.uses_network = true,
	.open = otlp_open,
	.encode = otlp_encode,
	.send = otlp_send,
	.cancel = otlp_cancel,
	.free = otlp_free,
};
