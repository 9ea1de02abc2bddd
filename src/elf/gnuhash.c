/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The section is four words (buckets, first symbol, words of the Bloom filter,
 * its shift), the filter, the buckets, and a chain word for each symbol from
 * the first one on: its hash, with the low bit set at the end of a bucket.
 */
#include "elf/gnuhash.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

struct gnu_hash {
	struct elf_span span;
	uint32_t n_buckets, first, n_bloom, shift;
	uint64_t buckets, chains; /* offsets in the span */
};

static uint32_t hash_of(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (uint8_t)*name;
	return h;
}

static uint32_t word_at(const struct gnu_hash *g, uint64_t off)
{
	uint32_t v = 0;

	if (off <= g->span.len && g->span.len - off >= sizeof(v))
		memcpy(&v, g->span.data + off, sizeof(v));
	return v;
}

static int open_hash(const struct elf_image *img, struct gnu_hash *g)
{
	if (elf_image_section_of_type(img, SHT_GNU_HASH, &g->span, NULL) < 0)
		return -ENOENT;
	g->n_buckets = word_at(g, 0);
	g->first = word_at(g, 4);
	g->n_bloom = word_at(g, 8);
	g->shift = word_at(g, 12) & 31;
	if (!g->n_buckets || !g->n_bloom)
		return -ENOENT;
	g->buckets = 16 + 8ULL * g->n_bloom;
	g->chains = g->buckets + 4ULL * g->n_buckets;
	return g->chains <= g->span.len ? 0 : -ENOENT;
}

static bool bloom_says_no(const struct gnu_hash *g, uint32_t hash)
{
	uint64_t at = 16 + 8ULL * (hash / 64 % g->n_bloom);
	uint64_t word = word_at(g, at) | (uint64_t)word_at(g, at + 4) << 32;

	return !(word >> (hash & 63) & word >> (hash >> g->shift & 63) & 1);
}

static bool is_symbol(const struct elf_rawsyms *syms, uint32_t i, const char *name,
		      struct elf_rawsym *out)
{
	size_t len = strlen(name);
	const char *have;

	if (i >= syms->n)
		return false;
	elf_rawsyms_get(syms, i, out);
	return out->shndx != SHN_UNDEF &&
	       elf_rawsyms_name(syms, out->name_off, len + 1, &have) == len &&
	       !memcmp(have, name, len);
}

int elf_gnuhash_lookup(const struct elf_image *img, const char *name, struct elf_rawsym *out)
{
	uint32_t hash = hash_of(name), i, have;
	struct elf_rawsyms syms;
	struct gnu_hash g = { 0 };

	if (open_hash(img, &g) < 0 || bloom_says_no(&g, hash) ||
	    elf_rawsyms_open(img, ELF_DYNSYM, &syms) < 0)
		return -ENOENT;
	i = word_at(&g, g.buckets + 4ULL * (hash % g.n_buckets));
	if (i < g.first)
		return -ENOENT;
	for (; i < syms.n; i++) {
		have = word_at(&g, g.chains + 4ULL * (i - g.first));
		if ((have | 1) == (hash | 1) && is_symbol(&syms, i, name, out))
			return 0;
		if (have & 1)
			break;
	}
	return -ENOENT;
}
