/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An interval is a round: the targets are listed, all their profiles are requested at the same
 * time, and each is read and exported when it has arrived. Timed profiles take most of the
 * interval, so they come first in the list of the request.
 */
#include "scrape/scraper.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/thread.h"
#include "export/export.h"
#include "fetch/fetch_message.h"
#include "fetch/fetcher.h"
#include "profile/profile.h"
#include "reader/profile_client.h"
#include "reader/profile_message.h"
#include "reader/reader.h"
#include "roles/pool.h"
#include "scrape/scrape_config.h"
#include "scrape/scrape_kept.h"
#include "scrape/scrape_memory.h"
#include "scrape/scrape_types.h"

_Static_assert((int)SCRAPE_AUTH_MAX < (int)FETCH_BATCHES_MAX, "each has a batch");
_Static_assert(SCRAPE_TARGETS_MAX *SCRAPE_TYPES_AT_ONCE <= FETCH_ALL_MAX, "a round is one request");

enum {
	REQUESTS_MAX = SCRAPE_TARGETS_MAX * SCRAPE_TYPES_AT_ONCE,
	URL_MAX = SCRAPE_URL_MAX + 64,
	READ_MS = 5000, /* of a profile */
	HUNG_MAX = 2,
	GROUPS_MAX = SCRAPE_AUTH_MAX + 1,
};

/* One request of the round. */
struct request {
	size_t target;
	enum scrape_type type;
	char url[URL_MAX];
	struct buf body;
	bool is_too_large;
};

/* Successive requests of the round with the same credentials; they share a process. */
struct group {
	struct scraper *scraper;
	size_t first, n;
	struct scrape_auth *auth; /* NULL: none */
	struct scrape_credentials credentials;
};

/* The state of a target; in the order of the targets. */
struct state {
	char url[SCRAPE_URL_MAX + 1];
	bool has_failed, was_logged;
};

struct scraper {
	struct scraper_opts opts;
	struct role_pool *readers;
	pthread_t thread;
	bool has_thread;
	atomic_bool stop;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct scrape_config *next; /* the configuration to change to; owned */
	struct scraper_stats stats;

	/* of the thread */
	struct scrape_config *config;
	struct scrape_targets targets; /* of this round, with all labels */
	struct request *requests;
	size_t n_requests;
	size_t group_len[GROUPS_MAX]; /* requests by credentials; the last ones have none */
	struct scrape_kept kept;
	uint64_t arriving_bytes, round;
	int64_t begun_ns; /* of the round, by CLOCK_BOOTTIME */
	struct state states[SCRAPE_TARGETS_MAX];
	size_t n_states;
	bool has_bad_file, has_no_pods;
	struct scrape_targets pods; /* of the last list that the kubelet has sent */
};

/* ---- configuration -------------------------------------------------------------------------- */

int scraper_configure(struct scraper *s, const struct scrape_config_opts *from, struct err *err)
{
	struct scrape_config *c = NULL;
	int r = scrape_config_new(&c, from, err);

	if (r < 0)
		return r;
	pthread_mutex_lock(&s->lock);
	scrape_config_free(s->next);
	s->next = c;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	return 0;
}

/* ---- the log -------------------------------------------------------------------------------- */

static void say(struct scraper *s, const char *what, const char *why)
{
	char line[600];

	snprintf(line, sizeof(line), "%.330s: %.239s", what, why);
	s->opts.log(s->opts.ctx, line);
}

/* Logs a failure once, when the target begins to fail. */
static void note_failure(struct scraper *s, const struct request *q, enum scrape_result result,
			 const char *why)
{
	const struct scrape_target *t = &s->targets.data[q->target];
	struct state *state = &s->states[q->target];
	char what[SCRAPE_URL_MAX + 80];

	state->has_failed = true;
	if (state->was_logged)
		return;
	state->was_logged = true;
	snprintf(what, sizeof(what), "cannot scrape %s%.60s: %s", t->instance,
		 scrape_types[q->type].path, scrape_result_text(result));
	say(s, what, why);
}

