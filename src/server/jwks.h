/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Public keys of an issuer of tokens, read from a JSON Web Key Set (RFC 7517): RSA with 2048 to
 * 8192 bits, P-256 and Ed25519. Other keys of a set are ignored. GnuTLS does the cryptography. A
 * set is constant, but used by one thread at a time.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct err;
struct jwks;

/* The algorithms of signatures (RFC 7518, RFC 8037) that are accepted. */
enum jwks_alg { JWKS_NONE, JWKS_RS256, JWKS_ES256, JWKS_EDDSA };

enum { JWKS_MAX_BYTES = 256 * 1024, JWKS_MAX_KEYS = 64 };

/* Returns 0; -EBADMSG for malformed JSON; -EINVAL for a set without a usable key; -ENOMEM. */
int jwks_read(struct jwks **out, const void *json, size_t len, struct err *err);
void jwks_free(struct jwks *set);

DEFINE_FREEP(struct jwks, jwks_free)

/*
 * Verifies the signature @sig of @data by the key with @kid, or by any key of the algorithm if
 * @kid is "". Returns 0; -ENOENT if there is no such key of this algorithm; -EACCES.
 */
int jwks_verify(const struct jwks *set, enum jwks_alg alg, const char *kid, const void *data,
		size_t len, const void *sig, size_t sig_len);
