/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/walk.h"

#include <stdlib.h>
#include <string.h>

#include "tests/x86_64.h"
#include "unwind/flat_table.h"
#include "unwind/pages.h"
#include "unwind/rows.h"
#include "unwind/tables.h"

/* A copy ends at the end of a page, as copies made in the kernel do. */
#define STACK (0x7fff0000ULL - 8ULL * FRAME_WORDS * COPIED)

enum {
	CODE = 0x400000,
	CODE_LEN = 0x100000,
	FRAME_WORDS = 8,
	N_FRAMES = 40,
	COPIED = 20,                        /* frames in the copy */
	WORDS = FRAME_WORDS * COPIED + 512, /* words of these frames and of one page */
};

/* A stack of forty frames with frame pointers; the copy contains the inner ones. */
struct scene {
	struct unwind_rule *rules;
	struct unwind_file *files;
	uint32_t generation;
	uint32_t *chunk;
	struct unwind_tables *tables;
	struct unwind_walker *walker;
	uint64_t copy[WORDS], live[WORDS];
	struct unwind_walk_input in;
	uint32_t wanted; /* the file that the walk requested last */
	bool is_slow;    /* tables are not made at once */
};

static int add_chunk(void *ctx, uint32_t n, uint32_t **out)
{
	struct scene *s = ctx;

	s->chunk = calloc(1, ARENA_CHUNK_BYTES);
	*out = s->chunk;
	return n;
}

/* All code consists of call instructions. */
static int read_live(void *ctx, uint64_t addr, void *dst, size_t len)
{
	struct scene *s = ctx;

	if (addr >= STACK && addr - STACK < sizeof(s->live)) {
		if (len > sizeof(s->live) - (addr - STACK))
			return -1;
		memcpy(dst, (uint8_t *)s->live + (addr - STACK), len);
		return 0;
	}
	memset(dst, 0xe8, len);
	return addr >= CODE && addr < CODE + CODE_LEN ? 0 : -1;
}

static bool note_file(void *ctx, uint32_t file)
{
	struct scene *s = ctx;

	s->wanted = file;
	return !s->is_slow;
}

static uint64_t return_address(unsigned int chain, unsigned int frame)
{
	return CODE + 0x10000 * chain + 0x100 * frame;
}

/*
 * Writes frame @i of @chain to the stack @at; the function that the last one returns to has none.
 */
static void put_frame(uint64_t *at, unsigned int i, unsigned int chain)
{
	at[FRAME_WORDS * i] = i + 1 == N_FRAMES ? 0 : STACK + 8 * FRAME_WORDS * (i + 1);
	at[FRAME_WORDS * i + 1] = return_address(chain, i + 1);
}

static void begin(struct scene *s)
{
	const struct unwind_mapping map = {
		.start = CODE, .end = CODE + CODE_LEN, .file = 1, .kind = MAPPING_FILE
	};
	struct unwind_tables_memory mem = { .add_chunk = add_chunk, .ctx = s, .max_chunks = 1 };

	memset(s, 0, sizeof(*s));
	s->rules = calloc(UNWIND_RULES_MAX, sizeof(*s->rules));
	s->files = calloc(UNWIND_FILES_MAX, sizeof(*s->files));
	mem.rules = s->rules;
	mem.files = s->files;
	mem.generation = &s->generation;
	assert_int_equal(unwind_tables_new(&s->tables, &mem), 0);
	assert_int_equal(unwind_walker_new(&s->walker, s->tables), 0);
	assert_int_equal(unwind_tables_add_mappings(s->tables, &map, 1, &s->in.process), 0);
	unwind_tables_set_absent(s->tables, 1);
	for (unsigned int i = 0; i < N_FRAMES; i++)
		put_frame(s->copy, i, 1);
	memcpy(s->live, s->copy, sizeof(s->live));
	s->in.regs[UREG_PC] = return_address(1, 0);
	s->in.regs[UREG_SP] = s->in.regs[UREG_FP] = s->in.stack_at = STACK;
	s->in.stack = (const uint8_t *)s->copy;
	s->in.stack_len = 8 * FRAME_WORDS * COPIED;
	s->in.read = read_live;
	s->in.need_file = note_file;
	s->in.ctx = s;
}

