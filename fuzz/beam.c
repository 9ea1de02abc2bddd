/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An artificial process with the BEAM (tests/unit/lang/beam_memory.c) with arbitrary words
 * replaced: lists of modules, functions, atoms and line tables. Every reader terminates and stays
 * within its memory.
 *
 * An input is {offset, word} pairs to replace.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "beam_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { PATCH = 10, READS_MAX = 20000, PLACE = 60 };

static struct {
	struct beam_memory m;
	size_t n_reads;
	int (*read)(void *ctx, uint64_t addr, void *dst, size_t len);
} world;

static int read_memory(void *ctx, uint64_t addr, void *dst, size_t len)
{
	assert(++world.n_reads < READS_MAX);
	return world.read(ctx, addr, dst, len);
}

static void name(uint64_t addr, uint32_t cookie)
{
	const uint64_t words[] = { VM_FRAME_WORD(BEAM_FUNCTION, 1, addr),
				   VM_PLACE_WORD(PLACE, cookie) };
	struct lang_call calls[LANG_CALLS_MAX];
	struct lang_function f = { 0 };
	int r;

	assert(beam_expand(&world.m.tables, 1, &world.m.process, words, calls) == 1);
	r = beam_read(&world.m.tables, 1, &world.m.process, calls[0].addr, calls[0].cookie, &f);
	assert(r || (f.name && f.file && strlen(f.name) < 3 * BEAM_ATOM_BYTES));
	assert(f.n_lines <= LANG_LINES_MAX);
	(void)beam_line(&f, calls[0].place);
	free(f.name);
	free(f.file);
	free(f.lines);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	beam_memory_init(&world.m);
	world.read = world.m.process.read;
	world.m.process.read = read_memory;
	world.n_reads = 0;
	for (size_t i = 0; i + PATCH <= len; i += PATCH) {
		uint16_t at;

		memcpy(&at, data + i, sizeof(at));
		memcpy(world.m.bytes + at % (BEAM_MEMORY_BYTES - 8), data + i + 2, 8);
	}
	for (uint32_t i = 0; i < BEAM_MEMORY_FUNCTIONS; i++)
		name(beam_memory_function(i), beam_memory_cookie(&world.m, i));
	return 0;
}
