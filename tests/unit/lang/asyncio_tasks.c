/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tasks of asyncio in an artificial process: what is read of them, and what of structures that
 * change or lie.
 *
 * covers: src/lang/tasks/asyncio_frames.c
 * covers: src/lang/tasks/asyncio_list.c
 * covers: src/lang/tasks/asyncio_walk.c
 * covers: src/lang/tasks/python_objects.c
 */
#include "lang/tasks/asyncio_tasks.h"

#include <errno.h>
#include <string.h>

#include "asyncio_memory.h"
#include "base/strtab.h"
#include "lang/python/python.h"
#include "tests/test.h"

static struct asyncio_memory m;
static struct task_snapshot s;
static uint64_t in_work, in_main, in_acquire;

static int setup(void **state)
{
	(void)state;
	asyncio_memory_init(&m);
	in_work = asyncio_memory_code(&m, "work", "/srv/app.py");
	in_main = asyncio_memory_code(&m, "main", "/srv/app.py");
	in_acquire = asyncio_memory_code(&m, "Lock.acquire", "/lib/python3.12/asyncio/locks.py");
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
	return asyncio_tasks_read_layout(&m.layout, 0, &m.memory, max, &s);
}

/* A task that waits for m.future in work(), which main() awaits. */
static uint64_t add_waiting(void)
{
	uint64_t inner = asyncio_memory_coroutine(&m, in_work, ASYNCIO_IS_SUSPENDED,
						  asyncio_memory_wait(&m));
	uint64_t outer = asyncio_memory_coroutine(&m, in_main, ASYNCIO_IS_SUSPENDED, inner);

	return asyncio_memory_add(&m, ASYNCIO_TYPE_TASK, outer, m.future);
}

/* The functions of a task, innermost first. */
static void check_stack(size_t i, const char *want)
{
	char text[1024] = "";
	size_t n;
	const uint32_t *ids = seqtab_get(&s.stacks, s.tasks.data[i].stack, &n);

	for (size_t k = 0; k < n && k < 20; k++) {
		const struct task_frame *f = task_snapshot_frame_get(&s, ids[k]);

		strncat(text, strtab_get(s.strings, f->function), 30);
		strncat(text, " ", 2);
	}
	assert_string_equal(text, want);
}

static void check_reason(size_t i, const char *want)
{
	assert_string_equal(strtab_get(s.strings, s.tasks.data[i].reason), want);
}

static void a_waiting_task_has_its_chain_and_reason(void **state)
{
	uint64_t addr = add_waiting();
	const struct task_frame *f;

	assert_int_equal(read_all(100), 0);
	assert_string_equal(s.runtime, "Python");
	assert_int_equal(s.tasks.len, 1);
	check_stack(0, "work main ");
	check_reason(0, "future");
	assert_int_equal(s.tasks.data[0].id, addr);
	assert_int_equal(s.tasks.data[0].state, TASK_WAITING);
	assert_int_equal(s.tasks.data[0].object, m.future);
	f = task_snapshot_frame_get(&s, 0);
	assert_int_equal(f->line, 10);
	assert_int_equal(f->is_library, 0);
	assert_string_equal(strtab_get(s.strings, f->file), "/srv/app.py");
	assert_int_equal(s.totals.n_invalid + s.totals.n_cut + s.totals.n_changed, 0);
}

static void a_lock_is_named_by_its_class(void **state)
{
	uint64_t inner = asyncio_memory_coroutine(&m, in_acquire, ASYNCIO_IS_SUSPENDED,
						  asyncio_memory_wait(&m));
	uint64_t outer = asyncio_memory_coroutine(&m, in_main, ASYNCIO_IS_SUSPENDED, inner);
	uint64_t lock = m.end + 32;

	m.end += 64;
	asyncio_memory_put(&m, lock + 8, m.types[ASYNCIO_TYPE_LOCK]);
	asyncio_memory_put(&m, inner + m.layout.generator_frame + m.layout.frame_locals, lock);
	asyncio_memory_add(&m, ASYNCIO_TYPE_DERIVED, outer, m.future);
	assert_int_equal(read_all(100), 0);
	assert_int_equal(s.tasks.len, 1);
	check_stack(0, "Lock.acquire main ");
	check_reason(0, "Lock.acquire");
	assert_int_equal(s.tasks.data[0].wake, TASK_WAKE_TASK);
	assert_int_equal(s.tasks.data[0].object, lock);
	assert_int_equal(task_snapshot_frame_get(&s, 1)->is_library, 1);
}

