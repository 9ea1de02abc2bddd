/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Confined children try what they must not do, and what they must be able to do, and reply with the
 * error of each attempt. The privileges of a process cannot be regained, so every test has a child.
 */
#include "roles/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/confine.h"
#include "child.h"
#include "roles/role.h"
#include "tests/test.h"

/* ---- the child ----------------------------------------------------------------------------- */

enum attempt {
	READ_FILE,
	WRITE_FILE,
	CREATE_FILE,
	OPEN_BY_HANDLE_OF_FLAGS, /* openat2(), whose flags a filter cannot see */
	SOCKET,
	FORK,
	EXECUTE,
	MAP_CODE,
	MAKE_CODE,
	MAP_DATA,
	SIGNAL_PARENT,
	TRACE_PARENT,
	NEW_NAMESPACE,
	REGAIN_USER,
	LIST_DIRECTORY,
	MEMORY_FILE,
	ATTEMPTS,
};

static long map(int prot)
{
	long p = syscall(SYS_mmap, NULL, 4096, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == -1 ? -1 : 0;
}

static long make_code(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return syscall(SYS_mprotect, p, 4096, PROT_READ | PROT_EXEC);
}

static long open_file(const char *path, int flags)
{
	return syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0600);
}

static long open_with_struct(void)
{
	struct {
		uint64_t flags, mode, resolve;
	} how = { O_RDONLY | O_CLOEXEC, 0, 0 };

	return syscall(SYS_openat2, AT_FDCWD, "/proc/self/exe", &how, sizeof(how));
}

static long list_directory(void)
{
	char entries[4096];
	long fd = open_file("/proc/self", O_RDONLY | O_DIRECTORY);

	return fd < 0 ? -1 : syscall(SYS_getdents64, fd, entries, sizeof(entries));
}

static long memory_file(void)
{
	int fd = memfd_create("x", MFD_CLOEXEC);

	return fd < 0 ? -1 : ftruncate(fd, 4096);
}

/* clone() is called directly, for fork() of a sanitizer would not return. */
static long try_to_fork(void)
{
	long pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	if (pid == 0)
		_exit(0);
	return pid;
}

static long attempt(enum attempt what)
{
	char *const argv[] = { (char *)"true", NULL };

	switch (what) {
	case READ_FILE:
		return open_file("/proc/self/exe", O_RDONLY);
	case WRITE_FILE:
		return open_file("/dev/null", O_WRONLY);
	case CREATE_FILE:
		return open_file("/dev/shm/cameo-test-sandbox", O_RDONLY | O_CREAT);
	case OPEN_BY_HANDLE_OF_FLAGS:
		return open_with_struct();
	case SOCKET:
		return syscall(SYS_socket, AF_UNIX, SOCK_STREAM, 0);
	case FORK:
		return try_to_fork();
	case EXECUTE:
		return syscall(SYS_execve, "/bin/true", argv, argv + 1);
	case MAP_CODE:
		return map(PROT_READ | PROT_EXEC);
	case MAKE_CODE:
		return make_code();
	case MAP_DATA:
		return map(PROT_READ | PROT_WRITE);
	case SIGNAL_PARENT:
		return syscall(SYS_kill, getppid(), 0);
	case TRACE_PARENT:
		return syscall(SYS_ptrace, PTRACE_SEIZE, 1, 0, 0);
	case NEW_NAMESPACE:
		return syscall(SYS_unshare, CLONE_NEWUSER);
	case REGAIN_USER:
		return syscall(SYS_setresuid, 0, 0, 0);
	case LIST_DIRECTORY:
		return list_directory();
	case MEMORY_FILE:
		return memory_file();
	default:
		return 0;
	}
}

/* Replies with the error of each attempt, 0 for success. */
static int job_attempt(struct role_call *call)
{
	int32_t errors[ATTEMPTS];

	for (unsigned int i = 0; i < ATTEMPTS; i++) {
		errno = 0;
		errors[i] = attempt((enum attempt)i) < 0 ? errno : 0;
	}
	memcpy(call->reply, errors, sizeof(errors));
	call->reply_len = sizeof(errors);
	return 0;
}

