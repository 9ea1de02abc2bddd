/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "tests/test.h"

extern const char __executable_start;

static __attribute__((noinline)) uintptr_t asked_function(void)
{
	return (uintptr_t)({
		__label__ here;
	here:
		&&here;
	});
}

static uint64_t asked_addr(void)
{
	return (uintptr_t)asked_function - (uintptr_t)&__executable_start;
}

struct seen {
	int n;
	char name[100];
	struct symbol_worker *kill_at; /* need() kills the child of this worker. */
	int kills_left;
	const char *path;
};

static int on_frames(void *ctx, size_t index, const struct protocol_frame *f, size_t n)
{
	struct seen *s = ctx;

	s->n++;
	snprintf(s->name, sizeof(s->name), "%s", f[n - 1].name);
	return 0;
}

static int on_need(void *ctx, const struct protocol_need *need)
{
	struct seen *s = ctx;

	if (need->kind != PROTOCOL_NEED_FILE)
		return -ENOENT;
	if (s->kill_at && s->kills_left-- > 0)
		kill(symbol_worker_pid(s->kill_at), SIGKILL);
	return open(s->path ? s->path : "/proc/self/exe", O_RDONLY | O_CLOEXEC);
}

static struct symbol_worker *new_worker(unsigned int timeout_ms)
{
	struct symbol_worker_opts opts = { .timeout_ms = timeout_ms };
	struct symbol_worker *w;
	struct err err = { 0 };

	assert_int_equal(symbol_worker_new(&w, &opts, &err), 0);
	return w;
}

static void receives_frames_from_the_child(void **state)
{
	struct symbol_worker *w = new_worker(0);
	uint64_t addrs[PROTOCOL_ADDRS_MAX + 10];
	struct seen seen = { 0 };
	struct symbol_worker_file f = { .key = 1, .need = on_need, .need_ctx = &seen };

	for (size_t i = 0; i < PROTOCOL_ADDRS_MAX + 10; i++)
		addrs[i] = asked_addr();
	assert_int_equal(symbol_worker_resolve(w, &f, addrs, PROTOCOL_ADDRS_MAX + 10, on_frames,
					       &seen, NULL),
			 0);
	assert_int_equal(seen.n, PROTOCOL_ADDRS_MAX + 10);
	assert_string_equal(seen.name, "asked_function");
	assert_int_equal(symbol_worker_restarts(w), 0);
	symbol_worker_free(w);
}

static void returns_at_the_deadline(void **state)
{
	_Atomic uint64_t until_ns = 0;
	struct symbol_worker_opts opts = { .until_ns = &until_ns };
	struct symbol_worker *w;
	struct seen seen = { 0 };
	struct symbol_worker_file f = { .key = 1, .need = on_need, .need_ctx = &seen };
	uint64_t addr = asked_addr();

	assert_int_equal(symbol_worker_new(&w, &opts, NULL), 0);
	until_ns = 1;
	assert_int_equal(symbol_worker_resolve(w, &f, &addr, 1, on_frames, &seen, NULL),
			 -ETIMEDOUT);
	assert_int_equal(seen.n, 0);
	assert_false(f.given_up);
	until_ns = 0;
	assert_int_equal(symbol_worker_resolve(w, &f, &addr, 1, on_frames, &seen, NULL), 0);
	assert_int_equal(seen.n, 1);
	symbol_worker_free(w);
}

static long status_field(pid_t pid, const char *field, int base)
{
	char path[64], line[256];
	long v = -1;
	FILE *s;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	s = fopen(path, "re");
	assert_non_null(s);
	while (fgets(line, sizeof(line), s))
		if (!strncmp(line, field, strlen(field)))
			v = strtol(line + strlen(field), NULL, base);
	fclose(s);
	return v;
}

