/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The filter denies a list of system calls rather than allowing one: an agent or server resolves
 * host names, uses TLS and restarts its symbolizer, with system calls that other libraries choose.
 * The denied ones either need capabilities that are gone or have been used to attack kernels,
 * so the filter is a second line of defense against bugs in the first.
 */
#include "agent/privileges.h"

#include <dirent.h>
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/confine.h"
#include "base/err.h"
#include "base/file_limit.h"

static const struct {
	unsigned int number;
	const char *name;
} kept[] = {
	{ CAP_BPF, "bpf" },
	{ CAP_PERFMON, "perfmon" },
	{ CAP_SYS_PTRACE, "sys_ptrace" },
	{ CAP_DAC_READ_SEARCH, "dac_read_search" },
	{ CAP_SYSLOG, "syslog" },
	{ CAP_CHECKPOINT_RESTORE, "checkpoint_restore" },
	{ CAP_IPC_LOCK, "ipc_lock" },
};

/* Some commands keep these in addition, if they need them. */
static const struct {
	unsigned int number;
	const char *name;
} extra[] = {
	{ CAP_KILL, "kill" },
	{ CAP_DAC_OVERRIDE, "dac_override" },
	{ CAP_NET_BIND_SERVICE, "net_bind_service" },
};

enum {
	N_KEPT = sizeof(kept) / sizeof(kept[0]),
	N_EXTRA = sizeof(extra) / sizeof(extra[0]),
	CPUS_TRIED = 1024,
	PORTS_PRIVILEGED = 1024,
};

uint64_t privileges_kept(void)
{
	uint64_t mask = 0;

	for (int i = 0; i < N_KEPT; i++)
		mask |= 1ULL << kept[i].number;
	return mask;
}

uint64_t privileges_to_kill(void)
{
	return 1ULL << CAP_KILL;
}

/*
 * Returns true if the mode permits @access (the bits of S_IRWXO) to this user. Access control lists
 * may permit more; then a capability is kept without being needed.
 */
static bool is_permitted(const struct stat *st, mode_t access)
{
	unsigned int shift = 0;

	if (st->st_uid == geteuid())
		shift = 6;
	else if (st->st_gid == getegid())
		shift = 3;
	return (st->st_mode >> shift & access) == access;
}

uint64_t privileges_to_probe(void)
{
	return 1ULL << CAP_SYS_ADMIN;
}

/* After a stat() that failed: the capability to search directories, if that was the reason. */
static uint64_t to_reach(void)
{
	return errno == EACCES ? 1ULL << CAP_DAC_READ_SEARCH : 0;
}

uint64_t privileges_to_read(const char *file)
{
	struct stat st;

	if (stat(file, &st) < 0)
		return to_reach();
	return is_permitted(&st, S_IROTH) ? 0 : 1ULL << CAP_DAC_READ_SEARCH;
}

uint64_t privileges_to_write(const char *dir)
{
	char parent[PATH_MAX];
	const char *exists = dir;
	struct stat st;

	if (stat(dir, &st) < 0) {
		if (errno == EACCES)
			return to_reach();
		if (snprintf(parent, sizeof(parent), "%s", dir) >= (int)sizeof(parent))
			return 0;
		exists = dirname(parent);
	}
	if (stat(exists, &st) < 0)
		return to_reach();
	return is_permitted(&st, S_IWOTH | S_IXOTH) ? 0 : 1ULL << CAP_DAC_OVERRIDE;
}

uint64_t privileges_to_listen(uint16_t port)
{
	return port && port < PORTS_PRIVILEGED ? 1ULL << CAP_NET_BIND_SERVICE : 0;
}

const char *privileges_name(unsigned int capability)
{
	for (int i = 0; i < N_KEPT; i++)
		if (kept[i].number == capability)
			return kept[i].name;
	return NULL;
}

#define DENY(name) CONFINE_CALL(__NR_##name, SECCOMP_RET_ERRNO | EPERM)

/* Allows a socket family. The system call number is loaded again after the list. */
#define ALLOW_FAMILY(family)                                                                       \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (family), 0, 1), CONFINE_RETURN(SECCOMP_RET_ALLOW)

static struct sock_filter filter[] = {
	CONFINE_BEGIN,
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_socket, 0, 10),
	CONFINE_LOAD(args[0]),
	ALLOW_FAMILY(AF_UNIX),
	ALLOW_FAMILY(AF_INET),
	ALLOW_FAMILY(AF_INET6),
	ALLOW_FAMILY(AF_NETLINK), /* getaddrinfo() queries the interfaces' addresses */
	CONFINE_RETURN(SECCOMP_RET_ERRNO | EAFNOSUPPORT),
	/* other processes, which are only read */
	CONFINE_CALL(__NR_ptrace,
		     CONFINE_SANITIZED ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | EPERM),
	DENY(process_vm_writev),
	DENY(setns),
	DENY(open_by_handle_at),
	/* the layout of the file system */
	DENY(mount),
	DENY(umount2),
	DENY(pivot_root),
	DENY(chroot),
	DENY(move_mount),
	DENY(open_tree),
	DENY(fsopen),
	DENY(fsconfig),
	DENY(fsmount),
	DENY(fspick),
	DENY(mknodat),
