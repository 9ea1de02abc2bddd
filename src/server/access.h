/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Identifies clients by their Authorization header while the files of credentials may change. A
 * check that succeeded is remembered by a keyed hash of the header, because the hash of a password
 * takes milliseconds; a reload forgets all. Failed checks of passwords are limited to a rate for
 * all clients together. Any thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "server/auth.h"
#include "server/sessions.h"

struct access;
struct err;
struct http_peer;
struct oidc;

struct access_options {
	struct auth_options auth;
	int64_t session_idle_ms; /* ends a session that was not used for that time */
	int64_t session_max_ms;  /* ends a session that began that long ago */
};

/* The strings of @opt must outlive the result. Returns the same values as auth_load(). */
int access_open(struct access **out, const struct access_options *opt, struct err *err);
void access_free(struct access *a);

DEFINE_FREEP(struct access, access_free)

/* Accepts tokens of an issuer too. Call before the first check; @oidc is borrowed. */
void access_add_issuer(struct access *a, struct oidc *oidc);

/*
 * Reads the files again. After a failure, with the reason in @err, the previous set of clients
 * remains in use.
 */
int access_reload(struct access *a, struct err *err);

/*
 * Identifies the client of an Authorization header that was accepted before, in microseconds and
 * without waiting, so that it may run in a thread of input and output. @authorization may be NULL.
 * Returns 0 and the client in *@out; -EACCES without a header; -EINPROGRESS if access_check() must
 * decide.
 */
int access_recall(struct access *a, const char *authorization, struct client *out);

/*
 * Identifies the client of an Authorization header: "Bearer TOKEN", with a token of a file or of an
 * issuer, or "Basic" with a user and password; any user with a token as the password is accepted
 * too, because some clients know only that scheme. A header that was not accepted before costs
 * milliseconds. @authorization may be NULL. Returns 0 and the client in *@out; -EACCES; -EUSERS if
 * too many passwords of @peer, or of all clients, were wrong in the last seconds, which is
 * temporary.
 */
int access_check(struct access *a, const char *authorization, const struct http_peer *peer,
		 struct client *out);

/*
 * Returns the flow (http.h) of a client that is not identified yet, which is derived from its
 * address.
 */
uint64_t access_flow(const struct access *a, const struct http_peer *peer);

/* The fields of the form to sign in. Without a user the secret is a token. */
struct access_login {
	const char *user, *secret; /* not terminated */
	size_t user_len, secret_len;
};

/*
 * Identifies a client as access_check() does, and begins a session, whose id it writes. The session
 * has the rights of the credential. It ends with the credential: when a reload no longer finds its
 * line unchanged, and when a token of an issuer expires. Returns the same values as access_check(),
 * or -EIO.
 */
int access_sign_in(struct access *a, const struct access_login *login, const struct http_peer *peer,
		   struct client *out, char out_id[SESSION_ID_LEN + 1]);

/* Identifies the client of a session. @id may be anything. Returns 0 or -EACCES. */
int access_check_session(struct access *a, const char *id, size_t len, struct client *out);

/* Ends a session, if there is one. */
void access_sign_out(struct access *a, const char *id, size_t len);

/* Returns true if clients can sign in with a token; with a user and password. */
bool access_has_tokens(struct access *a);
bool access_has_passwords(struct access *a);

/* Identifies the client of a verified certificate with this common name. Returns 0 or -EACCES. */
int access_check_subject(struct access *a, const char *name, struct client *out);

/* Returns the number of secrets that the files hold without a hash, as auth_n_plain() does. */
size_t access_n_plain(struct access *a);
