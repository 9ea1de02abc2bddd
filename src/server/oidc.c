/* SPDX-License-Identifier: Apache-2.0 */
#include "server/oidc.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file_contents.h"
#include "base/thread.h"
#include "net/http_client.h"
#include "server/client.h"
#include "server/jwks.h"

enum {
	REFRESH_S = 300,      /* between readings of the URL */
	UNKNOWN_KEY_S = 10,   /* between readings because of unknown keys, or after a failure */
	FETCH_MS = 10 * 1000, /* for one reading */
};

struct oidc {
	struct oidc_options opt;
	pthread_mutex_t lock; /* guards the members below */
	pthread_cond_t wake;
	struct jwks *keys; /* NULL: none were read yet */
	bool is_key_missing, started;
	atomic_bool stop; /* written with the lock; ends a reading of the URL too */
	pthread_t thread;
};

static bool is_url(const char *text)
{
	return strstr(text, "://") != NULL;
}

/*
 * Returns true for https and for http of this machine. Over other connections, an attacker could
 * replace the keys and so make any token valid.
 */
static bool is_url_safe(const char *url)
{
	static const char *const prefixes[] = { "https://", "http://127.0.0.1:",
						"http://localhost:", "http://[::1]:" };

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (!strncmp(url, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

static int fetch(const char *url, const atomic_bool *cancelled, struct buf *out, struct err *err)
{
	const struct http_client_options opt = { .timeout_ms = FETCH_MS,
						 .max_response = JWKS_MAX_BYTES };
	const struct http_client_request rq = { .url = url, .cancelled = cancelled };
	_cleanup_(http_client_freep) struct http_client *c = NULL;
	struct http_client_response answer = { 0 };
	int r = http_client_new(&c, &opt, err);

	if (r == 0)
		r = http_client_do(c, &rq, &answer, err);
	if (r == 0 && answer.status != 200)
		r = err_set(err, -EPROTO, "\"%s\" responded with status %d", url, answer.status);
	if (r == 0)
		buf_put(out, answer.body.data, answer.body.len);
	http_client_response_fini(&answer);
	return r < 0 ? r : buf_error(out);
}

int oidc_reload(void *oidc, struct err *err)
{
	_cleanup_(buf_fini) struct buf json = { 0 };
	struct jwks *fresh = NULL, *old;
	struct oidc *o = oidc;
	int r = is_url(o->opt.jwks) ? fetch(o->opt.jwks, &o->stop, &json, err)
				    : file_contents(o->opt.jwks, JWKS_MAX_BYTES, &json, err);

	if (r == 0)
		r = jwks_read(&fresh, json.data, json.len, err);
	if (r < 0)
		return r;
	pthread_mutex_lock(&o->lock);
	old = o->keys;
	o->keys = fresh;
	o->is_key_missing = false;
	pthread_mutex_unlock(&o->lock);
	jwks_free(old);
	return 0;
}

/* Waits until a reading is due. Returns false to stop. */
static bool wait_until_due(struct oidc *o, bool failed)
{
	const uint64_t second = CLOCK_SECOND_NS, now = clock_monotonic_ns();
	const uint64_t soonest = now + UNKNOWN_KEY_S * second;
	const uint64_t latest = failed ? soonest : now + REFRESH_S * second;
	bool go;

	pthread_mutex_lock(&o->lock);
	while (!o->stop && thread_wait_until(&o->wake, &o->lock, soonest) == 0)
		;
	while (!o->stop && !o->is_key_missing && thread_wait_until(&o->wake, &o->lock, latest) == 0)
		;
	go = !o->stop;
	pthread_mutex_unlock(&o->lock);
	return go;
}

/* A success is reported only after a failure: it is the normal case. */
static void *refresher_main(void *arg)
{
	struct oidc *o = arg;
	bool failed = false;

	do {
		struct err err = { 0 };
		int r = oidc_reload(o, &err);

		if ((r < 0 && r != -ECANCELED) || (r == 0 && failed))
			o->opt.report(o->opt.ctx, o->opt.jwks, r, &err);
		failed = r < 0;
	} while (wait_until_due(o, failed));
	return NULL;
}

int oidc_open(struct oidc **out, const struct oidc_options *opt, struct err *err)
{
	_cleanup_(oidc_closep) struct oidc *o = NULL;
	int r;

	if (!opt->jwks || !opt->rules.audience)
		return err_set(err, -EINVAL,
			       "--oidc-issuer requires --oidc-jwks and --oidc-audience");
	if (is_url(opt->jwks) && !is_url_safe(opt->jwks))
		return err_set(err, -EINVAL, "--oidc-jwks \"%s\": expected a file or an https URL",
			       opt->jwks);
	o = calloc(1, sizeof(*o));
	if (!o)
		return -ENOMEM;
	o->opt = *opt;
	pthread_mutex_init(&o->lock, NULL);
	pthread_cond_init(&o->wake, NULL);
	if (!is_url(opt->jwks)) {
		r = oidc_reload(o, err);
	} else {
		r = thread_start(&o->thread, refresher_main, o);
		o->started = r == 0;
	}
	if (r == 0)
		*out = steal_ptr(&o);
	return r;
}

void oidc_close(struct oidc *o)
{
	if (!o)
		return;
	if (o->started) {
		pthread_mutex_lock(&o->lock);
		o->stop = true;
		pthread_cond_signal(&o->wake);
		pthread_mutex_unlock(&o->lock);
		pthread_join(o->thread, NULL);
	}
	jwks_free(o->keys);
	pthread_mutex_destroy(&o->lock);
	pthread_cond_destroy(&o->wake);
	free(o);
}

/* The lock is held while a signature is verified, since the keys may be replaced. */
int oidc_check(struct oidc *o, const char *token, size_t len, struct client *out,
	       int64_t *out_expires_s)
{
	int64_t now_s = (int64_t)(clock_unix_ns() / CLOCK_SECOND_NS);
	int r = -ENOENT;

	pthread_mutex_lock(&o->lock);
	if (o->keys)
		r = jwt_check(token, len, o->keys, &o->opt.rules, now_s, out, out_expires_s);
	if (r == -ENOENT && !o->is_key_missing) {
		o->is_key_missing = true;
		pthread_cond_signal(&o->wake);
	}
	pthread_mutex_unlock(&o->lock);
	return r < 0 ? -EACCES : 0;
}
