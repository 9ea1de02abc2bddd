/* SPDX-License-Identifier: Apache-2.0 */
/*
 * J.-P. Aumasson and D. J. Bernstein, "SipHash: a fast short-input PRF" (2012), with the output
 * of 128 bits of their reference code. Words are loaded in little-endian order.
 */
#include "base/siphash.h"

#include <string.h>

static inline uint64_t rotl(uint64_t x, int n)
{
	return x << n | x >> (64 - n);
}

static inline void sipround(uint64_t v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = rotl(v[1], 13) ^ v[0];
	v[3] = rotl(v[3], 16) ^ v[2];
	v[0] = rotl(v[0], 32);
	v[2] += v[1];
	v[0] += v[3];
	v[1] = rotl(v[1], 17) ^ v[2];
	v[3] = rotl(v[3], 21) ^ v[0];
	v[2] = rotl(v[2], 32);
}

static inline void compress(uint64_t v[4], uint64_t m)
{
	v[3] ^= m;
	sipround(v);
	sipround(v);
	v[0] ^= m;
}

static inline uint64_t load(const uint8_t *p)
{
	uint64_t m;

	memcpy(&m, p, sizeof(m));
	return m;
}

void siphash_init(struct siphash *s, const struct siphash_key *key)
{
	uint64_t k0 = load(key->bytes), k1 = load(key->bytes + 8);

	*s = (struct siphash){
		.v = { k0 ^ 0x736f6d6570736575ULL, k1 ^ 0x646f72616e646f6dULL ^ 0xee,
		       k0 ^ 0x6c7967656e657261ULL, k1 ^ 0x7465646279746573ULL },
	};
}

/* Compresses @n words. The local copy keeps the state in registers. */
static void add_words(struct siphash *s, const uint8_t *p, size_t n)
{
	uint64_t v[4];

	memcpy(v, s->v, sizeof(v));
	for (size_t i = 0; i < n; i++)
		compress(v, load(p + 8 * i));
	memcpy(s->v, v, sizeof(v));
}

void siphash_add(struct siphash *s, const void *data, size_t len)
{
	const uint8_t *p = data;
	size_t have = s->len % 8, take = have ? 8 - have : 0;

	if (!len)
		return;
	s->len += len;
	if (take > len)
		take = len;
	memcpy(s->rest + have, p, take);
	if (have && have + take == 8)
		add_words(s, s->rest, 1);
	else if (have)
		return;
	p += take;
	len -= take;
	add_words(s, p, len / 8);
	memcpy(s->rest, p + len / 8 * 8, len % 8);
}

static uint64_t finish(uint64_t v[4])
{
	for (int i = 0; i < 4; i++)
		sipround(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

void siphash_end(struct siphash *s, struct siphash_value *out)
{
	uint8_t last[8] = { 0 };
	uint64_t h[2];

	memcpy(last, s->rest, s->len % 8);
	last[7] = (uint8_t)s->len;
	compress(s->v, load(last));
	s->v[2] ^= 0xee;
	h[0] = finish(s->v);
	s->v[1] ^= 0xdd;
	h[1] = finish(s->v);
	memcpy(out->bytes, h, sizeof(h));
}
