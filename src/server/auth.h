/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Authentication of clients. A token file has one token per line, a password file one
 * USER:PASSWORD. Either may be followed by a tenant, to which the client is then restricted. Empty
 * lines and lines that begin with # are ignored. Immutable after loading; any thread. A secret has
 * 8 to 1024 characters; a file has at most 10,000 clients. Files are read once, at start.
 */
#include <stdbool.h>

#include "base/cleanup.h"

struct auth;
struct err;

struct auth_options {
	const char *token_file; /* either may be NULL */
	const char *basic_file;
};

/*
 * Returns 0, -EINVAL for a file without clients or with an invalid line, or -errno. With neither
 * file the result accepts nobody: a server without authentication has no struct auth at all.
 */
int auth_load(struct auth **out, const struct auth_options *opt, struct err *err);
void auth_free(struct auth *a);

DEFINE_FREEP(struct auth, auth_free)

/*
 * Checks an `Authorization` header, which may be NULL. Browsers know only user and password, so a
 * token is accepted as the password of any user. *@out_tenant is the tenant to which the client is
 * restricted, or NULL. The scheme is compared without regard to case. The tenant is valid until
 * auth_free().
 */
bool auth_check(const struct auth *a, const char *header, const char **out_tenant);
