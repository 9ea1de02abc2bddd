/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * SipHash-2-4 with 128 bits: a keyed hash for which somebody who does not know
 * the key cannot make two inputs that meet. For what is stored by the hash of a
 * stranger's bytes; indices in memory have base/hash.h.
 */
#include <stddef.h>
#include <stdint.h>

struct siphash_key {
	uint8_t bytes[16];
};

struct siphash {
	uint64_t v[4];
	uint64_t len;
	uint8_t rest[8]; /* len % 8 bytes that wait for more */
};

struct siphash_value {
	uint8_t bytes[16];
};

void siphash_init(struct siphash *s, const struct siphash_key *key);
void siphash_add(struct siphash *s, const void *data, size_t len);

/* Of everything added; @s is used up. */
void siphash_end(struct siphash *s, struct siphash_value *out);