static void end(struct scene *s)
{
	unwind_walker_free(s->walker);
	unwind_tables_free(s->tables);
	free(s->chunk);
	free(s->rules);
	free(s->files);
}

/*
 * Returns the number of functions; *@out_why is the reason why the walk ended, 0 if it is complete.
 */
static size_t walk(struct scene *s, uint64_t *out_why)
{
	const uint64_t *words;
	bool complete;
	size_t n = unwind_walk(s->walker, &s->in, &words, &complete);

	*out_why = complete ? 0 : words[n - 1] & FRAME_PAYLOAD_MASK;
	n -= !complete;
	for (size_t i = 0; i < n; i++)
		assert_int_equal(words[i] & FRAME_OFFSET_MASK,
				 return_address(1, (unsigned int)i) - CODE - (i > 0));
	return n;
}

static void reads_the_stack_beyond_a_copy_that_is_still_valid(void **state)
{
	struct scene s;
	uint64_t why;

	begin(&s);
	/* the innermost frames may have continued */
	for (unsigned int i = 0; i < COPIED - 2; i++)
		put_frame(s.live, i, 2);
	assert_int_equal(walk(&s, &why), N_FRAMES + 1);
	assert_int_equal(why, 0);
	end(&s);
}

/* A window that begins below the copy would hold the stack of another moment. */
static void reads_nothing_below_a_copy_later(void **state)
{
	struct scene s;
	uint64_t why;

	begin(&s);
	s.in.lists_are_late = true;
	s.in.stack_at = STACK + 8;
	s.in.stack += 8;
	s.in.stack_len -= 8;
	assert_int_equal(walk(&s, &why), 1);
	assert_int_equal(why, WALK_ERR_NO_FRAME_POINTER);
	end(&s);
}

static void does_not_mix_in_the_stack_of_another_call(void **state)
{
	struct scene s;
	uint64_t why;

	begin(&s);
	for (unsigned int i = 0; i < N_FRAMES; i++)
		put_frame(s.live, i, 2);
	assert_int_equal(walk(&s, &why), COPIED + 1);
	assert_int_equal(why, WALK_ERR_STACK_CHANGED);
	/* the other call was entered at the same place, through other callers */
	memcpy(s.live, s.copy, sizeof(s.live));
	for (unsigned int i = COPIED - 3; i < N_FRAMES; i++)
		put_frame(s.live, i, 2);
	assert_int_equal(walk(&s, &why), COPIED + 1);
	assert_int_equal(why, WALK_ERR_STACK_CHANGED);
	end(&s);
}

static void a_complete_copy_needs_no_other_reads(void **state)
{
	struct scene s;
	uint64_t why;

	begin(&s);
	s.in.stack_len = 8 * FRAME_WORDS * N_FRAMES;
	memset(s.live, 0, sizeof(s.live));
	assert_int_equal(walk(&s, &why), N_FRAMES + 1);
	assert_int_equal(why, 0);
	end(&s);
}

static void outer_pieces_of_the_copy_need_no_other_reads(void **state)
{
	enum { FIRST = FRAME_WORDS * COPIED, SECOND = FIRST + FRAME_WORDS * 10 + 1 };
	struct unwind_piece pieces[2];
	struct scene s;
	uint64_t why;

	begin(&s);
	pieces[0] = (struct unwind_piece){ STACK + 8ULL * FIRST, 8ULL * (SECOND - FIRST),
					   (const uint8_t *)(s.copy + FIRST) };
	pieces[1] = (struct unwind_piece){ STACK + 8ULL * SECOND, 8ULL * (WORDS - SECOND),
					   (const uint8_t *)(s.copy + SECOND) };
	s.in.pieces = pieces;
	s.in.n_pieces = 2;
	memset(s.live, 0, sizeof(s.live));
	assert_int_equal(walk(&s, &why), N_FRAMES + 1);
	assert_int_equal(why, 0);
	/* what lies between them is read later, and is known to be different */
	pieces[0].len -= 8ULL * FRAME_WORDS;
	assert_true(walk(&s, &why) < N_FRAMES);
	assert_int_equal(why, WALK_ERR_STACK_CHANGED);
	end(&s);
}