static void count(struct scraper *s, uint64_t *counter, uint64_t n)
{
	pthread_mutex_lock(&s->lock);
	*counter += n;
	pthread_mutex_unlock(&s->lock);
}

/* ---- the targets of a round ----------------------------------------------------------------- */

/* A file that cannot be read is logged once. */
static void read_file(struct scraper *s)
{
	struct err err = { 0 };
	int r = scrape_config_read_file(s->config, &s->targets, &err);

	if (r < 0 && !s->has_bad_file)
		say(s, s->config->file, err.msg[0] ? err.msg : strerror(-r));
	s->has_bad_file = r < 0;
}

/* While the kubelet does not respond, its last list is used; that is logged once. */
static int read_pods(struct scraper *s)
{
	struct scrape_targets fresh = { 0 };
	struct err err = { 0 };
	int r = scrape_config_read_pods(s->config, &fresh, &err);

	if (r < 0 && !s->has_no_pods)
		say(s, "cannot list the pods to scrape", err.msg[0] ? err.msg : strerror(-r));
	s->has_no_pods = r < 0;
	if (r == 0) {
		scrape_targets_fini(&s->pods);
		s->pods = fresh;
	} else {
		scrape_targets_fini(&fresh);
	}
	return scrape_targets_copy(&s->targets, &s->pods);
}

static const struct state *state_of(const struct scraper *s, const char *url)
{
	for (size_t i = 0; i < s->n_states; i++)
		if (!strcmp(s->states[i].url, url))
			return &s->states[i];
	return NULL;
}

/* Retains the states of targets that are still there. */
static void renew_states(struct scraper *s)
{
	struct state fresh[SCRAPE_TARGETS_MAX] = { 0 };

	for (size_t i = 0; i < s->targets.len; i++) {
		const struct state *old = state_of(s, s->targets.data[i].url);

		snprintf(fresh[i].url, sizeof(fresh[i].url), "%s", s->targets.data[i].url);
		fresh[i].was_logged = old && old->was_logged;
	}
	memcpy(s->states, fresh, sizeof(fresh));
	s->n_states = s->targets.len;
}

static int list_targets(struct scraper *s)
{
	int r;

	scrape_targets_fini(&s->targets);
	r = scrape_targets_copy(&s->targets, &s->config->targets);
	if (r == 0)
		read_file(s);
	if (r == 0)
		r = read_pods(s);
	if (r == 0)
		r = scrape_targets_finish(&s->targets, s->config->rules);
	renew_states(s);
	return r;
}

/* ---- requests ------------------------------------------------------------------------------- */

static void add_request(struct scraper *s, size_t target, enum scrape_type type)
{
	const struct scrape_type_info *info = &scrape_types[type];
	struct request *q = &s->requests[s->n_requests++];

	*q = (struct request){ .target = target, .type = type };
	if (info->is_timed)
		snprintf(q->url, sizeof(q->url), "%s%s?seconds=%u", s->targets.data[target].url,
			 info->path, scrape_config_seconds(s->config));
	else
		snprintf(q->url, sizeof(q->url), "%s%s", s->targets.data[target].url, info->path);
	scrape_kept_use(&s->kept, q->url, s->round);
}

static bool is_wanted(const struct scraper *s, size_t target, int type)
{
	uint32_t offered = s->targets.data[target].types;

	return s->config->types & (offered ? offered : s->config->types) & 1u << type;
}

/* Adds those with the credentials @auth. Returns their number. */
static size_t list_group(struct scraper *s, size_t auth)
{
	const struct scrape_auths *auths = &s->config->auths;
	size_t before = s->n_requests;

	for (int timed = 1; timed >= 0; timed--)
		for (size_t i = 0; i < s->targets.len; i++) {
			if (scrape_auths_find(auths, s->targets.data[i].url) != auth)
				continue;
			for (int type = 0; type < SCRAPE_TYPE_MAX; type++)
				if (is_wanted(s, i, type) && scrape_types[type].is_timed == timed)
					add_request(s, i, (enum scrape_type)type);
		}
	return s->n_requests - before;
}

