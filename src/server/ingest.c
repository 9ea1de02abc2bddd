/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels from clients are checked against stricter limits than the store's own. Timestamps may be
 * MAX_AHEAD_NS in the future, because the clocks of machines differ.
 */
#include "server/ingest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/saturate.h"
#include "base/utc.h"
#include "base/utf8.h"
#include "profile/profile.h"
#include "server/ingest_symbolizer.h"
#include "server/pools.h"
#include "server/query_results.h"
#include "server/quota.h"
#include "server/rpc.h"
#include "server/tenant_limits.h"
#include "store/series.h"

#define MAX_AHEAD_NS    (600LL * CLOCK_SECOND_NS)
#define MAX_DURATION_NS (366 * 86400LL * CLOCK_SECOND_NS)

enum {
	MAX_NAME = 1024,
	MAX_VALUE = 2048,
	MAX_PROFILES = 10000,
	MAX_NAMES = 16 << 20,
	DOWNLOADS_MS = 2000, /* the longest wait of a request for symbols of all its profiles */
};

void ingest_init(struct ingest *in, int64_t max_age_ns)
{
	*in = (struct ingest){ .now_ns = (int64_t)clock_unix_ns(), .max_age_ns = max_age_ns };
}

int ingest_refuse(struct ingest *in, int r, const struct err *err)
{
	if (r != -EINVAL && r != -EBADMSG && r != -EFBIG && r != -EDQUOT)
		return r;
	if (!in->n_refused++)
		in->why = *err;
	in->why.code = in->n_refused == 1 ? r : in->why.code;
	return 0;
}

void ingest_fini(struct ingest *in)
{
	for (size_t i = 0; i < in->owned.len; i++)
		profile_free(in->owned.data[i]);
	vec_fini(&in->owned);
	vec_fini(&in->profiles);
	message_memory_fini(&in->memory);
}

struct codec_limits ingest_limits(const struct rpc *rpc)
{
	return (struct codec_limits){
		.bytes = 64 << 20,
		.strings = 1 << 20,
		.entries = 1 << 20,
		.samples = 1 << 20,
		.depth = 4096,
		.labels = 64,
		.label_sum = 4 << 20,
		.claim = rpc->claim,
		.claim_profile = rpc->claim_profile,
		.claim_ctx = rpc->claim_ctx,
	};
}

const char *ingest_copy_text(struct ingest *in, const char *text)
{
	char *copy = strdup(text);

	if (copy && vec_push(&in->memory, copy) < 0) {
		free(copy);
		return NULL;
	}
	return copy;
}

static int cmp_label(const void *a, const void *b)
{
	return strcmp(((const struct store_label *)a)->name, ((const struct store_label *)b)->name);
}

/* A linear search, since a series has at most INGEST_MAX_LABELS labels. */
static const struct store_label *find_label(const struct ingest_labels *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->v[i].name, name))
			return &l->v[i];
	return NULL;
}

bool ingest_has_label(const struct ingest_labels *l, const char *name)
{
	return find_label(l, name) != NULL;
}

int ingest_label(struct ingest_labels *l, const char *name, const char *value, struct err *err)
{
	const struct store_label *same;

	if (!name || !name[0])
		return err_set(err, -EINVAL, "a label has no name");
	value = value ? value : "";
	if (strlen(name) > MAX_NAME || strlen(value) > MAX_VALUE)
		return err_set(
			err, -EINVAL,
			"label \"%.60s\": name is longer than 1024 bytes or value longer than 2048",
			name);
	if (!strcmp(name, "__name__"))
		l->name = value;
	/* these labels control the client; they do not describe the series */
	if (!strcmp(name, "__name__") || !strcmp(name, "__delta__") ||
	    !strcmp(name, "__session_id__"))
		return 0;
	same = find_label(l, name);
	if (same && !strcmp(same->value, value))
		return 0;
	if (same)
		return err_set(err, -EINVAL, "label \"%.60s\" has two different values", name);
	if (l->n == INGEST_MAX_LABELS)
		return err_set(err, -EINVAL, "series has more than %d labels", INGEST_MAX_LABELS);
	l->v[l->n++] = (struct store_label){ name, value };
	return 0;
}

void ingest_labels_finish(struct ingest_labels *l, const char *service)
{
	struct store_label *own = NULL;

	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->v[i].name, "service_name"))
			own = &l->v[i];
	if (!own) {
		own = &l->v[l->n++];
		*own = (struct store_label){ "service_name", "" };
	}
	if (!own->value[0])
		own->value = service && service[0] ? service : "unknown_service";
	qsort(l->v, l->n, sizeof(*l->v), cmp_label);
}

