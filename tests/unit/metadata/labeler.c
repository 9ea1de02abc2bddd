/* SPDX-License-Identifier: Apache-2.0 */
/* Labels are derived from prepared /proc and root directories. */
#include "metadata/labeler.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "metadata/process_info.h"
#include "tests/test.h"
#include "tree.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const char *const env[] = { "OTEL_SERVICE_NAME", "APP", "TEAM" };

struct fixture {
	struct tree t;
	struct process_info_store *process_info;
	struct labeler *labeler;
};

static void fixture_init(struct fixture *f, const char *labels, const char *const *rules,
			 size_t n_rules, size_t max_series)
{
	struct labeler_opts opts = {
		.labels = labels,
		.rules = rules,
		.n_rules = n_rules,
		.env = env,
		.n_env = 3,
		.n_service = 2,
		.max_series = max_series,
		.host = "here",
	};

	tree_init(&f->t);
	opts.containers.root = f->t.dir;
	assert_int_equal(process_info_store_new(&f->process_info, f->t.dir, env, 3), 0);
	assert_int_equal(labeler_new(&f->labeler, &opts, NULL), 0);
}

static void fixture_fini(struct fixture *f)
{
	labeler_free(f->labeler);
	process_info_store_free(f->process_info);
	tree_fini(&f->t);
}

static const struct metadata_labels *labels_of(struct fixture *f, const struct process_info_key *of)
{
	process_info_store_note(f->process_info, of);
	return labeler_get(f->labeler,
			   process_info_store_find(f->process_info, of->pid, of->start_ns), 1);
}

static void names_the_service_by_the_most_specific_source(void **state)
{
	struct process_info_key of = { .comm = "x", .exe = "/usr/bin/prog" };
	struct fixture f;

	fixture_init(&f, "pid,comm,exe,unit,host", NULL, 0, 100);
	tree_text(&f.t, "1/cgroup", "0::/user.slice/user-1000.slice/session-1.scope\n");
	tree_text(&f.t, "2/cgroup", "0::/system.slice/nginx.service\n");
	tree_text(&f.t, "3/cgroup", "0::/system.slice/docker-" ID ".scope\n");
	tree_text(&f.t, "4/cgroup", "0::/system.slice/docker-" ID ".scope\n");
	tree_file(&f.t, "4/environ", "A=1\0APP=shop\0TEAM=red", 21);
	tree_file(&f.t, "5/environ", "APP=shop\0OTEL_SERVICE_NAME=cart\0TEAM=red\0", 41);
	static const char *const expected[] = { "prog", "nginx", "0123456789ab", "shop", "cart" };

	for (uint32_t pid = 1; pid <= 5; pid++) {
		const struct metadata_labels *l;
		char text[16];

		of.pid = pid;
		l = labels_of(&f, &of);
		snprintf(text, sizeof(text), "%u", pid);
		assert_string_equal(l->of[0].name, "service_name");
		assert_string_equal(metadata_labels_get(l, "service_name"), expected[pid - 1]);
		assert_string_equal(metadata_labels_get(l, "pid"), text);
		assert_string_equal(metadata_labels_get(l, "exe"), "/usr/bin/prog");
		assert_string_equal(metadata_labels_get(l, "host"), "here");
		assert_string_equal(metadata_labels_get(l, "slice"), "");
		/* a truncated variable must not be used */
		assert_string_equal(metadata_labels_get(l, "env_TEAM"), pid == 5 ? "red" : "");
	}
	of = (struct process_info_key){ .pid = 6, .comm = "kworker/0:1", .exe = "" };
	assert_string_equal(metadata_labels_get(labels_of(&f, &of), "service_name"), "kernel");
	fixture_fini(&f);
}

static void an_exited_process_has_its_parents_cgroup(void **state)
{
	struct process_info_key of = { .pid = 8, .ppid = 7, .comm = "x", .exe = "/x" };
	struct fixture f;

	fixture_init(&f, "unit", NULL, 0, 100);
	tree_text(&f.t, "7/cgroup", "0::/system.slice/cron.service\n");
	assert_string_equal(metadata_labels_get(labels_of(&f, &of), "unit"), "cron.service");
	fixture_fini(&f);
}

