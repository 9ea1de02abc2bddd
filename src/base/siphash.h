/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * SipHash-2-4 with 128 bits: a keyed hash for which nobody without the key can construct a
 * collision. Use it where untrusted data is stored under its hash; tables in memory have
 * base/hash.h. Among Debian's libraries, libsodium and OpenSSL have this function; the program
 * links neither otherwise.
 */
#include <stddef.h>
#include <stdint.h>

struct siphash_key {
	uint8_t bytes[16];
};

struct siphash {
	uint64_t v[4];
	uint64_t len;    /* bytes added */
	uint8_t rest[8]; /* the last len % 8 bytes, not yet compressed */
};

struct siphash_value {
	uint8_t bytes[16];
};

void siphash_init(struct siphash *s, const struct siphash_key *key);
void siphash_add(struct siphash *s, const void *data, size_t len);

/* Computes the hash of everything added. @s must be initialized again before its next use. */
void siphash_end(struct siphash *s, struct siphash_value *out);
