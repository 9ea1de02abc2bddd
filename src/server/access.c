/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Successful checks are cached in a table with four places for each value of some bits of the key.
 * The key is a MAC of the header with a random key of this process, so memory holds no secrets
 * that clients sent.
 */
#include "server/access.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/thread.h"
#include "server/attempts.h"
#include "server/oidc.h"

enum {
	KEY_LEN = 32,
	N_SETS = 512, /* of the cache */
	N_WAYS = 4,
	MAX_HEADER = 16384,
	ISSUER_KNOWN_S = 60, /* after which a token of an issuer is verified again */
};

struct known {
	uint8_t key[KEY_LEN];
	int64_t until_s; /* seconds since 1970; 0 for an empty place */
	struct client client;
};

struct access {
	struct access_options opt;
	struct oidc *oidc; /* or NULL */
	struct sessions *sessions;
	uint8_t mac_key[KEY_LEN];
	pthread_rwlock_t lock; /* guards auth */
	struct auth *auth;
	pthread_mutex_t memory; /* guards the members below; taken after lock */
	struct known known[N_SETS * N_WAYS];
	struct attempts attempts;
};

void access_free(struct access *a)
{
	if (!a)
		return;
	auth_free(a->auth);
	sessions_free(a->sessions);
	pthread_rwlock_destroy(&a->lock);
	pthread_mutex_destroy(&a->memory);
	attempts_fini(&a->attempts);
	gnutls_memset(a->mac_key, 0, sizeof(a->mac_key));
	gnutls_memset(a->opt.auth.key, 0, sizeof(a->opt.auth.key));
	free(a);
}

int access_open(struct access **out, const struct access_options *opt, struct err *err)
{
	_cleanup_(access_freep) struct access *a = calloc(1, sizeof(*a));
	int r;

	if (!a)
		return -ENOMEM;
	a->opt = *opt;
	thread_rwlock_init(&a->lock); /* so that many readers cannot starve writers */
	attempts_init(&a->attempts);
	pthread_mutex_init(&a->memory, NULL);
	if (gnutls_rnd(GNUTLS_RND_KEY, a->mac_key, sizeof(a->mac_key)) < 0 ||
	    gnutls_rnd(GNUTLS_RND_KEY, a->opt.auth.key, sizeof(a->opt.auth.key)) < 0)
		return err_set(err, -EIO, "cannot read random bytes");
	r = sessions_new(&a->sessions, opt->session_idle_ms);
	if (r == 0)
		r = auth_load(&a->auth, &a->opt.auth, err);
	if (r == 0)
		*out = steal_ptr(&a);
	return r;
}

/* Sessions of clients that no file lists have another origin, such as a token of an issuer. */
static bool is_session_valid(void *ctx, const struct client *client)
{
	static const uint8_t none[CLIENT_CREDENTIAL];
	struct access *a = ctx;

	return !memcmp(client->credential, none, sizeof(none)) || auth_has(a->auth, client);
}

/*
 * The lock is held while cache and sessions are cleared, so that no result of a check against the
 * old files is added to them later.
 */
int access_reload(struct access *a, struct err *err)
{
	struct auth *fresh = NULL, *old;
	int r = auth_load(&fresh, &a->opt.auth, err);

	if (r < 0)
		return r;
	pthread_rwlock_wrlock(&a->lock);
	old = a->auth;
	a->auth = fresh;
	pthread_mutex_lock(&a->memory);
	memset(a->known, 0, sizeof(a->known));
	pthread_mutex_unlock(&a->memory);
	sessions_retain(a->sessions, is_session_valid, a);
	pthread_rwlock_unlock(&a->lock);
	auth_free(old);
	return 0;
}

void access_add_issuer(struct access *a, struct oidc *oidc)
{
	a->oidc = oidc;
}

static int64_t now_s(void)
{
	return (int64_t)(clock_unix_ns() / CLOCK_SECOND_NS);
}

static struct known *set_of(struct access *a, const uint8_t key[KEY_LEN])
{
	return &a->known[(key[0] << 8 | key[1]) % N_SETS * N_WAYS];
}

static struct known *find_known(struct access *a, const uint8_t key[KEY_LEN])
{
	struct known *set = set_of(a, key);

	for (int i = 0; i < N_WAYS; i++)
		if (now_s() < set[i].until_s && gnutls_memcmp(set[i].key, key, KEY_LEN) == 0)
			return &set[i];
	return NULL;
}

static bool recall(struct access *a, const uint8_t key[KEY_LEN], struct client *out)
{
	const struct known *k;

	pthread_mutex_lock(&a->memory);
	k = find_known(a, key);
	if (k)
		*out = k->client;
	pthread_mutex_unlock(&a->memory);
	return k != NULL;
}

/* If the set has no free place, bits of the key choose the one that is replaced. */
static void remember(struct access *a, const uint8_t key[KEY_LEN], const struct client *client,
		     int64_t until_s)
{
	struct known *set = set_of(a, key), *k;

	pthread_mutex_lock(&a->memory);
	k = find_known(a, key);
	for (int i = 0; !k && i < N_WAYS; i++)
		if (now_s() >= set[i].until_s)
			k = &set[i];
	if (!k)
		k = &set[key[2] % N_WAYS];
	memcpy(k->key, key, KEY_LEN);
	k->until_s = until_s;
	k->client = *client;
	pthread_mutex_unlock(&a->memory);
}

/* Any user with a token as the password is accepted. */
static int check_password(struct access *a, const struct access_login *l,
			  const struct http_peer *peer, struct client *out)
{
	if (auth_find_token(a->auth, l->secret, l->secret_len, out))
		return 0;
	if (auth_is_slow(a->auth) && !attempts_allow(&a->attempts, peer, clock_monotonic_ms()))
		return -EUSERS;
	if (auth_find_password(a->auth, l->user, l->user_len, l->secret, l->secret_len, out))
		return 0;
	attempts_count(&a->attempts, peer, clock_monotonic_ms());
	return -EACCES;
}

