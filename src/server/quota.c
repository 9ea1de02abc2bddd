/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A series is identified by a hash of its labels, including those of its samples. The tables are
 * bounded; when one is full, both are cleared. A service may then exceed its quota, but no service
 * is rejected wrongly. A profile without samples has a service, but no series.
 *
 * Hashes have 64 bits and a seed, so a client cannot aim at collisions; a chance collision only
 * lets one series pass uncounted. Sizes: 16 bytes and an index entry for each of at most a million
 * series and a million services.
 */
#include "server/quota.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/vec.h"
#include "profile/profile.h"
#include "store/series.h"
#include "store/store.h"

enum { MAX_KNOWN = 1 << 20 };

/* A series or a service. For services n is the number of series, for series it is unused. */
struct known {
	uint64_t hash;
	size_t n;
};

struct table {
	VEC(struct known);
	struct index index;
};

struct quota {
	pthread_mutex_t lock;
	size_t max;
	uint64_t seed, day;
	struct table series, services;
};

static void table_clear(struct table *t)
{
	vec_fini(t);
	index_fini(&t->index);
}

struct key {
	const struct table *t;
	uint64_t hash;
};

static bool is_known(const void *ctx, uint32_t id)
{
	const struct key *key = ctx;

	return key->t->data[id].hash == key->hash;
}

/* Returns 1 if the hash is new, 0 if it is known. @out_id is its position in the table. */
static int table_add(struct table *t, uint64_t hash, uint32_t *out_id)
{
	const struct key key = { t, hash };
	int r;

	if (index_find(&t->index, (uint32_t)hash, is_known, &key, out_id))
		return 0;
	*out_id = (uint32_t)t->len;
	r = vec_push(t, (struct known){ hash, 0 });
	if (r == 0)
		r = index_add(&t->index, (uint32_t)hash, *out_id);
	return r < 0 ? r : 1;
}

int quota_new(struct quota **out, size_t max_series)
{
	struct quota *q = calloc(1, sizeof(*q));

	if (!q)
		return -ENOMEM;
	pthread_mutex_init(&q->lock, NULL);
	q->max = max_series;
	q->seed = hash_seed();
	*out = q;
	return 0;
}

void quota_free(struct quota *q)
{
	if (!q)
		return;
	table_clear(&q->series);
	table_clear(&q->services);
	pthread_mutex_destroy(&q->lock);
	free(q);
}

/*
 * Hashes a text on top of @hash, which is the seed. So the order and the ends of the texts count:
 * "ab", "c" and "a", "bc" have different hashes.
 */
static uint64_t mix(uint64_t hash, const char *text)
{
	return XXH3_64bits_withSeed(text, strlen(text), hash);
}

static uint64_t hash_profile(uint64_t seed, const char *tenant, const struct store_profile *p)
{
	uint64_t hash = mix(mix(seed, tenant), p->name);

	for (size_t i = 0; i < p->n_labels; i++)
		hash = mix(mix(hash, p->labels[i].name), p->labels[i].value);
	return hash;
}

/* Labels with text are part of a series; numbers and ids of spans are not. */
static uint64_t hash_sample(uint64_t hash, const struct profile *p, const struct profile_sample *s)
{
	for (uint32_t i = 0; i < s->n_labels; i++) {
		const char *key = profile_string(p, s->labels[i].key);

		if (s->labels[i].str && !series_omits(key))
			hash = mix(mix(hash, key), profile_string(p, s->labels[i].str));
	}
	return hash;
}

/* A tenant's services are its own: the same name in another tenant is another service. */
static uint64_t hash_service(uint64_t seed, const char *tenant, const struct store_profile *p)
{
	uint64_t hash = mix(seed, tenant);

	for (size_t i = 0; i < p->n_labels; i++)
		if (!strcmp(p->labels[i].name, "service_name"))
			hash = mix(hash, p->labels[i].value);
	return hash;
}

/* Counts each series of a profile; a series may occur several times. */
static int charge_series(struct quota *q, const char *tenant, const struct store_profile *p,
			 uint32_t service)
{
	const struct profile_label *labels = NULL;
	uint64_t whole = hash_profile(q->seed, tenant, p);
	uint32_t id;
	int r = 0;

	for (uint32_t i = 0; r >= 0 && i < profile_n_samples(p->profile); i++) {
		struct profile_sample s = profile_sample(p->profile, i);

		if (i && s.labels == labels) /* equal label sets are stored once */
			continue;
		labels = s.labels;
		r = table_add(&q->series, hash_sample(whole, p->profile, &s), &id);
		if (r > 0 && ++q->services.data[service].n > q->max)
			r = -EDQUOT;
	}
	return r < 0 ? r : 0;
}

/* Removes the series that were added last. */
static void undo(struct quota *q, size_t n_series)
{
	while (q->series.len > n_series) {
		uint32_t id = (uint32_t)--q->series.len;

		index_remove(&q->series.index, (uint32_t)q->series.data[id].hash, id);
	}
}

/* A profile that exceeds the limit is not charged in part. */
static int charge(struct quota *q, const char *tenant, const struct store_profile *p)
{
	size_t n_series = q->series.len, before;
	uint32_t service;
	int r = table_add(&q->services, hash_service(q->seed, tenant, p), &service);

	if (r < 0)
		return r;
	before = q->services.data[service].n;
	r = charge_series(q, tenant, p, service);
	if (r < 0) {
		undo(q, n_series);
		q->services.data[service].n = before;
	}
	return r;
}

/* Clears all counts at midnight UTC, and when a table is full. */
static void begin_day(struct quota *q)
{
	uint64_t day = clock_unix_ns() / (uint64_t)STORE_DAY_NS;

	if (day == q->day && q->series.len < MAX_KNOWN && q->services.len < MAX_KNOWN)
		return;
	table_clear(&q->series);
	table_clear(&q->services);
	q->day = day;
}

int quota_charge(struct quota *q, const char *tenant, const struct store_profile *profile,
		 struct err *err)
{
	int r;

	if (!q || !q->max)
		return 0;
	pthread_mutex_lock(&q->lock);
	begin_day(q);
	r = charge(q, tenant, profile);
	pthread_mutex_unlock(&q->lock);
	if (r == -EDQUOT)
		err_set(err, r,
			"the service has more than %zu series (label sets) today; use fewer label "
			"values",
			q->max);
	return r;
}
