/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Virtual machines whose tables and memory are arbitrary bytes: the walk of
 * their frames (bpf/lib, built for the host), the copying of their functions, and the reading and
 * symbolization of the frames found, from the process and from copies. All terminate, stay within
 * their memory and return a frame for each; each copy is a valid record.
 *
 * An input is a language, the entry in its table, then memory of the process.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "lang/copy.h"
#include "lang/lang.h"
#include "unwind/tables.h"
#include "unwind/walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { ENTRY_MAX = 256, READS_MAX = 100000 };

/* The BPF maps of the agent, allocated once. */
static struct {
	struct unwind_rule rules[UNWIND_RULES_MAX];
	struct unwind_file files[UNWIND_FILES_MAX];
	uint32_t generation;
	struct unwind_tables *tables;
	struct unwind_walker *walker;
	struct vm_code codes[VM_TABLE_MAX];
#define X(sym, name) struct name##_vm name[VM_TABLE_MAX];
#include "bpf/shared/langs.def"
#undef X
	struct vm_tables vms;
} world;

struct memory {
	const uint8_t *data;
	size_t len, n_reads;
};

static int no_chunk(void *ctx, uint32_t n, uint32_t **out)
{
	(void)ctx;
	(void)n;
	(void)out;
	return -1;
}

static void make_world(void)
{
	struct unwind_tables_memory mem = { .rules = world.rules,
					    .files = world.files,
					    .generation = &world.generation,
					    .add_chunk = no_chunk,
					    .max_chunks = 1 };
	int r = unwind_tables_new(&world.tables, &mem);

	assert(r == 0);
	r = unwind_walker_new(&world.walker, world.tables);
	assert(r == 0);
	world.vms.codes = world.codes;
#define X(sym, name) world.vms.name = world.name;
#include "bpf/shared/langs.def"
#undef X
	unwind_walker_set_vms(world.walker, &world.vms);
}

/* The input's bytes repeat throughout the lower half of the address space. */
static int read_memory(void *ctx, uint64_t addr, void *dst, size_t len)
{
	struct memory *m = ctx;
	uint8_t *to = dst;

	if (addr >> 47 || !m->len || ++m->n_reads > READS_MAX)
		return -1;
	for (size_t i = 0; i < len; i++)
		to[i] = m->data[(addr + i) % m->len];
	return 0;
}

/* Copies the first bytes to the entry of the language's table. Returns their number. */
static size_t set_machine(uint32_t lang, const uint8_t *data, size_t len)
{
	memset(&world.codes[1], 0, sizeof(world.codes[1]));
	world.codes[1].lang = lang;
	switch (lang) {
#define X(sym, name)                                                                               \
	case LANG_##sym:                                                                           \
		memset(&world.name[1], 0, sizeof(world.name[1]));                                  \
		if (len > sizeof(world.name[1]))                                                   \
			len = sizeof(world.name[1]);                                               \
		memcpy(&world.name[1], data, len);                                                 \
		return len;
#include "bpf/shared/langs.def"
#undef X
	}
	return 0;
}

static void name_all(struct memory *m, const uint64_t *vm_words, size_t n)
{
	struct langs *l;
	struct lang_stack in = { .process = { .pid = 1, .read = read_memory, .ctx = m },
				 .vm_words = vm_words,
				 .n_vm_words = n };
	static uint64_t out[LANG_STACK_MAX];
	struct symbol_frame frame;
	size_t n_out;
	int r = langs_new(&l, &world.vms, true);

	assert(r == 0);
	m->n_reads = 0;
	n_out = langs_weave(l, &in, out);
	assert(n_out == n / 2);
	for (size_t i = 0; i < n_out; i++) {
		langs_symbolize(l, out[i], &frame);
		assert(frame.name && frame.file && strlen(frame.name) < 4 * LANG_NAME_MAX);
	}
	langs_free(l);
}

static void add_copy(void *ctx, const struct function_record *rec, size_t len)
{
	struct lang_process none = { .pid = 1, .read = read_memory, .ctx = &(struct memory){ 0 } };

	assert(lang_copy_is_valid(rec, len));
	langs_add_copy(ctx, &none, rec);
}

/* Copies the functions of the stack walked last. */
static void copy_all(void)
{
	struct langs *l;
	int r = langs_new(&l, &world.vms, true);

	assert(r == 0);
	unwind_walk_copy(world.walker, add_copy, l);
	langs_free(l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct unwind_walk_input in = { .read = read_memory, .thread_pointer = 0x7000 };
	struct memory m = { 0 };
	const uint64_t *words, *vm_words;
	bool complete, cut;
	size_t n;

	if (!world.tables)
		make_world();
	if (len < 2 || LANG_MAX < 2)
		return 0;
	in.process.vms[0] = (struct vm_slot){ 1, 1, 0x1000 };
	n = 1 + set_machine(LANG_NONE + 1 + data[0] % (LANG_MAX - 1), data + 1, len - 1);
	m.data = data + n;
	m.len = len - n;
	in.ctx = &m;
	in.regs[UREG_PC] = 0x1234;
	n = unwind_walk(world.walker, &in, &words, &complete);
	assert(n && !complete);
	n = unwind_walk_vm_words(world.walker, &vm_words, &cut);
	assert(n <= VM_WORDS_MAX && n % 2 == 0);
	m.n_reads = 0;
	copy_all();
	name_all(&m, vm_words, n);
	return 0;
}
