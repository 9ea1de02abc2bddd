/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows wait in a short list for the one thread that encodes them for every sink; each sink then
 * has its own channel. A caller that finds the list full blocks, but only briefly, because the
 * encoding thread never waits for a back end.
 *
 * A window is encoded once per sink because formats, labels and compression differ. Encoding is the
 * only thing that sinks share, so a slow encoder delays the others' next window but no delivery.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/err.h"
#include "base/thread.h"
#include "export/channel.h"
#include "export/export.h"
#include "export/exporter_role.h"
#include "export/sink.h"
#include "export/spool.h"
#include "export/window.h"
#include "roles/pool.h"

enum { PENDING_MAX = 2, QUEUE_BYTES = 8 << 20, SPOOL_BYTES = 512 << 20 };

static const int64_t MAX_AGE_NS = 86400LL * 1000000000;

struct exporter {
	pthread_mutex_t lock; /* of pending and stop */
	pthread_cond_t changed;
	pthread_t thread;
	bool started, stop;
	struct export_window *pending[PENDING_MAX]; /* oldest first; owned */
	size_t n_pending;
	struct spool *spool;
	struct role_pool *exporters; /* NULL: no sink uses the network */
	struct channel *channels[EXPORT_MAX_SINKS];
	uint32_t spool_sinks[EXPORT_MAX_SINKS]; /* by channel: see spool_name() */
	size_t n_channels;
};

static const char *const drop_labels[] = {
#define X(sym, label) [EXPORT_DROP_##sym] = label,
#include "export/drop_reasons.def"
#undef X
};

const char *export_drop_label(enum export_drop reason)
{
	return drop_labels[reason];
}

static void shift_pending(struct exporter *e)
{
	e->n_pending--;
	memmove(e->pending, e->pending + 1, e->n_pending * sizeof(*e->pending));
}

/* A window that arrives after exporter_stop() counts as dropped for each sink. */
void exporter_put(struct exporter *e, struct export_window *w)
{
	bool stopped;

	pthread_mutex_lock(&e->lock);
	while (e->n_pending == PENDING_MAX && !e->stop)
		pthread_cond_wait(&e->changed, &e->lock);
	stopped = e->stop;
	if (!stopped) {
		e->pending[e->n_pending++] = w;
		pthread_cond_broadcast(&e->changed);
	}
	pthread_mutex_unlock(&e->lock);
	if (!stopped)
		return;
	for (size_t i = 0; i < e->n_channels; i++)
		channel_count_drop(e->channels[i], EXPORT_DROP_STOPPED, w->series.len);
	export_window_free(w);
}

void exporter_report(struct exporter *e, const struct buf *report)
{
	for (size_t i = 0; i < e->n_channels; i++)
		channel_report(e->channels[i], report);
}

/* The encoding thread. After exporter_stop() it encodes the pending windows before it ends. */
static void *run(void *arg)
{
	struct exporter *e = arg;

	pthread_mutex_lock(&e->lock);
	for (;;) {
		struct export_window *w;

		while (!e->n_pending && !e->stop)
			pthread_cond_wait(&e->changed, &e->lock);
		if (!e->n_pending)
			break;
		w = e->pending[0];
		shift_pending(e);
		pthread_cond_broadcast(&e->changed);
		pthread_mutex_unlock(&e->lock);
		for (size_t i = 0; i < e->n_channels; i++)
			channel_put(e->channels[i], w);
		export_window_free(w);
		pthread_mutex_lock(&e->lock);
	}
	pthread_mutex_unlock(&e->lock);
	return NULL;
}

static const struct sink_ops *const kinds[EXPORT_KIND_MAX] = {
#define X(sym, name) [EXPORT_##sym] = &sink_##name,
#include "export/sinks.def"
#undef X
};

