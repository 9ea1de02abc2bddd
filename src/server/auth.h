/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Who may ask. A token file has a token a line, a password file USER:PASSWORD; either
 * may go on with a tenant, which is then the only one that this client has. Empty lines
 * and those that begin with # say nothing.
 */
#include <stdbool.h>

#include "base/cleanup.h"

struct auth;
struct err;

struct auth_options {
	const char *token_file; /* either may be NULL */
	const char *basic_file;
};

/* 0; -EINVAL: a file has nobody, or a line is none; -errno. */
int auth_load(struct auth **out, const struct auth_options *opt, struct err *err);
void auth_free(struct auth *a);

DEFINE_FREEP(struct auth, auth_free)

/*
 * Is the header `Authorization` that of somebody who may? A browser knows only names and
 * passwords: a token is taken as the password of any name. *@out_tenant is the client's, or
 * NULL if it may choose.
 */
bool auth_check(const struct auth *a, const char *header, const char **out_tenant);
