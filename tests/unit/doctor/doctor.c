/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/doctor.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/privileges.h"
#include "tests/test.h"

/* A machine is simulated by files in a temporary directory. */
struct machine {
	char dir[32];
	struct doctor_env env;
	struct doctor_check checks[DOCTOR_CHECKS_MAX];
	size_t n;
};

static void put(const struct machine *m, const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", m->dir, name);
	for (char *slash = path + strlen(m->dir) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = 0;
		mkdir(path, 0700);
		*slash = '/';
	}
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

/* Sets up a machine on which all checks succeed. */
static void begin(struct machine *m)
{
	*m = (struct machine){ .dir = "/tmp/cameo-doctor-XXXXXX" };
	assert_non_null(mkdtemp(m->dir));
	m->env = (struct doctor_env){ .proc = m->dir,
				      .sys = m->dir,
				      .release = "6.12.57-test",
				      .capabilities = privileges_kept(),
				      .memlock_bytes = UINT64_MAX,
				      .pid_namespace = 0xeffffffc };
	put(m, "kernel/btf/vmlinux", "\x9f\xeb\x01");
	put(m, "kernel/security/lockdown", "[none] integrity confidentiality\n");
	put(m, "sys/net/core/bpf_jit_enable", "1\n");
	put(m, "sys/kernel/perf_event_max_sample_rate", "100000\n");
	put(m, "kallsyms", "ffffffff81000000 T startup_64\n");
	put(m, "1/maps", "");
	put(m, "self/status", "Name:\tx\nSeccomp:\t0\n");
	put(m, "sys/user/max_user_namespaces", "1000\n");
}

static void end(struct machine *m)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", m->dir);
	assert_int_equal(system(command), 0);
}

static const struct doctor_check *check(struct machine *m, const char *name)
{
	m->n = doctor_check(&m->env, m->checks);
	for (size_t i = 0; i < m->n; i++)
		if (!strcmp(m->checks[i].name, name))
			return &m->checks[i];
	fail_msg("no check %s", name);
	return NULL;
}

static void assert_check(struct machine *m, const char *name, enum doctor_status status,
			 const char *text)
{
	const struct doctor_check *c = check(m, name);

	if (c->status != status || !strstr(c->text, text))
		fail_msg("%s is %s: %s", name, doctor_status_name(c->status), c->text);
}

static void all_checks_succeed_on_a_suitable_machine(void **state)
{
	struct machine m;

	begin(&m);
	check(&m, "kernel");
	assert_true(m.n > 10);
	for (size_t i = 0; i < m.n; i++)
		assert_check(&m, m.checks[i].name, DOCTOR_OK, "");
	end(&m);
}

static void kernels_that_are_too_old_or_known_to_crash_fail(void **state)
{
	static const struct {
		const char *release;
		enum doctor_status status;
	} cases[] = { { "4.19.0-26-amd64", DOCTOR_MISSING },
		      { "5.9.16", DOCTOR_MISSING },
		      { "5.10.0-36-amd64", DOCTOR_OK },
		      { "5.18.19", DOCTOR_OK },
		      { "5.19.0", DOCTOR_DEGRADED },
		      { "6.0.12", DOCTOR_DEGRADED },
		      { "6.1.0-42-amd64", DOCTOR_OK },
		      { "6.2.0-39-generic", DOCTOR_DEGRADED },
		      { "6.3.9", DOCTOR_DEGRADED },
		      { "6.3.10", DOCTOR_OK },
		      { "7.0.1", DOCTOR_OK },
		      { "what", DOCTOR_MISSING } };
	struct machine m;

	begin(&m);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		m.env.release = cases[i].release;
		assert_check(&m, "kernel", cases[i].status, cases[i].release);
	}
	end(&m);
}

/* Kernels of x86 replace a probed 5-byte nop by a call since 6.18. */
static void kernels_whose_uprobes_use_the_red_zone_are_degraded(void **state)
{
#ifdef __x86_64__
	struct machine m;

	begin(&m);
	m.env.release = "6.17.9";
	assert_check(&m, "uprobes", DOCTOR_OK, "");
	m.env.release = "6.18.0";
	assert_check(&m, "uprobes", DOCTOR_DEGRADED, "leaf function");
	end(&m);
#else
	skip();
#endif
}

