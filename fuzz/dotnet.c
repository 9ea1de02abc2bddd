/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An artificial process with .NET (tests/unit/lang/dotnet_memory.c) with arbitrary words replaced:
 * the PE image, its metadata, the tables of its precompiled code, and the runtime's structures.
 * Every reader terminates and stays within its memory.
 *
 * An input is whether the image is flat, then {offset, word} pairs to replace.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "dotnet_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { PATCH = 6, READS_MAX = 100000, N_METHODS = 5, N_FUNCTIONS = 6 };

static struct {
	struct dotnet_memory m;
	size_t n_reads;
	int (*read)(void *ctx, uint64_t addr, void *dst, size_t len);
} world;

static int read_memory(void *ctx, uint64_t addr, void *dst, size_t len)
{
	return ++world.n_reads > READS_MAX ? -1 : world.read(ctx, addr, dst, len);
}

static void name(uint32_t object, uint64_t addr, uint32_t cookie)
{
	const uint64_t words[] = { VM_FRAME_WORD(object, 1, addr), VM_PLACE_WORD(0, cookie) };
	struct lang_call calls[LANG_CALLS_MAX];
	struct lang_function f = { 0 };
	int r;

	assert(dotnet_expand(&world.m.tables, 1, &world.m.process, words, calls) == 1);
	r = dotnet_read(&world.m.tables, 1, &world.m.process, calls[0].addr, calls[0].cookie, &f);
	assert(r || (f.name && strlen(f.name) < 16 * LANG_NAME_MAX));
	free(f.name);
	free(f.file);
	free(f.lines);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	if (!len)
		return 0;
	dotnet_memory_init(&world.m, data[0] & 1);
	world.read = world.m.process.read;
	world.m.process.read = read_memory;
	world.n_reads = 0;
	for (size_t i = 1; i + PATCH <= len; i += PATCH) {
		uint16_t at;

		memcpy(&at, data + i, sizeof(at));
		memcpy(world.m.bytes + at % (DOTNET_MEMORY_BYTES - 4), data + i + 2, 4);
	}
	for (uint32_t i = 0; i < N_METHODS; i++)
		name(DOTNET_METHOD, dotnet_memory_code(i), dotnet_memory_cookie(&world.m, i));
	for (uint32_t i = 0; i < N_FUNCTIONS; i++) {
		uint64_t at = DOTNET_MEMORY_AT + DOTNET_CODE_RVA + 16ULL * i;

		name(DOTNET_IMAGE, at, lang_cookie(at));
	}
	return 0;
}