/* The process and the program that still ran when they had been read. */
struct survivors {
	uint32_t process, program;
};

static bool ran_until(void *ctx, uint32_t pid, uint64_t start_ns, uint64_t until_ns,
		      bool any_program)
{
	const struct survivors *s = ctx;

	assert_true(until_ns);
	return pid == s->program || (any_program && pid == s->process);
}

/* The contents of /proc count only if the program was still there afterwards. */
static void what_another_program_left_in_proc_is_dropped(void **state)
{
	struct survivors survivors = { .process = 2, .program = 1 };
	struct process_info_key of = { .ppid = 9, .comm = "x", .exe = "/known" };
	static const char *const envs[] = { "", "red", "", "" };
	static const char *const units[] = { "", "own.service", "own.service", "parent.service" };
	struct fixture f;

	fixture_init(&f, "unit,exe", NULL, 0, 100);
	process_info_store_set_confirm(f.process_info, ran_until, &survivors);
	tree_text(&f.t, "9/cgroup", "0::/system.slice/parent.service\n");
	for (of.pid = 1; of.pid <= 3; of.pid++) {
		const struct process_info *p;
		char path[32];

		snprintf(path, sizeof(path), "%u/cgroup", of.pid);
		tree_text(&f.t, path, "0::/system.slice/own.service\n");
		snprintf(path, sizeof(path), "%u/environ", of.pid);
		tree_file(&f.t, path, "TEAM=red\0", 9);
		process_info_store_note(f.process_info, &of);
		p = process_info_store_find(f.process_info, of.pid, 0);
		assert_true(p->is_pending && !p->is_read);
	}
	process_info_store_confirm(f.process_info);
	for (of.pid = 1; of.pid <= 3; of.pid++) {
		const struct metadata_labels *l = labels_of(&f, &of);

		assert_string_equal(metadata_labels_get(l, "env_TEAM"), envs[of.pid]);
		assert_string_equal(metadata_labels_get(l, "unit"), units[of.pid]);
		assert_string_equal(metadata_labels_get(l, "exe"), "/known");
	}
	fixture_fini(&f);
}

static void rules_see_labels_that_are_not_exported(void **state)
{
	static const char *const rules[] = { "slice=system.slice : set team ops, copy unit role",
					     "comm=secret : drop-process",
					     "exe=~prog$ : set service_name renamed" };
	struct process_info_key of = { .pid = 2, .comm = "x", .exe = "/usr/bin/prog" };
	struct process_info_key secret = { .pid = 3, .comm = "secret", .exe = "/s" };
	const struct metadata_labels *l;
	struct fixture f;

	fixture_init(&f, "comm", rules, 3, 100);
	tree_text(&f.t, "2/cgroup", "0::/system.slice/nginx.service\n");
	l = labels_of(&f, &of);
	assert_string_equal(metadata_labels_get(l, "team"), "ops");
	assert_string_equal(metadata_labels_get(l, "role"), "nginx.service");
	assert_string_equal(metadata_labels_get(l, "service_name"), "renamed");
	assert_string_equal(metadata_labels_get(l, "slice"), "");
	assert_null(labels_of(&f, &secret));
	fixture_fini(&f);
}

static bool always(void *ctx, uint32_t pid, uint64_t start_ns)
{
	return true;
}

static void exited_processes_are_dropped_after_their_last_samples(void **state)
{
	struct process_info_key of = { .pid = 2, .start_ns = 5, .comm = "x", .exe = "/x" };
	struct fixture f;

	fixture_init(&f, "", NULL, 0, 100);
	process_info_store_note(f.process_info, &of);
	process_info_store_note(f.process_info, &of);
	assert_int_equal(process_info_store_count(f.process_info), 1);
	assert_null(process_info_store_find(f.process_info, 2, 6));
	process_info_store_reap(f.process_info, always, NULL);
	process_info_store_reap(f.process_info, always, NULL);
	assert_non_null(process_info_store_find(f.process_info, 2, 5));
	process_info_store_reap(f.process_info, always, NULL);
	assert_null(process_info_store_find(f.process_info, 2, 5));
	fixture_fini(&f);
}

