/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Goroutines of an artificial process: what is read of them, and what of structures that change or
 * lie.
 *
 * covers: src/lang/tasks/golang_walk.c
 */
#include "lang/tasks/golang_tasks.h"

#include <errno.h>
#include <string.h>

#include "base/strtab.h"
#include "golang_memory.h"
#include "tests/test.h"

enum { RUNNABLE = 1, RUNNING = 2, SYSCALL = 3, WAITING = 4, DEAD = 6, SCAN = 0x1000 };
enum { IO_WAIT = 1, RECEIVE = 2, LOCK = 3 };

static const enum golang_function in_worker[] = { GOLANG_WORKER };
static struct golang_memory g;
static struct task_snapshot s;

static int setup(void **state)
{
	(void)state;
	golang_memory_init(&g);
	return task_snapshot_init(&s);
}

static int teardown(void **state)
{
	(void)state;
	task_snapshot_fini(&s);
	return 0;
}

static int read_all(uint32_t max)
{
	return golang_tasks_read_program(&g.program, &g.memory, max, &s);
}

static void check_stack(const struct task *t, const char *want)
{
	char text[512] = "";
	size_t n;
	const uint32_t *ids = seqtab_get(&s.stacks, t->stack, &n);

	for (size_t i = 0; i < n; i++) {
		const struct task_frame *f = task_snapshot_frame_get(&s, ids[i]);

		strncat(text, strtab_get(s.strings, f->function), 40);
		strncat(text, " ", 2);
	}
	assert_string_equal(text, want);
}

static void a_parked_goroutine_has_its_stack_and_reason(void **state)
{
	static const enum golang_function calls[] = { GOLANG_WORKER, GOLANG_MAIN };

	golang_memory_add(&g, WAITING, RECEIVE, calls, 2);
	golang_memory_add(&g, WAITING | SCAN, IO_WAIT, calls, 2);
	assert_int_equal(read_all(100), 0);
	assert_int_equal(s.tasks.len, 2);
	/* the runtime has created the first one */
	check_stack(&s.tasks.data[0], "main.worker main.main ");
	check_stack(&s.tasks.data[1], "main.worker main.main main.spawn ");
	assert_string_equal(strtab_get(s.strings, s.tasks.data[0].reason), "chan receive");
	assert_int_equal(s.tasks.data[0].wake, TASK_WAKE_TASK);
	assert_int_equal(s.tasks.data[1].wake, TASK_WAKE_EVENT);
	assert_int_equal(s.tasks.data[1].id, 2);
	assert_int_equal(s.tasks.data[1].state, TASK_WAITING);
	assert_int_equal(s.totals.n_cut, 0);
}

static void states_are_told_apart(void **state)
{
	golang_memory_add(&g, RUNNABLE, 0, in_worker, 1);
	golang_memory_add(&g, RUNNING, 0, in_worker, 1);
	golang_memory_add(&g, SYSCALL, 0, in_worker, 1);
	golang_memory_add(&g, DEAD, 0, in_worker, 1);
	golang_memory_put(&g, golang_memory_g(2) + 104, GOLANG_STACKS_AT + 2 * 0x200 + 0x40 + 40);
	golang_memory_put(&g, golang_memory_g(2) + 112, golang_memory_pc(GOLANG_WORKER));
	assert_int_equal(read_all(100), 0);
	assert_int_equal(s.tasks.len, 3);
	assert_int_equal(s.totals.n_listed, 4);
	for (size_t i = 0; i < 3; i++) {
		const struct task *t = &s.tasks.data[i];

		assert_int_equal(t->state, t->id == 1   ? TASK_RUNNABLE
					   : t->id == 2 ? TASK_RUNNING
							: TASK_SYSCALL);
		check_stack(t, t->id == 1 ? "main.worker " : "main.worker main.spawn ");
		assert_int_equal(t->reason, 0);
	}
}

static void the_runtimes_own_goroutines_are_marked(void **state)
{
	static const enum golang_function sweep[] = { GOLANG_SWEEP },
					  first[] = { GOLANG_MAIN, GOLANG_RUNTIME };

	golang_memory_add(&g, WAITING, RECEIVE, sweep, 1);
	golang_memory_add(&g, WAITING, RECEIVE, first, 2);
	assert_int_equal(read_all(100), 0);
	assert_int_equal(s.tasks.data[0].flags, TASK_SYSTEM);
	assert_int_equal(s.tasks.data[1].flags, 0);
}

static void a_stack_that_leaves_its_bounds_is_cut(void **state)
{
	static const enum golang_function odd[] = { GOLANG_WORKER, GOLANG_SWITCH, GOLANG_MAIN };
	uint64_t hi;

	golang_memory_add(&g, WAITING, RECEIVE, in_worker, 1);
	golang_memory_add(&g, WAITING, RECEIVE, odd, 3);
	golang_memory_add(&g, WAITING, RECEIVE, in_worker, 1);
	hi = GOLANG_STACKS_AT + 0x40 + 48;
	golang_memory_put(&g, golang_memory_g(0) + 8, hi);
	/* the return address of the third is not in the code */
	golang_memory_put(&g, GOLANG_STACKS_AT + 2 * 0x200 + 0x40 + 32, 0x1234);
	assert_int_equal(read_all(100), 0);
	assert_int_equal(s.totals.n_cut, 3);
	check_stack(&s.tasks.data[0], "main.worker ");
	check_stack(&s.tasks.data[1], "main.worker runtime.systemstack ");
	check_stack(&s.tasks.data[2], "");
}

