/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bucket holds up to BURST_S seconds of its rate, as an amount that may be negative: a push is
 * accepted whole while the amount is above zero, since the size of a push is not known before it
 * has arrived and one of any size must be possible. The amount is brought up to date when it is
 * looked at, so no thread fills buckets.
 *
 * When the table is full, the entry that was not used for the longest time is given to another
 * tenant, and its counts are added to those of "other". Its debts are dropped. This gives a client
 * no advantage over using a further tenant's name, which only credentials that belong to one tenant
 * can prevent. A linear search of at most N_TENANTS names is a small part of a request.
 */
#include "server/tenant_limits.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "store/store.h"

enum {
	BURST_S = 10,
	N_TENANTS = 1024,
	REPORTED = 100, /* tenants in /metrics; the others are summed */
	MAX_WAIT_S = 60,
};

/* A token bucket. With a rate of 0, a tenant's own is unlimited and the shared one is empty. */
struct bucket {
	double rate, amount; /* per second; now */
	int64_t updated_ns;  /* CLOCK_MONOTONIC time of "now" */
};

struct tenant {
	char name[STORE_TENANT_MAX + 1]; /* "" in an unused entry */
	struct bucket buckets[TENANT_RESOURCE_MAX];
	uint64_t charged[TENANT_RESOURCE_MAX], n_refused, n_queries, n_refused_queries;
	unsigned int running; /* queries, with those that wait */
	int64_t used_ns;      /* CLOCK_MONOTONIC */
};

struct tenant_limits {
	pthread_mutex_t lock;
	struct tenant_limits_options opt;
	struct bucket shared[TENANT_RESOURCE_MAX];
	struct tenant other;
	struct tenant all[N_TENANTS];
	size_t n;
};

static int64_t now_ns(void)
{
	return (int64_t)clock_monotonic_ns();
}

static void bucket_init(struct bucket *b, uint64_t rate)
{
	*b = (struct bucket){ .rate = (double)rate,
			      .amount = (double)rate * BURST_S,
			      .updated_ns = now_ns() };
}

/* Adds what has flowed in since the last update, up to BURST_S seconds of the rate. */
static void bucket_update(struct bucket *b)
{
	int64_t now = now_ns();

	b->amount += b->rate * (double)(now - b->updated_ns) / CLOCK_SECOND_NS;
	if (b->amount > b->rate * BURST_S)
		b->amount = b->rate * BURST_S;
	b->updated_ns = now;
}

/* Seconds until the bucket is above zero; negative if it never is. */
static double bucket_wait_s(const struct bucket *b)
{
	if (b->amount > 0)
		return 0;
	return b->rate > 0 ? (1 - b->amount) / b->rate : -1;
}

static void tenant_init(struct tenant_limits *t, struct tenant *e, const char *name)
{
	const uint64_t rates[] = {
		[TENANT_BYTES] = t->opt.bytes_per_s, [TENANT_PROFILES] = t->opt.profiles_per_s
	};

	*e = (struct tenant){ 0 };
	strncpy(e->name, name, STORE_TENANT_MAX);
	for (int i = 0; i < TENANT_RESOURCE_MAX; i++)
		bucket_init(&e->buckets[i], rates[i]);
}

/* Adds the counts of an entry that is reused. */
static void forget(struct tenant_limits *t, const struct tenant *e)
{
	for (int i = 0; i < TENANT_RESOURCE_MAX; i++)
		t->other.charged[i] += e->charged[i];
	t->other.n_refused += e->n_refused;
	t->other.n_queries += e->n_queries;
	t->other.n_refused_queries += e->n_refused_queries;
}

/* A free entry or else the least recently used one; NULL if queries occupy all. */
static struct tenant *free_entry(struct tenant_limits *t)
{
	struct tenant *oldest = NULL;

	if (t->n < N_TENANTS)
		return &t->all[t->n++];
	for (size_t i = 0; i < N_TENANTS; i++) {
		struct tenant *e = &t->all[i];

		if (!e->running && (!oldest || e->used_ns < oldest->used_ns))
			oldest = e;
	}
	if (oldest)
		forget(t, oldest);
	return oldest;
}

/* With the lock. The entry of a tenant, or the one that tenants beyond the table share. */
static struct tenant *find(struct tenant_limits *t, const char *name)
{
	struct tenant *e;

	for (size_t i = 0; i < t->n; i++)
		if (!strcmp(t->all[i].name, name)) {
			t->all[i].used_ns = now_ns();
			return &t->all[i];
		}
	e = free_entry(t);
	if (!e)
		return &t->other;
	tenant_init(t, e, name);
	e->used_ns = now_ns();
	return e;
}

/*
 * The bucket to charge: the tenant's own while there is something in it, else the shared one. NULL
 * with the time to wait in *@out_wait_s if both are empty.
 */
static struct bucket *choose(struct tenant_limits *t, struct tenant *e, enum tenant_resource what,
			     double *out_wait_s)
{
	struct bucket *own = &e->buckets[what], *shared = &t->shared[what];
	double wait_s, shared_s;

	bucket_update(own);
	bucket_update(shared);
	wait_s = bucket_wait_s(own);
	shared_s = bucket_wait_s(shared);
	if (wait_s == 0)
		return own;
	if (shared_s == 0)
		return shared;
	*out_wait_s = shared_s > 0 && shared_s < wait_s ? shared_s : wait_s;
	return NULL;
}

