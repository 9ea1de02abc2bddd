/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Bearer tokens of an OpenID Connect issuer: stores the issuer's keys, from a file or from a URL
 * that a thread of its own reads, and checks tokens with them. The URL is read every five minutes,
 * and when a token names an unknown key, at most once in ten seconds however many tokens do. While
 * it cannot be read, the previous keys remain in use. Any thread.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "server/jwt.h"

struct client;
struct err;
struct oidc;

/* Called with the result of each reading of the URL. */
typedef void (*oidc_report_fn)(void *ctx, const char *url, int result, const struct err *err);

struct oidc_options {
	struct jwt_rules rules; /* issuer NULL: tokens are not accepted */
	const char *jwks;       /* a path, https://…, or http:// of this machine */
	oidc_report_fn report;
	void *ctx;
};

/*
 * Strings of @opt are borrowed. Returns 0, or -errno with the reason in @err: a file must be
 * readable now; a URL that is not is reported, and read again later.
 */
int oidc_open(struct oidc **out, const struct oidc_options *opt, struct err *err);
void oidc_close(struct oidc *o);

DEFINE_FREEP(struct oidc, oidc_close)

/* Reads the keys again; after a failure they are unchanged. A watcher_fn for files. */
int oidc_reload(void *oidc, struct err *err);

/*
 * Returns 0 with the client and the time (seconds since 1970) until which the token holds; -EACCES.
 */
int oidc_check(struct oidc *o, const char *token, size_t len, struct client *out,
	       int64_t *out_expires_s);
