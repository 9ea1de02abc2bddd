/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stack walk (bpf/lib/walk.h, built for the host) with tables, rules, registers and a stack of
 * arbitrary bytes: it stays within its memory, ends within its limit, and either reaches the
 * outermost frame or reports an error.
 *
 * An input is a struct head, followed by arena units in the first half of the rest and by memory of
 * the process in the second half.
 */
#include <assert.h>
#include <fcntl.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/image.h"
#include "unwind/tables.h"
#include "unwind/walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { N_RULES = 16, N_FILES = 4, FIRST_RULE = UNWIND_RULE_FP + 1, UNITS_MAX = 8192 };

struct head {
	struct unwind_process process;
	uint32_t stack_part; /* share of the memory, in 256ths, that is passed as a copy of the
				stack */
	uint64_t regs[UREG_COUNT];
	struct unwind_rule rules[N_RULES];
	struct unwind_file files[N_FILES]; /* 1 to N_FILES */
};

/* The BPF maps of the agent, allocated once and overwritten by each input. */
static struct {
	struct unwind_rule rules[UNWIND_RULES_MAX];
	struct unwind_file files[UNWIND_FILES_MAX];
	uint32_t generation;
	uint32_t *chunk;
	struct unwind_tables *tables;
	struct unwind_walker *walker;
} world;

struct memory {
	const uint8_t *data;
	size_t len;
};

static int add_chunk(void *ctx, uint32_t n, uint32_t **out)
{
	(void)ctx;
	world.chunk = n ? NULL : calloc(1, ARENA_CHUNK_BYTES);
	*out = world.chunk;
	return *out ? 0 : -1;
}

/* Entries of the BPF maps for the arena's chunk and for a dictionary of arbitrary length. */
static void make_world(void)
{
	struct unwind_tables_memory mem = { .rules = world.rules,
					    .files = world.files,
					    .generation = &world.generation,
					    .add_chunk = add_chunk,
					    .max_chunks = 1 };
	_cleanup_(closep) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	struct unwind_tables_source src = { 0 };
	struct unwind_tables_stats stats;
	int r = elf_image_open(&img, fd, NULL);

	src.img = img;
	assert(r == 0);
	r = unwind_tables_new(&world.tables, &mem);
	assert(r == 0);
	r = unwind_walker_new(&world.walker, world.tables);
	assert(r == 0);
	assert(unwind_tables_build(world.tables, N_FILES + 1, &src, 0, NULL) > 0);
	unwind_tables_stats(world.tables, &stats);
	assert(stats.n_rules >= FIRST_RULE + N_RULES && world.chunk);
}

/* The input's bytes repeat throughout the lower half of the address space. */
static int read_memory(void *ctx, uint64_t addr, void *dst, size_t len)
{
	const struct memory *m = ctx;
	uint8_t *to = dst;

	if (addr >> 63 || !m->len)
		return -1;
	for (size_t i = 0; i < len; i++)
		to[i] = m->data[(addr + i) % m->len];
	return 0;
}

static void check_walk(const struct unwind_walk_input *in)
{
	const uint64_t *words;
	bool complete;
	size_t n = unwind_walk(world.walker, in, &words, &complete);

	assert(n >= 1 && n <= WALK_FRAMES_MAX + 1);
	for (size_t i = 0; i < n; i++) {
		uint64_t kind = words[i] >> FRAME_KIND_SHIFT;

		assert(kind == FRAME_NATIVE || kind == FRAME_ADDRESS ||
		       (kind == FRAME_ERROR && i == n - 1 && !complete));
	}
	assert(complete || words[n - 1] >> FRAME_KIND_SHIFT == FRAME_ERROR);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct head head;
	struct unwind_walk_input in = { .read = read_memory };
	struct memory memory;
	size_t n_bytes;

	if (!world.tables)
		make_world();
	if (len < sizeof(head))
		return 0;
	memcpy(&head, data, sizeof(head));
	data += sizeof(head);
	len -= sizeof(head);
	n_bytes = len / 2 & ~(size_t)3;
	if (n_bytes > UNITS_MAX * sizeof(uint32_t))
		n_bytes = UNITS_MAX * sizeof(uint32_t);

	world.generation++;
	memset(world.chunk, 0, UNITS_MAX * sizeof(uint32_t));
	memcpy(world.chunk, data, n_bytes);
	memcpy(&world.rules[FIRST_RULE], head.rules, sizeof(head.rules));
	memcpy(&world.files[1], head.files, sizeof(head.files));
	memory = (struct memory){ data + n_bytes, len - n_bytes };
	in.process = head.process;
	memcpy(in.regs, head.regs, sizeof(in.regs));
	in.stack = memory.data;
	in.stack_at = in.regs[UREG_SP];
	in.stack_len = memory.len * (head.stack_part % 257) / 256;
	in.ctx = &memory;
	check_walk(&in);
	return 0;
}
