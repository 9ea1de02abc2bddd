/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A search compares the hashes of all places, a few microseconds. Since the hash has a key, the
 * time of a comparison reveals nothing about ids.
 */
#include "server/sessions.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>

enum { KEY_LEN = 32, ID_BYTES = SESSION_ID_LEN / 2 };

struct session {
	uint8_t hash[KEY_LEN];
	int64_t until_ms; /* 0 for an empty place */
	int64_t used_ms;
	struct client client;
};

struct sessions {
	int64_t idle_ms;
	uint8_t key[KEY_LEN];
	pthread_mutex_t lock; /* guards all */
	struct session all[SESSIONS_MAX];
};

int sessions_new(struct sessions **out, int64_t idle_ms)
{
	struct sessions *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	if (gnutls_rnd(GNUTLS_RND_KEY, s->key, sizeof(s->key)) < 0) {
		free(s);
		return -EIO;
	}
	s->idle_ms = idle_ms;
	pthread_mutex_init(&s->lock, NULL);
	*out = s;
	return 0;
}

void sessions_free(struct sessions *s)
{
	if (!s)
		return;
	pthread_mutex_destroy(&s->lock);
	gnutls_memset(s, 0, sizeof(*s));
	free(s);
}

static bool hash_id(const struct sessions *s, const char *id, size_t len, uint8_t out[KEY_LEN])
{
	return len == SESSION_ID_LEN &&
	       gnutls_hmac_fast(GNUTLS_MAC_SHA256, s->key, sizeof(s->key), id, len, out) == 0;
}

static bool is_alive(const struct sessions *s, const struct session *one, int64_t now_ms)
{
	return one->until_ms > now_ms && now_ms - one->used_ms < s->idle_ms;
}

static bool is_same(const struct client *a, const struct client *b)
{
	return !memcmp(a->credential, b->credential, sizeof(a->credential)) &&
	       !strcmp(a->name, b->name);
}

/*
 * Returns the place for a new session: one that has ended, or the one used least recently, of the
 * same credential if that has its share of the table. With the lock.
 */
static struct session *place_for(struct sessions *s, const struct client *client, int64_t now_ms)
{
	struct session *ended = NULL, *oldest = &s->all[0], *own = NULL;
	size_t n_own = 0;

	for (size_t i = 0; i < SESSIONS_MAX; i++) {
		struct session *one = &s->all[i];

		if (!is_alive(s, one, now_ms)) {
			ended = one;
			continue;
		}
		if (one->used_ms < oldest->used_ms)
			oldest = one;
		if (!is_same(&one->client, client))
			continue;
		n_own++;
		if (!own || one->used_ms < own->used_ms)
			own = one;
	}
	if (n_own >= SESSIONS_MAX_OF_CREDENTIAL)
		return own;
	return ended ? ended : oldest;
}

int sessions_add(struct sessions *s, const struct client *client, int64_t now_ms, int64_t until_ms,
		 char out_id[SESSION_ID_LEN + 1])
{
	static const char digits[] = "0123456789abcdef";
	uint8_t id[ID_BYTES], hash[KEY_LEN];
	struct session *one;

	if (gnutls_rnd(GNUTLS_RND_KEY, id, sizeof(id)) < 0)
		return -EIO;
	for (size_t i = 0; i < ID_BYTES; i++) {
		out_id[2 * i] = digits[id[i] >> 4];
		out_id[2 * i + 1] = digits[id[i] & 15];
	}
	out_id[SESSION_ID_LEN] = '\0';
	gnutls_memset(id, 0, sizeof(id));
	if (!hash_id(s, out_id, SESSION_ID_LEN, hash))
		return -EIO;
	pthread_mutex_lock(&s->lock);
	one = place_for(s, client, now_ms);
	memcpy(one->hash, hash, KEY_LEN);
	one->used_ms = now_ms;
	one->until_ms = until_ms;
	one->client = *client;
	one->client.is_session = true;
	pthread_mutex_unlock(&s->lock);
	return 0;
}

/* With the lock. */
static struct session *search(struct sessions *s, const uint8_t hash[KEY_LEN])
{
	for (size_t i = 0; i < SESSIONS_MAX; i++)
		if (s->all[i].until_ms && !memcmp(s->all[i].hash, hash, KEY_LEN))
			return &s->all[i];
	return NULL;
}

static void clear(struct session *one)
{
	gnutls_memset(one, 0, sizeof(*one));
}

bool sessions_find(struct sessions *s, const char *id, size_t len, int64_t now_ms,
		   struct client *out)
{
	uint8_t hash[KEY_LEN];
	struct session *one;

	if (!hash_id(s, id, len, hash))
		return false;
	pthread_mutex_lock(&s->lock);
	one = search(s, hash);
	if (one && !is_alive(s, one, now_ms)) {
		clear(one);
		one = NULL;
	}
	if (one) {
		one->used_ms = now_ms;
		*out = one->client;
	}
	pthread_mutex_unlock(&s->lock);
	return one != NULL;
}

void sessions_remove(struct sessions *s, const char *id, size_t len)
{
	uint8_t hash[KEY_LEN];
	struct session *one;

	if (!hash_id(s, id, len, hash))
		return;
	pthread_mutex_lock(&s->lock);
	one = search(s, hash);
	if (one)
		clear(one);
	pthread_mutex_unlock(&s->lock);
}

void sessions_retain(struct sessions *s, bool (*is_valid)(void *ctx, const struct client *client),
		     void *ctx)
{
	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < SESSIONS_MAX; i++)
		if (s->all[i].until_ms && !is_valid(ctx, &s->all[i].client))
			clear(&s->all[i]);
	pthread_mutex_unlock(&s->lock);
}
