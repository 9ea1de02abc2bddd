/* SPDX-License-Identifier: Apache-2.0 */
#include "dotnet_memory.h"

#include <assert.h>
#include <string.h>

enum {
	PE_AT = 0x80,
	OPTIONAL_AT = PE_AT + 24,
	OPTIONAL_BYTES = 0xf0,
	SECTION_AT = OPTIONAL_AT + OPTIONAL_BYTES,
	FLAT_OFFSET = 0x400, /* of the section in the file */
	SECTION_BYTES = 0x2000,
	/* in the section */
	METADATA = 0x100,
	STRINGS = 0x300,
	READY = 0x800,
	FUNCTIONS = 0x900,
	METHODS = 0xa00,
	INSTANCES = 0xb00,
	N_FUNCTIONS = 6,
	LEVEL_BYTES = 256 * 8,
	FRAGMENT_AT = 0x16f00,
	RANGE_AT = 0x16f40,
	MODULE_BASE = 0x120,
	BIAS = 0x1000,
};

static const char strings[] =
	"\0<Module>\0Shop\0Cart\0<Fetch>d__3\0List`1\0Add\0<Run>b__0\0MoveNext\0Get";
enum {
	AT_MODULE = 1,
	AT_SHOP = 10,
	AT_CART = 15,
	AT_FETCH = 20,
	AT_LIST = 32,
	AT_ADD = 39,
	AT_RUN = 43,
	AT_MOVE_NEXT = 53,
	AT_GET = 62,
};

