/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that is not stripped has symbols for the variables. In others, the function that
 * copies the profile loads first the cycle, of 4 bytes, and then the list, of 8 (in Go 1.18, the
 * one that publishes a cycle loads its number); and profilealloc loads first runtime.mcache0 and
 * then the rate.
 */
#include "lang/heap/golang_heap_layout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elf/gopclntab.h"
#include "elf/image.h"
#include "elf/rawsym.h"
#include "lang/golang.h"
#include "lang/golang_code.h"

enum {
	FIRST_RELEASE = 18,
	CYCLE_FLAG_RELEASE = 19, /* since then, bit 0 of the cycle is a flag */
	INTERNAL_RELEASE = 24,
	LOADS_MAX = 8,
};

static long minor_of(const char *version)
{
	return strncmp(version, "1.", 2) ? 0 : strtol(version + 2, NULL, 10);
}

static int find_symbol(const struct elf_image *img, const char *name, uint64_t *out)
{
	struct elf_rawsym sym;
	int r = elf_symbol_lookup(img, ELF_SYMTAB, name, &sym);

	if (r < 0)
		return -ENOENT;
	*out = sym.vaddr;
	return 0;
}

static int find_symbols(const struct elf_image *img, struct golang_heap_layout *out)
{
	const char *cycle = out->cycle_shift ? "runtime.mProfCycle" : "runtime.mProf";
	int r = find_symbol(img, "runtime.mbuckets", &out->buckets);

	if (r == 0)
		r = find_symbol(img, cycle, &out->cycle);
	return r < 0 ? r : find_symbol(img, "runtime.MemProfileRate", &out->rate);
}

static int find_rate(const struct elf_image *img, const struct gopclntab *table, uint64_t *out)
{
	uint64_t loads[LOADS_MAX];
	size_t n = golang_code_loads(img, table, "runtime.profilealloc", 8, loads, LOADS_MAX);

	for (size_t i = 1; i < n; i++)
		if (loads[i] != loads[0]) {
			*out = loads[i];
			return 0;
		}
	return -ENOENT;
}

/* @reader is the function that copies the profile. */
static int find_loads(const struct elf_image *img, const struct gopclntab *table,
		      const char *reader, struct golang_heap_layout *out)
{
	const char *cycle = out->cycle_shift ? reader : "runtime.mProf_FlushLocked";

	if (golang_code_loads(img, table, reader, 8, &out->buckets, 1) != 1 ||
	    golang_code_loads(img, table, cycle, 4, &out->cycle, 1) != 1)
		return -ENOENT;
	return find_rate(img, table, &out->rate);
}

int golang_heap_layout_find(const struct elf_image *img, const struct gopclntab *table,
			    struct golang_heap_layout *out)
{
	const char *reader = "runtime.memProfileInternal"; /* since Go 1.23 */
	char version[GOLANG_VERSION_BYTES] = { 0 };
	int r = golang_detect(img, version);
	long minor = minor_of(version);

	if (r < 0)
		return r;
	if (minor < FIRST_RELEASE)
		return -ENOTSUP;
	*out = (struct golang_heap_layout){
		.cycle_shift = minor >= CYCLE_FLAG_RELEASE,
		.hides_internal = minor >= INTERNAL_RELEASE,
	};
	memcpy(out->version, version, sizeof(out->version));
	if (!golang_code_has(table, reader))
		reader = "runtime.MemProfile";
	if (!golang_code_has(table, reader))
		return -ENODATA;
	if (find_symbols(img, out) < 0 && find_loads(img, table, reader, out) < 0)
		return -ENOTSUP;
	return 0;
}
