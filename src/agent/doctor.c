/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each check reads what the kernel says of itself below /proc and /sys; two ask it
 * to do what an agent does, since policies (seccomp, security modules, sysctls)
 * are seen only then. The list ends up in people's terminals and in containers'
 * logs, so each text says what to do and not what was read.
 */
#include "agent/doctor.h"

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

#define INIT_PID_NAMESPACE 0xeffffffcULL /* PROC_PID_INIT_INO */

enum { FLOOR_MAJOR = 5, FLOOR_MINOR = 10, WANTED_HZ = 99, RING_BYTES = 4096, PROCESSES_MAX = 4096 };

typedef void (*check_fn)(const struct doctor_env *env, struct doctor_check *c);

const char *doctor_status_name(enum doctor_status s)
{
	static const char *const names[] = { "ok", "degraded", "missing" };

	return names[s];
}

static void say(struct doctor_check *c, enum doctor_status status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void say(struct doctor_check *c, enum doctor_status status, const char *fmt, ...)
{
	va_list ap;

	c->status = status;
	va_start(ap, fmt);
	vsnprintf(c->text, sizeof(c->text), fmt, ap);
	va_end(ap);
}

/* The first bytes of a file: how many, or -errno. */
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

static bool exists(const char *dir, const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return access(path, F_OK) == 0;
}

static bool read_number(const char *dir, const char *name, long *out)
{
	char text[64], *end;

	if (read_at(dir, name, text, sizeof(text)) <= 0)
		return false;
	*out = strtol(text, &end, 10);
	return end != text;
}

static bool is_before(const struct doctor_env *env, int major, int minor, int patch)
{
	int a = 0, b = 0, c = 0;

	sscanf(env->release, "%d.%d.%d", &a, &b, &c);
	return a != major ? a < major : b != minor ? b < minor : c < patch;
}

static bool has(const struct doctor_env *env, unsigned int cap)
{
	return env->capabilities >> cap & 1;
}

static void check_kernel(const struct doctor_env *env, struct doctor_check *c)
{
	if (is_before(env, FLOOR_MAJOR, FLOOR_MINOR, 0))
		say(c, DOCTOR_MISSING, "%.60s is too old: Linux 5.10 or later is needed",
		    env->release);
	else if (!is_before(env, 5, 19, 0) && is_before(env, 6, 1, 0))
		say(c, DOCTOR_DEGRADED,
		    "%.60s may crash when BPF reads a process's memory (mended in 6.3.10 and in "
		    "later stable releases): update it",
		    env->release);
	else if (!is_before(env, 6, 2, 0) && is_before(env, 6, 3, 10))
		say(c, DOCTOR_DEGRADED,
		    "%.60s may crash when BPF reads a process's memory (mended in 6.3.10): update "
		    "it",
		    env->release);
	else
		say(c, DOCTOR_OK, "%.60s", env->release);
}

static void check_btf(const struct doctor_env *env, struct doctor_check *c)
{
	char head[4];
	ssize_t n = read_at(env->sys, "kernel/btf/vmlinux", head, sizeof(head));

	if (n > 0)
		say(c, DOCTOR_OK, "the kernel describes its types");
	else if (n == -ENOENT)
		say(c, DOCTOR_MISSING,
		    "the kernel does not describe its types: one built with "
		    "CONFIG_DEBUG_INFO_BTF is needed");
	else
		say(c, DOCTOR_MISSING, "/sys/kernel/btf/vmlinux can't be read: %s",
		    strerror((int)-n));
}

static void check_lockdown(const struct doctor_env *env, struct doctor_check *c)
{
	char text[128];
	ssize_t n = read_at(env->sys, "kernel/security/lockdown", text, sizeof(text));

	if (n > 0 && strstr(text, "[confidentiality]"))
		say(c, DOCTOR_MISSING,
		    "confidentiality keeps BPF from reading memory: boot with "
		    "lockdown=integrity or without it");
	else if (n > 0 && strstr(text, "[integrity]"))
		say(c, DOCTOR_OK, "integrity, which allows what is needed");
	else
		say(c, DOCTOR_OK, "none");
}

/* What is lost without each; the first two are asked for below. */
static const struct {
	unsigned int cap;
	const char *loss;
} losses[] = {
	{ CAP_SYS_PTRACE, "other users' processes can't be read" },
	{ CAP_DAC_READ_SEARCH, "other users' files have no names" },
	{ CAP_SYSLOG, "the kernel's functions have no names" },
	{ CAP_CHECKPOINT_RESTORE, "files that were deleted have no names" },
	{ CAP_IPC_LOCK, "buffers are limited by kernel.perf_event_mlock_kb" },
};

static void check_capabilities(const struct doctor_env *env, struct doctor_check *c)
{
	bool admin = has(env, CAP_SYS_ADMIN);
	size_t at = 0;

	if (!admin && (!has(env, CAP_BPF) || !has(env, CAP_PERFMON))) {
		say(c, DOCTOR_MISSING,
		    "run as root, or with CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE, "
		    "CAP_DAC_READ_SEARCH, CAP_SYSLOG, CAP_CHECKPOINT_RESTORE "
		    "and CAP_IPC_LOCK");
		return;
	}
	say(c, DOCTOR_OK, "all that are needed");
	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++) {
		if (has(env, losses[i].cap) || (admin && losses[i].cap == CAP_CHECKPOINT_RESTORE))
			continue;
		c->status = DOCTOR_DEGRADED;
		at += (size_t)snprintf(c->text + at, sizeof(c->text) - at, "%swithout %s %s",
				       at ? "; " : "", privileges_name(losses[i].cap),
				       losses[i].loss);
		if (at >= sizeof(c->text))
			return;
	}
}