static void list_requests(struct scraper *s)
{
	s->n_requests = 0;
	for (size_t i = 0; i <= s->config->auths.len; i++)
		s->group_len[i] = list_group(s, i);
}

/* ---- a profile has arrived ------------------------------------------------------------------ */

static void on_body(void *ctx, size_t index, const void *data, size_t len)
{
	const struct group *g = ctx;
	struct scraper *s = g->scraper;
	struct request *q = &s->requests[g->first + index];
	size_t before = q->body.cap;

	if (q->is_too_large)
		return;
	if (s->arriving_bytes + s->kept.bytes + len <= SCRAPE_BODIES_BYTES)
		buf_put(&q->body, data, len);
	else
		q->is_too_large = true;
	if (q->is_too_large || buf_error(&q->body)) {
		q->is_too_large = true;
		buf_fini(&q->body);
	}
	s->arriving_bytes += q->body.cap - before;
}

static void drop_body(struct scraper *s, struct request *q)
{
	s->arriving_bytes -= q->body.cap;
	buf_fini(&q->body);
}

/* The clock of the target is not trusted, but the duration that it measured is, up to ours. */
static void set_times(struct profile *p, int64_t duration_ns, int64_t end_ns)
{
	struct profile_meta *m = profile_meta(p);

	if (m->duration_ns <= 0 || m->duration_ns > duration_ns)
		m->duration_ns = duration_ns;
	m->time_ns = end_ns - m->duration_ns;
}

/* Takes ownership of @p. */
static int export_profile(struct scraper *s, const struct request *q, struct profile *p,
			  int64_t duration_ns, int64_t end_ns)
{
	const struct metadata_labels *from = &s->targets.data[q->target].labels;
	struct export_label labels[LABELS_MAX + 1];
	struct export_window *w;
	size_t n = 0;
	int r;

	set_times(p, duration_ns, end_ns);
	for (; n < from->n; n++)
		labels[n] = (struct export_label){ from->of[n].name, from->of[n].value };
	labels[n++] = (struct export_label){ "__name__", scrape_types[q->type].name };
	r = export_window_new(&w, profile_meta(p)->time_ns, end_ns);
	if (r < 0) {
		profile_free(p);
		return r;
	}
	r = export_window_add(w, p, labels, n);
	if (r < 0) {
		export_window_free(w);
		return r;
	}
	s->opts.export(s->opts.ctx, w);
	count(s, &s->stats.n_profiles, 1);
	return 0;
}

/*
 * Exports the profile of each sample type. A profile without samples is exported too, because it
 * shows that nothing happened.
 */
static int export_types(struct scraper *s, const struct request *q, struct profile_types *t,
			int64_t duration_ns)
{
	int64_t end_ns = (int64_t)clock_unix_ns();
	int r = 0;

	for (size_t i = 0; r == 0 && i < t->n; i++) {
		if (!t->of[i])
			continue;
		r = export_profile(s, q, t->of[i], duration_ns, end_ns);
		t->of[i] = NULL;
	}
	return r;
}