static const struct role_job jobs[] = { { 1, 0, job_attempt } };

extern const struct role sandbox_test_reader, sandbox_test_opener, sandbox_test_exporter;
const struct role sandbox_test_reader = {
	.name = "cameo-test-reader", .sandbox = SANDBOX_READER, .jobs = jobs, .n_jobs = 1
};
const struct role sandbox_test_opener = {
	.name = "cameo-test-opener", .sandbox = SANDBOX_OPENER, .jobs = jobs, .n_jobs = 1
};
const struct role sandbox_test_exporter = {
	.name = "cameo-test-exporter", .sandbox = SANDBOX_EXPORTER, .jobs = jobs, .n_jobs = 1
};

/* ---- the parent ---------------------------------------------------------------------------- */

/* The errors of all attempts of a child, whose report is stored in @report. */
static void run_attempts(const char *name, bool isolate, int32_t errors[ATTEMPTS], char report[256])
{
	struct child c;

	child_start(&c, name, isolate, true);
	snprintf(report, 256, "%.*s", (int)c.m.body_len, (const char *)c.m.body);
	assert_int_equal(child_call(&c, 1, "", 0), 0);
	assert_int_equal(c.m.body_len, ATTEMPTS * sizeof(*errors));
	memcpy(errors, c.m.body, c.m.body_len);
	child_end(&c);
}

static void assert_allowed(const int32_t *errors, const enum attempt *allowed, size_t n)
{
	for (unsigned int i = 0; i < ATTEMPTS; i++) {
		bool is_allowed = false;

		for (size_t k = 0; k < n; k++)
			is_allowed |= allowed[k] == i;
		if (errors[i] != (is_allowed ? 0 : EPERM))
			fail_msg("attempt %u: %s", i, strerror(errors[i]));
	}
}

static void a_reader_can_use_memory_and_nothing_else(void **state)
{
	static const enum attempt allowed[] = { MAP_DATA, MEMORY_FILE };
	int32_t errors[ATTEMPTS];
	char report[256];

	for (int isolate = 0; isolate < 2; isolate++) {
		run_attempts("cameo-test-reader", isolate, errors, report);
		assert_allowed(errors, allowed, 2);
		assert_non_null(strstr(report, "no capabilities"));
		assert_non_null(strstr(report, ", seccomp"));
	}
}

static void an_opener_can_read_files_but_not_write(void **state)
{
	static const enum attempt allowed[] = { READ_FILE, OPEN_BY_HANDLE_OF_FLAGS, MAP_DATA,
						LIST_DIRECTORY, MEMORY_FILE };
	int32_t errors[ATTEMPTS];
	char report[256];

	run_attempts("cameo-test-opener", false, errors, report);
	assert_allowed(errors, allowed, 5);
	assert_true(access("/dev/shm/cameo-test-sandbox", F_OK) < 0);
	assert_non_null(strstr(report, ", seccomp"));
}

static void an_exporter_can_use_the_network_and_read_files_but_reach_no_process(void **state)
{
	/* libraries load code, and the launcher forks */
	static const enum attempt allowed[] = { READ_FILE, SOCKET,   FORK,           MAP_CODE,
						MAKE_CODE, MAP_DATA, LIST_DIRECTORY, MEMORY_FILE };
	int32_t errors[ATTEMPTS];
	char report[256];

	run_attempts("cameo-test-exporter", false, errors, report);
	assert_int_equal(errors[OPEN_BY_HANDLE_OF_FLAGS], ENOSYS);
	errors[OPEN_BY_HANDLE_OF_FLAGS] = EPERM;
	assert_allowed(errors, allowed, 8);
	assert_true(access("/dev/shm/cameo-test-sandbox", F_OK) < 0);
	assert_non_null(strstr(report, "no capabilities"));
	assert_non_null(strstr(report, ", seccomp"));
}