static void check_bpf(const struct doctor_env *env, struct doctor_check *c)
{
	if (env->bpf_error == 0)
		say(c, DOCTOR_OK, "programs and ring buffers can be made");
	else if (env->bpf_error == -ENOSYS)
		say(c, DOCTOR_MISSING,
		    "there is no bpf(): the kernel was built without it, or a "
		    "seccomp filter hides it");
	else if (env->bpf_error == -EPERM)
		say(c, DOCTOR_MISSING,
		    "bpf() is refused: capabilities, a seccomp filter or a "
		    "security module (in a container: --privileged, or a "
		    "seccomp profile that allows bpf and perf_event_open)");
	else
		say(c, DOCTOR_MISSING, "bpf(): %s", strerror(-env->bpf_error));
}

static void check_jit(const struct doctor_env *env, struct doctor_check *c)
{
	long on;

	if (read_number(env->proc, "sys/net/core/bpf_jit_enable", &on) && on == 0)
		say(c, DOCTOR_DEGRADED,
		    "BPF is interpreted, and samples cost several times more: "
		    "sysctl net.core.bpf_jit_enable=1");
	else
		say(c, DOCTOR_OK, "BPF is compiled");
}

static void check_perf(const struct doctor_env *env, struct doctor_check *c)
{
	long rate, paranoid = 0;

	read_number(env->proc, "sys/kernel/perf_event_paranoid", &paranoid);
	if (env->perf_error == -ENOSYS)
		say(c, DOCTOR_MISSING,
		    "there is no perf_event_open(): the kernel was built "
		    "without it, or a seccomp filter hides it");
	else if (env->perf_error == -EACCES && paranoid > 2 && has(env, CAP_PERFMON))
		say(c, DOCTOR_MISSING,
		    "kernel.perf_event_paranoid is %ld, which shuts out CAP_PERFMON too: sysctl "
		    "kernel.perf_event_paranoid=2, or CAP_SYS_ADMIN",
		    paranoid);
	else if (env->perf_error == -EPERM || env->perf_error == -EACCES)
		say(c, DOCTOR_MISSING,
		    "perf_event_open() is refused: CAP_PERFMON is needed, and a seccomp "
		    "filter or security module that allows it");
	else if (env->perf_error)
		say(c, DOCTOR_MISSING, "perf_event_open(): %s", strerror(-env->perf_error));
	else if (read_number(env->proc, "sys/kernel/perf_event_max_sample_rate", &rate) &&
		 rate < WANTED_HZ)
		say(c, DOCTOR_DEGRADED,
		    "at most %ld samples a second: sysctl "
		    "kernel.perf_event_max_sample_rate=100000",
		    rate);
	else
		say(c, DOCTOR_OK, "CPU clocks can be opened");
}

static void check_memlock(const struct doctor_env *env, struct doctor_check *c)
{
	if (!is_before(env, 5, 11, 0))
		say(c, DOCTOR_OK, "not limited by this kernel");
	else if (env->memlock_bytes == UINT64_MAX || has(env, CAP_SYS_RESOURCE))
		say(c, DOCTOR_OK, "no limit");
	else
		say(c, DOCTOR_MISSING,
		    "BPF maps count as locked memory before Linux 5.11, and %llu KiB are "
		    "allowed: ulimit -l unlimited, or LimitMEMLOCK=infinity",
		    (unsigned long long)env->memlock_bytes >> 10);
}

static void check_tracefs(const struct doctor_env *env, struct doctor_check *c)
{
	if (exists(env->sys, "kernel/tracing/events") ||
	    exists(env->sys, "kernel/debug/tracing/events"))
		say(c, DOCTOR_OK, "mounted");
	else
		say(c, DOCTOR_OK, "not mounted, and not needed: raw tracepoints are used");
}

