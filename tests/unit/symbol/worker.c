/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

/* A symbolizer, the file that it reads, and what it found. */
struct scene {
	struct symbol_worker *w;
	struct symbol_worker_trust trust;
	uint64_t key;
	int fd;
	_Atomic uint64_t until_ns;
	int n, n_lines;
	char name[100];
	int kills_left; /* questions at which the child is killed */
};

static int on_frames(void *ctx, const struct protocol_response *r)
{
	struct scene *s = ctx;

	s->n++;
	s->n_lines += r->n && r->frames[0].line;
	snprintf(s->name, sizeof(s->name), "%s", r->n ? r->frames[r->n - 1].name : "");
	return 0;
}

static int on_need(void *ctx, const struct protocol_need *need)
{
	struct scene *s = ctx;

	if (s->kills_left-- > 0)
		kill(symbol_worker_pid(s->w), SIGKILL);
	return -ERANGE;
}

static void begin(struct scene *s, const char *path, unsigned int timeout_ms)
{
	const struct symbol_worker_opts opts = {
		.timeout_ms = timeout_ms, .until_ns = &s->until_ns, .need = on_need, .ctx = s
	};

	*s = (struct scene){ .key = 1, .fd = open(path, O_RDONLY | O_CLOEXEC) };
	assert_true(s->fd >= 0);
	assert_int_equal(symbol_worker_new(&s->w, &opts), 0);
}

static void end(struct scene *s)
{
	close(s->fd);
	symbol_worker_free(s->w);
}

static int ask(struct scene *s, size_t n, uint32_t flags)
{
	uint64_t addrs[PROTOCOL_ADDRS_MAX + 10];
	struct symbol_worker_query q = {
		.config = { .key = s->key, .table_bytes = 64 << 20, .flags = flags },
		.fd = s->fd,
		.trust = &s->trust,
	};
	struct protocol_done done;

	s->n = s->n_lines = 0;
	for (size_t i = 0; i < n; i++)
		addrs[i] = asked_addr();
	return symbol_worker_resolve(s->w, &q, addrs, n, on_frames, s, &done);
}

static void receives_frames_from_the_child(void **state)
{
	struct scene s;

	begin(&s, "/proc/self/exe", 0);
	assert_int_equal(ask(&s, PROTOCOL_ADDRS_MAX + 10, 0), 0);
	assert_int_equal(s.n, PROTOCOL_ADDRS_MAX + 10);
	assert_int_equal(s.n_lines, s.n);
	assert_string_equal(s.name, "asked_function");
	assert_int_equal(symbol_worker_failures(s.w), 0);
	assert_int_equal(ask(&s, 1, PROTOCOL_TABLES_ONLY), 0);
	assert_string_equal(s.name, "asked_function");
	assert_int_equal(s.n_lines, 0);
	end(&s);
}

static void receives_the_facts_of_a_file(void **state)
{
	struct protocol_facts facts;
	struct symbol_worker_query q = { 0 };
	struct scene s;

	begin(&s, "/proc/self/exe", 0);
	q = (struct symbol_worker_query){ .config.key = 1, .fd = s.fd, .trust = &s.trust };
	assert_int_equal(symbol_worker_open(s.w, &q, &facts), 0);
	assert_int_equal(facts.is_elf, 1);
	assert_true(facts.n_segments > 0);
	end(&s);
}

static void returns_at_the_deadline(void **state)
{
	struct scene s;

	begin(&s, "/proc/self/exe", 0);
	s.until_ns = 1;
	assert_int_equal(ask(&s, 1, 0), -ETIMEDOUT);
	assert_int_equal(s.n, 0);
	assert_int_equal(s.trust.level, SYMBOL_WORKER_ALL);
	s.until_ns = 0;
	assert_int_equal(ask(&s, 1, 0), 0);
	assert_int_equal(s.n, 1);
	end(&s);
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
	char text[256];
	struct scene s;
	pid_t pid;

	begin(&s, "/proc/self/exe", 0);
	assert_int_equal(ask(&s, 1, 0), 0);
	pid = symbol_worker_pid(s.w);
	assert_int_equal(status_field(pid, "Seccomp:", 10), 2);
	assert_int_equal(status_field(pid, "NoNewPrivs:", 10), 1);
	assert_int_equal(status_field(pid, "CapEff:", 16), 0);
	assert_int_equal(status_field(pid, "CapPrm:", 16), 0);
	/* neither root nor a user that another program may have */
	if (geteuid() == 0)
		assert_int_equal(status_field(pid, "Uid:", 10), 2147357184);
	symbol_worker_confinement(s.w, text, sizeof(text));
	assert_non_null(strstr(text, "seccomp"));
	end(&s);
}

