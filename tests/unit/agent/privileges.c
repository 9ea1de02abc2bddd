/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/privileges.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/confine.h"
#include "base/err.h"
#include "tests/test.h"

/* Privileges cannot be regained, so each test runs in a process of its own. */
static void in_a_child(int (*fn)(void))
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(fn());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	/* A child exits with the line of the check that failed, or with 0. */
	assert_int_equal(WEXITSTATUS(status), 0);
}

#define CHECK(x)                                                                                   \
	do {                                                                                       \
		if (!(x))                                                                          \
			return __LINE__ % 256 ? __LINE__ % 256 : 1;                                \
	} while (0)

static unsigned long long status_field(const char *name)
{
	FILE *f = fopen("/proc/self/status", "r");
	unsigned long long v = ~0ULL;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, strlen(name)))
			v = strtoull(line + strlen(name), NULL, strstr(name, "Cap") ? 16 : 10);
	if (f)
		fclose(f);
	return v;
}

static int drops(void)
{
	uint64_t before = confine_capabilities(), kept = privileges_kept();
	char report[256];

	CHECK(privileges_drop(privileges_kept(), report, sizeof(report), NULL) == 0);
	/* stricter kernels require CAP_SYS_ADMIN, which the report mentions */
	if (strstr(report, " sys_admin "))
		kept |= 1ULL << CAP_SYS_ADMIN;
	CHECK(status_field("CapEff:") == (before & kept));
	CHECK(status_field("CapPrm:") == (before & kept));
	CHECK(status_field("CapInh:") == 0);
	CHECK(status_field("CapAmb:") == 0);
	if (before >> CAP_SETPCAP & 1)
		CHECK((status_field("CapBnd:") & ~kept) == 0);
	CHECK(status_field("NoNewPrivs:") == 1);
	CHECK(status_field("Seccomp:") == 2);
	CHECK(strstr(report, "capabilities") && strstr(report, "seccomp"));
	CHECK(!!strstr(report, " perfmon") == !!(before >> CAP_PERFMON & 1));
	return 0;
}

static void only_capabilities_needed_for_sampling_remain(void **state)
{
	in_a_child(drops);
}

static int forbidden(void)
{
	char report[256];

	CHECK(privileges_drop(privileges_kept(), report, sizeof(report), NULL) == 0);
	/* the search for leaks needs it */
	CHECK(CONFINE_SANITIZED || (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0 && errno == EPERM));
	CHECK(mount("none", "/tmp", "tmpfs", 0, NULL) < 0 && errno == EPERM);
	CHECK(socket(AF_PACKET, SOCK_RAW, 0) < 0 && errno == EAFNOSUPPORT);
	CHECK(socket(AF_ALG, SOCK_SEQPACKET, 0) < 0 && errno == EAFNOSUPPORT);
	CHECK(syscall(SYS_userfaultfd, 0) < 0 && errno == EPERM);
	CHECK(syscall(SYS_keyctl, 0, 0) < 0 && errno == EPERM);
	CHECK(chroot("/") < 0 && errno == EPERM);
	return 0;
}

static void unused_system_calls_are_forbidden(void **state)
{
	in_a_child(forbidden);
}

static int still_works(void)
{
	char report[256];
	int fd, status;
	pid_t pid;

	CHECK(privileges_drop(privileges_kept(), report, sizeof(report), NULL) == 0);
	CHECK((fd = socket(AF_INET, SOCK_STREAM, 0)) >= 0);
	close(fd);
	CHECK((fd = socket(AF_UNIX, SOCK_STREAM, 0)) >= 0);
	close(fd);
	CHECK((fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC)) >= 0);
	close(fd);
	/* the symbolizer can be restarted after it died */
	pid = fork();
	if (pid == 0) {
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
	/* and can confine itself further */
	CHECK(confine_drop_capabilities(0) == 0 && confine_capabilities() == 0);
	return 0;
}

static void sockets_files_and_children_remain_possible(void **state)
{
	in_a_child(still_works);
}

static int drops_all(void)
{
	char report[256];

	CHECK(privileges_drop(0, report, sizeof(report), NULL) == 0);
	CHECK(status_field("CapEff:") == 0 && status_field("CapPrm:") == 0);
	CHECK(status_field("NoNewPrivs:") == 1 && status_field("Seccomp:") == 2);
	CHECK(!strncmp(report, "capabilities none, ", 19));
	return 0;
}