static void reports_that_a_table_was_not_ready(void **state)
{
	struct scene s;
	uint64_t why;

	begin(&s);
	unwind_tables_drop(s.tables, 1, 0);
	assert_int_equal(walk(&s, &why), 0);
	assert_int_equal(why, WALK_ERR_BAD_TABLE);
	assert_int_equal(s.wanted, 1);
	s.in.need_file = NULL;
	assert_int_equal(walk(&s, &why), 0);
	assert_int_equal(why, WALK_ERR_NO_TABLE_YET);
	end(&s);
}

/* Keeps the present stack for a walk that has to wait. */
static void park(struct scene *s, struct unwind_rest *rest, const uint64_t *data, size_t len)
{
	*rest = (struct unwind_rest){ .data = (const uint8_t *)data, .len = len };
	unwind_rest_compare(rest, s->copy, s->live, s->in.stack_len);
	s->in.rest = rest;
}

static void a_walk_that_waits_reads_the_stack_of_that_time(void **state)
{
	struct unwind_rest rest;
	uint64_t above[WORDS];
	struct scene s;
	uint64_t why;

	begin(&s);
	s.is_slow = true;
	unwind_tables_drop(s.tables, 1, 0);
	assert_int_equal(walk(&s, &why), 0);
	assert_int_equal(why, WALK_ERR_NO_TABLE_YET);
	assert_int_equal(unwind_walk_missing(s.walker), 1);
	memcpy(above, s.live + FRAME_WORDS * COPIED, sizeof(s.live) - s.in.stack_len);
	park(&s, &rest, above, sizeof(s.live) - s.in.stack_len);
	/* the process runs on, and ends */
	memset(s.live, 0, sizeof(s.live));
	unwind_tables_set_absent(s.tables, 1);
	assert_int_equal(walk(&s, &why), N_FRAMES + 1);
	assert_int_equal(why, 0);
	assert_int_equal(unwind_walk_missing(s.walker), 0);
	/* what was not copied is not read later */
	rest.len = 8 * FRAME_WORDS;
	rest.is_cut = true;
	assert_true(walk(&s, &why) <= COPIED + 2);
	assert_int_equal(why, WALK_ERR_STACK_CHANGED);
	end(&s);
}

static void a_walk_that_waits_knows_that_the_stack_had_changed(void **state)
{
	struct unwind_rest rest;
	uint64_t above[WORDS];
	struct scene s;
	uint64_t why;

	begin(&s);
	memcpy(above, s.live + FRAME_WORDS * COPIED, sizeof(s.live) - s.in.stack_len);
	for (unsigned int i = COPIED - 3; i < N_FRAMES; i++)
		put_frame(s.live, i, 2);
	park(&s, &rest, above, sizeof(s.live) - s.in.stack_len);
	assert_int_equal(walk(&s, &why), COPIED + 1);
	assert_int_equal(why, WALK_ERR_STACK_CHANGED);
	end(&s);
}

/* Position of the first word above the outermost frame. */
enum { ABOVE = FRAME_WORDS * (N_FRAMES - 1) + 2 };

/* Lets the stack end at a return address of zero. */
static void begin_with_root(struct scene *s)
{
	begin(s);
	s->copy[ABOVE - 1] = 0;
	s->in.stack_len = sizeof(s->copy);
	s->in.read = read_live;
}

static void a_return_address_of_zero_is_the_root(void **state)
{
	struct scene s;
	uint64_t why;

	begin_with_root(&s);
	assert_int_equal(walk(&s, &why), N_FRAMES);
	assert_int_equal(why, 0);
	/* data, addresses of data, addresses of code to which no call returns */
	s.copy[ABOVE] = 1;
	s.copy[ABOVE + 1] = STACK;
	s.copy[ABOVE + 2] = CODE;
	assert_int_equal(walk(&s, &why), N_FRAMES);
	assert_int_equal(why, 0);
	end(&s);
}

static void a_zero_below_a_return_address_is_no_root(void **state)
{
	struct scene s;
	uint64_t why;

	begin_with_root(&s);
	for (unsigned int i = 0; i < 128; i += 127) {
		s.copy[ABOVE + i] = return_address(1, 5);
		assert_int_equal(walk(&s, &why), N_FRAMES);
		assert_int_equal(why, WALK_ERR_IMPLAUSIBLE_ROOT);
		s.copy[ABOVE + i] = 0;
	}
	s.copy[ABOVE + 128] = return_address(1, 5);
	assert_int_equal(walk(&s, &why), N_FRAMES);
	assert_int_equal(why, 0);
	end(&s);
}

