/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/tasks_text.h"

#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/strtab.h"
#include "lang/tasks/task_snapshot.h"
#include "tests/test.h"

enum { MANY = 1200 };

/* A snapshot, its view, and the text that was printed last. */
static struct task_snapshot s;
static struct tasks_view v;
static struct buf text;

static int setup(void **state)
{
	(void)state;
	memset(&v, 0, sizeof(v));
	strcpy(v.comm, "worker");
	v.pid = 77;
	v.took_ns = 12 * CLOCK_MS_NS;
	v.s = &s;
	if (task_snapshot_init(&s) < 0)
		return -1;
	strcpy(s.runtime, "Go");
	strcpy(s.version, "1.26.1");
	s.totals.time_ns = 1000000ULL * CLOCK_SECOND_NS;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	vec_fini(&v.groups);
	task_findings_fini(&v.findings);
	task_snapshot_fini(&s);
	buf_fini(&text);
	text = (struct buf){ 0 };
	return 0;
}

static uint32_t string(const char *value)
{
	uint32_t id;

	assert_int_equal(task_snapshot_string(&s, value, strlen(value), &id), 0);
	return id;
}

/* A stack of runtime.park and @function; "": an empty one. */
static uint32_t stack(const char *function, const char *file, uint32_t line)
{
	const struct task_frame frames[] = {
		{ .function = string("runtime.park"), .is_library = 1 },
		{ .function = string(function), .file = string(file), .line = line },
	};
	uint32_t ids[2], id;

	if (!*function)
		return 0;
	for (int i = 0; i < 2; i++)
		assert_int_equal(task_snapshot_frame(&s, &frames[i], &ids[i]), 0);
	assert_int_equal(task_snapshot_stack(&s, ids, 2, &id), 0);
	return id;
}

static struct task *add(const char *function, uint64_t waited_s)
{
	const struct task t = {
		.id = s.tasks.len + 1,
		.state = TASK_WAITING,
		.wake = TASK_WAKE_EVENT,
		.reason = string("chan receive"),
		.stack = stack(function, "/src/app/main.go", 7),
		.since_ns = waited_s ? s.totals.time_ns - waited_s * CLOCK_SECOND_NS : 0,
	};

	assert_int_equal(vec_push(&s.tasks, t), 0);
	return &s.tasks.data[s.tasks.len - 1];
}

typedef void (*put_fn)(struct buf *, const struct tasks_view *, const struct tasks_text_options *);

/* Derives what is printed from the snapshot, and prints it. */
static const char *print(put_fn put, const struct tasks_text_options *opt)
{
	vec_fini(&v.groups);
	task_findings_fini(&v.findings);
	memset(&v.groups, 0, sizeof(v.groups));
	memset(&v.findings, 0, sizeof(v.findings));
	assert_int_equal(task_groups_build(&s, &v.groups), 0);
	assert_int_equal(task_findings_build(&s, &v.findings), 0);
	task_sums_build(&s, &v.sums);
	text.len = 0;
	put(&text, &v, opt);
	buf_put_byte(&text, '\0');
	assert_int_equal(buf_error(&text), 0);
	return (const char *)text.data;
}

static const char *print_text(const struct tasks_text_options *opt)
{
	return print(tasks_text_put, opt);
}

static void contains(const char *all, const char *part)
{
	if (!strstr(all, part))
		fail_msg("\"%s\" is missing in:\n%s", part, all);
}

static void lacks(const char *all, const char *part)
{
	if (strstr(all, part))
		fail_msg("\"%s\" is in:\n%s", part, all);
}

static void a_group_has_a_title_and_a_stack(void **state)
{
	const struct tasks_text_options opt = { 0 };

	for (int i = 0; i < MANY; i++)
		add("main.worker", 0);
	assert_string_equal(print_text(&opt),
			    "process 77 (worker): Go 1.26.1, 1,200 goroutines, read in 12 ms\n\n"
			    "1,200 goroutines · chan receive · main.go:7\n"
			    "    runtime.park\n"
			    "    main.worker  /src/app/main.go:7\n");
}