/* Creates an environment file that blocks its reader until it is written. */
static void make_slow_environ(const struct fixture *f, const char *pid, char path[PATH_MAX])
{
	tree_dir(&f->t, pid);
	snprintf(path, PATH_MAX, "%s/%s/environ", f->t.dir, pid);
	assert_int_equal(mkfifo(path, 0644), 0);
}

static const char *service_of(struct fixture *f, uint32_t pid)
{
	struct process_info *p = process_info_store_find(f->process_info, pid, 0);

	return metadata_labels_get(labeler_get(f->labeler, p, 1), "service_name");
}

static void only_the_reader_threads_wait_for_a_process(void **state)
{
	struct process_info_key slow = { .pid = 2, .comm = "x", .exe = "/usr/bin/prog" };
	struct process_info_key quick = { .pid = 3, .comm = "y", .exe = "/usr/bin/other" };
	char path[PATH_MAX];
	struct fixture f;
	int fd;

	fixture_init(&f, "", NULL, 0, 100);
	make_slow_environ(&f, "2", path);
	tree_file(&f.t, "3/environ", "APP=shop", 9);
	assert_int_equal(process_info_store_start(f.process_info), 0);
	process_info_store_note(f.process_info, &slow);
	process_info_store_note(f.process_info, &quick);
	while (process_info_store_find(f.process_info, 3, 0)->is_pending)
		process_info_store_wait(f.process_info, clock_monotonic_ns() + CLOCK_MS_NS);
	assert_string_equal(service_of(&f, 3), "shop");
	assert_true(process_info_store_find(f.process_info, 2, 0)->is_pending);
	assert_string_equal(service_of(&f, 2), "prog");
	/* the process is kept while it is being read, and for three windows after */
	for (int i = 0; i < 5; i++)
		process_info_store_reap(f.process_info, always, NULL);
	assert_int_equal(process_info_store_count(f.process_info), 1);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_int_equal(write(fd, "APP=cart", 9), 9);
	close(fd);
	process_info_store_wait(f.process_info, UINT64_MAX);
	assert_true(process_info_store_find(f.process_info, 2, 0)->is_read);
	assert_false(process_info_store_find(f.process_info, 2, 0)->is_pending);
	assert_string_equal(service_of(&f, 2), "cart");
	process_info_store_reap(f.process_info, always, NULL);
	assert_int_equal(process_info_store_count(f.process_info), 1);
	fixture_fini(&f);
}

static void series_beyond_the_limit_lose_labels(void **state)
{
	const uint64_t hour = 3600ULL * CLOCK_SECOND_NS;
	struct fixture f;
	int n_whole = 0, n_other = 0;

	fixture_init(&f, "", NULL, 0, 10);
	for (int i = 0; i < 100; i++) {
		struct metadata_labels l = { 0 };
		char text[16];

		snprintf(text, sizeof(text), "%d", i);
		metadata_labels_put(&l, "service_name", text);
		metadata_labels_put(&l, "pid", text);
		metadata_labels_put(&l, "comm", text);
		n_whole += !labeler_limit_series(f.labeler, &l, 0, hour);
		n_other += !strcmp(metadata_labels_get(&l, "service_name"), "other");
		metadata_labels_fini(&l);
	}
	assert_int_equal(n_whole, 10);
	assert_int_equal(n_other, 70);
	assert_int_equal(labeler_n_series(f.labeler), 30);
	/* known series stay, and an hour later there is room for new ones */
	struct metadata_labels l = { 0 };

	metadata_labels_put(&l, "service_name", "3");
	metadata_labels_put(&l, "pid", "3");
	metadata_labels_put(&l, "comm", "3");
	assert_false(labeler_limit_series(f.labeler, &l, 0, hour + 1));
	metadata_labels_put(&l, "comm", "new");
	assert_false(labeler_limit_series(f.labeler, &l, 0, 2 * hour) &&
		     labeler_limit_series(f.labeler, &l, 0, 3 * hour));
	metadata_labels_fini(&l);
	fixture_fini(&f);
}