static void a_cleared_frame_pointer_is_no_root_below_a_return_address(void **state)
{
	struct scene s;
	uint64_t why;

	begin(&s);
	s.in.stack_len = sizeof(s.copy);
	s.copy[ABOVE + 3] = return_address(1, 5);
	assert_int_equal(walk(&s, &why), N_FRAMES + 1);
	assert_int_equal(why, WALK_ERR_IMPLAUSIBLE_ROOT);
	end(&s);
}

/* Position of the context of a handler, in the frame of the second function. */
enum { CONTEXT = 3, HANDLER_OFF = 0x20 };

/* All functions return to exception handlers; the second is about to enter that of the seventh. */
static void begin_with_handler(struct scene *s)
{
	const unsigned int slot = FRAME_WORDS * 5 + 1;

	begin_with_root(s);
	s->rules[UNWIND_RULE_FP] = (struct unwind_rule){ .cfa = UNWIND_CFA_FP_OFF,
							 .cfa_reg = UNWIND_EH_RETURN,
							 .cfa_off = 16,
							 .fp = UNWIND_SAVED_CFA,
							 .fp_off = -16,
							 .ra_off = -8 };
	s->copy[CONTEXT] = STACK + 8 * slot;
	s->copy[CONTEXT + 2] = STACK + 8 * (slot + 1);
	s->copy[CONTEXT + 3] = return_address(1, 6) + HANDLER_OFF;
}

static void a_handler_is_the_caller_once_its_registers_are_in_place(void **state)
{
	const uint64_t *words;
	bool complete;
	struct scene s;
	uint64_t why;

	/* before that the frames in between are still the callers */
	begin_with_handler(&s);
	assert_int_equal(walk(&s, &why), N_FRAMES);
	assert_int_equal(why, 0);
	s.copy[FRAME_WORDS] = s.copy[FRAME_WORDS * 5];
	s.copy[FRAME_WORDS + 1] = s.copy[FRAME_WORDS * 5 + 1];
	assert_int_equal(unwind_walk(s.walker, &s.in, &words, &complete), N_FRAMES - 4);
	assert_true(complete);
	assert_int_equal(words[1] & FRAME_OFFSET_MASK, return_address(1, 1) - CODE - 1);
	assert_int_equal(words[2] & FRAME_OFFSET_MASK, return_address(1, 6) - CODE + HANDLER_OFF);
	assert_int_equal(words[3] & FRAME_OFFSET_MASK, return_address(1, 7) - CODE - 1);
	end(&s);
}

static void a_context_that_contradicts_the_stack_is_no_handler(void **state)
{
	struct scene s;
	uint64_t why;

	begin_with_handler(&s);
	/* below this frame; apart from its return address; not readable */
	s.copy[CONTEXT] = STACK;
	s.copy[CONTEXT + 2] = STACK + 8;
	assert_int_equal(walk(&s, &why), N_FRAMES);
	end(&s);
	begin_with_handler(&s);
	s.copy[CONTEXT + 2] += 8;
	assert_int_equal(walk(&s, &why), N_FRAMES);
	end(&s);
	begin_with_handler(&s);
	s.copy[CONTEXT] = UINT64_MAX - 15;
	s.copy[CONTEXT + 2] = UINT64_MAX - 7;
	assert_int_equal(walk(&s, &why), N_FRAMES);
	assert_int_equal(why, 0);
	end(&s);
}

/* Positions of the words of an interpreted frame and of its method in the copy. */
enum { FRAME = 8, METHOD = 100, PART = 110, POOL = 120, CLASS = 130, NAME = 140 };

static void put_pointer(struct scene *s, unsigned int at, unsigned int to)
{
	s->copy[at] = STACK + 8 * to;
}

/* Returns the second word of the frame, which contains the method's cookie. */
static uint64_t walk_interpreted(struct scene *s)
{
	const uint64_t *words;
	bool complete;

	assert_int_equal(unwind_walk(s->walker, &s->in, &words, &complete), 3);
	return words[1];
}

