/* SPDX-License-Identifier: Apache-2.0 */
/* Tests stacks built by hand, whose frames are linked by frame pointers. */
#include "capture/stack_trace.h"

#include "base/buf.h"
#include "tests/test.h"

enum {
	CODE = 0x10000000, /* a mapping of a file that does not exist */
	CODE_LEN = 0x10000,
	STACK = 0x20000000,
	WORDS = 512,
};

struct world {
	struct stack_trace *t;
	struct stack_trace_thread thread;
	uint64_t stack[WORDS];
	size_t n_reads;
};

static int read_stack(void *ctx, uint64_t addr, void *dst, size_t len)
{
	struct world *w = ctx;

	w->n_reads++;
	if (addr < STACK || addr - STACK > sizeof(w->stack) ||
	    len > sizeof(w->stack) - (addr - STACK))
		return -1;
	memcpy(dst, (uint8_t *)w->stack + (addr - STACK), len);
	return 0;
}

static int world_setup(void **state)
{
	const struct stack_trace_mapping m = {
		.start = CODE, .end = CODE + CODE_LEN, .path = "/app", .open = "/nonexistent/app"
	};
	struct world *w = calloc(1, sizeof(*w));

	*state = w;
	if (!w || stack_trace_new(&w->t) < 0)
		return -1;
	w->thread = (struct stack_trace_thread){ .pid = 7, .read = read_stack, .ctx = w };
	return stack_trace_add(w->t, &m);
}

static int world_teardown(void **state)
{
	struct world *w = *state;

	stack_trace_free(w->t);
	free(w);
	return 0;
}

/* Puts @n frames on the stack; frame i returns to CODE + 0x100 * (i + 1). */
static void put_frames(struct world *w, size_t n)
{
	w->thread.regs[UREG_PC] = CODE + 0x10;
	w->thread.regs[UREG_SP] = STACK;
	w->thread.regs[UREG_FP] = STACK + 8 * 4;
	for (size_t i = 0; i < n; i++) {
		w->stack[4 * (i + 1)] = i + 1 < n ? STACK + 8 * 4 * (i + 2) : 0;
		w->stack[4 * (i + 1) + 1] = CODE + 0x100 * (i + 1);
	}
}

static char *print(struct world *w)
{
	struct buf b = { 0 };

	assert_int_equal(stack_trace_walk(w->t, &w->thread), 0);
	stack_trace_print(w->t, &b);
	buf_put_byte(&b, '\0');
	assert_int_equal(buf_error(&b), 0);
	return (char *)b.data;
}

static size_t count(const char *text, const char *what)
{
	size_t n = 0;

	for (const char *at = text; (at = strstr(at, what)); at++)
		n++;
	return n;
}

static void frames_of_a_missing_file_are_found_by_frame_pointers(void **state)
{
	struct world *w = *state;
	char *text;

	put_frames(w, 3);
	text = print(w);
	assert_int_equal(strncmp(text, "#0    0x000010000010  [no symbol]  /app+0x10\n", 45), 0);
	assert_int_equal(count(text, "/app+0x"), 4);
	/* Callers are shown at the instruction before the return address. */
	assert_non_null(strstr(text, "#1    0x0000100000ff  [no symbol]  /app+0xff\n"));
	assert_true(stack_trace_has_file(w->t, "/app"));
	assert_false(stack_trace_has_file(w->t, "/other"));
	assert_false(stack_trace_is_runtime(w->t, "/app"));
	free(text);
}

static void paths_cannot_control_the_terminal(void **state)
{
	const struct stack_trace_mapping m = { .start = CODE + CODE_LEN,
					       .end = CODE + 2 * CODE_LEN,
					       .path = "/\x1b[2J\n#1 \xff",
					       .open = "/nonexistent/other" };
	struct world *w = *state;
	char *text;

	assert_int_equal(stack_trace_add(w->t, &m), 0);
	put_frames(w, 1);
	w->thread.regs[UREG_PC] = m.start;
	text = print(w);
	assert_non_null(strstr(text, "[no symbol]  / [2J #1 \xef\xbf\xbd+0x0\n"));
	free(text);
}

static void an_incomplete_stack_says_so(void **state)
{
	struct world *w = *state;
	char *text;

	put_frames(w, 2);
	w->stack[8] = 0x7f0000000000; /* the frame pointer leads out of the stack */
	text = print(w);
	assert_int_equal(count(text, "[incomplete: "), 1);
	assert_non_null(strstr(text, "The walk ended before the outermost frame.\n"));
	free(text);
}

static void unreadable_memory_ends_the_walk(void **state)
{
	struct world *w = *state;
	char *text;

	put_frames(w, 3);
	w->thread.regs[UREG_FP] = w->thread.regs[UREG_SP] = 0x7f0000000000;
	text = print(w);
	assert_int_equal(count(text, "/app+0x"), 1);
	assert_non_null(strstr(text, "[incomplete: "));
	free(text);
}

static void a_cycle_of_frame_pointers_ends(void **state)
{
	struct world *w = *state;
	char *text;

	put_frames(w, 3);
	w->stack[12] = STACK + 8 * 4;
	text = print(w);
	assert_true(count(text, "/app+0x") < 10);
	assert_true(w->n_reads < 10000);
	free(text);
}

static void an_address_without_a_mapping_is_no_frame_of_a_file(void **state)
{
	struct world *w = *state;
	char *text;

	put_frames(w, 1);
	w->thread.regs[UREG_PC] = 0x1234;
	text = print(w);
	assert_int_equal(strncmp(text, "#0 ", 3), 0);
	assert_null(strstr(text, "0x000000001234  [no symbol]"));
	free(text);
}

/* Any registers and any stack make a trace, within a bounded number of reads. */
static void any_stack_makes_a_trace(void **state)
{
	srandom(14);
	for (int round = 0; round < 100; round++) {
		struct world *w;
		char *text;

		assert_int_equal(world_setup(state), 0);
		w = *state;
		for (size_t i = 0; i < WORDS; i++)
			w->stack[i] = random() % 2 ? CODE + (uint64_t)random() % CODE_LEN
						   : STACK + 8 * ((uint64_t)random() % WORDS);
		for (size_t i = 0; i < UREG_COUNT; i++)
			w->thread.regs[i] = STACK + 8 * ((uint64_t)random() % WORDS);
		w->thread.regs[UREG_PC] = CODE + (uint64_t)random() % CODE_LEN;
		text = print(w);
		assert_int_equal(strncmp(text, "#0 ", 3), 0);
		assert_true(w->n_reads < 100000);
		free(text);
		world_teardown(state);
	}
}

#define WORLD_TEST(fn) cmocka_unit_test_setup_teardown(fn, world_setup, world_teardown)

TEST_GROUP(test_stack_trace, WORLD_TEST(frames_of_a_missing_file_are_found_by_frame_pointers),
	   WORLD_TEST(paths_cannot_control_the_terminal), WORLD_TEST(an_incomplete_stack_says_so),
	   WORLD_TEST(unreadable_memory_ends_the_walk), WORLD_TEST(a_cycle_of_frame_pointers_ends),
	   WORLD_TEST(an_address_without_a_mapping_is_no_frame_of_a_file),
	   TEST(any_stack_makes_a_trace))