static void repeats_a_request_after_the_child_was_killed(void **state)
{
	struct scene s;

	begin(&s, "/proc/self/exe", 0);
	s.kills_left = 1;
	assert_int_equal(ask(&s, 1, 0), 0);
	assert_int_equal(s.n, 1);
	assert_string_equal(s.name, "asked_function");
	assert_int_equal(s.n_lines, 1);
	assert_int_equal(symbol_worker_failures(s.w), 1);
	assert_int_equal(s.trust.n_failures, 0);
	end(&s);
}

/* The children die while they search debug information. */
static void a_file_that_kills_the_child_twice_is_read_without_debug_information(void **state)
{
	struct scene s;

	begin(&s, "/proc/self/exe", 0);
	s.kills_left = 2;
	assert_int_equal(ask(&s, 1, 0), 0);
	assert_int_equal(s.trust.level, SYMBOL_WORKER_TABLES);
	assert_int_equal(s.n, 1);
	assert_string_equal(s.name, "asked_function");
	assert_int_equal(s.n_lines, 0);
	/* until the time for another attempt */
	assert_int_equal(ask(&s, 1, 0), 0);
	assert_int_equal(s.n_lines, 0);
	s.trust.retry_ns = 0;
	assert_int_equal(ask(&s, 1, 0), 0);
	assert_int_equal(s.n_lines, 1);
	assert_int_equal(s.trust.level, SYMBOL_WORKER_ALL);
	end(&s);
}

static void a_file_is_given_up_for_a_time_that_doubles(void **state)
{
	struct scene s, good;
	uint64_t before;

	begin(&s, "/proc/self/exe", 0);
	s.trust.level = SYMBOL_WORKER_TABLES;
	s.trust.n_failures = 1;
	s.trust.back_off_ns = 4;
	s.trust.retry_ns = 0;
	s.kills_left = 1; /* of a retry of all, which fails again */
	assert_int_equal(ask(&s, 1, 0), 0);
	assert_int_equal(s.trust.level, SYMBOL_WORKER_TABLES);
	before = s.trust.back_off_ns;
	s.trust.retry_ns = 0;
	s.kills_left = 1;
	assert_int_equal(ask(&s, 1, 0), 0);
	assert_int_equal(s.trust.back_off_ns, 2 * before);
	s.trust.level = SYMBOL_WORKER_NOTHING;
	assert_int_equal(ask(&s, 1, 0), -EOWNERDEAD);
	assert_int_equal(s.n, 0);
	/* others are read meanwhile */
	good = s;
	good.key = 2;
	good.trust = (struct symbol_worker_trust){ 0 };
	assert_int_equal(ask(&good, 1, 0), 0);
	assert_int_equal(good.n, 1);
	end(&s);
}

static void kills_a_child_that_does_not_respond(void **state)
{
	struct scene s;

	begin(&s, "/proc/self/exe", 500);
	assert_int_equal(ask(&s, 1, 0), 0);
	kill(symbol_worker_pid(s.w), SIGSTOP);
	assert_int_equal(ask(&s, 1, 0), 0);
	assert_int_equal(s.n, 1);
	assert_int_equal(symbol_worker_failures(s.w), 1);
	end(&s);
}

static void a_child_that_was_stopped_starts_again(void **state)
{
	struct scene s;

	begin(&s, "/proc/self/exe", 0);
	assert_int_equal(symbol_worker_pid(s.w), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(ask(&s, 1, 0), 0);
		assert_int_equal(s.n, 1);
		assert_true(symbol_worker_pid(s.w) > 0);
		symbol_worker_stop(s.w);
		assert_int_equal(symbol_worker_pid(s.w), 0);
	}
	assert_int_equal(symbol_worker_failures(s.w), 0);
	end(&s);
}

static void a_file_of_another_format_has_no_frames(void **state)
{
	struct scene s;

	assert_true(asked_function());
	begin(&s, "/etc/passwd", 0);
	assert_int_equal(ask(&s, 1, 0), 0);
	assert_int_equal(s.n, 0);
	assert_int_equal(ask(&s, 1, PROTOCOL_NAME_ALL), 0);
	assert_int_equal(s.n, 1);
	assert_string_equal(s.name, "");
	assert_int_equal(symbol_worker_failures(s.w), 0);
	end(&s);
}

TEST_GROUP(test_worker, TEST(receives_frames_from_the_child), TEST(receives_the_facts_of_a_file),
	   TEST(returns_at_the_deadline), TEST(the_child_is_confined),
	   TEST(repeats_a_request_after_the_child_was_killed),
	   TEST(a_file_that_kills_the_child_twice_is_read_without_debug_information),
	   TEST(a_file_is_given_up_for_a_time_that_doubles),
	   TEST(kills_a_child_that_does_not_respond), TEST(a_child_that_was_stopped_starts_again),
	   TEST(a_file_of_another_format_has_no_frames))