/* Like the strings of a profile, a label is one line of valid UTF-8. */
static int clean_text(struct ingest *in, const char **io)
{
	struct buf line = { 0 };

	if (utf8_is_line(*io, strlen(*io)))
		return 0;
	utf8_put_line(&line, *io, strlen(*io));
	buf_put_byte(&line, 0);
	if (buf_error(&line) || vec_push(&in->memory, line.data) < 0) {
		buf_fini(&line);
		return -ENOMEM;
	}
	*io = (const char *)line.data;
	return 1;
}

/* Cleaning may change the order of names and make two of them equal; the first one counts then. */
static int clean_labels(struct ingest *in, struct store_label *l, size_t *n)
{
	bool is_changed = false;
	size_t kept = 0;

	for (size_t i = 0; i < *n; i++) {
		int name = clean_text(in, &l[i].name), value = clean_text(in, &l[i].value);

		if (name < 0 || value < 0)
			return -ENOMEM;
		is_changed |= name > 0;
	}
	if (!is_changed)
		return 0;
	qsort(l, *n, sizeof(*l), cmp_label);
	for (size_t i = 0; i < *n; i++)
		if (!kept || strcmp(l[kept - 1].name, l[i].name) != 0)
			l[kept++] = l[i];
	*n = kept;
	return 0;
}

/* The array is copied; the strings live in the request or in in->memory. */
static int copy_labels(struct ingest *in, const struct ingest_labels *l, struct store_profile *out)
{
	struct store_label *labels = malloc((l->n + 1) * sizeof(*labels));
	int r;

	if (!labels)
		return -ENOMEM;
	if (vec_push(&in->memory, labels) < 0) {
		free(labels);
		return -ENOMEM;
	}
	memcpy(labels, l->v, l->n * sizeof(*labels));
	out->name = l->name;
	out->labels = labels;
	out->n_labels = l->n;
	r = clean_text(in, &out->name);
	return r < 0 ? r : clean_labels(in, labels, &out->n_labels);
}

/* The message contains the time, because a wrong clock of the agent is the usual cause. */
static int reject_time(int64_t time_ns, const char *why, struct err *err)
{
	char text[UTC_TEXT_LEN];

	if (time_ns < 0)
		return err_set(err, -EINVAL, "the profile's timestamp is before 1970");
	utc_text(time_ns, text);
	return err_set(err, -EINVAL, "the profile's timestamp %s is %s", text, why);
}

/* Windows of years would be summed into time lines far beyond the range of any query. */
static int check_times(const struct ingest *in, const struct profile_meta *meta, struct err *err)
{
	int64_t time_ns = meta->time_ns;

	if (time_ns < 0 || time_ns > in->now_ns + MAX_AHEAD_NS)
		return reject_time(time_ns,
				   "more than 10 min in the future; check the clock of the sender",
				   err);
	if (time_ns && in->max_age_ns && time_ns < in->now_ns - in->max_age_ns)
		return reject_time(time_ns, "older than the retention (--keep-days)", err);
	if (meta->duration_ns < 0 || meta->duration_ns > MAX_DURATION_NS)
		return err_set(err, -EINVAL,
			       "the profile's duration of %lld s is not within 0 to 366 days",
			       (long long)(meta->duration_ns / CLOCK_SECOND_NS));
	return 0;
}

/*
 * Limits the names of one profile, because all names of a day are in memory while the day is open.
 */
static int check_names(const struct ingest *in, const struct profile *p, struct err *err)
{
	size_t bytes = 0, most = in->max_names ? in->max_names : (size_t)MAX_NAMES;

	for (uint32_t i = 0; i < profile_n_strings(p); i++)
		bytes += profile_string_len(p, i);
	return bytes <= most ? 0
			     : err_set(err, -EFBIG,
				       "profile has %zu KiB of names, the limit is %zu KiB "
				       "(--max-names)",
				       bytes >> 10, most >> 10);
}

/*
 * Refuses a profile whose values overflow when they are added, because no query could sum them
 * (store_merge()).
 */
static int check_values(const struct profile *p, struct err *err)
{
	uint32_t n = profile_n_samples(p), n_types = profile_n_sample_types(p);
	_cleanup_(freep) int64_t *sums = calloc(n_types + 1, sizeof(*sums));

	if (!sums)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		const int64_t *values = profile_sample(p, i).values;

		for (uint32_t k = 0; k < n_types; k++)
			sums[k] = saturating_add_magnitude(sums[k], values[k]);
	}
	for (uint32_t k = 0; k < n_types; k++)
		if (is_saturated(sums[k]))
			return err_set(err, -EFBIG,
				       "the values of one of the profile's sample types add up to "
				       "more than 2^63-2");
	return 0;
}

