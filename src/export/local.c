/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends to a Cameo server in another process over a socket (net/feed.h), one profile per message.
 * Messages are OTLP requests, which represent frame kinds and timestamps, with unmodified label
 * names. A message that starts with { is a report of the agent.
 *
 * One profile per message keeps the messages small and the server's transactions short. The server
 * replies when the profile is durable, so the channel's queue is also the flow control.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/err.h"
#include "codec/otlp/otlp_write.h"
#include "export/sink.h"
#include "export/window.h"
#include "net/feed.h"

enum { LABELS_MAX = 64 };

struct local {
	int fd; /* borrowed */
};

static int local_open(void **out, const struct export_sink_options *opt,
		      const struct sink_setup *setup, struct err *err)
{
	struct local *s = malloc(sizeof(*s));

	if (!s)
		return -ENOMEM;
	*s = (struct local){ .fd = opt->fd };
	*out = s;
	return 0;
}

static int encode_series(const struct export_series *s, struct buf *out)
{
	struct otlp_attribute attrs[LABELS_MAX];
	struct otlp_options opt = { .resource = attrs,
				    .profile_id = s->id,
				    .first_type_only = true };

	for (size_t i = 0; i < s->n_labels && opt.n_resource < LABELS_MAX; i++)
		attrs[opt.n_resource++] = (struct otlp_attribute){ .key = s->labels[i].name,
								   .str = s->labels[i].value };
	return otlp_write(s->profile, &opt, out, NULL);
}

static int local_encode(void *sink, const struct export_window *w, sink_emit_fn emit, void *ctx)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < w->series.len; i++) {
		_cleanup_(buf_fini) struct buf b = { 0 };

		r = encode_series(&w->series.data[i], &b);
		if (r == 0)
			r = emit(ctx, &b, 1);
	}
	return r;
}

/*
 * Statuses are those of the store and of ingestion: an invalid profile is refused for good, a full
 * disk or lack of memory is retried.
 */
static void local_send(void *sink, const struct export_item *item, struct sink_outcome *out)
{
	const struct local *s = sink;
	struct feed_answer a;
	int r = feed_ask(s->fd, item->body.data, item->body.len, &a);

	if (r == -EMSGSIZE)
		sink_end(out, SINK_NEVER, "profile of %zu bytes exceeds the limit", item->body.len);
	else if (r < 0)
		sink_end(out, SINK_LATER, "server process has ended");
	else if (a.status == -EINVAL || a.status == -EBADMSG || a.status == -EFBIG)
		sink_end(out, SINK_NEVER, "%s", a.text);
	else if (a.status < 0)
		sink_end(out, SINK_LATER, "%s", a.text);
	else
		out->verdict = SINK_DONE;
}

/*
 * The reply is read although it is ignored, because otherwise it would be taken for the reply to
 * the next message.
 */
static void local_report(void *sink, const struct buf *report)
{
	const struct local *s = sink;
	struct feed_answer a;

	(void)feed_ask(s->fd, report->data, report->len, &a);
}

/* Wakes a thread that waits for a reply; afterwards every message fails. */
static void local_cancel(void *sink)
{
	const struct local *s = sink;

	shutdown(s->fd, SHUT_RDWR);
}

const struct sink_ops sink_local = {
	.name = "local",
	.open = local_open,
	.encode = local_encode,
	.send = local_send,
	.report = local_report,
	.cancel = local_cancel,
	.free = free,
};
