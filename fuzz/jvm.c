/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An artificial HotSpot process (tests/unit/lang/jvm_memory.c) with arbitrary words replaced:
 * its own metadata, the location of its code, the walk through it, inlined calls, symbols and
 * line tables. Every reader terminates, stays within its memory and returns a frame for each word.
 *
 * An input is an address and registers, followed by {offset, word} pairs to replace.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "jvm_memory.h"
#include "lang/lang.h"
#include "unwind/tables.h"
#include "unwind/walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { HEAD = 16, PATCH = 10, FILE_VM = 1, READS_MAX = 200000 };

static struct {
	struct jvm_memory pristine, now;
	struct unwind_rule rules[UNWIND_RULES_MAX];
	struct unwind_file files[UNWIND_FILES_MAX];
	uint32_t units[ARENA_CHUNK_UNITS];
	uint32_t generation;
	struct unwind_tables *tables;
	struct unwind_walker *walker;
	size_t n_reads;
	int (*read)(void *ctx, uint64_t addr, void *dst, size_t len);
} world;

static int add_chunk(void *ctx, uint32_t n, uint32_t **out)
{
	(void)ctx;
	if (n)
		return -1;
	*out = world.units;
	return 0;
}

static int read_memory(void *ctx, uint64_t addr, void *dst, size_t len)
{
	return ++world.n_reads > READS_MAX ? -1 : world.read(ctx, addr, dst, len);
}

static void make_world(void)
{
	struct unwind_tables_memory mem = { .rules = world.rules,
					    .files = world.files,
					    .generation = &world.generation,
					    .add_chunk = add_chunk,
					    .max_chunks = 1 };
	int r = unwind_tables_new(&world.tables, &mem);

	assert(r == 0);
	r = unwind_walker_new(&world.walker, world.tables);
	assert(r == 0);
	jvm_memory_init(&world.pristine);
	world.read = world.pristine.m.process.read;
}

static uint64_t no_bias(void *ctx, uint32_t vm)
{
	(void)ctx;
	(void)vm;
	return 0;
}

/* Applies the input's words to the image. */
static void make_image(const uint8_t *data, size_t len)
{
	struct memory *m = &world.now.m;

	memcpy(&world.now, &world.pristine, sizeof(world.now));
	m->tables =
		(struct vm_tables){ .codes = m->codes, .python = m->python, .jvm = world.now.jvm };
	m->process.read = read_memory;
	m->process.ctx = m;
	m->process.bias = no_bias;
	m->process.signatures = true;
	for (size_t i = 0; i + PATCH <= len; i += PATCH) {
		uint16_t at;

		memcpy(&at, data + i, sizeof(at));
		memcpy(m->bytes + at % (MEMORY_BYTES - 8), data + i + 2, 8);
	}
}

/* Symbolizes the frames of the walk and of the input. */
static void name_all(const uint64_t *words, size_t n)
{
	static uint64_t out[LANG_STACK_MAX];
	struct lang_stack in = { .process = world.now.m.process, .words = words, .n_words = n };
	struct symbol_frame frame;
	struct langs *l;
	int r = langs_new(&l, &world.now.m.tables, true);

	assert(r == 0);
	langs_enable_signatures(l);
	n = langs_weave(l, &in, out);
	for (size_t i = 0; i < n; i++) {
		langs_symbolize(l, out[i], &frame);
		assert(frame.name && frame.file && strlen(frame.name) < 8 * LANG_NAME_MAX);
	}
	langs_free(l);
}

static void walk(const struct unwind_mapping *regions, int n, uint64_t rip, uint64_t rsp)
{
	struct unwind_walk_input in = { .read = read_memory, .ctx = &world.now.m };
	const uint64_t *words;
	bool complete;
	int r = unwind_tables_add_mappings(world.tables, regions, (uint32_t)n, &in.process);

	assert(r == 0);
	for (int i = 0; i < UREG_COUNT; i++)
		in.regs[i] = rsp + (uint64_t)i * 8;
	in.regs[UREG_PC] = rip;
	in.regs[UREG_SP] = rsp;
	unwind_walker_set_vms(world.walker, &world.now.m.tables);
	n = (int)unwind_walk(world.walker, &in, &words, &complete);
	assert(n > 0 && n <= RECORD_WORDS_MAX);
	name_all(words, (size_t)n);
	unwind_tables_retire_mappings(world.tables, &in.process, 0);
	unwind_tables_reap(world.tables, UINT64_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct unwind_mapping regions[LANG_REGIONS_MAX], last = { 0 };
	uint32_t head[4];
	uint64_t words[2];
	int n;

	if (!world.tables)
		make_world();
	if (len < HEAD)
		return 0;
	memcpy(head, data, sizeof(head));
	make_image(data + HEAD, len - HEAD);
	world.n_reads = 0;
	n = jvm_memory_attach(&world.now, regions);
	if (n <= 0)
		return 0;
	n &= ~LANG_ATTACH_PARTIAL;
	assert(n <= LANG_REGIONS_MAX);
	world.now.m.codes[2].lang = LANG_JVM;
	jvm_memory_frame(&world.now, head[0] & 3, head[0] >> 2 & JVM_PLACE_NONE, words);
	name_all(words, 2);
	/* the table needs disjoint mappings, so only one of them is used */
	last = regions[head[1] % (uint32_t)n];
	walk(&last, 1, last.start + head[2] % JVM_HEAP_BYTES, MEMORY_AT + head[3] % MEMORY_BYTES);
	return 0;
}
