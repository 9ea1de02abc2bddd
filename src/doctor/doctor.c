/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Most checks read what the kernel exposes in /proc and /sys. Two attempt what an agent does,
 * since policies (seccomp, security modules, sysctls) show only then. The list ends up in
 * terminals and container logs, so each text states the consequence or the remedy rather than
 * the value that was read.
 *
 * The list begins with kernel features, followed by privileges, followed by checks that can only
 * degrade. Names of checks are part of the JSON output and do not change.
 */
#include "doctor/doctor.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "agent/privileges.h"
#include "base/cleanup.h"
#include "base/confine.h"

#define INIT_PID_NAMESPACE 0xeffffffcULL /* PROC_PID_INIT_INO, include/linux/proc_ns.h */

enum {
	FLOOR_MAJOR = 5, /* the oldest kernel that the BPF programs support */
	FLOOR_MINOR = 10,
	WANTED_HZ = 99,       /* the default of --freq */
	RING_BYTES = 4096,    /* the smallest ring buffer: the attempt costs one page */
	PROCESSES_MAX = 4096, /* entries of /proc that are visited */
	ADDRESS_DIGITS = 16,  /* of an address in /proc/kallsyms */
};

typedef void (*check_fn)(const struct doctor_env *env, struct doctor_check *c);

const char *doctor_status_name(enum doctor_status s)
{
	static const char *const names[] = { "ok", "degraded", "missing" };

	return names[s];
}

static void set_result(struct doctor_check *c, enum doctor_status status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void set_result(struct doctor_check *c, enum doctor_status status, const char *fmt, ...)
{
	va_list ap;

	c->status = status;
	va_start(ap, fmt);
	vsnprintf(c->text, sizeof(c->text), fmt, ap);
	va_end(ap);
}

/* Reads the start of a file, NUL-terminated. Returns the number of bytes or -errno. */
static ssize_t read_at(const char *dir, const char *name, char *out, size_t len)
{
	_cleanup_(closep) int fd = -1;
	char path[512];
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, out, len - 1);
	if (n < 0)
		return -errno;
	out[n] = 0;
	return n;
}

/*
 * A missing file is a result and not a failure, because kernels differ in the files that they
 * expose.
 */
static bool exists(const char *dir, const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return access(path, F_OK) == 0;
}

/*
 * Leaves *@out unchanged if there is no such file, so that the caller's value stands for the
 * default of the kernel.
 */
static bool read_number(const char *dir, const char *name, long *out)
{
	char text[64], *end;

	if (read_at(dir, name, text, sizeof(text)) <= 0)
		return false;
	*out = strtol(text, &end, 10);
	return end != text;
}

/*
 * Compares numerically; a suffix such as "-generic" is ignored. Distributions backport features, so
 * versions only decide where a feature itself cannot be tested.
 */
static bool is_before(const struct doctor_env *env, int major, int minor, int patch)
{
	int a = 0, b = 0, c = 0;

	sscanf(env->release, "%d.%d.%d", &a, &b, &c);
	return a != major ? a < major : b != minor ? b < minor : c < patch;
}

/* The effective set decides, because the kernel checks it when an event is opened. */
static bool has(const struct doctor_env *env, unsigned int cap)
{
	return env->capabilities >> cap & 1;
}

/*
 * A distribution may have backported the fix of the crash, so that is a warning and no failure.
 */
static void check_kernel(const struct doctor_env *env, struct doctor_check *c)
{
	if (is_before(env, FLOOR_MAJOR, FLOOR_MINOR, 0))
		set_result(c, DOCTOR_MISSING, "%.60s is too old: boot Linux 5.10 or later",
			   env->release);
	else if (!is_before(env, 5, 19, 0) && is_before(env, 6, 1, 0))
		set_result(c, DOCTOR_DEGRADED,
			   "%.60s may crash when BPF reads user memory (fixed in 6.3.10 and in "
			   "later stable releases): update the kernel",
			   env->release);
	else if (!is_before(env, 6, 2, 0) && is_before(env, 6, 3, 10))
		set_result(c, DOCTOR_DEGRADED,
			   "%.60s may crash when BPF reads user memory (fixed in 6.3.10): update "
			   "the kernel",
			   env->release);
	else
		set_result(c, DOCTOR_OK, "%.60s", env->release);
}

/* Without BTF the BPF programs cannot be adapted to the kernel's structures (CO-RE). */
static void check_btf(const struct doctor_env *env, struct doctor_check *c)
{
	char head[4];
	ssize_t n = read_at(env->sys, "kernel/btf/vmlinux", head, sizeof(head));

	if (n > 0)
		set_result(c, DOCTOR_OK, "available");
	else if (n == -ENOENT)
		set_result(c, DOCTOR_MISSING,
			   "not available: boot a kernel with CONFIG_DEBUG_INFO_BTF=y");
	else
		set_result(c, DOCTOR_MISSING, "cannot read /sys/kernel/btf/vmlinux: %s",
			   strerror((int)-n));
}