/*
 * The profile's own time is part of its identity (id_time_ns), the time of arrival is not: a
 * profile without time that is sent twice with one id counts once.
 */
int ingest_profile(struct ingest *in, const struct ingest_labels *l, const char *id,
		   struct profile *p, struct err *err)
{
	struct store_profile sp = { .id = id, .profile = p };
	int64_t time_ns = profile_meta(p)->time_ns;
	int r;

	if (vec_push(&in->owned, p) < 0) {
		profile_free(p);
		return -ENOMEM;
	}
	r = check_times(in, profile_meta(p), err);
	if (r == 0)
		r = copy_labels(in, l, &sp);
	if (r == 0)
		r = series_check(&sp, err);
	if (r == 0)
		r = check_names(in, p, err);
	if (r == 0)
		r = check_values(p, err);
	if (r < 0)
		return r;
	if (in->profiles.len >= MAX_PROFILES)
		return err_set(err, -EINVAL, "the request has more than %d profiles; split it",
			       MAX_PROFILES);
	sp.id_time_ns = time_ns;
	sp.time_ns = time_ns ? time_ns : in->now_ns;
	return vec_push(&in->profiles, sp);
}

/* Removes the profiles whose series exceed the quota. */
static int charge(struct ingest *in, struct rpc *rpc)
{
	size_t n = 0;

	for (size_t i = 0; i < in->profiles.len; i++) {
		const struct store_profile p = in->profiles.data[i];
		struct err err = { 0 };
		int r = quota_charge(rpc->quota, rpc->tenant, &p, &err);

		if (r == 0)
			in->profiles.data[n++] = p;
		else if (ingest_refuse(in, r, &err) < 0)
			return r;
	}
	in->profiles.len = n;
	return 0;
}

/* Returns true if the request came here by http_request_move(), so it is read a second time. */
static bool is_moved(const struct rpc *rpc)
{
	return rpc->rq && http_request_pool(rpc->rq) == POOL_SYMBOLIZE;
}

/* A request that was moved was charged before. */
static int charge_rate(const struct ingest *in, struct rpc *rpc)
{
	if (!rpc->limits || is_moved(rpc))
		return 0;
	return tenant_limits_charge(rpc->limits, rpc->tenant, TENANT_PROFILES, in->profiles.len,
				    rpc->err);
}

/*
 * Symbolizing may wait for downloads, so it has a pool of its own. The request is decoded there
 * again, which happens only to profiles without symbols. If that pool's queue is full, profiles are
 * stored without symbols rather than refused.
 */
static int symbolize(struct ingest *in, struct rpc *rpc)
{
	const uint64_t until_ns = clock_monotonic_ns() + DOWNLOADS_MS * CLOCK_MS_NS;
	bool here = !rpc->rq || is_moved(rpc);

	for (size_t i = 0; rpc->symbolizer && i < in->owned.len; i++) {
		if (!ingest_symbolizer_can_help(rpc->symbolizer, in->owned.data[i]))
			continue;
		if (!here)
			return http_request_move(rpc->rq, POOL_SYMBOLIZE) ? RPC_MOVED : 0;
		if (ingest_symbolizer_apply(rpc->symbolizer, in->owned.data[i], until_ns) < 0)
			return -ENOMEM;
	}
	return 0;
}

static void note_change(const struct ingest *in, struct rpc *rpc)
{
	int64_t first = INT64_MAX, last = INT64_MIN;

	for (size_t i = 0; i < in->profiles.len; i++) {
		int64_t at = in->profiles.data[i].time_ns;

		first = at < first ? at : first;
		last = at > last ? at : last;
	}
	query_results_changed(rpc->results, rpc->tenant, first, last);
}

/*
 * Symbolizing fails only without memory, never for lack of symbols. A day that cannot be written
 * because its file is damaged can be repaired, so the client keeps its profiles; only a query has a
 * time limit of its own.
 */
int ingest_store(struct ingest *in, struct rpc *rpc)
{
	int r = charge_rate(in, rpc);

	if (r == 0)
		r = symbolize(in, rpc);
	if (r == 0)
		r = charge(in, rpc);
	if (r < 0)
		return r;
	if (!in->profiles.len)
		return in->n_refused ? err_set(rpc->err, in->why.code, "%s", in->why.msg) : 0;
	if (!rpc->sink)
		return err_set(rpc->err, -EPERM, "this method may not store profiles");
	r = store_append(rpc->sink, rpc->tenant, in->profiles.data, in->profiles.len, rpc->err);
	note_change(in, rpc); /* after a failure too, because some days may be stored */
	return r == -EUCLEAN || r == -ETIMEDOUT ? -EIO : r;
}