/* Reads the body of @q and exports its profiles. Returns 0 or -errno with the reason. */
static int take_profile(struct scraper *s, struct request *q, struct err *err)
{
	const struct scrape_type_info *info = &scrape_types[q->type];
	bool is_cumulative = info->values == SCRAPE_CUMULATIVE;
	const struct scrape_body *before =
		is_cumulative ? scrape_kept_find(&s->kept, q->url) : NULL;
	const struct profile_query query = {
		.body = &q->body,
		.before = before ? &before->body : NULL,
		.is_delta = info->values == SCRAPE_DELTA,
		.max_bytes = SCRAPE_PROFILE_BYTES,
		.timeout_ms = READ_MS,
	};
	int64_t now_ns = (int64_t)clock_ns(CLOCK_BOOTTIME);
	int64_t since_ns = before ? before->arrived_ns : s->begun_ns;
	struct profile_types types = { 0 };
	int r = profile_client_read(s->readers, &query, &types, err);

	if (r == 0)
		r = export_types(s, q, &types, now_ns - since_ns);
	profile_types_fini(&types);
	if (r < 0 || !is_cumulative)
		return r;
	if (!before)
		count(s, &s->stats.n_first, 1);
	s->arriving_bytes -= q->body.cap;
	return scrape_kept_put(&s->kept, q->url, &q->body, now_ns, s->round);
}

static void finish(struct scraper *s, struct request *q, enum scrape_result outcome,
		   const char *why)
{
	drop_body(s, q);
	count(s, &s->stats.results[outcome], 1);
	if (outcome != SCRAPE_OK)
		note_failure(s, q, outcome, why);
}

static void on_end(void *ctx, size_t index, int result, const char *why)
{
	const struct group *g = ctx;
	struct scraper *s = g->scraper;
	struct request *q = &s->requests[g->first + index];
	struct err err = { 0 };
	char status[16];

	if (q->is_too_large)
		result = -EFBIG;
	if (result == 200 && take_profile(s, q, &err) < 0) {
		result = err.code;
		why = err.msg;
	}
	snprintf(status, sizeof(status), "%d", result);
	finish(s, q, scrape_result_of(result), result > 0 ? status : why);
}

/* ---- rounds --------------------------------------------------------------------------------- */

static void publish_targets(struct scraper *s)
{
	pthread_mutex_lock(&s->lock);
	s->stats.n_rounds++;
	s->stats.n_refused = s->targets.n_refused;
	s->stats.n_targets = s->targets.len;
	for (size_t i = 0; i < s->targets.len; i++) {
		struct scrape_target_stats *t = &s->stats.targets[i];

		snprintf(t->instance, sizeof(t->instance), "%s", s->targets.data[i].instance);
		t->is_up = !s->states[i].has_failed;
	}
	pthread_mutex_unlock(&s->lock);
	for (size_t i = 0; i < s->n_states; i++)
		s->states[i].was_logged &= s->states[i].has_failed;
}

/* Returns false, after the group's requests have failed, if its credentials cannot be used. */
static bool add_credentials(struct group *g, struct fetch_all *q)
{
	struct err err = { 0 };

	if (!g->auth)
		return true;
	if (scrape_auth_use(g->auth, &g->credentials, q, &err) == 0)
		return true;
	for (size_t i = 0; i < g->n; i++)
		finish(g->scraper, &g->scraper->requests[g->first + i], SCRAPE_CREDENTIALS,
		       err.msg);
	return false;
}

/* Fills in a batch of requests. Returns false if there is nothing to send. */
static bool begin_group(struct group *g, const char *const *urls, struct fetch_all *out)
{
	const struct scraper *s = g->scraper;

	*out = (struct fetch_all){
		.fetcher = s->opts.fetcher,
		.urls = urls + g->first,
		.n = g->n,
		.files = { -1, -1, -1 },
		.timeout_ms = (unsigned int)(s->config->interval_ns / CLOCK_MS_NS),
		.max_bytes = PROFILE_BODY_MAX,
		.body = on_body,
		.end = on_end,
		.ctx = g,
	};
	return g->n && add_credentials(g, out);
}

