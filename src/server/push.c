/* SPDX-License-Identifier: Apache-2.0 */
/*
 * push.v1.PusherService: pprof profiles with the labels of their series.
 *
 * A profile of a push has its own id and its own time; labels belong to all samples of a series.
 * Profiles that can never be stored are refused and the others stored, which is answered as
 * Pyroscope does: invalid_argument, which clients do not repeat, with the series in the message.
 * After any other error nothing was stored, while Pyroscope may store a part of a batch and answer
 * 429.
 */
#include <errno.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "codec/pprof/pprof.h"
#include "net/http_server.h"
#include "server/api.h"
#include "server/connect.h"
#include "server/ingest.h"
#include "server/message.h"
#include "server/query_request.h"
#include "server/rpc.h"
#include "server/server_options.h"

/* The decoded messages. */
struct pushed_sample {
	struct message_bytes raw;
	const char *id;
};

struct pushed_series {
	struct message_list labels, samples;
};

struct pushed {
	struct message_list series;
};

static const struct message_field label_fields[] = {
	{ 1, "name", MESSAGE_STRING, offsetof(struct store_label, name), NULL, NULL },
	{ 2, "value", MESSAGE_STRING, offsetof(struct store_label, value), NULL, NULL },
};
static const struct message label_message = { label_fields, 2, sizeof(struct store_label), false };

static const struct message_field sample_fields[] = {
	{ 1, "rawProfile", MESSAGE_BYTES, offsetof(struct pushed_sample, raw), NULL, NULL },
	{ 2, "ID", MESSAGE_STRING, offsetof(struct pushed_sample, id), NULL, NULL },
};
static const struct message sample_message = { sample_fields, 2, sizeof(struct pushed_sample),
					       false };

static const struct message_field series_fields[] = {
	{ 1, "labels", MESSAGE_LIST, offsetof(struct pushed_series, labels), &label_message, NULL },
	{ 2, "samples", MESSAGE_LIST, offsetof(struct pushed_series, samples), &sample_message,
	  NULL },
};
static const struct message series_message = { series_fields, 2, sizeof(struct pushed_series),
					       false };

static const struct message_field push_fields[] = {
	{ 1, "series", MESSAGE_LIST, offsetof(struct pushed, series), &series_message, NULL },
};
static const struct message push_message = { push_fields, 1, sizeof(struct pushed), false };

/* __name__ is the only label that must exist. Labels need no order. */
static int read_labels(const struct message_list *from, struct ingest_labels *out, struct err *err)
{
	const struct store_label *l = (const void *)from->data;
	int r = 0;

	*out = (struct ingest_labels){ 0 };
	for (size_t i = 0; r == 0 && i < from->len; i++)
		r = ingest_label(out, l[i].name, l[i].value, err);
	if (r == 0 && (!out->name || !out->name[0]))
		r = err_set(err, -EINVAL, "series has no label \"__name__\"");
	if (r == 0)
		ingest_labels_finish(out, NULL);
	return r;
}

/*
 * rawProfile may be gzip-compressed or not. Pyroscope answers 500 for one that cannot be read; here
 * it is 400, since a retry cannot succeed.
 */
static int read_sample(struct ingest *in, const struct ingest_labels *labels,
		       const struct pushed_sample *s, const struct codec_limits *max,
		       struct err *err)
{
	struct profile *p = NULL;
	int r;

	if (!s->raw.len)
		return err_set(err, -EINVAL, "rawProfile is empty");
	r = pprof_read(&p, s->raw.data, s->raw.len, max, err);
	return r < 0 ? r : ingest_profile(in, labels, s->id, p, err);
}

/* Labels that are invalid refuse all profiles of the series @nth. */
static int read_series(struct ingest *in, const struct pushed_series *s, size_t nth,
		       const struct codec_limits *max, struct err *out)
{
	const struct pushed_sample *samples = (const void *)s->samples.data;
	struct err of_labels = { 0 };
	struct ingest_labels labels;
	int wrong = read_labels(&s->labels, &labels, &of_labels), r = 0;

	for (size_t i = 0; r == 0 && i < s->samples.len; i++) {
		struct err err = of_labels, where = { 0 };

		r = wrong < 0 ? wrong : read_sample(in, &labels, &samples[i], max, &err);
		if (r == 0)
			continue;
		err_set(&where, r, "series %zu: %s", nth, err.msg);
		r = ingest_refuse(in, r, &where);
		if (r < 0 && err.msg[0])
			err_set(out, r, "%s", where.msg);
	}
	return r;
}

static int read_push(struct rpc *rpc, struct ingest *in, struct message_memory *memory)
{
	const struct codec_limits max = ingest_limits(rpc);
	struct pushed pushed = { 0 };
	const struct pushed_series *series;
	int r = message_read(&push_message, rpc->json, rpc->body, rpc->len, memory, &pushed,
			     rpc->err);

	series = (const void *)pushed.series.data;
	if (r == 0 && !pushed.series.len)
		return err_set(rpc->err, -EINVAL, "request has no series");
	for (size_t i = 0; r == 0 && i < pushed.series.len; i++)
		r = read_series(in, &series[i], i, &max, rpc->err);
	return r;
}

/* The response is an empty message: 0 bytes or {}. */
static int push(struct rpc *rpc)
{
	_cleanup_(message_memory_fini) struct message_memory memory = { .claim = rpc->claim,
									.claim_ctx =
										rpc->claim_ctx };
	_cleanup_(ingest_fini) struct ingest in;
	struct response resp;
	int r;

	ingest_init(&in, rpc->opt->max_age_ns);
	in.max_names = rpc->opt->max_names;
	r = read_push(rpc, &in, &memory);
	if (r == 0)
		r = ingest_store(&in, rpc);
	if (r < 0)
		return r;
	if (in.n_refused)
		return err_set(rpc->err, -EINVAL,
			       "%zu of %zu profiles refused, the others stored; %s", in.n_refused,
			       in.n_refused + in.profiles.len, in.why.msg);
	query_report_ignored(&memory, rpc);
	resp = response_to(&rpc->rs->body, rpc->json);
	response_end(&resp, response_begin(&resp, 0, NULL));
	return 0;
}

static const struct api_method methods[] = {
	{ "/push.v1.PusherService/Push", connect_call, push, API_WRITE, API_PUSH,
	  "Store pprof profiles with the labels of their series", NULL, NULL },
};
API_LIST(push_api, methods);