static void a_task_that_awaits_another_names_it(void **state)
{
	uint64_t first = add_waiting();
	uint64_t coroutine = asyncio_memory_coroutine(&m, in_main, ASYNCIO_IS_SUSPENDED,
						      asyncio_memory_wait(&m));
	uint64_t second = asyncio_memory_add(&m, ASYNCIO_TYPE_TASK, coroutine, first);
	size_t i;

	assert_int_equal(read_all(100), 0);
	assert_int_equal(s.tasks.len, 2);
	i = s.tasks.data[0].id == second ? 0 : 1;
	check_reason(i, "task");
	assert_int_equal(s.tasks.data[i].waits_for, first);
	assert_string_equal(strtab_get(s.strings, s.tasks.data[i].name), "a task");
	assert_int_equal(s.tasks.data[!i].waits_for, 0);
}

static void states_are_those_of_the_coroutine(void **state)
{
	static const struct {
		int8_t state;
		uint8_t want;
	} cases[] = { { ASYNCIO_IS_CREATED, TASK_RUNNABLE },
		      { ASYNCIO_IS_SUSPENDED, TASK_RUNNABLE },
		      { ASYNCIO_RUNS, TASK_RUNNING },
		      { ASYNCIO_ENDED, 0 } };
	enum { N = sizeof(cases) / sizeof(cases[0]) };

	for (size_t i = 0; i < N; i++)
		asyncio_memory_add(&m, ASYNCIO_TYPE_TASK,
				   asyncio_memory_coroutine(&m, in_main, cases[i].state, 0), 0);
	assert_int_equal(read_all(100), 0);
	/* the one that has ended is neither a task nor invalid */
	assert_int_equal(s.tasks.len, N - 1);
	assert_int_equal(s.totals.n_listed, N);
	assert_int_equal(s.totals.n_invalid, 0);
	for (size_t i = 0; i < N - 1; i++) {
		assert_int_equal(s.tasks.data[i].state, cases[i].want);
		check_stack(i, "main ");
	}
}

static void a_circle_of_coroutines_ends(void **state)
{
	uint64_t one = asyncio_memory_coroutine(&m, in_main, ASYNCIO_IS_SUSPENDED, 1);
	uint64_t two = asyncio_memory_coroutine(&m, in_work, ASYNCIO_IS_SUSPENDED, one);
	size_t n;

	asyncio_memory_put(&m, one + m.layout.generator_frame + m.layout.frame_locals + 8, two);
	asyncio_memory_add(&m, ASYNCIO_TYPE_TASK, one, m.future);
	assert_int_equal(read_all(100), 0);
	assert_int_equal(s.tasks.len, 1);
	assert_int_equal(s.totals.n_cut, 1);
	seqtab_get(&s.stacks, s.tasks.data[0].stack, &n);
	assert_int_equal(n, TASK_FRAMES_MAX);
}

static void pointers_that_lie_are_counted(void **state)
{
	static const uint64_t bad[] = { 0, 1, 8, 1ULL << 63, UINT64_MAX, ASYNCIO_MEMORY_AT };
	uint64_t code;

	add_waiting();
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		asyncio_memory_add(&m, ASYNCIO_TYPE_TASK, bad[i], m.future);
	/* not a code object */
	code = asyncio_memory_coroutine(&m, m.future, ASYNCIO_IS_SUSPENDED, 0);
	asyncio_memory_add(&m, ASYNCIO_TYPE_TASK, code, m.future);
	/* in the set, but not a reference */
	asyncio_memory_put(&m, m.set_table + m.n * 32, m.future);
	assert_int_equal(read_all(100), 0);
	assert_int_equal(s.totals.n_invalid, sizeof(bad) / sizeof(bad[0]));
	assert_int_equal(s.tasks.len, 2);
	check_stack(0, "work main ");
	assert_int_equal(s.totals.n_cut, 1);
}

static void a_set_that_lies_about_its_size_is_counted(void **state)
{
	static const uint64_t sizes[] = { 1ULL << 22, 1ULL << 40, UINT64_MAX };

	add_waiting();
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		asyncio_memory_put(&m, m.set + 32, sizes[i]);
		assert_int_equal(read_all(100), 0);
		assert_int_equal(s.tasks.len, 0);
		assert_int_equal(s.totals.n_invalid, 1);
	}
}

static void a_program_without_asyncio_has_no_tasks(void **state)
{
	asyncio_memory_put(&m, m.interp + ASYNCIO_MODULES_OFFSET, m.future);
	assert_int_equal(read_all(100), -ENODATA);
	asyncio_memory_put(&m, m.interp + ASYNCIO_MODULES_OFFSET, 0);
	assert_int_equal(read_all(100), -ENODATA);
}

static void a_circle_of_interpreters_ends(void **state)
{
	add_waiting();
	asyncio_memory_put(&m, m.interp, m.interp);
	assert_int_equal(read_all(100), 0);
	assert_int_equal(s.tasks.len, 1);
}

