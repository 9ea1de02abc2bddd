/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Files of credentials. A line is
 *
 *	CREDENTIAL [TENANT [SCOPES]]
 *
 * CREDENTIAL is a token, USER:PASSWORD, or the common name of a client certificate; tokens and
 * passwords may be hashes (secret.h). TENANT restricts the client, "*" and none do not. SCOPES is
 * "read", "write" or "admin", or several separated by commas; without it the client may read and
 * write. Empty lines and lines that begin with # are ignored. A plain secret has 8 to 1024
 * characters; a file has at most 10,000 clients. A loaded set is constant; any thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "server/client.h"

struct auth;
struct err;

enum { AUTH_KEY = 32 };

/* Any file may be NULL. */
struct auth_options {
	const char *token_file;
	const char *basic_file;
	const char *subject_file; /* common names of certificates */
	bool any_subject;         /* every verified certificate may read and write */
	/* A key for the hashes that name credentials: equal lines have equal names. */
	uint8_t key[AUTH_KEY];
};

/*
 * Returns 0, -EINVAL for a file without clients or with an invalid line, or -errno. With no file
 * the result accepts nobody.
 */
int auth_load(struct auth **out, const struct auth_options *opt, struct err *err);
void auth_free(struct auth *a);

DEFINE_FREEP(struct auth, auth_free)

/*
 * Find the client of a token, of a user and password, or of the common name of a verified
 * certificate. Return true and the client in *@out. Secrets are compared as hashes in constant
 * time, and the check takes as long for an unknown user as for a known one.
 */
bool auth_find_token(const struct auth *a, const char *token, size_t len, struct client *out);
bool auth_find_password(const struct auth *a, const char *user, size_t user_len,
			const char *password, size_t len, struct client *out);
bool auth_find_subject(const struct auth *a, const char *name, struct client *out);

/*
 * Returns true if the line by which @client was found in an earlier set is also in this one,
 * unchanged.
 */
bool auth_has(const struct auth *a, const struct client *client);

/* Returns true if any client has a token; a password. */
bool auth_has_tokens(const struct auth *a);
bool auth_has_passwords(const struct auth *a);

/* The number of secrets that the files hold without a hash. */
size_t auth_n_plain(const struct auth *a);
/* True if checking a password takes milliseconds, so that failures must be bounded. */
bool auth_is_slow(const struct auth *a);
