/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Signed JSON Web Tokens (RFC 7515, RFC 7519) as bearer tokens: algorithms RS256, ES256 and EdDSA.
 * "none" and algorithms with a shared key (HS256) do not exist here, so no header can select them.
 */
#include <stddef.h>
#include <stdint.h>

struct client;
struct jwks;

/* The claims that a token must have. Strings outlive the checks. */
struct jwt_rules {
	const char *issuer, *audience;
	const char *scope_claim;  /* a text with spaces or a list that has cameo:read and so on */
	const char *tenant_claim; /* must name a tenant; NULL: any tenant is allowed */
};

enum { JWT_MAX_BYTES = 8192, JWT_LEEWAY_S = 60 };

/*
 * Checks signature, issuer, audience and times. Returns 0 with the client in *@out and the expiry
 * time in *@out_expires_s; -EACCES; -ENOENT if the key is unknown; a newer set may contain it.
 */
int jwt_check(const char *token, size_t len, const struct jwks *keys, const struct jwt_rules *rules,
	      int64_t now_s, struct client *out, int64_t *out_expires_s);
