/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Salted hashes of secrets: PBKDF2 with HMAC-SHA-256 (RFC 8018), as files of credentials contain
 * them: $pbkdf2-sha256$ROUNDS$SALT$HASH, salt and hash in base64. A token is random and needs one
 * round; a password, which people choose, needs many. GnuTLS computes. Any thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

enum {
	SECRET_SALT = 16,
	SECRET_HASH = 32,
	SECRET_TOKEN_ROUNDS = 1,
	SECRET_PASSWORD_ROUNDS = 20000, /* 5 to 10 ms of a processor */
	SECRET_MAX_ROUNDS = 200000,     /* a file that demands more is refused */
};

struct secret {
	uint32_t rounds;
	uint8_t salt[SECRET_SALT];
	uint8_t hash[SECRET_HASH];
};

/* Returns true if @text is meant as a hash, whether it is valid or not. */
bool secret_is_hash(const char *text);

/* Reads a hash. Returns 0, -EINVAL if it is malformed, or -ENOMEM. */
int secret_parse(const char *text, struct secret *out);

/* Appends the form that secret_parse() reads. */
void secret_print(const struct secret *s, struct buf *out);

/* A new hash with a random salt. Returns 0 or -EIO if the random generator or GnuTLS fails. */
int secret_make(const void *data, size_t len, uint32_t rounds, struct secret *out);

/* Computes the hash of @data with the salt and rounds of @s. Returns 0 or -EIO. */
int secret_hash(const struct secret *s, const void *data, size_t len, uint8_t out[SECRET_HASH]);

/* Compares two hashes in constant time. */
bool secret_equal(const uint8_t a[SECRET_HASH], const uint8_t b[SECRET_HASH]);