/* Formats "otlp grpc://host:4317", without the credentials that a URL may contain. */
static void name_of(const struct sink_ops *ops, const char *url, char out[80])
{
	const char *host = strstr(url, "://"), *at;
	int scheme;

	host = host ? host + 3 : url;
	scheme = (int)(host - url);
	at = memrchr(host, '@', strcspn(host, "/?#"));
	snprintf(out, 80, "%s %.*s%.*s", ops->name, scheme, url,
		 (int)strcspn(at ? at + 1 : host, "?#"), at ? at + 1 : host);
}

/*
 * The number under which items are spooled follows from the destination and the tenant alone.
 * Spooled items are therefore still sent after a timeout or a certificate was changed, but never to
 * another tenant.
 */
static uint32_t spool_name(const char *name, const char *tenant)
{
	char text[256];

	snprintf(text, sizeof(text), "%s %s", name, tenant ? tenant : "");
	return spool_sink(text);
}

/*
 * The exporter that is being replaced may still write to the same directory; the lock file would
 * exclude a second user, so both share one object.
 */
static int open_spool(struct exporter *e, const struct exporter_options *opt, struct err *err)
{
	struct spool *theirs = opt->previous ? opt->previous->spool : NULL;

	if (!opt->spool_dir)
		return 0;
	if (theirs && spool_is_at(theirs, opt->spool_dir)) {
		e->spool = spool_share(theirs);
		return 0;
	}
	return spool_open(&e->spool, opt->spool_dir,
			  opt->spool_bytes ? opt->spool_bytes : SPOOL_BYTES, err);
}

/* Items for a back end that is no longer configured remain until they are evicted. */
static void warn_unconfigured(const struct exporter *e, const struct exporter_options *opt)
{
	char line[200];
	uint64_t n = e->spool ? spool_n_unconfigured(e->spool, e->spool_sinks, e->n_channels) : 0;

	if (!n || !opt->log)
		return;
	snprintf(line, sizeof(line),
		 "spool \"%.100s\": %" PRIu64
		 " spooled requests are for destinations that are no longer configured",
		 opt->spool_dir, n);
	opt->log(opt->log_ctx, line);
}

static const struct sink_ops *ops_of(const struct export_sink_options *so)
{
	return so->ops ? so->ops : kinds[so->kind];
}

static int check_kinds(const struct exporter_options *opt, struct err *err)
{
	for (size_t i = 0; i < opt->n_sinks; i++)
		if ((unsigned int)opt->sinks[i].kind >= EXPORT_KIND_MAX)
			return err_set(err, -EINVAL, "unknown type of destination");
	return 0;
}

/*
 * Creates the pool of exporter processes: one for each sink that uses the network, because each
 * sink sends from one thread.
 */
static int start_exporters(struct exporter *e, const struct exporter_options *opt, struct err *err)
{
	struct role_pool_opts pool = { .memory_bytes = EXPORTER_MEMORY,
				       .max_abandoned = EXPORT_MAX_SINKS,
				       .launcher = opt->launcher };

	for (size_t i = 0; i < opt->n_sinks; i++)
		pool.max_children += ops_of(&opt->sinks[i])->uses_network;
	return pool.max_children ? role_pool_new(&e->exporters, &exporter_role, &pool, err) : 0;
}

static int open_sink(void **out, const struct exporter *e, const struct exporter_options *opt,
		     const struct export_sink_options *so, struct err *err)
{
	struct sink_setup setup = { .exporters = e->exporters };
	struct utsname uts;

	uname(&uts);
	setup.host = opt->host ? opt->host : uts.nodename;
	return ops_of(so)->open(out, so, &setup, err);
}