static void of_many_a_sample_is_read(void **state)
{
	for (int i = 0; i < 40; i++)
		asyncio_memory_add(&m, ASYNCIO_TYPE_TASK,
				   asyncio_memory_coroutine(&m, in_main, ASYNCIO_IS_SUSPENDED, 0),
				   m.future);
	assert_int_equal(read_all(10), 0);
	assert_int_equal(s.totals.n_listed, 40);
	assert_int_equal(s.totals.one_in, 4);
	assert_in_range(s.tasks.len, 1, 39);
}

static void run_on(struct asyncio_memory *x)
{
	uint64_t at = x->tasks[0] + x->layout.task_waiter;

	asyncio_memory_put(x, at, asyncio_memory_word(x, at) ? 0 : x->future);
}

static void one_that_changes_is_counted_without_a_stack(void **state)
{
	add_waiting();
	/* all of it is one read of the task in each of an even number of passes */
	m.before_read = run_on;
	assert_int_equal(read_all(100), 0);
	assert_int_equal(s.tasks.len, 1);
	if (s.totals.n_changed) {
		assert_int_equal(s.tasks.data[0].flags, TASK_CHANGED);
		assert_int_equal(s.tasks.data[0].stack, 0);
	} else {
		check_stack(0, "work main ");
	}
}

static void a_process_that_ends_meanwhile_ends_the_reading(void **state)
{
	size_t n;

	add_waiting();
	assert_int_equal(read_all(100), 0);
	n = m.n_reads;
	for (m.n_reads_max = 1; m.n_reads_max < n; m.n_reads_max++) {
		task_snapshot_fini(&s);
		assert_int_equal(task_snapshot_init(&s), 0);
		m.n_reads = 0;
		(void)read_all(100);
		assert_in_range(s.tasks.len, 0, 1);
	}
}

static void after_the_deadline_nothing_is_read(void **state)
{
	add_waiting();
	m.memory.deadline_ns = 1;
	assert_int_equal(read_all(100), -EFAULT);
	assert_int_equal(s.tasks.len, 0);
}

static void releases_have_a_layout(void **state)
{
	static const uint64_t debug[ASYNCIO_DEBUG_WORDS] = { 192,  120,  144, 160, 161, 112, 168,
							     4000, 3000, 800, 700, 708, 720 };
	struct asyncio_layout l;
	struct python_vm py;

	for (unsigned int minor = 6; minor <= 12; minor++) {
		assert_int_equal(python_offsets(&py, minor, 0, NULL, 0), 0);
		assert_int_equal(asyncio_layout_of(&py, NULL, &l), minor < 9 ? -ENOTSUP : 0);
	}
	py.minor = 14;
	assert_int_equal(asyncio_layout_of(&py, NULL, &l), -ENODATA);
	assert_int_equal(asyncio_layout_of(&py, debug, &l), 0);
	assert_int_equal(l.task_coroutine, 112);
	assert_int_equal(l.task_waiter, 104);
	assert_int_equal(l.thread_tasks, 720);
	for (size_t i = 0; i < ASYNCIO_DEBUG_WORDS; i++) {
		uint64_t lie[ASYNCIO_DEBUG_WORDS];

		memcpy(lie, debug, sizeof(lie));
		lie[i] = UINT64_MAX;
		/* the fields that are not used may have any value */
		assert_int_equal(asyncio_layout_of(&py, lie, &l),
				 (i >= 2 && i <= 4) || i == 10 || i == 11 ? 0 : -ENOTSUP);
	}
	py.minor = 15;
	assert_int_equal(asyncio_layout_of(&py, debug, &l), -ENOTSUP);
	py.minor = 13;
	py.object = 32;
	assert_int_equal(asyncio_layout_of(&py, NULL, &l), -ENOTSUP);
}

#define ASYNCIO_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

TEST_GROUP(test_asyncio_tasks, ASYNCIO_TEST(a_waiting_task_has_its_chain_and_reason),
	   ASYNCIO_TEST(a_lock_is_named_by_its_class),
	   ASYNCIO_TEST(a_task_that_awaits_another_names_it),
	   ASYNCIO_TEST(states_are_those_of_the_coroutine),
	   ASYNCIO_TEST(a_circle_of_coroutines_ends), ASYNCIO_TEST(pointers_that_lie_are_counted),
	   ASYNCIO_TEST(a_set_that_lies_about_its_size_is_counted),
	   ASYNCIO_TEST(a_program_without_asyncio_has_no_tasks),
	   ASYNCIO_TEST(a_circle_of_interpreters_ends), ASYNCIO_TEST(of_many_a_sample_is_read),
	   ASYNCIO_TEST(one_that_changes_is_counted_without_a_stack),
	   ASYNCIO_TEST(a_process_that_ends_meanwhile_ends_the_reading),
	   ASYNCIO_TEST(after_the_deadline_nothing_is_read), ASYNCIO_TEST(releases_have_a_layout))
