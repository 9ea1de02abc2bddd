/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Snapshots of this program itself, which has what a reader looks for in a Go program: its version,
 * a table with one function, and a list of goroutines.
 *
 * covers: src/reader/tasks_client.c
 * covers: src/reader/tasks_files.c
 */
#include "reader/tasks_client.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/strtab.h"
#include "lang/tasks/golang_layout.h"
#include "lang/tasks/task_snapshot.h"
#include "reader/reader.h"
#include "tests/test.h"

enum { RUNNING = 2, WAITING = 4, DEAD = 6, IO_WAIT = 2, N_GOROUTINES = 3, LIMIT_MS = 10000 };
/* The fields of Go 1.26, in words; two are smaller than that. */
enum { STATUS = 144 / 8, GOID = 152 / 8, REASON = 176 / 8, STARTPC = 304 / 8 };

/* ---- what makes this a Go program ------------------------------------------------------------ */

struct table {
	uint8_t head[8];
	uint64_t n;
	struct {
		const char *entry;
		uint64_t record;
	} first;
	const char *end;
	uint32_t files, padding;
	struct {
		const char *entry;
		uint32_t name, fields[9];
	} record;
	char name[16];
};

static void work(void)
{
	pause();
}

static const uint8_t info[96] __attribute__((section(".go.buildinfo"), used, aligned(16))) =
	"\xff Go buildinf:\0\2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x08go1.26.1";

static struct table functions __attribute__((section(".gopclntab"), used, aligned(16))) = {
	.head = { 0xfb, 0xff, 0xff, 0xff, 0, 0, 1, 8 },
	.n = 1,
	.first = { (const char *)work, offsetof(struct table, record) },
	.end = (const char *)work + 8,
	.files = offsetof(struct table, name),
	.record = { (const char *)work, offsetof(struct table, name), { 0 } },
	.name = "main.work",
};

static const struct {
	const char *text;
	uint64_t len;
} reasons[] __attribute__((used)) = {
	{ "", 0 },
	{ "GC assist marking", 17 },
	{ "IO wait", 7 },
};

static uint64_t goroutines[N_GOROUTINES][G_BYTES / 8];
static uint64_t stacks[N_GOROUTINES][8];
static uint64_t *list[N_GOROUTINES];
uint64_t allglen __asm__("runtime.allglen") = N_GOROUTINES;
uint64_t **allgptr __asm__("runtime.allgptr") = list;