#ifdef __NR_mknod
	DENY(mknod),
#endif
	/* the machine */
	DENY(init_module),
	DENY(finit_module),
	DENY(delete_module),
	DENY(kexec_load),
#ifdef __NR_kexec_file_load
	DENY(kexec_file_load),
#endif
	DENY(reboot),
	DENY(swapon),
	DENY(swapoff),
	DENY(acct),
	DENY(quotactl),
	DENY(settimeofday),
	DENY(clock_settime),
	DENY(clock_adjtime),
	DENY(adjtimex),
	DENY(sethostname),
	DENY(setdomainname),
#ifdef __NR_iopl
	DENY(iopl),
	DENY(ioperm),
#endif
	/* kernel subsystems that have often been exploited */
	DENY(add_key),
	DENY(request_key),
	DENY(keyctl),
	DENY(userfaultfd),
	DENY(io_uring_setup),
	DENY(vhangup),
	DENY(personality),
	CONFINE_RETURN(SECCOMP_RET_ALLOW),
};

static int install_filter(void)
{
	return confine_syscalls(filter, sizeof(filter) / sizeof(*filter));
}

int privileges_deny_network(struct err *err)
{
	struct sock_filter code[] = {
		CONFINE_BEGIN,
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_socket, 0, 4),
		CONFINE_LOAD(args[0]),
		ALLOW_FAMILY(AF_UNIX),
		CONFINE_RETURN(SECCOMP_RET_ERRNO | EAFNOSUPPORT),
		CONFINE_RETURN(SECCOMP_RET_ALLOW),
	};
	int r = confine_syscalls_of_all_threads(code, sizeof(code) / sizeof(*code));

	return r < 0 ? err_set(err, r, "cannot forbid the network: %s", strerror(-r)) : 0;
}

static bool is_single_threaded(void)
{
	_cleanup_(closedirp) DIR *dir = opendir("/proc/self/task");
	struct dirent *e;
	int n = 0;

	while (dir && (e = readdir(dir)))
		n += e->d_name[0] != '.';
	return n <= 1;
}

/* Before Linux 5.11, BPF maps count as locked memory, whatever the capabilities. */
static void raise_limits(void)
{
	const struct rlimit l = { RLIM_INFINITY, RLIM_INFINITY };

	(void)setrlimit(RLIMIT_MEMLOCK, &l);
	file_limit_raise(NULL);
}

int privileges_try_clock(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.disabled = 1,
	};
	int r = 0;

	/* a CPU may be offline; one that works is enough */
	for (int cpu = 0; cpu < CPUS_TRIED; cpu++) {
		_cleanup_(closep) int fd =
			(int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

		if (fd >= 0)
			return 0;
		r = -errno;
		if (r != -ENODEV)
			break;
	}
	return r;
}

static bool is_refused(int r)
{
	return r == -EACCES || r == -EPERM;
}

/*
 * Tests in a child process whether the kept capabilities would be too few, because dropped
 * ones cannot be regained.
 */
static bool needs_admin(uint64_t keep)
{
	int status = 0;
	pid_t pid;

	if (!(keep >> CAP_PERFMON & 1) || !(confine_capabilities() >> CAP_SYS_ADMIN & 1) ||
	    privileges_try_clock() < 0)
		return false;
	pid = fork();
	if (pid == 0)
		_exit(confine_drop_capabilities(keep) == 0 && is_refused(privileges_try_clock()));
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

/* @requested are the capabilities that the caller of privileges_drop() keeps in any case. */
static void write_report(uint64_t requested, char *report, size_t len)
{
	uint64_t have = confine_capabilities();
	size_t used = (size_t)snprintf(report, len, "capabilities");

	for (int i = 0; i < N_KEPT && used < len; i++)
		if (have >> kept[i].number & 1)
			used += (size_t)snprintf(report + used, len - used, " %s", kept[i].name);
	for (int i = 0; i < N_EXTRA && used < len; i++)
		if (have >> extra[i].number & 1)
			used += (size_t)snprintf(report + used, len - used, " %s", extra[i].name);
	if (have >> CAP_SYS_ADMIN & 1 && used < len)
		used += (size_t)snprintf(
			report + used, len - used, " sys_admin%s",
			requested >> CAP_SYS_ADMIN & 1
				? ""
				: " (not needed with sysctl kernel.perf_event_paranoid=2)");
	if (!have && used < len)
		used += (size_t)snprintf(report + used, len - used, " none");
	if (used < len)
		snprintf(report + used, len - used, ", no_new_privs, seccomp");
}

int privileges_drop(uint64_t keep, char *report, size_t len, struct err *err)
{
	const uint64_t requested = keep;
	int r;

	if (!is_single_threaded())
		return err_set(err, -EBUSY, "cannot drop privileges: other threads are running");
	raise_limits();
	if (needs_admin(keep))
		keep |= 1ULL << CAP_SYS_ADMIN;
	r = confine_drop_capabilities(keep);
	if (r < 0)
		return err_set(err, r, "cannot drop capabilities: %s", strerror(-r));
	r = install_filter();
	if (r < 0)
		return err_set(err, r, "cannot install the system call filter: %s", strerror(-r));
	write_report(requested, report, len);
	return 0;
}