static int check_basic(struct access *a, const char *coded, const struct http_peer *peer,
		       struct client *out)
{
	_cleanup_(buf_fini) struct buf plain = { 0 };
	struct access_login l;
	const char *colon;

	if (base64_decode(coded, strlen(coded), &plain) < 0 || !plain.len)
		return -EACCES;
	l.user = (const char *)plain.data;
	colon = memchr(l.user, ':', plain.len);
	if (!colon)
		return -EACCES;
	l.user_len = (size_t)(colon - l.user);
	l.secret = colon + 1;
	l.secret_len = plain.len - l.user_len - 1;
	return check_password(a, &l, peer, out);
}

/* *@out_until_s is set for a token that expires. */
static int check_token(struct access *a, const char *token, size_t len, struct client *out,
		       int64_t *out_until_s)
{
	if (auth_find_token(a->auth, token, len, out))
		return 0;
	return a->oidc && oidc_check(a->oidc, token, len, out, out_until_s) == 0 ? 0 : -EACCES;
}

static int check(struct access *a, const char *authorization, const struct http_peer *peer,
		 struct client *out, int64_t *out_until_s)
{
	const char *token = authorization + 7;
	int r;

	if (!strncasecmp(authorization, "Basic ", 6))
		return check_basic(a, authorization + 6, peer, out);
	if (strncasecmp(authorization, "Bearer ", 7) != 0)
		return -EACCES;
	r = check_token(a, token, strlen(token), out, out_until_s);
	if (*out_until_s != INT64_MAX && *out_until_s > now_s() + ISSUER_KNOWN_S)
		*out_until_s = now_s() + ISSUER_KNOWN_S;
	return r;
}

/* Computes the key of a header. False if it cannot be valid. */
static bool key_of(struct access *a, const char *authorization, uint8_t out[KEY_LEN])
{
	size_t len = authorization ? strlen(authorization) : 0;

	return len && len <= MAX_HEADER &&
	       gnutls_hmac_fast(GNUTLS_MAC_SHA256, a->mac_key, sizeof(a->mac_key), authorization,
				len, out) == 0;
}

int access_recall(struct access *a, const char *authorization, struct client *out)
{
	uint8_t key[KEY_LEN];

	if (!key_of(a, authorization, key))
		return -EACCES;
	return recall(a, key, out) ? 0 : -EINPROGRESS;
}

int access_check(struct access *a, const char *authorization, const struct http_peer *peer,
		 struct client *out)
{
	int64_t until_s = INT64_MAX;
	uint8_t key[KEY_LEN];
	int r;

	if (!key_of(a, authorization, key))
		return -EACCES;
	if (recall(a, key, out))
		return 0;
	pthread_rwlock_rdlock(&a->lock);
	r = check(a, authorization, peer, out, &until_s);
	if (r == 0)
		remember(a, key, out, until_s);
	pthread_rwlock_unlock(&a->lock);
	return r;
}

uint64_t access_flow(const struct access *a, const struct http_peer *peer)
{
	return attempts_hash(&a->attempts, peer);
}

/* When a session that begins now ends, in milliseconds of CLOCK_MONOTONIC. */
static int64_t session_end(const struct access *a, int64_t now_ms, int64_t until_s)
{
	int64_t left_s = until_s == INT64_MAX ? INT64_MAX / 1000 : until_s - now_s();

	return now_ms +
	       (left_s < a->opt.session_max_ms / 1000 ? left_s * 1000 : a->opt.session_max_ms);
}

/* The session begins under the lock, so a reload sees it. */
int access_sign_in(struct access *a, const struct access_login *login, const struct http_peer *peer,
		   struct client *out, char out_id[SESSION_ID_LEN + 1])
{
	int64_t until_s = INT64_MAX, now_ms = clock_monotonic_ms();
	int r;

	*out = (struct client){ 0 };
	pthread_rwlock_rdlock(&a->lock);
	r = login->user_len ? check_password(a, login, peer, out)
			    : check_token(a, login->secret, login->secret_len, out, &until_s);
	if (r == 0)
		r = sessions_add(a->sessions, out, now_ms, session_end(a, now_ms, until_s), out_id);
	pthread_rwlock_unlock(&a->lock);
	return r;
}

int access_check_session(struct access *a, const char *id, size_t len, struct client *out)
{
	return sessions_find(a->sessions, id, len, clock_monotonic_ms(), out) ? 0 : -EACCES;
}

void access_sign_out(struct access *a, const char *id, size_t len)
{
	sessions_remove(a->sessions, id, len);
}

bool access_has_tokens(struct access *a)
{
	bool has;

	pthread_rwlock_rdlock(&a->lock);
	has = a->oidc || auth_has_tokens(a->auth);
	pthread_rwlock_unlock(&a->lock);
	return has;
}

bool access_has_passwords(struct access *a)
{
	bool has;

	pthread_rwlock_rdlock(&a->lock);
	has = auth_has_passwords(a->auth);
	pthread_rwlock_unlock(&a->lock);
	return has;
}

int access_check_subject(struct access *a, const char *name, struct client *out)
{
	bool found;

	pthread_rwlock_rdlock(&a->lock);
	found = auth_find_subject(a->auth, name, out);
	pthread_rwlock_unlock(&a->lock);
	return found ? 0 : -EACCES;
}

size_t access_n_plain(struct access *a)
{
	size_t n;

	pthread_rwlock_rdlock(&a->lock);
	n = auth_n_plain(a->auth);
	pthread_rwlock_unlock(&a->lock);
	return n;
}