static void waiting_times_have_the_unit_that_suits_them(void **state)
{
	static const struct {
		uint64_t s;
		const char *text;
	} cases[] = {
		{ 1, " · 1 s · " },         { 119, " · 119 s · " }, { 120, " · 2 min · " },
		{ 7199, " · 119 min · " },  { 7200, " · 2 h · " },  { 172799, " · 47 h · " },
		{ 172800, " · 2 days · " },
	};
	const struct tasks_text_options opt = { 0 };
	struct task *t = add("main.worker", 0);

	lacks(print_text(&opt), "goroutine · 0");
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		t->since_ns = s.totals.time_ns - cases[i].s * CLOCK_SECOND_NS;
		contains(print_text(&opt), cases[i].text);
	}
	t->since_ns = s.totals.time_ns - 250 * CLOCK_MS_NS;
	contains(print_text(&opt), "1 goroutine · 250 ms · ");
}

static void the_runtimes_own_are_shown_on_request(void **state)
{
	struct tasks_text_options opt = { 0 };

	add("main.worker", 0);
	add("runtime.sweep", 0)->flags = TASK_SYSTEM;
	contains(print_text(&opt), "1 goroutine and 1 of the runtime, read");
	lacks(print_text(&opt), "runtime.sweep");
	opt.system = true;
	contains(print_text(&opt), " · runtime\n");
	contains(print_text(&opt), "runtime.sweep");
}

static void groups_beyond_the_limit_are_counted(void **state)
{
	const struct tasks_text_options opt = { .limit = 1 };

	add("main.a", 0);
	add("main.a", 0);
	add("main.b", 0);
	contains(print_text(&opt), "\n1 more group; --limit 0 shows all.\n");
	lacks(print_text(&opt), "main.b");
	add("main.c", 0);
	contains(print_text(&opt), "\n2 more groups; --limit 0 shows all.\n");
}

static void gaps_are_reported(void **state)
{
	const struct tasks_text_options opt = { 0 };
	const char *out;

	add("", 0)->flags = TASK_CHANGED;
	s.totals.one_in = 3;
	s.totals.n_unread = 1234567;
	s.totals.n_changed = 1;
	s.totals.n_cut = 2;
	s.totals.n_invalid = 4;
	out = print_text(&opt);
	contains(out, "1 of 3 entries was read; counts are scaled.\n");
	contains(out, "1,234,567 entries were not read because the time was over.\n");
	contains(out, "1 changed while they were read");
	contains(out, "2 stacks are incomplete.\n");
	contains(out, "4 entries of the list are invalid.\n");
	contains(out, "    [changed while it was read]\n");
}

static void a_deadlock_names_the_locks(void **state)
{
	const struct tasks_text_options opt = { 0 };
	const char *out;

	for (uint64_t i = 0; i < 2; i++) {
		struct task *t = add("main.transfer", 0);

		t->wake = TASK_WAKE_TASK;
		t->object = 0xc0001 + i;
		t->waits_for = 2 - i;
	}
	out = print_text(&opt);
	contains(out, "Deadlock: 2 goroutines wait for each other:\n");
	contains(out, "  1 · main.go:7 · chan receive at 0xc0001, which 2 appears to hold\n");
	contains(out, "  2 · main.go:7 · chan receive at 0xc0002, which 1 appears to hold\n");
	contains(out,
		 "Deadlock: each of the 2 goroutines waits for another one, and none can run.\n");
}

static void the_only_goroutine_may_be_deadlocked(void **state)
{
	const struct tasks_text_options opt = { 0 };

	add("main.main", 0)->wake = TASK_WAKE_TASK;
	contains(print_text(&opt), "Deadlock: the only goroutine waits for another one.\n");
}

static void names_of_the_process_cannot_control_the_terminal(void **state)
{
	const struct tasks_text_options opt = { 0 };

	strcpy(v.comm, "a\x1b[31m");
	add("main.\x1b[2J", 0)->reason = string("\x1b[1m");
	lacks(print_text(&opt), "\x1b");
}