static void send_requests(struct scraper *s)
{
	struct scrape_auths *auths = &s->config->auths;
	struct group groups[GROUPS_MAX] = { 0 };
	struct fetch_all batches[GROUPS_MAX];
	const char *urls[REQUESTS_MAX];
	size_t n = 0, first = 0;

	for (size_t i = 0; i < s->n_requests; i++)
		urls[i] = s->requests[i].url;
	for (size_t i = 0; i <= auths->len; i++) {
		groups[i].scraper = s;
		groups[i].first = first;
		groups[i].n = s->group_len[i];
		groups[i].auth = i < auths->len ? &auths->data[i] : NULL;
		first += groups[i].n;
		n += begin_group(&groups[i], urls, &batches[n]);
	}
	if (n)
		(void)fetcher_get_all(batches, n, &s->stop); /* on_end() has counted failures */
	for (size_t i = 0; i < GROUPS_MAX; i++)
		scrape_credentials_fini(&groups[i].credentials);
	for (size_t i = 0; i < s->n_requests; i++)
		drop_body(s, &s->requests[i]);
}

static void run_round(struct scraper *s)
{
	int r = list_targets(s);

	if (r < 0)
		say(s, "cannot list the targets to scrape", strerror(-r));
	s->round++;
	s->begun_ns = (int64_t)clock_ns(CLOCK_BOOTTIME);
	list_requests(s);
	scrape_kept_forget(&s->kept, s->round);
	if (s->n_requests)
		send_requests(s);
	publish_targets(s);
}

/* Adopts the next configuration. Returns false at the end. */
static bool wait_until(struct scraper *s, uint64_t ns)
{
	int r = 0;

	pthread_mutex_lock(&s->lock);
	while (!atomic_load(&s->stop) && !s->next && (r == 0 || !s->config)) {
		if (s->config)
			r = thread_wait_until(&s->changed, &s->lock, ns);
		else
			pthread_cond_wait(&s->changed, &s->lock);
	}
	if (s->next) {
		scrape_config_free(s->config);
		s->config = s->next;
		s->next = NULL;
	}
	pthread_mutex_unlock(&s->lock);
	return !atomic_load(&s->stop);
}

static void *run(void *arg)
{
	struct scraper *s = arg;
	uint64_t next_ns = 0, now_ns;

	while (wait_until(s, next_ns)) {
		next_ns = clock_monotonic_ns() + s->config->interval_ns;
		run_round(s);
		now_ns = clock_monotonic_ns();
		if (now_ns > next_ns)
			count(s, &s->stats.n_late, 1);
	}
	return NULL;
}

/* ---- public --------------------------------------------------------------------------------- */

int scraper_new(struct scraper **out, const struct scraper_opts *opts, struct err *err)
{
	const struct role_pool_opts readers = {
		.max_children = 1,
		.max_abandoned = HUNG_MAX,
		.memory_bytes = SCRAPE_READER_BYTES,
	};
	_cleanup_(scraper_freep) struct scraper *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->opts = *opts;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	s->requests = calloc(REQUESTS_MAX, sizeof(*s->requests));
	r = s->requests ? role_pool_new(&s->readers, &reader_role, &readers, err) : -ENOMEM;
	if (r == 0)
		r = thread_start(&s->thread, run, s);
	if (r < 0)
		return err_set(err, r, "cannot start scraping: %s", strerror(-r));
	s->has_thread = true;
	*out = steal_ptr(&s);
	return 0;
}

void scraper_stop(struct scraper *s)
{
	if (!s || !s->has_thread)
		return;
	pthread_mutex_lock(&s->lock);
	atomic_store(&s->stop, true);
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	s->has_thread = false;
}

void scraper_free(struct scraper *s)
{
	if (!s)
		return;
	scraper_stop(s);
	role_pool_free(s->readers);
	scrape_targets_fini(&s->targets);
	scrape_targets_fini(&s->pods);
	scrape_kept_fini(&s->kept);
	scrape_config_free(s->config);
	scrape_config_free(s->next);
	free(s->requests);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

void scraper_stats(struct scraper *s, struct scraper_stats *out)
{
	pthread_mutex_lock(&s->lock);
	*out = s->stats;
	pthread_mutex_unlock(&s->lock);
}