static void the_child_is_confined(void **state)
{
	struct symbol_worker *w = new_worker(0);
	pid_t pid = symbol_worker_pid(w);

	assert_int_equal(status_field(pid, "Seccomp:", 10), 2);
	assert_int_equal(status_field(pid, "NoNewPrivs:", 10), 1);
	assert_int_equal(status_field(pid, "CapEff:", 16), 0);
	assert_int_equal(status_field(pid, "CapPrm:", 16), 0);
	/* neither root nor a user that another program may have */
	if (geteuid() == 0)
		assert_int_equal(status_field(pid, "Uid:", 10), 2147357184);
	assert_non_null(strstr(symbol_worker_confinement(w), "seccomp"));
	symbol_worker_free(w);
}

static void restarts_a_killed_child_and_repeats_the_request(void **state)
{
	struct symbol_worker *w = new_worker(0);
	struct seen seen = { .kill_at = w, .kills_left = 1 };
	struct symbol_worker_file f = { .key = 1, .need = on_need, .need_ctx = &seen };
	uint64_t addr = asked_addr();

	assert_int_equal(symbol_worker_resolve(w, &f, &addr, 1, on_frames, &seen, NULL), 0);
	assert_int_equal(seen.n, 1);
	assert_string_equal(seen.name, "asked_function");
	assert_int_equal(symbol_worker_restarts(w), 1);
	symbol_worker_free(w);
}

static void gives_up_a_file_that_kills_the_child_twice(void **state)
{
	struct symbol_worker *w = new_worker(0);
	struct seen deadly = { .kill_at = w, .kills_left = 2 }, good = { 0 };
	struct symbol_worker_file f = { .key = 1, .need = on_need, .need_ctx = &deadly };
	struct symbol_worker_file g = { .key = 2, .need = on_need, .need_ctx = &good };
	uint64_t addr = asked_addr();

	assert_int_equal(symbol_worker_resolve(w, &f, &addr, 1, on_frames, &deadly, NULL),
			 -EOWNERDEAD);
	assert_true(f.given_up);
	assert_int_equal(symbol_worker_resolve(w, &f, &addr, 1, on_frames, &deadly, NULL),
			 -EOWNERDEAD);
	assert_int_equal(symbol_worker_resolve(w, &g, &addr, 1, on_frames, &good, NULL), 0);
	assert_int_equal(good.n, 1);
	assert_int_equal(deadly.n, 0);
	symbol_worker_free(w);
}

static void kills_a_child_that_does_not_respond(void **state)
{
	struct symbol_worker *w = new_worker(200);
	struct seen seen = { 0 };
	struct symbol_worker_file f = { .key = 1, .need = on_need, .need_ctx = &seen };
	uint64_t addr = asked_addr();

	kill(symbol_worker_pid(w), SIGSTOP);
	assert_int_equal(symbol_worker_resolve(w, &f, &addr, 1, on_frames, &seen, NULL), 0);
	assert_int_equal(seen.n, 1);
	assert_int_equal(symbol_worker_restarts(w), 1);
	symbol_worker_free(w);
}

static void a_file_without_debug_information_has_no_frames(void **state)
{
	struct symbol_worker *w = new_worker(0);
	struct seen seen = { .path = "/etc/passwd" };
	struct symbol_worker_file f = { .key = 1, .need = on_need, .need_ctx = &seen };
	uint64_t addr = asked_addr();

	assert_true(asked_function());
	assert_int_equal(symbol_worker_resolve(w, &f, &addr, 1, on_frames, &seen, NULL), 0);
	assert_int_equal(seen.n, 0);
	assert_int_equal(symbol_worker_restarts(w), 0);
	symbol_worker_free(w);
}

TEST_GROUP(test_worker, TEST(receives_frames_from_the_child), TEST(returns_at_the_deadline),
	   TEST(the_child_is_confined), TEST(restarts_a_killed_child_and_repeats_the_request),
	   TEST(gives_up_a_file_that_kills_the_child_twice),
	   TEST(kills_a_child_that_does_not_respond),
	   TEST(a_file_without_debug_information_has_no_frames))