/* The second and the fourth caller are the loop of an interpreter. */
static void begin_with_loops(struct scene *s, struct vm_code *codes)
{
	const struct vm_tables tables = { .codes = codes };

	begin(s);
	memset(codes, 0, VM_TABLE_MAX * sizeof(*codes));
	codes[1] = (struct vm_code){
		.lang = LANG_PYTHON,
		.loop = { { return_address(1, 2) - CODE - 2, return_address(1, 2) - CODE },
			  { return_address(1, 4) - CODE - 2, return_address(1, 4) - CODE } },
	};
	unwind_walker_set_vms(s->walker, &tables);
	s->in.process.vms[0] = (struct vm_slot){ .vm = 1, .file = 1 };
	s->in.lists_are_late = true;
}

static void a_list_that_was_not_read_with_the_copy_is_not_read_later(void **state)
{
	static struct vm_code codes[VM_TABLE_MAX];
	const uint64_t *words;
	bool is_cut;
	struct scene s;

	begin_with_loops(&s, codes);
	assert_true(unwind_walk(s.walker, &s.in, &words, &is_cut) > 5);
	assert_int_equal(VM_LOOP_SLOT(words[2]), 1);
	assert_int_equal(VM_LOOP_SLOT(words[4]), 1);
	assert_int_equal(unwind_walk_vm_words(s.walker, &words, &is_cut), 4);
	assert_false(is_cut);
	for (int i = 0; i < 4; i += 2) {
		assert_int_equal(words[i], VM_FRAME_WORD(0, 1, 0) | VM_FRAME_LAST);
		assert_int_equal(words[i + 1], VM_FRAME_LATE);
	}
	end(&s);
}

static void a_list_that_was_read_with_the_copy_is_used(void **state)
{
	static struct vm_code codes[VM_TABLE_MAX];
	uint64_t lists[2] = { VM_FRAME_WORD(0, 1, 0x5000) | VM_FRAME_LAST, 77 };
	const uint64_t *words;
	bool complete;
	struct scene s;

	begin_with_loops(&s, codes);
	s.in.lists = lists;
	s.in.n_lists = 2;
	unwind_walk(s.walker, &s.in, &words, &complete);
	assert_int_equal(unwind_walk_vm_words(s.walker, &words, &complete), 2);
	assert_memory_equal(words, lists, sizeof(lists));
	/* of another runtime than the one that the process turned out to have */
	lists[0] = VM_FRAME_WORD(0, 2, 0x5000) | VM_FRAME_LAST;
	unwind_walk(s.walker, &s.in, &words, &complete);
	assert_int_equal(unwind_walk_vm_words(s.walker, &words, &complete), 4);
	assert_int_equal(words[1], VM_FRAME_LATE);
	end(&s);
}

/* Gives the file of all code a table with one rule. */
static void put_rule(struct scene *s, const struct unwind_rule *rule)
{
	static const struct unwind_rule none = { .cfa = UNWIND_CFA_NONE };
	struct unwind_rows rows = { 0 };
	struct unwind_pages pages = { 0 };
	struct flat_table table;
	uint8_t *bytes;
	size_t len;

	assert_int_equal(unwind_rows_put(&rows, 0, 0, rule), 0);
	assert_int_equal(unwind_rows_put(&rows, 0, CODE_LEN, &none), 0);
	assert_int_equal(unwind_pages_build(&pages, &rows, NULL), 0);
	len = flat_table_len(&pages, rows.rules);
	bytes = malloc(len);
	assert_non_null(bytes);
	flat_table_write(bytes, &pages, rows.rules, false);
	assert_int_equal(flat_table_check(&table, bytes, len), 0);
	assert_true(unwind_tables_put(s->tables, 1, 0, &table, 1, NULL) >= 0);
	unwind_pages_fini(&pages);
	unwind_rows_fini(&rows);
	free(bytes);
}

static void a_list_is_omitted_while_a_stack_is_being_switched(void **state)
{
	static const struct unwind_rule switched = { .cfa = UNWIND_CFA_SWITCHED };
	static struct vm_code codes[VM_TABLE_MAX];
	const uint64_t lists[2] = { VM_FRAME_WORD(0, 1, 0x5000) | VM_FRAME_LAST, 77 };
	const uint64_t *words;
	bool complete;
	struct scene s;
	size_t n;

	begin_with_loops(&s, codes);
	put_rule(&s, &switched);
	s.in.lists = lists;
	s.in.n_lists = 2;
	n = unwind_walk(s.walker, &s.in, &words, &complete);
	assert_int_equal(words[n - 1], FRAME_WORD(FRAME_ERROR, WALK_ERR_STACK_SWITCHED));
	assert_int_equal(unwind_walk_vm_words(s.walker, &words, &complete), 0);
	end(&s);
}