/* The channel owns the sink from channel_new() on, also if that fails. */
static int add_channel(struct exporter *e, const struct exporter_options *opt,
		       const struct export_sink_options *so, struct err *err)
{
	struct channel_options co = {
		.queue_bytes = opt->queue_bytes ? opt->queue_bytes : QUEUE_BYTES,
		.max_age_ns = (uint64_t)(opt->max_age_ns ? opt->max_age_ns : MAX_AGE_NS),
		.retry_ms = opt->retry_ms,
		.log = opt->log,
		.log_ctx = opt->log_ctx,
	};
	char name[80];
	int r;

	co.ops = ops_of(so);
	if (!so->url || !so->url[0])
		return err_set(err, -EINVAL, "%s: the URL or directory is missing", co.ops->name);
	r = open_sink(&co.sink, e, opt, so, err);
	if (r < 0)
		return r;
	name_of(co.ops, so->url, name);
	co.name = name;
	co.spool = e->spool;
	co.spool_sink = e->spool_sinks[e->n_channels] = spool_name(name, so->tenant);
	r = channel_new(&e->channels[e->n_channels], &co);
	if (r < 0)
		return err_set(err, r, "%s: %s", name, strerror(-r));
	e->n_channels++;
	return 0;
}

static int start(struct exporter *e)
{
	int r = thread_start(&e->thread, run, e);

	e->started = r == 0;
	return r;
}

int exporter_new(struct exporter **out, const struct exporter_options *opt, struct err *err)
{
	_cleanup_(exporter_freep) struct exporter *e = calloc(1, sizeof(*e));
	int r = 0;

	if (!e)
		return -ENOMEM;
	pthread_mutex_init(&e->lock, NULL);
	pthread_cond_init(&e->changed, NULL);
	if (!opt->n_sinks || opt->n_sinks > EXPORT_MAX_SINKS)
		return err_set(err, -EINVAL, "expected 1 to %d destinations for profiles",
			       (int)EXPORT_MAX_SINKS);
	r = check_kinds(opt, err);
	if (r == 0)
		r = open_spool(e, opt, err);
	if (r == 0)
		r = start_exporters(e, opt, err);
	for (size_t i = 0; r == 0 && i < opt->n_sinks; i++)
		r = add_channel(e, opt, &opt->sinks[i], err);
	if (r == 0)
		r = start(e);
	if (r < 0)
		return err_set(err, r, "%s", strerror(-r));
	warn_unconfigured(e, opt);
	*out = steal_ptr(&e);
	return 0;
}

static void read_processes(struct exporter *e, struct exporter_stats *out)
{
	struct role_counters c;

	role_pool_counters(e->exporters, &c);
	out->process_deaths = c.deaths + c.garbage + c.timeouts;
	out->n_pids = role_pool_pids(e->exporters, out->pids, EXPORT_MAX_SINKS);
}

void exporter_stats(struct exporter *e, struct exporter_stats *out)
{
	*out = (struct exporter_stats){ .n_sinks = e->n_channels };
	for (size_t i = 0; i < e->n_channels; i++)
		channel_stats(e->channels[i], &out->sinks[i]);
	if (e->exporters)
		read_processes(e, out);
}

/*
 * The encoding thread ends first, because its windows still go to the channels. These share the
 * deadline, so they finish at the same time.
 */
void exporter_stop(struct exporter *e, uint64_t deadline_ns)
{
	pthread_mutex_lock(&e->lock);
	e->stop = true;
	pthread_cond_broadcast(&e->changed);
	pthread_mutex_unlock(&e->lock);
	if (!e->started)
		return;
	pthread_join(e->thread, NULL);
	e->started = false;
	for (size_t i = 0; i < e->n_channels; i++)
		channel_finish(e->channels[i]);
	for (size_t i = 0; i < e->n_channels; i++)
		channel_join(e->channels[i], deadline_ns);
}

void exporter_free(struct exporter *e)
{
	if (!e)
		return;
	exporter_stop(e, 0);
	for (size_t i = 0; i < e->n_channels; i++)
		channel_free(e->channels[i]);
	role_pool_free(e->exporters);
	spool_close(e->spool);
	while (e->n_pending)
		export_window_free(e->pending[--e->n_pending]);
	pthread_cond_destroy(&e->changed);
	pthread_mutex_destroy(&e->lock);
	free(e);
}
