/* SPDX-License-Identifier: Apache-2.0 */
#include "beam_memory.h"

#include <assert.h>
#include <string.h>

enum {
	BIAS = 0x1000,
	MODULES_AT = 0x10200, /* the list of the current generation */
	SEGMENTS_AT = 0x10280,
	SEGMENT_AT = 0x10300, /* pointers to atoms, 48 bytes each from ATOM_AT on */
	ATOM_AT = 0x10400,
	ATOM_BYTES = 48,
	TEXT_AT = 0x10800, /* texts of atoms, 64 bytes each */
	TEXT_BYTES = 64,
	MD5_AT = 0x10c00, /* the sums of both modules */
	FILES_AT = 0x10d00,
	LIST_AT = 0x10d80, /* "a.hrl" as a list */
	ADDRESSES_AT = 0x11440,
	LOCATIONS_AT = 0x114c0,
	FUNCTIONS = 96, /* offset in a header */
	SEGMENTS = 120, /* offset in an IndexTable */
};

static const char *const atoms[] = {
	"shop", "add", "-run/1-fun-0-", "cost", "Elixir.Shop.Cart", "total?", "lib/cart.ex"
};

static int read_memory(void *ctx, uint64_t addr, void *dst, size_t len)
{
	const struct beam_memory *m = ctx;
	uint64_t off = addr - BEAM_MEMORY_AT;

	if (off > sizeof(m->bytes) || len > sizeof(m->bytes) - off)
		return -1;
	memcpy(dst, m->bytes + off, len);
	return 0;
}

static uint64_t bias_of(void *ctx, uint32_t vm)
{
	(void)ctx;
	(void)vm;
	return BIAS;
}

void beam_memory_put(struct beam_memory *m, uint64_t addr, uint64_t v, size_t width)
{
	uint64_t off = addr - BEAM_MEMORY_AT;

	assert(width <= sizeof(v) && off <= sizeof(m->bytes) && width <= sizeof(m->bytes) - off);
	memcpy(m->bytes + off, &v, width);
}

static void put(struct beam_memory *m, uint64_t addr, uint64_t v)
{
	beam_memory_put(m, addr, v, 8);
}

static uint64_t term(uint64_t atom)
{
	return atom << BEAM_ATOM_SHIFT | BEAM_ATOM_TAG;
}

static void put_atoms(struct beam_memory *m)
{
	put(m, BEAM_ATOMS_AT + SEGMENTS, SEGMENTS_AT);
	put(m, SEGMENTS_AT, SEGMENT_AT);
	for (uint64_t i = 0; i < sizeof(atoms) / sizeof(*atoms); i++) {
		uint64_t at = ATOM_AT + i * ATOM_BYTES, text = TEXT_AT + i * TEXT_BYTES;

		put(m, SEGMENT_AT + i * 8, at);
		beam_memory_put(m, at + 16, i, 4);
		beam_memory_put(m, at + 24, strlen(atoms[i]), 2);
		put(m, at + 32, text);
		memcpy(m->bytes + (text - BEAM_MEMORY_AT), atoms[i], strlen(atoms[i]));
	}
}

/* Function @index of the module at @module, which is atom @name. */
static void put_function(struct beam_memory *m, uint64_t module, uint64_t index, uint64_t name,
			 uint64_t function, uint64_t arity)
{
	uint64_t at = module + BEAM_CODE + index * BEAM_CODE_BYTES;

	put(m, module, index + 1);
	put(m, module + FUNCTIONS + index * 8, at);
	put(m, module + FUNCTIONS + index * 8 + 8, at + BEAM_CODE_BYTES);
	put(m, at + 16, term(name));
	put(m, at + 24, term(function));
	put(m, at + 32, arity);
}

