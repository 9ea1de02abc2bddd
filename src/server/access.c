/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Successful checks are cached in a table with one place for each value of some bits of the key.
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
#include "server/oidc.h"

enum {
	KEY_LEN = 32,
	N_KNOWN = 512,
	MAX_HEADER = 16384,
	ISSUER_KNOWN_S = 60,     /* after which a token of an issuer is verified again */
	MAX_FAILURES = 20,       /* wrong passwords at once */
	FAILURE_REFILL_MS = 200, /* after which one more is allowed */
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
	struct known known[N_KNOWN];
	int failures;
	int64_t refilled_ms;
};

void access_free(struct access *a)
{
	if (!a)
		return;
	auth_free(a->auth);
	sessions_free(a->sessions);
	pthread_rwlock_destroy(&a->lock);
	pthread_mutex_destroy(&a->memory);
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
	a->refilled_ms = clock_monotonic_ms();
	pthread_rwlock_init(&a->lock, NULL);
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
 * The lock is held while cache and sessions are cleared, so that nothing that was checked by old
 * files enters them later.
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

static struct known *place_of(struct access *a, const uint8_t key[KEY_LEN])
{
	return &a->known[(key[0] << 8 | key[1]) % N_KNOWN];
}

static bool recall(struct access *a, const uint8_t key[KEY_LEN], struct client *out)
{
	const struct known *k = place_of(a, key);
	bool is_known;

	pthread_mutex_lock(&a->memory);
	is_known = now_s() < k->until_s && gnutls_memcmp(k->key, key, KEY_LEN) == 0;
	if (is_known)
		*out = k->client;
	pthread_mutex_unlock(&a->memory);
	return is_known;
}

static void remember(struct access *a, const uint8_t key[KEY_LEN], const struct client *client,
		     int64_t until_s)
{
	struct known *k = place_of(a, key);

	pthread_mutex_lock(&a->memory);
	memcpy(k->key, key, KEY_LEN);
	k->until_s = until_s;
	k->client = *client;
	pthread_mutex_unlock(&a->memory);
}

/* A bucket of failures: may one more password be checked, and one more has failed. */
static bool may_fail(struct access *a)
{
	int64_t now = clock_monotonic_ms(), healed;
	bool may;

	pthread_mutex_lock(&a->memory);
	healed = (now - a->refilled_ms) / FAILURE_REFILL_MS;
	a->refilled_ms += healed * FAILURE_REFILL_MS;
	a->failures = healed < a->failures ? a->failures - (int)healed : 0;
	may = a->failures < MAX_FAILURES;
	pthread_mutex_unlock(&a->memory);
	return may;
}

static void count_failure(struct access *a)
{
	pthread_mutex_lock(&a->memory);
	a->failures += a->failures < MAX_FAILURES;
	pthread_mutex_unlock(&a->memory);
}

/* Any user with a token as the password is accepted. */
static int check_password(struct access *a, const struct access_login *l, struct client *out)
{
	if (auth_find_token(a->auth, l->secret, l->secret_len, out))
		return 0;
	if (auth_is_slow(a->auth) && !may_fail(a))
		return -EUSERS;
	if (auth_find_password(a->auth, l->user, l->user_len, l->secret, l->secret_len, out))
		return 0;
	count_failure(a);
	return -EACCES;
}

static int check_basic(struct access *a, const char *coded, struct client *out)
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
	return check_password(a, &l, out);
}

/* *@out_until_s is set for a token that expires. */
static int check_token(struct access *a, const char *token, size_t len, struct client *out,
		       int64_t *out_until_s)
{
	if (auth_find_token(a->auth, token, len, out))
		return 0;
	return a->oidc && oidc_check(a->oidc, token, len, out, out_until_s) == 0 ? 0 : -EACCES;
}

static int check(struct access *a, const char *authorization, struct client *out,
		 int64_t *out_until_s)
{
	const char *token = authorization + 7;
	int r;

	if (!strncasecmp(authorization, "Basic ", 6))
		return check_basic(a, authorization + 6, out);
	if (strncasecmp(authorization, "Bearer ", 7) != 0)
		return -EACCES;
	r = check_token(a, token, strlen(token), out, out_until_s);
	if (*out_until_s != INT64_MAX && *out_until_s > now_s() + ISSUER_KNOWN_S)
		*out_until_s = now_s() + ISSUER_KNOWN_S;
	return r;
}

int access_check(struct access *a, const char *authorization, struct client *out)
{
	size_t len = authorization ? strlen(authorization) : 0;
	int64_t until_s = INT64_MAX;
	uint8_t key[KEY_LEN];
	int r;

	if (!len || len > MAX_HEADER)
		return -EACCES;
	if (gnutls_hmac_fast(GNUTLS_MAC_SHA256, a->mac_key, sizeof(a->mac_key), authorization, len,
			     key) < 0)
		return -EACCES;
	pthread_rwlock_rdlock(&a->lock);
	if (recall(a, key, out)) {
		r = 0;
	} else {
		r = check(a, authorization, out, &until_s);
		if (r == 0)
			remember(a, key, out, until_s);
	}
	pthread_rwlock_unlock(&a->lock);
	return r;
}

/* When a session that begins now ends, in milliseconds of CLOCK_MONOTONIC. */
static int64_t session_end(const struct access *a, int64_t now_ms, int64_t until_s)
{
	int64_t left_s = until_s == INT64_MAX ? INT64_MAX / 1000 : until_s - now_s();

	return now_ms +
	       (left_s < a->opt.session_max_ms / 1000 ? left_s * 1000 : a->opt.session_max_ms);
}

/* The session begins under the lock, so a reload sees it. */
int access_sign_in(struct access *a, const struct access_login *login, struct client *out,
		   char out_id[SESSION_ID_LEN + 1])
{
	int64_t until_s = INT64_MAX, now_ms = clock_monotonic_ms();
	int r;

	*out = (struct client){ 0 };
	pthread_rwlock_rdlock(&a->lock);
	r = login->user_len ? check_password(a, login, out)
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