static void set_goroutine(size_t i, uint32_t status, uint8_t reason)
{
	uint64_t *g = goroutines[i];

	list[i] = g;
	g[G_STACK_LO / 8] = (uint64_t)(uintptr_t)stacks[i];
	g[G_STACK_HI / 8] = (uint64_t)(uintptr_t)(stacks[i] + 8);
	g[STATUS] = status;
	g[GOID] = i + 1;
	g[REASON] = reason;
	g[STARTPC] = (uint64_t)(uintptr_t)work;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static struct task_snapshot s;
static struct err err;

static int setup(void **state)
{
	(void)state;
	allglen = N_GOROUTINES;
	set_goroutine(0, RUNNING, 0);
	set_goroutine(1, WAITING, IO_WAIT);
	set_goroutine(2, DEAD, 0);
	err = (struct err){ 0 };
	return task_snapshot_init(&s);
}

static int teardown(void **state)
{
	(void)state;
	task_snapshot_fini(&s);
	return 0;
}

static int read_process(pid_t pid, uint32_t max)
{
	const struct tasks_client_opts opts = { (uint32_t)pid, max, LIMIT_MS };
	_cleanup_(tasks_client_freep) struct tasks_client *c = NULL;
	int r = tasks_client_new(&c, &opts, &err);

	return r < 0 ? r : tasks_client_read(c, &s, &err);
}

static void end_child(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void the_goroutines_of_a_program_are_read(void **state)
{
	assert_int_equal(read_process(getpid(), 100), 0);
	assert_string_equal(s.runtime, "Go");
	assert_string_equal(s.version, "1.26.1");
	assert_int_equal(s.totals.n_listed, N_GOROUTINES);
	assert_int_equal(s.totals.n_invalid, 0);
	assert_int_equal(s.tasks.len, 2);
	for (size_t i = 0; i < 2; i++) {
		const struct task *t = &s.tasks.data[i];
		size_t n;
		const uint32_t *ids = seqtab_get(&s.stacks, t->stack, &n);

		assert_int_equal(t->state, t->id == 1 ? TASK_RUNNING : TASK_WAITING);
		assert_string_equal(strtab_get(s.strings, t->reason), t->id == 1 ? "" : "IO wait");
		assert_int_equal(n, 1);
		assert_string_equal(
			strtab_get(s.strings, task_snapshot_frame_get(&s, ids[0])->function),
			"main.work");
	}
}

static void a_client_reads_again_what_has_changed(void **state)
{
	const struct tasks_client_opts opts = { (uint32_t)getpid(), 100, LIMIT_MS };
	_cleanup_(tasks_client_freep) struct tasks_client *c = NULL;

	assert_int_equal(tasks_client_new(&c, &opts, &err), 0);
	assert_int_equal(tasks_client_read(c, &s, &err), 0);
	assert_int_equal(s.tasks.len, 2);
	task_snapshot_fini(&s);
	assert_int_equal(task_snapshot_init(&s), 0);
	set_goroutine(0, DEAD, 0);
	assert_int_equal(tasks_client_read(c, &s, &err), 0);
	assert_int_equal(s.tasks.len, 1);
	assert_int_equal(s.tasks.data[0].id, 2);
}

static void of_more_than_the_maximum_a_sample_is_read(void **state)
{
	assert_int_equal(read_process(getpid(), 1), 0);
	assert_int_equal(s.totals.one_in, N_GOROUTINES);
}

static void a_list_that_cannot_be_read_is_an_error(void **state)
{
	allglen = UINT64_MAX;
	assert_int_equal(read_process(getpid(), 100), -EFAULT);
	assert_non_null(strstr(err.msg, "cannot read the list of tasks of process "));
}

static void other_programs_are_named_as_such(void **state)
{
	pid_t pid = fork();
	int r;

	if (pid == 0) {
		execlp("sleep", "sleep", "100", (char *)NULL);
		_exit(1);
	}
	/* it is this program, ends a read, or has no code, until it has started the other one */
	do {
		err = (struct err){ 0 };
		r = read_process(pid, 100);
	} while (r == 0 || r == -EFAULT || r == -ESRCH || r == -EACCES);
	assert_int_equal(r, -ENOENT);
	assert_non_null(strstr(err.msg, "has no runtime whose tasks can be read"));
	end_child(pid);
}

static void a_process_may_end_at_any_time(void **state)
{
	_cleanup_(tasks_client_freep) struct tasks_client *c = NULL;
	struct tasks_client_opts opts = { .max = 100, .limit_ms = LIMIT_MS };
	pid_t pid = fork();

	if (pid == 0)
		for (;;)
			work();
	opts.pid = (uint32_t)pid;
	assert_int_equal(tasks_client_new(&c, &opts, &err), 0);
	end_child(pid);
	assert_int_equal(tasks_client_read(c, &s, &err), -ESRCH);
	assert_non_null(strstr(err.msg, "has ended"));
	err = (struct err){ 0 };
	assert_true(read_process(pid, 100) < 0);
	assert_non_null(strstr(err.msg, "cannot open the program of process "));
}

#define CLIENT_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		CLIENT_TEST(the_goroutines_of_a_program_are_read),
		CLIENT_TEST(a_client_reads_again_what_has_changed),
		CLIENT_TEST(of_more_than_the_maximum_a_sample_is_read),
		CLIENT_TEST(a_list_that_cannot_be_read_is_an_error),
		CLIENT_TEST(other_programs_are_named_as_such),
		CLIENT_TEST(a_process_may_end_at_any_time),
	};

	(void)info;
	(void)functions;
	(void)reasons;
	reader_main(argc, argv);
	return TEST_RUN("tasks_client", tests, NULL, NULL);
}