/* Confidentiality mode makes bpf_probe_read fail for every program, whatever its rights. */
static void check_lockdown(const struct doctor_env *env, struct doctor_check *c)
{
	char text[128];
	ssize_t n = read_at(env->sys, "kernel/security/lockdown", text, sizeof(text));

	if (n > 0 && strstr(text, "[confidentiality]"))
		set_result(c, DOCTOR_MISSING,
			   "confidentiality mode prevents BPF from reading memory: boot with "
			   "lockdown=integrity or without lockdown");
	else if (n > 0 && strstr(text, "[integrity]"))
		set_result(c, DOCTOR_OK, "integrity mode, which permits profiling");
	else
		set_result(c, DOCTOR_OK, "none");
}

/* The effect of each missing capability; CAP_BPF and CAP_PERFMON are checked separately. */
static const struct {
	unsigned int cap;
	const char *loss;
} losses[] = {
	{ CAP_SYS_PTRACE, "cannot read processes of other users" },
	{ CAP_DAC_READ_SEARCH, "cannot symbolize files of other users" },
	{ CAP_SYSLOG, "cannot symbolize kernel functions" },
	{ CAP_CHECKPOINT_RESTORE, "cannot symbolize deleted files" },
	{ CAP_IPC_LOCK, "buffers of perf events are limited by kernel.perf_event_mlock_kb" },
};

/* CAP_SYS_ADMIN includes CAP_BPF, CAP_PERFMON and CAP_CHECKPOINT_RESTORE, but not the others. */
static void check_capabilities(const struct doctor_env *env, struct doctor_check *c)
{
	bool admin = has(env, CAP_SYS_ADMIN);
	size_t at = 0;

	if (!admin && (!has(env, CAP_BPF) || !has(env, CAP_PERFMON))) {
		set_result(
			c, DOCTOR_MISSING,
			"run as root, or with CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE, "
			"CAP_DAC_READ_SEARCH, CAP_SYSLOG, CAP_CHECKPOINT_RESTORE and CAP_IPC_LOCK");
		return;
	}
	set_result(c, DOCTOR_OK, "all required capabilities");
	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++) {
		if (has(env, losses[i].cap) || (admin && losses[i].cap == CAP_CHECKPOINT_RESTORE))
			continue;
		c->status = DOCTOR_DEGRADED;
		at += (size_t)snprintf(c->text + at, sizeof(c->text) - at, "%swithout %s: %s",
				       at ? "; " : "", privileges_name(losses[i].cap),
				       losses[i].loss);
		if (at >= sizeof(c->text))
			return;
	}
}

/* Creating a ring buffer needs the same rights as loading programs, and Linux 5.8. */
static void check_bpf(const struct doctor_env *env, struct doctor_check *c)
{
	if (env->bpf_error == 0)
		set_result(c, DOCTOR_OK, "programs and ring buffers can be created");
	else if (env->bpf_error == -ENOSYS)
		set_result(c, DOCTOR_MISSING,
			   "no bpf() system call: the kernel was built without it, or a seccomp "
			   "filter blocks it");
	else if (env->bpf_error == -EPERM)
		set_result(c, DOCTOR_MISSING,
			   "bpf() is not permitted: check capabilities, seccomp and security "
			   "modules (in a container: --privileged, or a seccomp profile that "
			   "allows bpf and perf_event_open)");
	else
		set_result(c, DOCTOR_MISSING, "bpf(): %s", strerror(-env->bpf_error));
}

/* Interpreted BPF programs work, but a stack walk runs thousands of their instructions. */
static void check_jit(const struct doctor_env *env, struct doctor_check *c)
{
	long on;

	if (read_number(env->proc, "sys/net/core/bpf_jit_enable", &on) && on == 0)
		set_result(c, DOCTOR_DEGRADED,
			   "disabled, so that each sample costs several times more: run \"sysctl "
			   "net.core.bpf_jit_enable=1\"");
	else
		set_result(c, DOCTOR_OK, "enabled");
}