static void missing_features_are_reported_with_a_remedy(void **state)
{
	struct machine m;
	char path[64];

	begin(&m);
	put(&m, "kernel/security/lockdown", "none integrity [confidentiality]\n");
	assert_check(&m, "lockdown", DOCTOR_MISSING, "boot with lockdown=integrity");
	put(&m, "kernel/security/lockdown", "none [integrity] confidentiality\n");
	assert_check(&m, "lockdown", DOCTOR_OK, "integrity");
	put(&m, "sys/net/core/bpf_jit_enable", "0\n");
	assert_check(&m, "BPF JIT", DOCTOR_DEGRADED, "sysctl net.core.bpf_jit_enable=1");
	put(&m, "sys/kernel/perf_event_max_sample_rate", "50\n");
	assert_check(&m, "perf events", DOCTOR_DEGRADED, "limited to 50 samples");
	put(&m, "kallsyms", "0000000000000000 T startup_64\n");
	assert_check(&m, "kernel symbols", DOCTOR_DEGRADED, "CAP_SYSLOG");
	snprintf(path, sizeof(path), "%s/kernel/btf/vmlinux", m.dir);
	unlink(path);
	assert_check(&m, "BTF", DOCTOR_MISSING, "CONFIG_DEBUG_INFO_BTF");
	snprintf(path, sizeof(path), "%s/1/maps", m.dir);
	unlink(path);
	assert_check(&m, "processes", DOCTOR_MISSING, "mount /proc");
	/* a file that can be opened but not read */
	assert_int_equal(mkdir(path, 0700), 0);
	assert_check(&m, "processes", DOCTOR_DEGRADED, "cannot read 1 of 1");
	m.env.pid_namespace = 4026532000;
	assert_check(&m, "PID namespace", DOCTOR_MISSING, "hostPID: true");
	end(&m);
}

static void missing_capabilities_are_reported_with_their_effect(void **state)
{
	struct machine m;

	begin(&m);
	m.env.capabilities = 0;
	assert_check(&m, "capabilities", DOCTOR_MISSING, "run as root");
	m.env.capabilities = 1ULL << CAP_BPF;
	assert_check(&m, "capabilities", DOCTOR_MISSING, "CAP_PERFMON");
	m.env.capabilities = privileges_kept() & ~(1ULL << CAP_SYSLOG);
	assert_check(&m, "capabilities", DOCTOR_DEGRADED,
		     "without syslog: cannot symbolize kernel functions");
	m.env.capabilities = 1ULL << CAP_SYS_ADMIN;
	assert_check(&m, "capabilities", DOCTOR_DEGRADED, "sys_ptrace");
	end(&m);
}

static void operations_refused_by_the_kernel_are_named(void **state)
{
	struct machine m;

	begin(&m);
	m.env.bpf_error = -EPERM;
	assert_check(&m, "BPF", DOCTOR_MISSING, "seccomp");
	m.env.bpf_error = -ENOSYS;
	assert_check(&m, "BPF", DOCTOR_MISSING, "no bpf()");
	m.env.perf_error = -EACCES;
	assert_check(&m, "perf events", DOCTOR_MISSING, "CAP_PERFMON");
	put(&m, "sys/kernel/perf_event_paranoid", "3\n");
	assert_check(&m, "perf events", DOCTOR_MISSING, "kernel.perf_event_paranoid=2");
	m.env.perf_error = -ENOSYS;
	assert_check(&m, "perf events", DOCTOR_MISSING, "no perf_event_open()");
	put(&m, "self/status", "Name:\tx\nSeccomp:\t2\n");
	assert_check(&m, "seccomp", DOCTOR_DEGRADED, "may block");
	m.env.perf_error = m.env.bpf_error = 0;
	assert_check(&m, "seccomp", DOCTOR_OK, "allows profiling");
	end(&m);
}

static void locked_memory_counts_on_old_kernels_only(void **state)
{
	struct machine m;

	begin(&m);
	m.env.memlock_bytes = 64 << 10;
	assert_check(&m, "locked memory", DOCTOR_OK, "not limited");
	m.env.release = "5.10.0-36-amd64";
	assert_check(&m, "locked memory", DOCTOR_MISSING, "64 KiB");
	m.env.capabilities |= 1ULL << CAP_SYS_RESOURCE;
	assert_check(&m, "locked memory", DOCTOR_OK, "");
	end(&m);
}

static void without_user_namespaces_the_sandbox_is_weaker(void **state)
{
	struct machine m;

	begin(&m);
	put(&m, "sys/user/max_user_namespaces", "0\n");
	assert_check(&m, "sandbox", DOCTOR_DEGRADED, "user namespaces are not available");
	m.env.capabilities |= 1ULL << CAP_SETUID;
	assert_check(&m, "sandbox", DOCTOR_OK, "");
	end(&m);
}

static void this_machine_can_be_checked(void **state)
{
	struct doctor_check checks[DOCTOR_CHECKS_MAX];
	struct doctor_env env;
	size_t n;

	doctor_env_detect(&env);
	n = doctor_check(&env, checks);
	for (size_t i = 0; i < n; i++) {
		assert_true(checks[i].text[0] != 0);
		assert_true(strlen(checks[i].text) < sizeof(checks[i].text) - 1);
	}
}

TEST_GROUP(test_doctor, TEST(all_checks_succeed_on_a_suitable_machine),
	   TEST(kernels_that_are_too_old_or_known_to_crash_fail),
	   TEST(kernels_whose_uprobes_use_the_red_zone_are_degraded),
	   TEST(missing_features_are_reported_with_a_remedy),
	   TEST(missing_capabilities_are_reported_with_their_effect),
	   TEST(operations_refused_by_the_kernel_are_named),
	   TEST(locked_memory_counts_on_old_kernels_only),
	   TEST(without_user_namespaces_the_sandbox_is_weaker), TEST(this_machine_can_be_checked))