static void invalid_entries_are_counted(void **state)
{
	for (int i = 0; i < 5; i++)
		golang_memory_add(&g, WAITING, RECEIVE, in_worker, 1);
	golang_memory_put(&g, GOLANG_LIST_AT, 8);                  /* not mapped */
	golang_memory_put(&g, GOLANG_LIST_AT + 8, UINT64_MAX - 4); /* wraps */
	golang_memory_put(&g, golang_memory_g(2) + 144, 0xffff);   /* no status */
	golang_memory_put(&g, golang_memory_g(3), UINT64_MAX);     /* bounds */
	assert_int_equal(read_all(100), 0);
	assert_int_equal(s.totals.n_invalid, 4);
	assert_int_equal(s.tasks.len, 1);
}

static void a_list_that_lies_about_its_length_ends(void **state)
{
	golang_memory_add(&g, WAITING, RECEIVE, in_worker, 1);
	golang_memory_put(&g, GOLANG_LEN_AT, UINT64_MAX);
	assert_int_equal(read_all(100), -EFAULT);
	golang_memory_put(&g, GOLANG_LEN_AT, 1 << 20);
	assert_int_equal(read_all(TASKS_MAX), 0);
	assert_true(s.totals.n_unread + s.totals.n_invalid + s.tasks.len > 0);
	assert_int_equal(s.totals.n_listed, 1 << 20);
}

static void of_many_a_sample_is_read(void **state)
{
	for (int i = 0; i < 30; i++)
		golang_memory_add(&g, WAITING, RECEIVE, in_worker, 1);
	assert_int_equal(read_all(10), 0);
	assert_int_equal(s.totals.one_in, 3);
	assert_in_range(s.tasks.len, 1, 20);
}

/* The goroutine's stack pointer moves with each read. */
static void move(struct golang_memory *m)
{
	uint64_t sp;

	memcpy(&sp, m->bytes + (golang_memory_g(0) + 56 - GOLANG_MEMORY_AT), sizeof(sp));
	golang_memory_put(m, golang_memory_g(0) + 56, sp + 8);
}

static void one_that_changes_is_counted_without_a_stack(void **state)
{
	golang_memory_add(&g, WAITING, RECEIVE, in_worker, 1);
	golang_memory_add(&g, WAITING, RECEIVE, in_worker, 1);
	g.before_read = move;
	assert_int_equal(read_all(100), 0);
	assert_int_equal(s.tasks.len, 2);
	assert_int_equal(s.totals.n_changed, 1);
	for (size_t i = 0; i < 2; i++)
		if (s.tasks.data[i].id == 1) {
			assert_int_equal(s.tasks.data[i].flags, TASK_CHANGED);
			check_stack(&s.tasks.data[i], "");
		}
}

static void a_process_that_ends_meanwhile_ends_the_reading(void **state)
{
	for (int i = 0; i < 10; i++)
		golang_memory_add(&g, WAITING, RECEIVE, in_worker, 1);
	for (size_t n = 1; n < 12; n++) {
		g.n_reads = 0;
		g.n_reads_max = n;
		task_snapshot_fini(&s);
		assert_int_equal(task_snapshot_init(&s), 0);
		assert_true(read_all(100) <= 0);
	}
}

static void after_the_deadline_nothing_is_read(void **state)
{
	golang_memory_add(&g, WAITING, RECEIVE, in_worker, 1);
	g.memory.deadline_ns = 1;
	assert_int_equal(read_all(100), -EFAULT);
	assert_true(task_memory_is_late(&g.memory));
}

/* Two goroutines: each waits for the lock whose address is on the other's stack. */
static void holders_of_locks_are_found_on_stacks(void **state)
{
	static const uint64_t locks[2] = { GOLANG_SUDOGS_AT + 0x400, GOLANG_SUDOGS_AT + 0x600 };

	for (uint32_t i = 0; i < 2; i++) {
		uint64_t sudog = GOLANG_SUDOGS_AT + i * 0x100;

		golang_memory_add(&g, WAITING, LOCK, in_worker, 1);
		golang_memory_put(&g, golang_memory_g(i) + 320, sudog);
		golang_memory_put(&g, sudog + 32, locks[i] + 4);
		golang_memory_put(&g, GOLANG_STACKS_AT + i * 0x200 + 0x50, locks[!i]);
	}
	assert_int_equal(read_all(100), 0);
	assert_int_equal(s.tasks.len, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(s.tasks.data[i].object, locks[s.tasks.data[i].id - 1] + 4);
		assert_int_equal(s.tasks.data[i].waits_for, 3 - s.tasks.data[i].id);
	}
}

#define GO_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

TEST_GROUP(test_golang_tasks, GO_TEST(a_parked_goroutine_has_its_stack_and_reason),
	   GO_TEST(states_are_told_apart), GO_TEST(the_runtimes_own_goroutines_are_marked),
	   GO_TEST(a_stack_that_leaves_its_bounds_is_cut), GO_TEST(invalid_entries_are_counted),
	   GO_TEST(a_list_that_lies_about_its_length_ends), GO_TEST(of_many_a_sample_is_read),
	   GO_TEST(one_that_changes_is_counted_without_a_stack),
	   GO_TEST(a_process_that_ends_meanwhile_ends_the_reading),
	   GO_TEST(after_the_deadline_nothing_is_read),
	   GO_TEST(holders_of_locks_are_found_on_stacks))