static void a_command_that_needs_none_keeps_none(void **state)
{
	in_a_child(drops_all);
}

static void only_a_directory_of_others_needs_a_capability_to_write(void **state)
{
	char dir[] = "/tmp/cameo-privileges.XXXXXX";

	assert_non_null(mkdtemp(dir));
	assert_int_equal(privileges_to_write(dir), 0);
	chmod(dir, 0500);
	assert_int_equal(privileges_to_write(dir), 1ULL << CAP_DAC_OVERRIDE);
	chmod(dir, 0700);
	if (chown(dir, 65534, 65534) == 0) {
		assert_int_equal(privileges_to_write(dir), 1ULL << CAP_DAC_OVERRIDE);
		chmod(dir, 01777);
		assert_int_equal(privileges_to_write(dir), 0);
	}
	rmdir(dir);
	/* the directory would be created in its parent */
	assert_int_equal(privileges_to_write(dir), 0);
}

static void only_a_file_of_others_needs_a_capability_to_read(void **state)
{
	char file[] = "/tmp/cameo-privileges.XXXXXX";
	int fd = mkstemp(file);

	assert_true(fd >= 0);
	assert_int_equal(privileges_to_read(file), 0);
	if (fchown(fd, 65534, 65534) == 0) {
		assert_int_equal(privileges_to_read(file), 1ULL << CAP_DAC_READ_SEARCH);
		fchmod(fd, 0604);
		assert_int_equal(privileges_to_read(file), 0);
	}
	close(fd);
	unlink(file);
}

static void only_a_low_port_needs_a_capability_to_listen(void **state)
{
	assert_int_equal(privileges_to_listen(0), 0);
	assert_int_equal(privileges_to_listen(4040), 0);
	assert_int_equal(privileges_to_listen(1024), 0);
	assert_int_equal(privileges_to_listen(443), 1ULL << CAP_NET_BIND_SERVICE);
}

static void *wait_for_end(void *arg)
{
	char c;

	return read(*(int *)arg, &c, 1) < 0 ? arg : NULL;
}

static int with_threads(void)
{
	struct err err = { 0 };
	char report[256];
	int pipes[2];
	pthread_t t;

	CHECK(pipe(pipes) == 0);
	CHECK(pthread_create(&t, NULL, wait_for_end, &pipes[0]) == 0);
	CHECK(privileges_drop(privileges_kept(), report, sizeof(report), &err) == -EBUSY);
	CHECK(strstr(err.msg, "other threads are running"));
	close(pipes[1]);
	pthread_join(t, NULL);
	return 0;
}

static void refuses_while_other_threads_would_keep_capabilities(void **state)
{
	in_a_child(with_threads);
}

static int read_only(void)
{
	int r = confine_read_only();

	CHECK(r == 0 || r == -ENOSYS || r == -EOPNOTSUPP);
	CHECK(open("/proc/self/maps", O_RDONLY | O_CLOEXEC) >= 0);
	if (r == 0)
		CHECK(open("/tmp", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600) < 0 && errno == EACCES);
	return 0;
}

static void a_child_can_be_prevented_from_changing_files(void **state)
{
	in_a_child(read_only);
}

static void lists_the_names_of_a_capability_set(void **state)
{
	assert_string_equal(privileges_name(CAP_BPF), "bpf");
	assert_null(privileges_name(CAP_SYS_ADMIN));
	assert_int_equal(__builtin_popcountll(privileges_kept()), 7);
}

TEST_GROUP(test_privileges, TEST(only_capabilities_needed_for_sampling_remain),
	   TEST(unused_system_calls_are_forbidden),
	   TEST(sockets_files_and_children_remain_possible),
	   TEST(refuses_while_other_threads_would_keep_capabilities),
	   TEST(a_command_that_needs_none_keeps_none),
	   TEST(only_a_directory_of_others_needs_a_capability_to_write),
	   TEST(only_a_file_of_others_needs_a_capability_to_read),
	   TEST(only_a_low_port_needs_a_capability_to_listen),
	   TEST(a_child_can_be_prevented_from_changing_files),
	   TEST(lists_the_names_of_a_capability_set))
