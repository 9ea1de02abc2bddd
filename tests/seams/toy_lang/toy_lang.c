/* SPDX-License-Identifier: Apache-2.0 */
/* Walks a stack of a language that the tree does not know: two headers and one line add it. */
#include "unwind/walk.h"

#include <stdlib.h>

#include "tests/test.h"
#include "unwind/tables.h"

enum { CODE = 0x10000, VM = 3, FRAME_BYTES = 32, N_FRAMES = 3 };

/* The copy ends where a page does: the walk reads a stack up to its mapping's end. */
#define STACK (0x7fff0000 - N_FRAMES * FRAME_BYTES)

static int add_chunk(void *ctx, uint32_t n, uint32_t **out)
{
	*out = *(uint32_t **)ctx = calloc(1, ARENA_CHUNK_BYTES);
	return *out ? 0 : -1;
}

static void begin(struct unwind_tables **tables, struct unwind_tables_memory *mem)
{
	mem->rules = calloc(UNWIND_RULES_MAX, sizeof(*mem->rules));
	mem->files = calloc(UNWIND_FILES_MAX, sizeof(*mem->files));
	mem->add_chunk = add_chunk;
	mem->max_chunks = 1;
	assert_int_equal(unwind_tables_new(tables, mem), 0);
}

static void a_language_of_two_headers_and_a_line_is_walked(void **state)
{
	const struct unwind_mapping map = { .start = CODE,
					    .end = CODE + 0x1000,
					    .file = MAPPING_LANG_FILE(VM, 0),
					    .kind = MAPPING_LANG_KIND(LANG_TOY, 0) };
	uint64_t stack[N_FRAMES * FRAME_BYTES / 8] = { [3] = CODE + 0x140, [7] = CODE + 0x280 };
	struct vm_code codes[VM_TABLE_MAX] = { [VM] = { .lang = LANG_TOY } };
	struct toy_vm toys[VM_TABLE_MAX] = { [VM] = { .frame_bytes = FRAME_BYTES } };
	const struct vm_tables vms = { .codes = codes, .toy = toys };
	uint32_t generation = 0, *chunk = NULL;
	struct unwind_tables_memory mem = { .generation = &generation, .ctx = &chunk };
	struct unwind_walk_input in = { .stack = (const uint8_t *)stack,
					.stack_len = sizeof(stack),
					.stack_at = STACK };
	struct unwind_tables *tables = NULL;
	struct unwind_walker *walker = NULL;
	const uint64_t *words = NULL;
	bool complete = false;

	begin(&tables, &mem);
	assert_int_equal(unwind_walker_new(&walker, tables), 0);
	unwind_walker_set_vms(walker, &vms);
	assert_int_equal(unwind_tables_add_mappings(tables, &map, 1, &in.process), 0);
	in.regs[UREG_PC] = CODE + 8;
	in.regs[UREG_SP] = STACK;
	assert_int_equal(unwind_walk(walker, &in, &words, &complete), 2 * N_FRAMES);
	assert_true(complete);
	for (unsigned int i = 0; i < N_FRAMES; i++) {
		assert_int_equal(words[2 * i], VM_FRAME_WORD(0, VM, CODE + 0x140 * i));
		assert_int_equal(words[2 * i + 1], VM_PLACE_WORD(i, 1));
	}
	unwind_walker_free(walker);
	unwind_tables_free(tables);
	free(mem.rules);
	free(mem.files);
	free(chunk);
}

TEST_GROUP(test_toy_lang, TEST(a_language_of_two_headers_and_a_line_is_walked));

int main(void)
{
	return test_toy_lang();
}