/* The attempt decides; sysctls only explain a refusal. */
static void check_perf(const struct doctor_env *env, struct doctor_check *c)
{
	long rate, paranoid = 0;

	read_number(env->proc, "sys/kernel/perf_event_paranoid", &paranoid);
	if (env->perf_error == -ENOSYS)
		set_result(c, DOCTOR_MISSING,
			   "no perf_event_open() system call: the kernel was built without it, or "
			   "a seccomp filter blocks it");
	else if (env->perf_error == -EACCES && paranoid > 2 && has(env, CAP_PERFMON))
		set_result(c, DOCTOR_MISSING,
			   "kernel.perf_event_paranoid=%ld denies access even with CAP_PERFMON: "
			   "run \"sysctl kernel.perf_event_paranoid=2\", or grant CAP_SYS_ADMIN",
			   paranoid);
	else if (env->perf_error == -EPERM || env->perf_error == -EACCES)
		set_result(c, DOCTOR_MISSING,
			   "perf_event_open() is not permitted: grant CAP_PERFMON, and allow it in "
			   "the seccomp filter and security module");
	else if (env->perf_error)
		set_result(c, DOCTOR_MISSING,
			   "CPU clock events cannot be opened: perf_event_open(): %s",
			   strerror(-env->perf_error));
	else if (read_number(env->proc, "sys/kernel/perf_event_max_sample_rate", &rate) &&
		 rate < WANTED_HZ)
		set_result(c, DOCTOR_DEGRADED,
			   "limited to %ld samples per second: run \"sysctl "
			   "kernel.perf_event_max_sample_rate=100000\"",
			   rate);
	else
		set_result(c, DOCTOR_OK, "CPU clock events can be opened");
}

/*
 * From 6.18 on, x86 kernels replace a probed 5-byte nop by a call, which pushes its return address:
 * over the red zone below the stack pointer, if the nop is in the middle of a leaf function.
 */
static void check_uprobes(const struct doctor_env *env, struct doctor_check *c)
{
#ifdef __x86_64__
	if (!is_before(env, 6, 18, 0)) {
		set_result(c, DOCTOR_DEGRADED,
			   "a uprobe on a 5-byte nop inside a leaf function may damage its stack: "
			   "probe the beginning of functions only");
		return;
	}
#endif
	set_result(c, DOCTOR_OK, "usable at any instruction");
}

/* Since 5.11 BPF maps are charged to the cgroup's memory instead. */
static void check_memlock(const struct doctor_env *env, struct doctor_check *c)
{
	if (!is_before(env, 5, 11, 0))
		set_result(c, DOCTOR_OK, "not limited by this kernel");
	else if (env->memlock_bytes == UINT64_MAX || has(env, CAP_SYS_RESOURCE))
		set_result(c, DOCTOR_OK, "no limit");
	else
		set_result(c, DOCTOR_MISSING,
			   "BPF maps count as locked memory before Linux 5.11, and the limit is "
			   "%llu KiB: run \"ulimit -l unlimited\", or set LimitMEMLOCK=infinity",
			   (unsigned long long)env->memlock_bytes >> 10);
}

/* Tracefs is only needed to list tracepoints by name. */
static void check_tracefs(const struct doctor_env *env, struct doctor_check *c)
{
	if (exists(env->sys, "kernel/tracing/events") ||
	    exists(env->sys, "kernel/debug/tracing/events"))
		set_result(c, DOCTOR_OK, "mounted");
	else
		set_result(c, DOCTOR_OK, "not mounted, and not required: raw tracepoints are used");
}

/*
 * Hidden addresses read as zeros. The first symbols are per-CPU offsets, which may be small, so any
 * digit other than 0 counts.
 */
static void check_kallsyms(const struct doctor_env *env, struct doctor_check *c)
{
	char text[64];
	ssize_t n = read_at(env->proc, "kallsyms", text, sizeof(text));

	if (n > 0 && strspn(text, "0") < ADDRESS_DIGITS)
		set_result(c, DOCTOR_OK, "kernel functions can be symbolized");
	else
		set_result(c, DOCTOR_DEGRADED,
			   "kernel functions cannot be symbolized: grant CAP_SYSLOG and set "
			   "kernel.kptr_restrict below 2");
}

/* BPF sees pids of the initial namespace; in another one they would belong to other processes. */
static void check_namespace(const struct doctor_env *env, struct doctor_check *c)
{
	if (env->pid_namespace == INIT_PID_NAMESPACE)
		set_result(c, DOCTOR_OK, "the namespace of the host");
	else
		set_result(c, DOCTOR_MISSING,
			   "not the namespace of the host, so processes cannot be identified: use "
			   "--pid=host (in Kubernetes: hostPID: true)");
}

/* Counts the processes, and those whose mappings cannot be read. */
static void count_processes(const struct doctor_env *env, unsigned int *n_all,
			    unsigned int *n_unreadable)
{
	_cleanup_(closedirp) DIR *dir = opendir(env->proc);
	char name[280], text[8];
	struct dirent *e;

	while (dir && *n_all < PROCESSES_MAX && (e = readdir(dir))) {
		ssize_t n;

		if (e->d_name[0] < '0' || e->d_name[0] > '9')
			continue;
		snprintf(name, sizeof(name), "%s/maps", e->d_name);
		n = read_at(env->proc, name, text, sizeof(text));
		*n_all += n != -ENOENT && n != -ESRCH;
		*n_unreadable += n < 0 && n != -ENOENT && n != -ESRCH;
	}
}

