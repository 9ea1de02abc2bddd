/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of this process, which are known otherwise, and of processes in an imitated /proc. */
#include "metadata/process_info.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/test.h"
#include "tree.h"

enum { READERS = 4, QUEUE_MAX = 4096, LIMIT_S = 100 };

static struct process_info_store *new_store(const char *proc, const char *const *env, size_t n)
{
	struct process_info_store *s;

	assert_int_equal(process_info_store_new(&s, proc, env, n), 0);
	return s;
}

static const struct process_info *note(struct process_info_store *s, uint32_t pid, uint32_t ppid,
				       const char *exe)
{
	const struct process_info_key key = {
		.pid = pid, .ppid = ppid, .start_ns = 5, .comm = "comm", .exe = exe
	};

	process_info_store_note(s, &key);
	return process_info_store_find(s, pid, 5);
}

static void link_exe(const struct tree *t, unsigned int pid, const char *target)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%u", pid);
	tree_dir(t, path);
	snprintf(path, sizeof(path), "%s/%u/exe", t->dir, pid);
	assert_int_equal(symlink(target, path), 0);
}

static void a_living_process_has_its_attributes(void **state)
{
	static const char *const env[] = { "PATH", "CAMEO_NOT_SET" };
	struct process_info_store *s = new_store("/proc", env, 2);
	const struct process_info *p = note(s, (uint32_t)getpid(), 1, "unknown");
	char exe[PATH_MAX], cgroup[4096];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	FILE *f = fopen("/proc/self/cgroup", "re");

	assert_true(n > 0);
	exe[n] = '\0';
	assert_non_null(f);
	cgroup[fread(cgroup, 1, sizeof(cgroup) - 1, f)] = '\0';
	fclose(f);
	assert_true(p->is_read);
	assert_false(p->is_pending);
	assert_string_equal(p->exe, exe);
	assert_memory_equal(p->cgroup, cgroup, strlen(p->cgroup));
	if (getenv("PATH"))
		assert_memory_equal(p->env[0], getenv("PATH"), strlen(p->env[0]));
	assert_null(p->env[1]);
	assert_string_equal(p->comm, "comm");
	process_info_store_free(s);
}

static void a_process_that_is_gone_has_what_its_creator_knew(void **state)
{
	static const char *const env[] = { "A" };
	struct process_info_store *s;
	const struct process_info *p;
	struct tree t;

	tree_init(&t);
	tree_text(&t, "7/cgroup", "0::/parent\n");
	s = new_store(t.dir, env, 1);
	p = note(s, 8, 7, "/bin/known");
	assert_string_equal(p->exe, "/bin/known");
	assert_string_equal(p->cgroup, "0::/parent\n");
	assert_null(p->env[0]);
	p = note(s, 9, 0, "");
	assert_string_equal(p->cgroup, "");
	assert_string_equal(p->exe, "");
	assert_null(process_info_store_find(s, 9, 6));
	process_info_store_free(s);
	tree_fini(&t);
}

static void an_executable_that_was_replaced_has_its_former_path(void **state)
{
	char longest[2100];
	struct process_info_store *s;
	struct tree t;

	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	tree_init(&t);
	link_exe(&t, 1, "/bin/app (deleted)");
	link_exe(&t, 2, " (deleted)");
	link_exe(&t, 3, longest);
	s = new_store(t.dir, NULL, 0);
	assert_string_equal(note(s, 1, 0, "")->exe, "/bin/app");
	assert_string_equal(note(s, 2, 0, "")->exe, " (deleted)");
	assert_int_equal(strlen(note(s, 3, 0, "")->exe), LABEL_VALUE_MAX);
	assert_int_equal(strlen(note(s, 4, 0, longest)->exe), LABEL_VALUE_MAX);
	process_info_store_free(s);
	tree_fini(&t);
}

static void variables_are_whole_or_not_set(void **state)
{
	static const char *const env[] = { "SHORT", "EMPTY", "LONG", "CUT", "SHOR" };
	enum { ENVIRON = 300 << 10 };
	char *text = calloc(1, ENVIRON);
	struct process_info_store *s;
	const struct process_info *p;
	size_t len = 0;
	struct tree t;

	assert_non_null(text);
	len += (size_t)sprintf(text + len, "SHORT=v=1") + 1;
	len += (size_t)sprintf(text + len, "EMPTY=") + 1;
	len += (size_t)sprintf(text + len, "LONG=%02000d", 7) + 1;
	/* Longer than what is read. */
	len += (size_t)sprintf(text + len, "CUT=");
	memset(text + len, 'c', ENVIRON - len);
	tree_init(&t);
	link_exe(&t, 1, "/bin/app");
	tree_file(&t, "1/environ", text, ENVIRON);
	/* A kernel thread has no executable, and no environment either. */
	tree_text(&t, "2/environ", "SHORT=no");
	s = new_store(t.dir, env, 5);
	p = note(s, 1, 0, "");
	assert_string_equal(p->env[0], "v=1");
	assert_null(p->env[1]);
	assert_int_equal(strlen(p->env[2]), LABEL_VALUE_MAX);
	assert_null(p->env[3]);
	assert_null(p->env[4]);
	assert_null(note(s, 2, 0, "")->env[0]);
	process_info_store_free(s);
	tree_fini(&t);
	free(text);
}

