/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends push.v1.PusherService/Push, a unary call of the Connect protocol: series of labels with
 * gzip-compressed pprof profiles. Requests are limited in size, because a server that limits rates
 * may accept a part of a request and then reject all of it.
 *
 * Pyroscope's rate limit applies to each series of a batch (recorded: a push of 12 series over the
 * limit was answered with 429, but some of them were stored), and a push is not idempotent there.
 * Small requests limit how many profiles are counted twice after such a response.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "codec/common/gzip.h"
#include "codec/common/wire.h"
#include "codec/pprof/pprof.h"
#include "export/post.h"
#include "export/sink.h"
#include "export/window.h"

enum {
	PUSH_SERIES = 1,
	SERIES_LABELS = 1,
	SERIES_SAMPLES = 2,
	LABEL_NAME = 1,
	LABEL_VALUE = 2,
	SAMPLE_PROFILE = 1,
	SAMPLE_ID = 2,

	PIECE_BYTES = 256 << 10,
	PIECE_SERIES = 256,
};

struct pyroscope {
	struct post *post;
	struct post *reports; /* for reports of the agent to Cameo servers */
	bool is_cameo;        /* recognized by a header of its responses */
	struct pprof_write_options pprof;
	int level; /* gzip level; 0: uncompressed */
};

static void pyroscope_free(void *sink)
{
	struct pyroscope *s = sink;

	if (!s)
		return;
	post_free(s->post);
	post_free(s->reports);
	free(s);
}

/* Creates the post to a path of the server. @po has its headers. */
static int open_post(struct post **out, struct post_options *po, const char *path, struct err *err)
{
	_cleanup_(freep) char *url = NULL;
	const char *base = po->sink->url;
	size_t len = strlen(base);

	while (len && base[len - 1] == '/')
		len--;
	if (asprintf(&url, "%.*s%s", (int)len, base, path) < 0) {
		url = NULL;
		return -ENOMEM;
	}
	po->url = url;
	return post_new(out, po, err);
}

static int pyroscope_open(void **out, const struct export_sink_options *opt,
			  const struct sink_setup *setup, struct err *err)
{
	static const char *const push[] = { POST_USER_AGENT, "Content-Type: application/proto",
					    "Connect-Protocol-Version: 1" };
	static const char *const json[] = { POST_USER_AGENT, "Content-Type: application/json" };
	struct post_options to_push = { .sink = opt,
					.pool = setup->exporters,
					.judge = POST_PYROSCOPE,
					.headers = push,
					.n_headers = 3 };
	struct post_options to_report = { .sink = opt,
					  .pool = setup->exporters,
					  .judge = POST_IGNORE,
					  .headers = json,
					  .n_headers = 2 };
	struct pyroscope *s;
	int r;

	if (strncmp(opt->url, "http://", 7) != 0 && strncmp(opt->url, "https://", 8) != 0)
		return err_set(err, -EINVAL, "server URL \"%.100s\": expected http:// or https://",
			       opt->url);
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->pprof.no_labels = !opt->sample_labels;
	s->level = opt->no_gzip ? 0 : GZIP_FAST;
	r = open_post(&s->post, &to_push, "/push.v1.PusherService/Push", err);
	if (r == 0)
		r = open_post(&s->reports, &to_report, "/api/v1/agents", err);
	if (r < 0) {
		pyroscope_free(s);
		return r;
	}
	*out = s;
	return 0;
}

static void put_label(struct buf *b, const char *name, const char *value)
{
	size_t at = wire_begin(b, SERIES_LABELS);

	wire_put_text(b, LABEL_NAME, name, strlen(name));
	wire_put_text(b, LABEL_VALUE, value, strlen(value));
	wire_end(b, at);
}

/* The id lets Cameo's server recognize a repeated push; Pyroscope ignores it. */
static int put_profile(const struct pyroscope *p, struct buf *b, const struct export_series *s)
{
	_cleanup_(buf_fini) struct buf raw = { 0 }, packed = { 0 };
	char id[EXPORT_ID_TEXT_LEN];
	const struct buf *bytes = &raw;
	size_t at;
	int r = pprof_write_with(s->profile, &p->pprof, &raw, NULL);

	if (r == 0 && p->level) {
		r = gzip_write(raw.data, raw.len, p->level, &packed, NULL);
		bytes = &packed;
	}
	if (r < 0)
		return r;
	export_id_text(s->id, id);
	at = wire_begin(b, SERIES_SAMPLES);
	wire_put_bytes(b, SAMPLE_PROFILE, bytes->data, bytes->len);
	wire_put_bytes(b, SAMPLE_ID, id, strlen(id));
	wire_end(b, at);
	return 0;
}

/* Empty values are omitted: a missing label matches like an empty one. */
static int put_series(const struct pyroscope *p, struct buf *b, const struct export_series *s)
{
	size_t at = wire_begin(b, PUSH_SERIES);
	int r;

	if (!export_label(s, "__name__"))
		put_label(b, "__name__", "process_cpu");
	for (size_t i = 0; i < s->n_labels; i++)
		if (s->labels[i].value[0])
			put_label(b, s->labels[i].name, s->labels[i].value);
	r = put_profile(p, b, s);
	wire_end(b, at);
	return r < 0 ? r : buf_error(b);
}

/* A piece is emitted when it has PIECE_BYTES or PIECE_SERIES. One profile is never split. */
static int pyroscope_encode(void *sink, const struct export_window *w, sink_emit_fn emit, void *ctx)
{
	const struct pyroscope *s = sink;
	_cleanup_(buf_fini) struct buf b = { 0 };
	uint32_t n = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < w->series.len; i++) {
		r = put_series(s, &b, &w->series.data[i]);
		if (r == 0 && (++n == PIECE_SERIES || b.len >= PIECE_BYTES)) {
			r = emit(ctx, &b, n);
			n = 0;
		}
	}
	return r == 0 && n ? emit(ctx, &b, n) : r;
}

static void pyroscope_send(void *sink, const struct export_item *item, struct sink_outcome *out)
{
	struct pyroscope *s = sink;

	if (post_send(s->post, &item->body, item->n_profiles, out))
		s->is_cameo = out->is_cameo;
}

/* Only Cameo servers accept reports. */
static void pyroscope_report(void *sink, const struct buf *report)
{
	struct pyroscope *s = sink;
	struct sink_outcome ignored = { 0 };

	if (s->is_cameo)
		(void)post_send(s->reports, report, 0, &ignored);
}

static void pyroscope_cancel(void *sink)
{
	struct pyroscope *s = sink;

	post_cancel(s->post);
	post_cancel(s->reports);
}

const struct sink_ops sink_pyroscope = {
	.name = "pyroscope",
	.uses_network = true,
	.open = pyroscope_open,
	.encode = pyroscope_encode,
	.send = pyroscope_send,
	.report = pyroscope_report,
	.cancel = pyroscope_cancel,
	.free = pyroscope_free,
};
