/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sha256.h"

#include <string.h>

enum { BLOCK_LEN = 64, LENGTH_LEN = 8 };

/* FIPS 180-4, 4.2.2 */
static const uint32_t k[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
	0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
	0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
	0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
	0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
	0xc67178f2,
};

static uint32_t turned(uint32_t v, int by)
{
	return v >> by | v << (32 - by);
}

static uint32_t big_endian(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* 6.2.2 */
static void add_block(uint32_t h[8], const uint8_t block[BLOCK_LEN])
{
	uint32_t w[64], s[8];

	for (int t = 0; t < 16; t++)
		w[t] = big_endian(block + 4 * t);
	for (int t = 16; t < 64; t++)
		w[t] = w[t - 16] + w[t - 7] +
		       (turned(w[t - 15], 7) ^ turned(w[t - 15], 18) ^ w[t - 15] >> 3) +
		       (turned(w[t - 2], 17) ^ turned(w[t - 2], 19) ^ w[t - 2] >> 10);
	memcpy(s, h, sizeof(s));
	for (int t = 0; t < 64; t++) {
		uint32_t e = s[4], a = s[0];
		uint32_t t1 = s[7] + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) +
			      ((e & s[5]) ^ (~e & s[6])) + k[t] + w[t];
		uint32_t t2 = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) +
			      ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));

		memmove(s + 1, s, 7 * sizeof(*s));
		s[4] += t1;
		s[0] = t1 + t2;
	}
	for (int i = 0; i < 8; i++)
		h[i] += s[i];
}

void sha256(const void *data, size_t len, uint8_t out[SHA256_LEN])
{
	uint32_t h[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
			  0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
	const uint8_t *p = data;
	uint8_t last[2 * BLOCK_LEN] = { 0 };
	size_t left = len, end;

	for (; left >= BLOCK_LEN; left -= BLOCK_LEN, p += BLOCK_LEN)
		add_block(h, p);
	if (left)
		memcpy(last, p, left);
	last[left] = 0x80;
	end = left + 1 + LENGTH_LEN <= BLOCK_LEN ? BLOCK_LEN : 2 * BLOCK_LEN;
	for (int i = 0; i < LENGTH_LEN; i++)
		last[end - 1 - (size_t)i] = (uint8_t)((uint64_t)len * 8 >> (8 * i));
	for (size_t at = 0; at < end; at += BLOCK_LEN)
		add_block(h, last + at);
	for (int i = 0; i < SHA256_LEN; i++)
		out[i] = (uint8_t)(h[i / 4] >> (24 - 8 * (i % 4)));
}