/* Returns true if a program of that name and pid, of @user, loses no label. */
static bool is_whole(struct fixture *f, const char *name, int pid, uint64_t user)
{
	struct metadata_labels l = { 0 };
	char text[16];
	bool lost;

	snprintf(text, sizeof(text), "%d", pid);
	metadata_labels_put(&l, "service_name", name);
	metadata_labels_put(&l, "pid", text);
	lost = labeler_limit_series(f->labeler, &l, user, 3600ULL * CLOCK_SECOND_NS);
	metadata_labels_fini(&l);
	return !lost;
}

static void series_of_one_user_leave_room_for_others(void **state)
{
	enum { MAX = 100, ONE = 64001, THIRD = 64003 };
	struct fixture f;
	int n = 0, n_third = 0;

	fixture_init(&f, "pid", NULL, 0, MAX);
	for (int i = 0; i < 10 * MAX; i++)
		n += is_whole(&f, "hostile", i, ONE);
	assert_in_range(n, MAX * 7 / 10, MAX * 8 / 10);
	for (int i = 0; i < MAX; i++)
		n_third += is_whole(&f, "third", i, THIRD);
	assert_in_range(n_third, MAX / 8, MAX / 4);
	assert_true(is_whole(&f, "honest", 1, ONE + 1));
	assert_true(is_whole(&f, "root", 1, 0));
	/* names of services are merged in the same way */
	for (int i = 0; i < 10 * MAX; i++) {
		char name[16];

		snprintf(name, sizeof(name), "hostile-%d", i);
		(void)is_whole(&f, name, i, ONE);
	}
	assert_true(is_whole(&f, "honest", 1, ONE + 1));
	fixture_fini(&f);
}

static void refuses_invalid_options(void **state)
{
	static const char *const rules[] = { "comm=x" };
	struct labeler_opts opts = { .labels = "pid,a-b", .host = "", .containers.root = "/" };
	struct err err = { 0 };
	struct labeler *l;

	assert_int_equal(labeler_new(&l, &opts, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "a-b"));
	opts = (struct labeler_opts){
		.labels = "pid", .host = "", .rules = rules, .n_rules = 1, .containers.root = "/"
	};
	err = (struct err){ 0 };
	assert_int_equal(labeler_new(&l, &opts, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "missing colon"));
}

static void finds_variables_in_a_text(void **state)
{
	static const char text[] = "A=1\0BB=\0AB=2\0B";

	assert_string_equal(process_info_env_value(text, sizeof(text) - 1, "A"), "1");
	assert_string_equal(process_info_env_value(text, sizeof(text) - 1, "AB"), "2");
	assert_string_equal(process_info_env_value(text, sizeof(text) - 1, "BB"), "");
	assert_null(process_info_env_value(text, sizeof(text) - 1, "B"));
	assert_null(process_info_env_value(text, 0, "A"));
}

TEST_GROUP(test_labeler, TEST(names_the_service_by_the_most_specific_source),
	   TEST(an_exited_process_has_its_parents_cgroup),
	   TEST(what_another_program_left_in_proc_is_dropped),
	   TEST(rules_see_labels_that_are_not_exported),
	   TEST(exited_processes_are_dropped_after_their_last_samples),
	   TEST(only_the_reader_threads_wait_for_a_process),
	   TEST(series_beyond_the_limit_lose_labels),
	   TEST(series_of_one_user_leave_room_for_others), TEST(refuses_invalid_options),
	   TEST(finds_variables_in_a_text))