/* A tenth may be unreadable: processes that end meanwhile and those of other security domains. */
static void check_proc(const struct doctor_env *env, struct doctor_check *c)
{
	unsigned int n_all = 0, n_unreadable = 0;

	count_processes(env, &n_all, &n_unreadable);
	if (!n_all)
		set_result(c, DOCTOR_MISSING, "no process is visible in /proc: mount /proc");
	else if (n_unreadable * 10 > n_all)
		set_result(c, DOCTOR_DEGRADED,
			   "cannot read %u of %u processes: grant CAP_SYS_PTRACE, and mount /proc "
			   "without hidepid",
			   n_unreadable, n_all);
	else if (n_unreadable)
		set_result(c, DOCTOR_OK, "can read all but %u of %u processes", n_unreadable,
			   n_all);
	else
		set_result(c, DOCTOR_OK, "can read all %u processes", n_all);
}

/* The filter itself cannot be read, so it is only suspected if one of the attempts failed. */
static void check_seccomp(const struct doctor_env *env, struct doctor_check *c)
{
	char text[4096], *line;

	if (read_at(env->proc, "self/status", text, sizeof(text)) <= 0 ||
	    !(line = strstr(text, "\nSeccomp:")) || strtol(line + 9, NULL, 10) == 0)
		set_result(c, DOCTOR_OK, "no filter");
	else if (env->bpf_error || env->perf_error)
		set_result(c, DOCTOR_DEGRADED, "active, and may block a system call above");
	else
		set_result(c, DOCTOR_OK, "active, but allows profiling");
}

/* The user namespace is what separates the symbolizer's uid from this user's. */
static void check_sandbox(const struct doctor_env *env, struct doctor_check *c)
{
	long max = 1, cloning = 1;

	read_number(env->proc, "sys/user/max_user_namespaces", &max);
	read_number(env->proc, "sys/kernel/unprivileged_userns_clone", &cloning);
	if (has(env, CAP_SETUID) || has(env, CAP_SYS_ADMIN) || (max && cloning))
		set_result(c, DOCTOR_OK, "the symbolizer can be confined");
	else
		set_result(c, DOCTOR_DEGRADED,
			   "user namespaces are not available: the symbolizer runs with a seccomp "
			   "filter and without capabilities, but under the same user id");
}

static const struct {
	const char *name;
	check_fn fn;
} checks[] = {
	{ "kernel", check_kernel },
	{ "BTF", check_btf },
	{ "lockdown", check_lockdown },
	{ "capabilities", check_capabilities },
	{ "BPF", check_bpf },
	{ "BPF JIT", check_jit },
	{ "perf events", check_perf },
	{ "uprobes", check_uprobes },
	{ "locked memory", check_memlock },
	{ "tracefs", check_tracefs },
	{ "kernel symbols", check_kallsyms },
	{ "PID namespace", check_namespace },
	{ "processes", check_proc },
	{ "seccomp", check_seccomp },
	{ "sandbox", check_sandbox },
};

enum { N_CHECKS = sizeof(checks) / sizeof(checks[0]) };

_Static_assert((int)N_CHECKS <= (int)DOCTOR_CHECKS_MAX, "struct doctor_check array is too small");

/* The checks do not depend on each other, so all of them run even if the first one fails. */
size_t doctor_check(const struct doctor_env *env, struct doctor_check out[DOCTOR_CHECKS_MAX])
{
	for (size_t i = 0; i < N_CHECKS; i++) {
		out[i] = (struct doctor_check){ .name = checks[i].name };
		checks[i].fn(env, &out[i]);
	}
	return N_CHECKS;
}

/* Creates the smallest ring buffer, and closes it again. */
static int try_bpf(void)
{
	_cleanup_(closep) int fd =
		bpf_map_create(BPF_MAP_TYPE_RINGBUF, "cameo_doctor", 0, 0, RING_BYTES, NULL);

	return fd < 0 ? -errno : 0;
}

/* The attempts are made here, so that checks have no side effects and tests can set the results. */
void doctor_env_detect(struct doctor_env *out)
{
	struct rlimit l = { 0 };
	struct utsname uts;
	struct stat st;

	uname(&uts);
	getrlimit(RLIMIT_MEMLOCK, &l);
	*out = (struct doctor_env){
		.proc = "/proc",
		.sys = "/sys",
		.capabilities = confine_capabilities(),
		.memlock_bytes = l.rlim_cur == RLIM_INFINITY ? UINT64_MAX : l.rlim_cur,
		.perf_error = privileges_try_clock(),
		.bpf_error = try_bpf(),
	};
	snprintf(out->release_room, sizeof(out->release_room), "%s", uts.release);
	out->release = out->release_room;
	if (stat("/proc/self/ns/pid", &st) == 0)
		out->pid_namespace = st.st_ino;
}