/* A number in /proc/PID/status. */
static uint64_t status_of(pid_t pid, const char *field, int base)
{
	char path[64], line[256];
	size_t len = strlen(field);
	uint64_t v = 0;
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, field, len) != 0 || line[len] != ':')
			continue;
		v = strtoull(line + len + 1, NULL, base);
		found = true;
	}
	fclose(f);
	assert_true(found);
	return v;
}

static void the_kernel_confirms_the_report(void **state)
{
	struct child reader, opener, exporter;
	uint64_t own = confine_capabilities();

	child_start(&reader, "cameo-test-reader", false, true);
	child_start(&opener, "cameo-test-opener", false, true);
	child_start(&exporter, "cameo-test-exporter", false, true);
	assert_int_equal(status_of(reader.pid, "Seccomp", 10), 2);
	assert_int_equal(status_of(opener.pid, "Seccomp", 10), 2);
	assert_int_equal(status_of(reader.pid, "NoNewPrivs", 10), 1);
	assert_int_equal(status_of(exporter.pid, "Seccomp", 10), 2);
	assert_int_equal(status_of(exporter.pid, "CapPrm", 16), 0);
	assert_int_equal(status_of(reader.pid, "CapEff", 16), 0);
	assert_int_equal(status_of(reader.pid, "CapPrm", 16), 0);
	/* An opener has at most SYS_PTRACE, DAC_READ_SEARCH and CHECKPOINT_RESTORE. */
	assert_int_equal(
		status_of(opener.pid, "CapPrm", 16) & ~(1ULL << 19 | 1ULL << 2 | 1ULL << 40), 0);
	assert_int_equal(status_of(opener.pid, "CapPrm", 16) & ~own, 0);
	if (geteuid() == 0)
		assert_int_not_equal(status_of(reader.pid, "Uid", 10), 0);
	if (geteuid() == 0)
		assert_int_not_equal(status_of(exporter.pid, "Uid", 10), 0);
	child_end(&reader);
	child_end(&opener);
	child_end(&exporter);
}

/* Reads a hard limit by its name in /proc/PID/limits, which everybody may read. */
static uint64_t hard_limit(pid_t pid, const char *name)
{
	char path[64], line[256], soft[32], hard[32];
	size_t len = strlen(name);
	uint64_t v = 0;
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/limits", (int)pid);
	f = fopen(path, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, name, len) != 0)
			continue;
		assert_int_equal(sscanf(line + len, "%31s %31s", soft, hard), 2);
		v = strcmp(hard, "unlimited") == 0 ? UINT64_MAX : strtoull(hard, NULL, 10);
		found = true;
	}
	fclose(f);
	assert_true(found);
	return v;
}

static void limits_are_those_of_the_role(void **state)
{
	struct child c;

	child_start(&c, "cameo-test-reader", false, true);
	assert_int_equal(hard_limit(c.pid, "Max open files"), 64);
	assert_int_equal(hard_limit(c.pid, "Max file size"), CHILD_MEMORY);
	assert_int_equal(hard_limit(c.pid, "Max processes"), 0);
	assert_int_equal(hard_limit(c.pid, "Max core file size"), 0);
	child_end(&c);
}

static void a_report_that_does_not_fit_is_truncated(void **state)
{
	const struct sandbox_opts opts = { .kind = SANDBOX_READER,
					   .data_bytes = 64 << 20,
					   .keep_fd = 3 };
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		char report[12];

		memset(report, 'x', sizeof(report));
		_exit(sandbox_enter(&opts, report, 8) == 0 && strnlen(report, 12) == 7 &&
				      report[8] == 'x'
			      ? 0
			      : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

TEST_GROUP(test_sandbox, TEST(a_reader_can_use_memory_and_nothing_else),
	   TEST(an_opener_can_read_files_but_not_write),
	   TEST(an_exporter_can_use_the_network_and_read_files_but_reach_no_process),
	   TEST(the_kernel_confirms_the_report), TEST(limits_are_those_of_the_role),
	   TEST(a_report_that_does_not_fit_is_truncated))
