/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process with LuaJIT whose memory is arbitrary bytes, which repeat: prototypes, debug
 * information, constants, traces and snapshots. Every reader terminates and stays within its
 * memory.
 *
 * An input is the offset of the object that is read, then the memory.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "lang/luajit/luajit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { HEAD = 2, READS_MAX = 20000, PLACE = 5, OFFSET = 0x40 };

static struct {
	const uint8_t *data;
	size_t len, n_reads;
} world;

static int read_memory(void *ctx, uint64_t addr, void *dst, size_t len)
{
	uint8_t *to = dst;

	(void)ctx;
	assert(++world.n_reads < READS_MAX);
	if (addr >> 47)
		return -1;
	for (size_t i = 0; i < len; i++)
		to[i] = world.data[(addr + i) % world.len];
	return 0;
}

static void name(const struct lang_process *p, uint64_t addr, uint32_t place)
{
	static const struct vm_tables tables;
	struct lang_function f = { .place = place };
	int r = luajit_read(&tables, 1, p, addr, 0, &f);

	assert(r || (f.name && f.file));
	assert(f.n_lines <= LANG_LINES_MAX);
	for (uint32_t i = 0; r == 0 && i < 2 * PLACE; i++)
		(void)luajit_line(&f, i);
	free(f.name);
	free(f.file);
	free(f.lines);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct lang_process p = { .pid = 1, .read = read_memory };
	struct lang_call calls[LANG_CALLS_MAX];
	uint64_t caller[2];
	uint16_t at;
	int n;

	if (len < HEAD + 8)
		return 0;
	memcpy(&at, data, sizeof(at));
	world.data = data + HEAD;
	world.len = len - HEAD;
	world.n_reads = 0;
	caller[0] = VM_FRAME_WORD(LUAJIT_FUNCTION, 1, at + 1);
	caller[1] = VM_PLACE_WORD(PLACE, 1);
	p.caller = caller;
	name(&p, at + 1, PLACE);
	name(&p, at + 1, LUAJIT_PLACE_C);
	n = luajit_trace_calls(&p, at + 1, OFFSET, 0, calls);
	assert(n <= LANG_CALLS_MAX);
	for (int i = 0; i < n; i++)
		name(&p, calls[i].addr, calls[i].place);
	return 0;
}