static int read_memory(void *ctx, uint64_t addr, void *dst, size_t len)
{
	const struct dotnet_memory *m = ctx;
	uint64_t off = addr - DOTNET_MEMORY_AT;

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

void dotnet_memory_put(struct dotnet_memory *m, uint64_t addr, const void *data, size_t len)
{
	uint64_t off = addr - DOTNET_MEMORY_AT;

	assert(off <= sizeof(m->bytes) && len <= sizeof(m->bytes) - off);
	memcpy(m->bytes + off, data, len);
}

static void put(struct dotnet_memory *m, uint64_t addr, uint64_t v, size_t width)
{
	dotnet_memory_put(m, addr, &v, width);
}

/* ---- the assembly ----------------------------------------------------------------- */

static void put_headers(struct dotnet_memory *m, bool is_flat)
{
	uint64_t at = DOTNET_MEMORY_AT;

	put(m, at, 0x5a4d, 2);
	put(m, at + 0x3c, PE_AT, 4);
	put(m, at + PE_AT, 0x4550, 4);
	put(m, at + PE_AT + 6, 1, 2);
	put(m, at + PE_AT + 20, OPTIONAL_BYTES, 2);
	put(m, at + OPTIONAL_AT, 0x20b, 2);
	put(m, at + OPTIONAL_AT + 112 + 8 * 14, DOTNET_IMAGE_RVA, 4);
	put(m, at + SECTION_AT + 8, SECTION_BYTES, 4);
	put(m, at + SECTION_AT + 12, DOTNET_IMAGE_RVA, 4);
	put(m, at + SECTION_AT + 16, SECTION_BYTES, 4);
	put(m, at + SECTION_AT + 20, FLAT_OFFSET, 4);
	at += is_flat ? FLAT_OFFSET : DOTNET_IMAGE_RVA;
	put(m, at, 72, 4);
	put(m, at + 8, DOTNET_IMAGE_RVA + METADATA, 4);
	put(m, at + 12, READY - METADATA, 4);
	put(m, at + 64, DOTNET_IMAGE_RVA + READY, 4);
}

/* A row: numbers, each with its width after it, up to a width of 0. */
static uint64_t put_row(struct dotnet_memory *m, uint64_t at, const uint16_t *row)
{
	for (; row[1]; row += 2) {
		put(m, at, row[0], row[1]);
		at += row[1];
	}
	return at;
}

static void put_metadata(struct dotnet_memory *m, uint64_t at)
{
	static const uint16_t rows[][14] = {
		{ 0, 2, 0, 2, 0, 2, 0, 2, 0, 2 },
		{ 0, 4, AT_MODULE, 2, 0, 2, 0, 2, 1, 2, 1, 2 },
		{ 0, 4, AT_CART, 2, AT_SHOP, 2, 0, 2, 1, 2, 1, 2 },
		{ 0, 4, AT_FETCH, 2, 0, 2, 0, 2, 1, 2, 3, 2 },
		{ 0, 4, AT_LIST, 2, AT_SHOP, 2, 0, 2, 1, 2, 4, 2 },
		{ 0, 4, 0, 2, 0, 2, AT_ADD, 2, 0, 2, 1, 2 },
		{ 0, 4, 0, 2, 0, 2, AT_RUN, 2, 0, 2, 1, 2 },
		{ 0, 4, 0, 2, 0, 2, AT_MOVE_NEXT, 2, 0, 2, 1, 2 },
		{ 0, 4, 0, 2, 0, 2, AT_GET, 2, 0, 2, 1, 2 },
		{ 3, 2, 2, 2 },
	};
	static const uint32_t n_rows[] = { 1, 4, 4, 1 };
	uint64_t tables = at + 0x80;

	dotnet_memory_put(m, at, "BSJB\1\0\1\0\0\0\0\0\14\0\0\0v4.0.30319\0\0\0\0\2\0", 32);
	put(m, at + 32, 0x80, 4);
	put(m, at + 36, STRINGS - METADATA - 0x80, 4);
	dotnet_memory_put(m, at + 40, "#~\0\0", 4);
	put(m, at + 44, STRINGS - METADATA, 4);
	put(m, at + 48, sizeof(strings), 4);
	dotnet_memory_put(m, at + 52, "#Strings\0\0\0\0", 12);
	put(m, tables + 8, 1ULL << 0 | 1ULL << 2 | 1ULL << 6 | 1ULL << 0x29, 8);
	dotnet_memory_put(m, tables + 24, n_rows, sizeof(n_rows));
	tables += 24 + sizeof(n_rows);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		tables = put_row(m, tables, rows[i]);
	dotnet_memory_put(m, at + STRINGS - METADATA, strings, sizeof(strings));
}

static void put_ready(struct dotnet_memory *m, uint64_t at)
{
	/*
	 * four methods, with functions 0, 1, 3 and 5 (the second has a handler): a block of which
	 * only the first half of the first half is there
	 */
	static const uint8_t methods[] = {
		32, 1, 2, 2, 38, 22, 0 << 2, 1 << 2, 22, 3 << 2, 5 << 2
	};
	/* one bucket with one instance: function 4 is the fourth method of a class of string */
	static const uint8_t instances[] = {
		0, 2, 4, 0xaa, 2, 0x40, 0x15, 0x12, 8, 1, 0x0e, 4, 16
	};
	const uint32_t head[] = { 0x00525452,
				  9,
				  0,
				  3,
				  102,
				  DOTNET_IMAGE_RVA + FUNCTIONS,
				  N_FUNCTIONS * DOTNET_FUNCTION_BYTES,
				  103,
				  DOTNET_IMAGE_RVA + METHODS,
				  sizeof(methods),
				  109,
				  DOTNET_IMAGE_RVA + INSTANCES,
				  sizeof(instances) };

	dotnet_memory_put(m, at + READY, head, sizeof(head));
	for (uint32_t i = 0; i < N_FUNCTIONS; i++) {
		const uint32_t entry[] = { DOTNET_CODE_RVA + 16 * i, DOTNET_CODE_RVA + 16 * i + 16,
					   DOTNET_CODE_RVA + 0x100 };

		dotnet_memory_put(m, at + FUNCTIONS + i * sizeof(entry), entry, sizeof(entry));
	}
	dotnet_memory_put(m, at + METHODS, methods, sizeof(methods));
	dotnet_memory_put(m, at + INSTANCES, instances, sizeof(instances));
}

/* ---- the runtime ------------------------------------------------------------------ */

static void put_ranges(struct dotnet_memory *m)
{
	const uint64_t fragment[] = { 0, DOTNET_MEMORY_AT, DOTNET_MEMORY_AT + 0x3000, RANGE_AT };
	const uint64_t range[] = {
		DOTNET_MEMORY_AT, DOTNET_MEMORY_AT + 0x3000, 0, 0, DOTNET_MODULE_AT, 0
	};
	uint64_t at = DOTNET_RANGES_AT + 16;

	put(m, DOTNET_RANGES_AT, at, 8);
	for (int i = 1; i < DOTNET_MAP_LEVELS; i++, at += LEVEL_BYTES)
		put(m, at, (at + LEVEL_BYTES) | 1, 8);
	put(m, at, FRAGMENT_AT, 8);
	dotnet_memory_put(m, FRAGMENT_AT, fragment, sizeof(fragment));
	dotnet_memory_put(m, RANGE_AT, range, sizeof(range));
}

static void put_methods(struct dotnet_memory *m)
{
	/*
	 * No flags, 6 bytes of places, no variables. Three places: 0 is the prologue, 4 is IL 0, 9
	 * is IL 12. In nibbles, of which a byte has the low one first: 3; 0 1 0; 4 3 0; 5 97 0.
	 */
	static const uint8_t debug_info[] = { 0, 0x06, 0x03, 0x01, 0x34, 0x50, 0x79, 0x00 };

	put(m, DOTNET_CHUNK_AT, DOTNET_TABLE_AT, 8);
	put(m, DOTNET_TABLE_AT + 24, DOTNET_MODULE_AT, 8);
	put(m, DOTNET_MODULE_AT + MODULE_BASE, DOTNET_MEMORY_AT, 8);
	for (uint32_t i = 0; i < 4; i++)
		put(m, dotnet_memory_method(i), 0xf000 | (i + 1) | (uint64_t)i << 16, 8);
	for (uint32_t i = 0; i < 5; i++) {
		uint64_t header = DOTNET_HEADERS_AT + 40ULL * i;

		put(m, dotnet_memory_code(i) - 8, header, 8);
		put(m, header + DOTNET_HEADER_DEBUG, i < 4 ? DOTNET_DEBUG_AT : 0, 8);
		put(m, header + DOTNET_HEADER_METHOD, dotnet_memory_method(i), 8);
	}
	dotnet_memory_put(m, DOTNET_DEBUG_AT, debug_info, sizeof(debug_info));
	put(m, dotnet_memory_method(4), 4 << 16 | 7ULL << 48, 8);
	put(m, dotnet_memory_method(4) + 32, DOTNET_NAME_AT, 8);
	dotnet_memory_put(m, DOTNET_NAME_AT, "Ma\nde", 6);
}

void dotnet_memory_init(struct dotnet_memory *m, bool is_flat)
{
	uint64_t section = DOTNET_MEMORY_AT + (is_flat ? FLAT_OFFSET : DOTNET_IMAGE_RVA);

	memset(m, 0, sizeof(*m));
	m->tables.codes = m->codes;
	m->tables.dotnet = m->vms;
	m->codes[1].lang = LANG_DOTNET;
	m->vms[1] = (struct dotnet_vm){
		.major = 9,
		.ranges = DOTNET_RANGES_AT - BIAS,
		.module_base = MODULE_BASE,
		.dynamic_name = 32,
	};
	m->process = (struct lang_process){
		.pid = 7,
		.read = read_memory,
		.bias = bias_of,
		.ctx = m,
	};
	put_headers(m, is_flat);
	put_metadata(m, section + METADATA);
	put_ready(m, section);
	put_ranges(m);
	put_methods(m);
}

uint32_t dotnet_memory_cookie(const struct dotnet_memory *m, uint32_t i)
{
	uint64_t desc, name = 0;
	size_t off = dotnet_memory_method(i) - DOTNET_MEMORY_AT;

	memcpy(&desc, m->bytes + off, sizeof(desc));
	if (DOTNET_DESC_KIND(desc) == DOTNET_KIND_DYNAMIC)
		memcpy(&name, m->bytes + off + 32, sizeof(name));
	return lang_cookie(dotnet_method_key(desc, DOTNET_TABLE_AT, name));
}