static void variables_beyond_the_limit_are_ignored(void **state)
{
	const char *env[PROCESS_INFO_ENV_MAX + 1];
	struct process_info_store *s;
	const struct process_info *p;
	struct tree t;

	for (size_t i = 0; i <= PROCESS_INFO_ENV_MAX; i++)
		env[i] = "A";
	tree_init(&t);
	link_exe(&t, 1, "/bin/app");
	tree_file(&t, "1/environ", "A=1", 4);
	s = new_store(t.dir, env, PROCESS_INFO_ENV_MAX + 1);
	p = note(s, 1, 0, "");
	for (size_t i = 0; i < PROCESS_INFO_ENV_MAX; i++)
		assert_string_equal(p->env[i], "1");
	process_info_store_free(s);
	tree_fini(&t);
}

static void a_name_is_truncated_as_in_the_kernel(void **state)
{
	const struct process_info_key key = { .pid = 1, .comm = "0123456789abcdefgh", .exe = "" };
	struct process_info_store *s = new_store("/nowhere", NULL, 0);

	process_info_store_note(s, &key);
	assert_string_equal(process_info_store_find(s, 1, 0)->comm, "0123456789abcde");
	process_info_store_free(s);
}

/* @ctx is an array by pid. */
static bool has_ended(void *ctx, uint32_t pid, uint64_t start_ns)
{
	const bool *ended = ctx;

	assert_int_equal(start_ns, 5);
	return ended[pid];
}

static void ended_processes_are_kept_for_three_windows(void **state)
{
	enum { N = 200 };
	struct process_info_store *s = new_store("/nowhere", NULL, 0);
	unsigned int n_calls[N] = { 0 }, seed = 5;
	bool ended[N] = { false };
	size_t left = N;

	for (uint32_t pid = 0; pid < N; pid++)
		note(s, pid, 0, "");
	for (int window = 0; window < 10; window++) {
		for (size_t i = 0; i < N / 10; i++)
			ended[rand_r(&seed) % N] = true;
		process_info_store_reap(s, has_ended, ended);
		left = 0;
		for (uint32_t pid = 0; pid < N; pid++) {
			n_calls[pid] += ended[pid];
			left += n_calls[pid] < 3;
			assert_int_equal(process_info_store_find(s, pid, 5) != NULL,
					 n_calls[pid] < 3);
		}
		assert_int_equal(process_info_store_count(s), left);
	}
	assert_true(left > 0 && left < N);
	process_info_store_free(s);
}

/* Opens the environment of @pid, which a reader waits for, and closes it. */
static void unblock(const struct tree *t, unsigned int pid)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%u/environ", t->dir, pid);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	close(fd);
}

static void processes_that_block_hold_up_only_what_the_queue_has_no_room_for(void **state)
{
	static const char *const env[] = { "A" };
	uint64_t limit = clock_monotonic_ns() + LIMIT_S * (uint64_t)CLOCK_SECOND_NS;
	const struct process_info *p;
	struct process_info_store *s;
	uint32_t pid = READERS;
	char path[PATH_MAX];
	struct tree t;

	tree_init(&t);
	s = new_store(t.dir, env, 1);
	assert_int_equal(process_info_store_start(s), 0);
	for (unsigned int i = 0; i < READERS; i++) {
		link_exe(&t, i, "/bin/slow");
		snprintf(path, sizeof(path), "%s/%u/environ", t.dir, i);
		assert_int_equal(mkfifo(path, 0600), 0);
		assert_true(note(s, i, 0, "")->is_pending);
	}
	/* Until all readers are blocked, an entry may leave the queue. */
	do
		p = note(s, pid++, 0, "/bin/known");
	while (p->is_pending && pid < 3 * QUEUE_MAX);
	assert_in_range(pid, QUEUE_MAX + READERS, QUEUE_MAX + 2 * READERS + 1);
	assert_false(p->is_read);
	assert_string_equal(p->exe, "/bin/known");
	/* A deadline in the past does not wait. */
	process_info_store_wait(s, 0);
	assert_true(process_info_store_find(s, READERS - 1, 5)->is_pending);
	for (unsigned int i = 0; i < READERS; i++)
		unblock(&t, i);
	process_info_store_wait(s, limit);
	p = process_info_store_find(s, READERS, 5);
	assert_true(p->is_read);
	assert_false(p->is_pending);
	assert_string_equal(process_info_store_find(s, 0, 5)->exe, "/bin/slow");
	process_info_store_free(s);
	tree_fini(&t);
}

TEST_GROUP(test_process_info, TEST(a_living_process_has_its_attributes),
	   TEST(a_process_that_is_gone_has_what_its_creator_knew),
	   TEST(an_executable_that_was_replaced_has_its_former_path),
	   TEST(variables_are_whole_or_not_set), TEST(variables_beyond_the_limit_are_ignored),
	   TEST(a_name_is_truncated_as_in_the_kernel),
	   TEST(ended_processes_are_kept_for_three_windows),
	   TEST(processes_that_block_hold_up_only_what_the_queue_has_no_room_for))