static void class_data_is_cached_for_one_walk_only(void **state)
{
	const struct unwind_mapping map = {
		.start = CODE,
		.end = CODE + CODE_LEN,
		.file = MAPPING_LANG_FILE(1, 0),
		.kind = MAPPING_LANG_KIND(LANG_JVM, JVM_PART_INTERPRETER) | MAPPING_ENTERED_BY_JUMP
	};
	struct jvm_vm *jvms = calloc(VM_TABLE_MAX, sizeof(*jvms));
	const struct vm_tables tables = { .jvm = jvms };
	uint64_t first;
	struct scene s;

	assert_non_null(jvms);
	jvms[1] = (struct jvm_vm){ .method_const = 8,
				   .frame_bcp = 16,
				   .const_pool = 8,
				   .pool_holder = 8,
				   .klass_name = 8 };
	begin(&s);
	assert_int_equal(unwind_tables_add_mappings(s.tables, &map, 1, &s.in.process), 0);
	unwind_walker_set_vms(s.walker, &tables);
	memset(s.copy, 0, sizeof(s.copy));
	put_pointer(&s, FRAME - 3, METHOD);
	put_pointer(&s, METHOD + 1, PART);
	put_pointer(&s, PART + 1, POOL);
	put_pointer(&s, POOL + 1, CLASS);
	put_pointer(&s, CLASS + 1, NAME);
	s.copy[NAME] = 1;
	s.in.stack_len = sizeof(s.copy);
	s.in.regs[UREG_FP] = STACK + 8 * FRAME;
	s.in.read = NULL;
	first = walk_interpreted(&s);
	assert_true(walk_interpreted(&s) == first);
	/* another process has another class at this address */
	s.copy[NAME] = 2;
	assert_true(walk_interpreted(&s) != first);
	end(&s);
	free(jvms);
}

static void code_of_a_language_that_does_not_exist_is_an_error(void **state)
{
	const struct unwind_mapping map = { .start = CODE,
					    .end = CODE + CODE_LEN,
					    .kind = MAPPING_LANG_KIND(0xff, 0) };
	const uint64_t *words;
	bool complete;
	struct scene s;

	begin(&s);
	assert_int_equal(unwind_tables_add_mappings(s.tables, &map, 1, &s.in.process), 0);
	assert_int_equal(unwind_walk(s.walker, &s.in, &words, &complete), 1);
	assert_int_equal(words[0], FRAME_WORD(FRAME_ERROR, WALK_ERR_BAD_TABLE));
	assert_false(complete);
	end(&s);
}

TEST_GROUP_OF_X86_64(test_walk, TEST(reads_the_stack_beyond_a_copy_that_is_still_valid),
		     TEST(reads_nothing_below_a_copy_later),
		     TEST(does_not_mix_in_the_stack_of_another_call),
		     TEST(a_complete_copy_needs_no_other_reads),
		     TEST(outer_pieces_of_the_copy_need_no_other_reads),
		     TEST(reports_that_a_table_was_not_ready),
		     TEST(a_walk_that_waits_reads_the_stack_of_that_time),
		     TEST(a_walk_that_waits_knows_that_the_stack_had_changed),
		     TEST(a_return_address_of_zero_is_the_root),
		     TEST(a_zero_below_a_return_address_is_no_root),
		     TEST(a_cleared_frame_pointer_is_no_root_below_a_return_address),
		     TEST(a_handler_is_the_caller_once_its_registers_are_in_place),
		     TEST(a_context_that_contradicts_the_stack_is_no_handler),
		     TEST(a_list_that_was_not_read_with_the_copy_is_not_read_later),
		     TEST(a_list_that_was_read_with_the_copy_is_used),
		     TEST(a_list_is_omitted_while_a_stack_is_being_switched),
		     TEST(class_data_is_cached_for_one_walk_only),
		     TEST(code_of_a_language_that_does_not_exist_is_an_error))
