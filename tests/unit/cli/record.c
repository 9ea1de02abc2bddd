/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cameo record` on a kernel side in memory: the file has every sample that was delivered, however
 * the recording ends, and a failure leaves none.
 *
 * covers: src/cli/recording.c
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/cli/command.h"
#include "tests/unit/profiler/kernel.h"

/* The sum of the values in folded stacks. */
static uint64_t total(const char *path)
{
	char *text = file_read(path), *line = text;
	uint64_t sum = 0;

	for (char *end; (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		assert_non_null(strrchr(line, ' '));
		sum += strtoull(strrchr(line, ' '), NULL, 10);
	}
	free(text);
	return sum;
}

static void a_recording_has_every_sample(void **state)
{
	const struct command_result *r;
	char line[128], *text;

	kernel->pid = (uint32_t)getpid();
	kernel->n_per_read = 10;
	kernel->n_samples = 200;
	r = RUN("record", "-F", "50", "-d", "300ms", "-o", "x.folded");
	assert_int_equal(r->status, 0);
	assert_string_equal(r->out, "");
	assert_int_equal(kernel->freq_hz, 50);
	assert_false(kernel->is_targets_only);
	assert_true(kernel->n_delivered > 0);
	assert_int_equal(total("x.folded"), kernel->n_delivered);
	text = file_read("x.folded");
	assert_int_equal(strncmp(text, KERNEL_COMM ";", strlen(KERNEL_COMM) + 1), 0);
	free(text);
	snprintf(line, sizeof(line), "cameo: %u samples in ", kernel->n_delivered);
	assert_non_null(strstr(r->err, line));
	assert_non_null(strstr(r->err, "cameo: wrote x.folded\n"));
	assert_int_equal(kernel->n_freed, kernel->n_opened);
	assert_int_equal(file_count(), 1);
}

static void standard_output_has_only_the_profile(void **state)
{
	const struct command_result *r;

	kernel->pid = (uint32_t)getpid();
	kernel->n_per_read = 1;
	kernel->n_samples = 3;
	r = RUN("record", "-d", "200ms", "-o", "-", "--format", "folded");
	assert_int_equal(r->status, 0);
	assert_int_equal(strncmp(r->out, KERNEL_COMM ";", strlen(KERNEL_COMM) + 1), 0);
	assert_null(strstr(r->err, "wrote"));
	assert_int_equal(file_count(), 0);
	r = RUN("record", "-d", "50ms", "-o", "-");
	assert_memory_equal(r->out, "\x1f\x8b", 2);
}

static void the_exit_status_is_that_of_the_command(void **state)
{
	kernel->n_per_read = 5;
	assert_int_equal(RUN("record", "-o", "x.folded", "--", "sh", "-c", "exit 3")->status, 3);
	assert_true(kernel->is_targets_only);
	assert_int_equal(kernel->n_targets, 1);
	assert_true(kernel->n_delivered > 0);
	assert_int_equal(total("x.folded"), kernel->n_delivered);
	assert_int_equal(RUN("record", "-o", "x.folded", "sh", "-c", "kill -KILL $$")->status,
			 128 + SIGKILL);
}

static bool is_attached(void *ctx)
{
	return kernel->n_attached;
}

static bool exists(void *path)
{
	return access(path, F_OK) == 0;
}

static void a_signal_ends_it_with_a_complete_file(void **state)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

	kernel->pid = (uint32_t)getpid();
	kernel->n_per_read = 5;
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		struct command_service s;

		kernel->n_attached = kernel->n_delivered = 0;
		START(&s, "record", "-o", "x.folded");
		wait_until(is_attached, NULL);
		assert_int_equal(command_stop(&s, signals[i])->status, 0);
		assert_int_equal(kernel->n_delivered ? total("x.folded") : 0, kernel->n_delivered);
	}
}

static void sigterm_is_passed_on_to_the_command(void **state)
{
	struct command_service s;
	char ready[] = "ready";

	START(&s, "record", "-o", "x.folded", "--", "sh", "-c",
	      "trap 'exit 9' TERM; touch ready; while :; do sleep 0.05; done");
	wait_until(exists, ready);
	assert_int_equal(command_stop(&s, SIGTERM)->status, 9);
	assert_int_equal(file_count(), 2);
}

static void it_ends_with_the_last_selected_process(void **state)
{
	pid_t pids[2] = { fork() };
	struct command_service s;
	char list[32];

	if (pids[0] == 0)
		for (;;)
			pause();
	pids[1] = fork();
	if (pids[1] == 0)
		for (;;)
			pause();
	snprintf(list, sizeof(list), "%d,%d", (int)pids[0], (int)pids[1]);
	START(&s, "record", "-p", list, "--no-inherit", "-o", "x.folded");
	wait_until(is_attached, NULL);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(waitpid(s.pid, NULL, WNOHANG), 0);
		kill(pids[i], SIGKILL);
		assert_int_equal(waitpid(pids[i], NULL, 0), pids[i]);
	}
	assert_int_equal(command_stop(&s, 0)->status, 0);
	assert_int_equal(kernel->n_targets, 2);
	assert_true(kernel->no_children);
	assert_int_equal(file_count(), 1);
}

/* The existing file is unchanged and the only one. */
static void fails(const struct command_result *r, const char *part)
{
	char *text;

	command_failed(r, "record", 1, part);
	text = file_read("x.folded");
	assert_string_equal(text, "old");
	free(text);
	assert_int_equal(file_count(), 1);
}

static void a_failed_recording_changes_no_file(void **state)
{
	file_write("x.folded", "old");
	kernel->open_error = -EPERM;
	fails(RUN("record", "-o", "x.folded", "-d", "1"), "run as root");
	fails(RUN("record", "-o", "x.folded", "--", "touch", "ran"), "run as root");
	kernel->open_error = 0;
	kernel->attach_error = -ENODEV;
	fails(RUN("record", "-o", "x.folded", "--", "touch", "ran"), "refuses the event");
	kernel->attach_error = 0;
	kernel->consume_error = -EIO;
	fails(RUN("record", "-o", "x.folded", "-d", "1"), "Input/output error");
	kernel->consume_error = 0;
	fails(RUN("record", "-o", "x.folded", "--cgroup", "no/such/cgroup"), "no/such/cgroup");
	fails(RUN("record", "-o", "x.folded", "-p", "1073741824"), "1073741824");
	fails(RUN("record", "-o", "no/dir/x.folded"), "no/dir/x.folded");
	assert_int_equal(kernel->n_freed, kernel->n_opened);
}

static void a_command_that_cannot_run_has_a_status_of_its_own(void **state)
{
	file_write("text", "This is not a program.\n");
	command_failed(RUN("record", "-o", "x.folded", "--", "./missing"), "record", 127,
		       "./missing");
	command_failed(RUN("record", "-o", "x.folded", "--", "./text"), "record", 126, "./text");
	assert_int_equal(file_count(), 1);
}

static void off_cpu_time_that_is_not_available_is_reported(void **state)
{
	const struct command_result *r;

	kernel->pid = (uint32_t)getpid();
	kernel->n_per_read = 1;
	kernel->offcpu_error = "no tracepoint sched_switch";
	r = RUN("record", "--wall", "-d", "100ms", "-o", "x.folded");
	assert_int_equal(r->status, 0);
	assert_non_null(strstr(r->err, "cannot record off-CPU time: no tracepoint sched_switch\n"));
	assert_null(strstr(r->err, "off-CPU time in"));
}

static void the_file_belongs_to_the_user_of_sudo(void **state)
{
	struct stat st;

	if (geteuid() != 0)
		skip();
	setenv("SUDO_UID", "12345", 1);
	setenv("SUDO_GID", "54321", 1);
	assert_int_equal(RUN("record", "-d", "10ms", "-o", "x.folded")->status, 0);
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	assert_int_equal(stat("x.folded", &st), 0);
	assert_int_equal(st.st_uid, 12345);
	assert_int_equal(st.st_gid, 54321);
}

static void wrong_command_lines_are_refused(void **state)
{
	static const struct command_bad bad[] = {
		{ { "record", "-a", "-p", "1" }, "cannot be used together" },
		{ { "record", "-a", "true" }, "cannot be used together" },
		{ { "record", "-p", "1", "--cgroup", "/" }, "cannot be used together" },
		{ { "record", "-p", "" }, "process ids" },
		{ { "record", "-p", "1,x" }, "process ids" },
		{ { "record", "--no-kernel", "--no-user" }, "would record nothing" },
		{ { "record", "-F", "0" }, "-F \"0\"" },
		{ { "record", "-F", "1e3" }, "-F \"1e3\"" },
		{ { "record", "-d", "0" }, "-d \"0\"" },
		{ { "record", "-d", "10x" }, "-d \"10x\"" },
		{ { "record", "-e", "no-such-event" }, "no-such-event" },
		{ { "record", "-e", "page-faults", "-F", "99" }, "--freq has no effect on these" },
		{ { "record", "-e", "page-faults", "--off-cpu" }, "--event cannot be used with" },
		{ { "record", "-c", "99999" }, "at least 100000 ns" },
		{ { "record", "-c", "0" }, "-c \"0\"" },
		{ { "record", "--off-min", "1ms" }, "--off-min requires" },
		{ { "record", "--memory", "--off-cpu" }, "--memory cannot be used with" },
		{ { "record", "--memory=resident", "-F", "9" }, "--memory cannot be used with" },
		{ { "record", "--memory=heap" }, "requires --pid" },
		{ { "record", "--memory=heaps" }, "resident" },
		{ { "record", "--memory", "--cgroup", "/" }, "use --pid" },
		{ { "record", "--off-cpu", "--wall" }, "cannot be used together" },
		{ { "record", "--lock", "--off-cpu" }, "cannot be used together" },
		{ { "record", "--off-cpu", "-F", "99" }, "use --wall" },
		{ { "record", "--max-stack", "0" }, "--max-stack \"0\"" },
		{ { "record", "--max-stack", "65536" }, "--max-stack \"65536\"" },
		{ { "record", "--native-frames", "none" }, "--native-frames \"none\"" },
		{ { "record", "--demangle", "yes" }, "--demangle \"yes\"" },
		{ { "record", "-o", "x.zip" }, "\"x.zip\" has no known suffix" },
		{ { "record", "-o", "x.perf" }, "x.perf" },
		{ { "record", "--format", "perf" }, "--format \"perf\"" },
		{ { "record", "--symbol-cache", "/dev/null" }, "/dev/null" },
		{ { "record", "--frequency", "99" }, "--frequency" },
		{ { NULL }, NULL },
	};

	command_refuses(bad);
	assert_int_equal(kernel->n_opened, 0);
	assert_int_equal(file_count(), 0);
}

TEST_GROUP(test_record, COMMAND_TEST(a_recording_has_every_sample),
	   COMMAND_TEST(standard_output_has_only_the_profile),
	   COMMAND_TEST(the_exit_status_is_that_of_the_command),
	   COMMAND_TEST(a_signal_ends_it_with_a_complete_file),
	   COMMAND_TEST(sigterm_is_passed_on_to_the_command),
	   COMMAND_TEST(it_ends_with_the_last_selected_process),
	   COMMAND_TEST(a_failed_recording_changes_no_file),
	   COMMAND_TEST(a_command_that_cannot_run_has_a_status_of_its_own),
	   COMMAND_TEST(off_cpu_time_that_is_not_available_is_reported),
	   COMMAND_TEST(the_file_belongs_to_the_user_of_sudo),
	   COMMAND_TEST(wrong_command_lines_are_refused))