/* A tenant without a rate of its own is not limited, whatever the shared pool holds. */
static bool is_limited(const struct tenant *e, enum tenant_resource what)
{
	return e->buckets[what].rate > 0;
}

unsigned int tenant_limits_wait_s(struct tenant_limits *t, const char *tenant)
{
	double wait_s = 0, one = 0;
	struct tenant *e;

	pthread_mutex_lock(&t->lock);
	e = find(t, tenant);
	for (int i = 0; i < TENANT_RESOURCE_MAX; i++)
		if (is_limited(e, i) && !choose(t, e, i, &one) && one > wait_s)
			wait_s = one;
	e->n_refused += wait_s > 0;
	pthread_mutex_unlock(&t->lock);
	return wait_s > MAX_WAIT_S ? MAX_WAIT_S : (unsigned int)wait_s + (wait_s > 0);
}

int tenant_limits_charge(struct tenant_limits *t, const char *tenant, enum tenant_resource what,
			 uint64_t n, struct err *err)
{
	static const char *const names[] = { "bytes", "profiles" };
	struct bucket *b = NULL;
	struct tenant *e;
	double wait_s;
	bool limited;

	pthread_mutex_lock(&t->lock);
	e = find(t, tenant);
	limited = is_limited(e, what);
	if (limited)
		b = choose(t, e, what, &wait_s);
	if (b)
		b->amount -= (double)n;
	if (b || !limited)
		e->charged[what] += n;
	else
		e->n_refused++;
	pthread_mutex_unlock(&t->lock);
	return b || !limited ? 0
			     : err_set(err, -EBUSY,
				       "tenant \"%s\" pushes more %s than its rate allows; retry "
				       "later",
				       tenant, names[what]);
}

void *tenant_limits_begin_query(struct tenant_limits *t, const char *tenant)
{
	struct tenant *e;
	bool may;

	pthread_mutex_lock(&t->lock);
	e = find(t, tenant);
	may = !t->opt.max_queries || e->running < t->opt.max_queries;
	e->running += may;
	e->n_queries += may;
	e->n_refused_queries += !may;
	pthread_mutex_unlock(&t->lock);
	return may ? e : NULL;
}

/* An entry that has queries is not given to another tenant, so the token is still valid. */
void tenant_limits_end_query(struct tenant_limits *t, void *token)
{
	struct tenant *e = token;

	pthread_mutex_lock(&t->lock);
	e->running--;
	pthread_mutex_unlock(&t->lock);
}

/* The value of a tenant in a column of tenant_limits_put(). */
static uint64_t value_of(const struct tenant *e, int column)
{
	const uint64_t values[] = { e->charged[TENANT_BYTES], e->charged[TENANT_PROFILES],
				    e->n_refused, e->n_queries, e->n_refused_queries };

	return values[column];
}

void tenant_limits_put(struct tenant_limits *t, struct buf *out)
{
	static const struct {
		const char *name, *help;
	} columns[] = {
		{ "cameo_tenant_push_bytes_total", "Bytes of the bodies that a tenant pushed." },
		{ "cameo_tenant_profiles_total", "Profiles that a tenant pushed." },
		{ "cameo_tenant_limited_pushes_total",
		  "Pushes refused because of a tenant's rate." },
		{ "cameo_tenant_queries_total", "Queries of a tenant." },
		{ "cameo_tenant_limited_queries_total",
		  "Queries refused because the tenant had too many at once." },
	};
	size_t shown;

	pthread_mutex_lock(&t->lock);
	shown = t->n < REPORTED ? t->n : REPORTED;
	for (int c = 0; c < (int)(sizeof(columns) / sizeof(columns[0])); c++) {
		uint64_t rest = value_of(&t->other, c);

		buf_printf(out, "# HELP %s %s\n# TYPE %s counter\n", columns[c].name,
			   columns[c].help, columns[c].name);
		for (size_t i = 0; i < shown; i++)
			buf_printf(out, "%s{tenant=\"%s\"} %" PRIu64 "\n", columns[c].name,
				   t->all[i].name, value_of(&t->all[i], c));
		for (size_t i = shown; i < t->n; i++)
			rest += value_of(&t->all[i], c);
		if (rest)
			buf_printf(out, "%s{tenant=\"\"} %" PRIu64 "\n", columns[c].name, rest);
	}
	pthread_mutex_unlock(&t->lock);
}

void tenant_limits_free(struct tenant_limits *t)
{
	if (!t)
		return;
	pthread_mutex_destroy(&t->lock);
	free(t);
}

int tenant_limits_new(struct tenant_limits **out, const struct tenant_limits_options *opt)
{
	struct tenant_limits *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->opt = *opt;
	pthread_mutex_init(&t->lock, NULL);
	tenant_init(t, &t->other, "");
	bucket_init(&t->shared[TENANT_BYTES], opt->shared_bytes_per_s);
	bucket_init(&t->shared[TENANT_PROFILES], opt->shared_profiles_per_s);
	*out = t;
	return 0;
}