static void those_that_grow_come_first(void **state)
{
	static const int64_t growth[] = { -2, 0, 25 };
	const struct tasks_text_options opt = { 0 };
	const char *out, *up, *down;

	for (int i = 0; i < 3; i++)
		add("main.a", 0);
	for (int i = 0; i < 2; i++)
		add("main.b", 0);
	add("main.c", 0);
	v.growth = growth;
	v.since_ns = 10ULL * CLOCK_SECOND_NS;
	out = print(tasks_text_put_growth, &opt);
	up = strstr(out, "+25 in 10 s: 1 goroutine · chan receive");
	down = strstr(out, "-2 in 10 s: 3 goroutines · chan receive");
	assert_true(up && down && up < down);
	contains(out, "main.c  /src");
	/* a stack is of interest only if its group grows */
	lacks(out, "main.a  /src");
	lacks(out, "main.b");
}

static void changes_beyond_the_limit_are_counted(void **state)
{
	static const int64_t growth[] = { 1, 2, 3 };
	const struct tasks_text_options opt = { .limit = 1 };

	add("main.a", 0);
	add("main.b", 0);
	add("main.c", 0);
	v.growth = growth;
	contains(print(tasks_text_put_growth, &opt), "\n2 more groups; --limit 0 shows all.\n");
}

static void no_growth_is_reported(void **state)
{
	static const int64_t growth[] = { 0 };
	const struct tasks_text_options opt = { 0 };

	add("main.a", 0);
	v.growth = growth;
	v.since_ns = 3ULL * CLOCK_SECOND_NS;
	contains(print(tasks_text_put_growth, &opt), "No group has grown in 3 s.\n");
}

static void json_is_one_line(void **state)
{
	static const int64_t growth[] = { 4 };
	const struct tasks_text_options opt = { 0 };
	const char *out;

	add("main.\"worker", 5);
	s.tasks.data[0].waits_for = 1;
	v.growth = growth;
	out = print(tasks_text_put_json, &opt);
	assert_ptr_equal(strchr(out, '\n'), out + strlen(out) - 1);
	contains(out, "\"pid\":77");
	contains(out, "\"took_ns\":12000000");
	contains(out, "\"circles\":[[1]]");
	contains(out, "\"count\":1,\"growth\":4,\"state\":\"waiting\",\"reason\":\"chan receive\"");
	contains(out, "\"longest_ns\":5000000000");
	contains(out,
		 "{\"function\":\"main.\\\"worker\",\"file\":\"/src/app/main.go\",\"line\":7}");
}

static void json_has_the_largest_changes_and_counts_the_others(void **state)
{
	static const int64_t growth[] = { 1, -9, 5 };
	const struct tasks_text_options opt = { .limit = 1 };
	const char *out;

	add("main.a", 0);
	add("main.b", 0);
	add("main.c", 0);
	v.growth = growth;
	out = print(tasks_text_put_json, &opt);
	contains(out, "\"more_groups\":2,\"groups\":[{\"count\":1,\"growth\":5,");
	lacks(out, "\"growth\":1,");
	v.growth = NULL;
	out = print(tasks_text_put_json, &opt);
	contains(out, "\"more_groups\":2,\"groups\":[{\"count\":1,\"state\"");
}

#define TEXT_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

TEST_GROUP(test_tasks_text, TEXT_TEST(a_group_has_a_title_and_a_stack),
	   TEXT_TEST(waiting_times_have_the_unit_that_suits_them),
	   TEXT_TEST(the_runtimes_own_are_shown_on_request),
	   TEXT_TEST(groups_beyond_the_limit_are_counted), TEXT_TEST(gaps_are_reported),
	   TEXT_TEST(a_deadlock_names_the_locks), TEXT_TEST(the_only_goroutine_may_be_deadlocked),
	   TEXT_TEST(names_of_the_process_cannot_control_the_terminal),
	   TEXT_TEST(those_that_grow_come_first), TEXT_TEST(no_growth_is_reported),
	   TEXT_TEST(changes_beyond_the_limit_are_counted), TEXT_TEST(json_is_one_line),
	   TEXT_TEST(json_has_the_largest_changes_and_counts_the_others))
