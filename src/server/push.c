/* SPDX-License-Identifier: Apache-2.0 */
/* push.v1: profiles as pprof, with the labels of their series. */
#include <errno.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "codec/pprof_read.h"
#include "net/http_server.h"
#include "server/intake.h"
#include "server/message.h"
#include "server/rpc.h"

/* As the messages have them. */
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
static const struct message label_message = { label_fields, 2, sizeof(struct store_label) };

static const struct message_field sample_fields[] = {
	{ 1, "rawProfile", MESSAGE_BYTES, offsetof(struct pushed_sample, raw), NULL, NULL },
	{ 2, "ID", MESSAGE_STRING, offsetof(struct pushed_sample, id), NULL, NULL },
};
static const struct message sample_message = { sample_fields, 2, sizeof(struct pushed_sample) };

static const struct message_field series_fields[] = {
	{ 1, "labels", MESSAGE_LIST, offsetof(struct pushed_series, labels), &label_message, NULL },
	{ 2, "samples", MESSAGE_LIST, offsetof(struct pushed_series, samples), &sample_message,
	  NULL },
};
static const struct message series_message = { series_fields, 2, sizeof(struct pushed_series) };

static const struct message_field push_fields[] = {
	{ 1, "series", MESSAGE_LIST, offsetof(struct pushed, series), &series_message, NULL },
};
static const struct message push_message = { push_fields, 1, sizeof(struct pushed) };

static int read_labels(const struct message_list *from, struct intake_labels *out, struct err *err)
{
	const struct store_label *l = (const void *)from->data;
	int r = 0;

	*out = (struct intake_labels){ 0 };
	for (size_t i = 0; r == 0 && i < from->len; i++)
		r = intake_label(out, l[i].name, l[i].value, err);
	if (r == 0 && (!out->name || !out->name[0]))
		r = err_set(err, -EINVAL, "a series has no label __name__");
	if (r == 0)
		intake_labels_end(out, NULL);
	return r;
}

static int read_series(struct intake *in, const struct pushed_series *s, struct err *err)
{
	const struct pushed_sample *samples = (const void *)s->samples.data;
	const struct codec_limits max = intake_limits();
	struct intake_labels labels;
	int r = read_labels(&s->labels, &labels, err);

	for (size_t i = 0; r == 0 && i < s->samples.len; i++) {
		struct profile *p = NULL;

		if (!samples[i].raw.len)
			return err_set(err, -EINVAL, "a profile is empty");
		r = pprof_read(&p, samples[i].raw.data, samples[i].raw.len, &max, err);
		if (r == 0)
			r = intake_profile(in, &labels, samples[i].id, p, err);
	}
	return r;
}

static int read_push(struct rpc *rpc, struct intake *in, struct message_memory *memory)
{
	struct pushed pushed = { 0 };
	const struct pushed_series *series;
	int r = message_read(&push_message, rpc->json, rpc->body, rpc->len, memory, &pushed,
			     rpc->err);

	series = (const void *)pushed.series.data;
	if (r == 0 && !pushed.series.len)
		return err_set(rpc->err, -EINVAL, "no profiles");
	for (size_t i = 0; r == 0 && i < pushed.series.len; i++)
		r = read_series(in, &series[i], rpc->err);
	return r;
}

int push_rpc(struct rpc *rpc)
{
	_cleanup_(message_memory_fini) struct message_memory memory = { 0 };
	_cleanup_(intake_fini) struct intake in;
	struct answer a;
	int r;

	intake_init(&in);
	r = read_push(rpc, &in, &memory);
	if (r == 0)
		r = intake_store(&in, rpc);
	if (r < 0)
		return r;
	a = answer_to(&rpc->rs->body, rpc->json);
	answer_end(&a, answer_begin(&a, 0, NULL));
	return 0;
}