static void check_kallsyms(const struct doctor_env *env, struct doctor_check *c)
{
	char text[64];
	ssize_t n = read_at(env->proc, "kallsyms", text, sizeof(text));

	if (n > 0 && strtoull(text, NULL, 16))
		say(c, DOCTOR_OK, "the kernel's functions have names");
	else if (n > 0 && strspn(text, "0") < 16)
		say(c, DOCTOR_OK, "the kernel's functions have names"); /* a per-CPU one is first */
	else
		say(c, DOCTOR_DEGRADED,
		    "the kernel's functions have no names: CAP_SYSLOG, and "
		    "kernel.kptr_restrict below 2");
}

static void check_namespace(const struct doctor_env *env, struct doctor_check *c)
{
	if (env->pid_namespace == INIT_PID_NAMESPACE)
		say(c, DOCTOR_OK, "the machine's own");
	else
		say(c, DOCTOR_MISSING,
		    "a PID namespace of its own: processes can't be told apart (in a "
		    "container: --pid=host, in Kubernetes hostPID: true)");
}

/* How many processes there are, and how many of them nothing can be read of. */
static void count_processes(const struct doctor_env *env, unsigned int *all, unsigned int *closed)
{
	_cleanup_(closedirp) DIR *dir = opendir(env->proc);
	char name[280], text[8];
	struct dirent *e;

	while (dir && *all < PROCESSES_MAX && (e = readdir(dir))) {
		ssize_t n;

		if (e->d_name[0] < '0' || e->d_name[0] > '9')
			continue;
		snprintf(name, sizeof(name), "%s/maps", e->d_name);
		n = read_at(env->proc, name, text, sizeof(text));
		*all += n != -ENOENT && n != -ESRCH;
		*closed += n < 0 && n != -ENOENT && n != -ESRCH;
	}
}

static void check_proc(const struct doctor_env *env, struct doctor_check *c)
{
	unsigned int all = 0, closed = 0;

	count_processes(env, &all, &closed);
	if (!all)
		say(c, DOCTOR_MISSING, "no process is to be seen in /proc: it must be mounted");
	else if (closed * 10 > all)
		say(c, DOCTOR_DEGRADED,
		    "%u of %u can't be looked at: CAP_SYS_PTRACE, and /proc without hidepid",
		    closed, all);
	else if (closed)
		say(c, DOCTOR_OK, "all but %u of %u can be looked at", closed, all);
	else
		say(c, DOCTOR_OK, "all %u can be looked at", all);
}

static void check_seccomp(const struct doctor_env *env, struct doctor_check *c)
{
	char text[4096], *line;

	if (read_at(env->proc, "self/status", text, sizeof(text)) <= 0 ||
	    !(line = strstr(text, "\nSeccomp:")) || strtol(line + 9, NULL, 10) == 0)
		say(c, DOCTOR_OK, "no filter");
	else if (env->bpf_error || env->perf_error)
		say(c, DOCTOR_DEGRADED, "a filter, and something above is refused: maybe by it");
	else
		say(c, DOCTOR_OK, "a filter, which allows what is needed");
}

static void check_sandbox(const struct doctor_env *env, struct doctor_check *c)
{
	long max = 1, cloning = 1;

	read_number(env->proc, "sys/user/max_user_namespaces", &max);
	read_number(env->proc, "sys/kernel/unprivileged_userns_clone", &cloning);
	if (has(env, CAP_SETUID) || has(env, CAP_SYS_ADMIN) || (max && cloning))
		say(c, DOCTOR_OK, "the symbolizer can be confined");
	else
		say(c, DOCTOR_DEGRADED,
		    "no user namespaces: the symbolizer has a seccomp filter and no "
		    "capabilities, but this user's id");
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
	{ "locked memory", check_memlock },
	{ "tracefs", check_tracefs },
	{ "kernel symbols", check_kallsyms },
	{ "PID namespace", check_namespace },
	{ "processes", check_proc },
	{ "seccomp", check_seccomp },
	{ "sandbox", check_sandbox },
};

enum { N_CHECKS = sizeof(checks) / sizeof(checks[0]) };

_Static_assert((int)N_CHECKS <= (int)DOCTOR_CHECKS_MAX, "there is room for all");

size_t doctor_check(const struct doctor_env *env, struct doctor_check out[DOCTOR_CHECKS_MAX])
{
	for (size_t i = 0; i < N_CHECKS; i++) {
		out[i] = (struct doctor_check){ .name = checks[i].name };
		checks[i].fn(env, &out[i]);
	}
	return N_CHECKS;
}

static int try_bpf(void)
{
	_cleanup_(closep) int fd =
		bpf_map_create(BPF_MAP_TYPE_RINGBUF, "cameo_doctor", 0, 0, RING_BYTES, NULL);

	return fd < 0 ? -errno : 0;
}

void doctor_here(struct doctor_env *out)
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