/* add/2 has two lines, cost/1 one of another file, and the fun none. */
static void put_lines(struct beam_memory *m)
{
	static const uint32_t locations[] = { 10, 12, 1 << 24 | 7, 20, 2 << 24 | 3 };
	static const int32_t places[] = { -5, 60, 0xa0, 0x128, 0x140 };
	static const uint64_t starts[] = { 0, 3, 3, 5 };

	put(m, BEAM_SHOP_AT + BEAM_HEADER_LINES, BEAM_LINES_AT);
	put(m, BEAM_LINES_AT, FILES_AT);
	put(m, BEAM_LINES_AT + 8, 4);
	put(m, BEAM_LINES_AT + 16, LOCATIONS_AT);
	for (uint64_t i = 0; i < 4; i++)
		put(m, BEAM_LINES_AT + 24 + 8 * i, ADDRESSES_AT + 8 * starts[i]);
	for (uint64_t i = 0; i < 5; i++) {
		put(m, ADDRESSES_AT + 8 * i,
		    BEAM_SHOP_AT + BEAM_CODE + (uint64_t)(int64_t)places[i]);
		beam_memory_put(m, LOCATIONS_AT + 4 * i, locations[i], 4);
	}
	put(m, FILES_AT, term(6));
	put(m, FILES_AT + 8, LIST_AT + 1);
	for (uint64_t i = 0; i < 5; i++) {
		put(m, LIST_AT + 16 * i, (uint64_t) "a.hrl"[i] << 4 | 0xf);
		put(m, LIST_AT + 16 * i + 8, i < 4 ? LIST_AT + 16 * i + 17 : 0x3b);
	}
}

static void put_modules(struct beam_memory *m)
{
	put(m, BEAM_RANGES_AT + 32, MODULES_AT);
	put(m, BEAM_RANGES_AT + 40, 2);
	put(m, BEAM_RANGES_AT + 48, 4);
	put(m, MODULES_AT, BEAM_SHOP_AT);
	put(m, MODULES_AT + 8, BEAM_ELIXIR_AT - 0x100);
	put(m, MODULES_AT + 16, BEAM_ELIXIR_AT);
	put(m, MODULES_AT + 24, BEAM_ELIXIR_AT + 0x200);
	put_function(m, BEAM_SHOP_AT, 0, 0, 1, 2);
	put_function(m, BEAM_SHOP_AT, 1, 0, 2, 0);
	put_function(m, BEAM_SHOP_AT, 2, 0, 3, 1);
	put_function(m, BEAM_ELIXIR_AT, 0, 4, 5, 1);
	put(m, BEAM_SHOP_AT + FUNCTIONS - BEAM_HEADER_MD5, MD5_AT);
	put(m, BEAM_ELIXIR_AT + FUNCTIONS - BEAM_HEADER_MD5, MD5_AT + 16);
	put(m, MD5_AT, 0x123456789abcdef);
	put(m, MD5_AT + 16, 0xfedcba987654321);
}

void beam_memory_init(struct beam_memory *m)
{
	memset(m, 0, sizeof(*m));
	m->vms[1] = (struct beam_vm){
		.ranges = BEAM_RANGES_AT - BIAS,
		.atoms = BEAM_ATOMS_AT - BIAS,
		.functions = FUNCTIONS,
	};
	m->tables = (struct vm_tables){ .codes = m->codes, .beam = m->vms };
	m->process = (struct lang_process){ .read = read_memory, .bias = bias_of, .ctx = m };
	put_atoms(m);
	put_modules(m);
	put_lines(m);
}

uint64_t beam_memory_function(uint32_t i)
{
	return i < 3 ? BEAM_SHOP_AT + BEAM_CODE + (uint64_t)i * BEAM_CODE_BYTES
		     : BEAM_ELIXIR_AT + BEAM_CODE;
}

uint32_t beam_memory_cookie(const struct beam_memory *m, uint32_t i)
{
	uint64_t md5;
	__u64 mfa[3];

	memcpy(mfa, m->bytes + (beam_memory_function(i) + BEAM_INFO_MFA - BEAM_MEMORY_AT),
	       sizeof(mfa));
	memcpy(&md5, m->bytes + ((i < 3 ? MD5_AT : MD5_AT + 16) - BEAM_MEMORY_AT), sizeof(md5));
	return lang_cookie(beam_key(mfa, md5));
}
