/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order matters. Namespaces need privileges, so they come first, followed
 * by the user, the capabilities and the limits. The seccomp filter is last,
 * because it forbids all of these calls. It is written in BPF here rather than
 * with libseccomp, since it is one list of system calls and one rule for
 * PROT_EXEC.
 */
#include "roles/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/confine.h"

enum {
	/*
	 * A user that no program has: above the ranges that systemd, useradd and containers assign,
	 * and below 2^31. Nobody (65534) is shared with others, which could kill the process.
	 */
	LONER = 2147357184,
	FDS_MAX = 64,
	EXPORTER_FDS_MAX = 512,
	EXPORTER_THREADS_MAX = 256, /* with those of other processes of the same user */
};

/* Address space for mapped files in addition to the heap. A browser's debug file has 4 GiB. */
#define MAP_LIMIT ((size_t)16 << 30)

struct report {
	char *text;
	size_t len, used;
};

static void note(struct report *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void note(struct report *r, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (r->used && r->used + 2 < r->len)
		r->used += (size_t)snprintf(r->text + r->used, r->len - r->used, ", ");
	va_start(ap, fmt);
	n = vsnprintf(r->text + r->used, r->len - r->used, fmt, ap);
	va_end(ap);
	r->used += n < 0 || (size_t)n >= r->len - r->used ? r->len - r->used - 1 : (size_t)n;
}

static void close_others(int keep)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; null >= 0 && fd < 3; fd++)
		if (fd != keep && (fd != 2 || !CONFINE_SANITIZED))
			dup2(null, fd);
	if (keep > 3)
		syscall(SYS_close_range, 3, keep - 1, 0);
	syscall(SYS_close_range, keep < 3 ? 3 : keep + 1, ~0U, 0);
}

static bool become(uid_t id)
{
	return geteuid() == 0 && setgroups(0, NULL) == 0 && setresgid(id, id, id) == 0 &&
	       setresuid(id, id, id) == 0;
}

/*
 * Leaves the caller's user. A user namespace without a mapping has no rights outside of it, and
 * hides the process from those who only have the same number.
 */
static void change_user(bool in_namespaces, struct report *r)
{
	bool is_root = geteuid() == 0 && !in_namespaces;

	if (in_namespaces) {
		note(r, "own user and PID namespaces, no network");
		return;
	}
	if (is_root && unshare(CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS) == 0)
		note(r, "no network");
	if (is_root && become(LONER))
		note(r, "uid %d", LONER);
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC) == 0)
		note(r, is_root ? "own user namespace" : "own user namespace, no network");
	else if (geteuid() != LONER)
		note(r, "uid %d (no user namespace: %s)", (int)geteuid(), strerror(errno));
}

static void leave_network(struct report *r)
{
	if (unshare(CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS) == 0)
		note(r, "no network");
}

static void drop_capabilities(uint64_t keep, struct report *r)
{
	int e = confine_drop_capabilities(keep);

	if (e < 0)
		note(r, "capabilities kept (%s)", strerror(-e));
	else
		note(r,
		     confine_capabilities() ? "capabilities to read processes" : "no capabilities");
}

static void limit(int what, size_t n)
{
	struct rlimit l = { .rlim_cur = n, .rlim_max = n };

	setrlimit(what, &l);
}

static void set_limits(const struct sandbox_opts *opts, struct report *r)
{
	limit(RLIMIT_CORE, 0);
	/* No file can be opened for writing; this bounds memory files. */
	limit(RLIMIT_FSIZE, opts->data_bytes);
	limit(RLIMIT_NOFILE, opts->kind == SANDBOX_EXPORTER ? EXPORTER_FDS_MAX : FDS_MAX);
	/* the resolver has threads */
	if (opts->kind != SANDBOX_EXPORTER)
		limit(RLIMIT_NPROC, 0);
	else if (geteuid() == LONER)
		limit(RLIMIT_NPROC, EXPORTER_THREADS_MAX);
	limit(RLIMIT_MEMLOCK, 0);
	if (CONFINE_SANITIZED) {
		note(r, "no memory limit (address sanitizer)");
		return;
	}
	limit(RLIMIT_DATA, opts->data_bytes);
	limit(RLIMIT_AS, opts->data_bytes + MAP_LIMIT);
	note(r, "%zu MiB of heap", opts->data_bytes >> 20);
}

#define ALLOW(name) CONFINE_CALL(__NR_##name, SECCOMP_RET_ALLOW)

/* Allows mmap() or mprotect() unless PROT_EXEC is set. */
#define NOT_EXECUTABLE(name)                                                                       \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##name, 0, 4), CONFINE_LOAD(args[2]),             \
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),                             \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),                              \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* Every role talks to its parent, uses memory, reads open files, and ends. */
#define COMMON_CALLS                                                                               \
	ALLOW(recvmsg), ALLOW(sendmsg), ALLOW(close), ALLOW(fstat),                                \
		ALLOW(newfstatat), /* glibc implements fstat() with it */                          \
		ALLOW(lseek), ALLOW(read), ALLOW(pread64), NOT_EXECUTABLE(mmap),                   \
		NOT_EXECUTABLE(mprotect), ALLOW(munmap), ALLOW(mremap), ALLOW(madvise),            \
		ALLOW(brk), ALLOW(futex), ALLOW(clock_gettime), ALLOW(getrandom), ALLOW(gettid),   \
		ALLOW(getpid), ALLOW(sysinfo), /* glibc's qsort() sizes its buffer by it */        \
		ALLOW(rt_sigaction), ALLOW(rt_sigprocmask), ALLOW(rt_sigreturn),                   \
		ALLOW(sigaltstack), ALLOW(setitimer), ALLOW(exit), ALLOW(exit_group),              \
		ALLOW(memfd_create), ALLOW(ftruncate), ALLOW(fcntl)

/* Other calls fail but do not kill: a C library may have a fallback for them. */
#define END_OF_CALLS                                                                               \
	CONFINE_CALL(__NR_write,                                                                   \
		     CONFINE_SANITIZED ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | EPERM),           \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)

static int install_reader_filter(void)
{
	struct sock_filter code[] = { CONFINE_BEGIN, COMMON_CALLS, END_OF_CALLS };

	return confine_syscalls(code, sizeof(code) / sizeof(*code));
}

/* The flags of openat() must not allow writing; openat2() has them in memory, out of reach. */
static int install_opener_filter(void)
{
	struct sock_filter code[] = {
		CONFINE_BEGIN,
		COMMON_CALLS,
		ALLOW(openat2),
		ALLOW(statx),
		ALLOW(readlinkat),
		ALLOW(fstatfs),
		ALLOW(getdents64),
		ALLOW(ioctl), /* PROCMAP_QUERY */
		ALLOW(process_vm_readv),
#ifdef __NR_readlink
		ALLOW(readlink),
#endif
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_openat, 0, 4),
		CONFINE_LOAD(args[2]),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_ACCMODE | O_CREAT | O_TRUNC, 0, 1),
		CONFINE_RETURN(SECCOMP_RET_ERRNO | EPERM),
		CONFINE_RETURN(SECCOMP_RET_ALLOW),
		END_OF_CALLS,
	};

	return confine_syscalls(code, sizeof(code) / sizeof(*code));
}

#define DENY(name) CONFINE_CALL(__NR_##name, SECCOMP_RET_ERRNO | EPERM)
#define ALLOW_FAMILY(family)                                                                       \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (family), 0, 1), CONFINE_RETURN(SECCOMP_RET_ALLOW)

enum {
	NAMESPACE_FLAGS = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
			  CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET,
};

/*
 * A list of what is denied: TLS and resolver libraries choose their system calls, differently in
 * each version. clone3() and openat2() have their flags in memory, out of reach; the C library
 * falls back to clone() and openat().
 */
static int install_exporter_filter(void)
{
	struct sock_filter code[] = {
		CONFINE_BEGIN,
		CONFINE_CALL(__NR_clone3, SECCOMP_RET_ERRNO | ENOSYS),
		CONFINE_CALL(__NR_openat2, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_clone, 0, 4),
		CONFINE_LOAD(args[0]),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, NAMESPACE_FLAGS, 0, 1),
		CONFINE_RETURN(SECCOMP_RET_ERRNO | EPERM),
		CONFINE_RETURN(SECCOMP_RET_ALLOW),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_openat, 0, 4),
		CONFINE_LOAD(args[2]),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_ACCMODE | O_CREAT | O_TRUNC, 0, 1),
		CONFINE_RETURN(SECCOMP_RET_ERRNO | EPERM),
		CONFINE_RETURN(SECCOMP_RET_ALLOW),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_socket, 0, 10),
		CONFINE_LOAD(args[0]),
		ALLOW_FAMILY(AF_UNIX), /* services of the resolver */
		ALLOW_FAMILY(AF_INET),
		ALLOW_FAMILY(AF_INET6),
		ALLOW_FAMILY(AF_NETLINK), /* getaddrinfo() queries the interfaces' addresses */
		CONFINE_RETURN(SECCOMP_RET_ERRNO | EAFNOSUPPORT),
		/* a client only */
		DENY(listen),
		DENY(accept),
		DENY(accept4),
		/* other processes */
		CONFINE_CALL(__NR_ptrace,
			     CONFINE_SANITIZED ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | EPERM),
		DENY(process_vm_readv),
		DENY(process_vm_writev),
		DENY(process_madvise),
		DENY(kill),
		DENY(tkill),
		DENY(pidfd_open),
		DENY(pidfd_getfd),
		DENY(pidfd_send_signal),
		DENY(kcmp),
		/* other programs */
		DENY(execve),
		DENY(execveat),
		/* files */
		DENY(open_by_handle_at),
		DENY(mkdirat),
		DENY(mknodat),
		DENY(unlinkat),
		DENY(linkat),
		DENY(symlinkat),
		DENY(renameat2),
		DENY(truncate),
		DENY(fchmodat),
		DENY(fchownat),
		DENY(utimensat),
		DENY(setxattr),
#ifdef __NR_open
		DENY(open),
		DENY(creat),
		DENY(mkdir),
		DENY(mknod),
		DENY(unlink),
		DENY(rmdir),
		DENY(link),
		DENY(symlink),
		DENY(rename),
		DENY(chmod),
		DENY(chown),
#endif
		DENY(renameat),
		/* the machine, and parts of the kernel that have often been exploited */
		DENY(unshare),
		DENY(setns),
		DENY(mount),
		DENY(chroot),
		DENY(pivot_root),
		DENY(fsopen),
		DENY(open_tree),
		DENY(move_mount),
		DENY(bpf),
		DENY(perf_event_open),
		DENY(userfaultfd),
		DENY(io_uring_setup),
		DENY(add_key),
		DENY(request_key),
		DENY(keyctl),
		DENY(personality),
		CONFINE_RETURN(SECCOMP_RET_ALLOW),
	};

	return confine_syscalls(code, sizeof(code) / sizeof(*code));
}

static const uint64_t OPENER_CAPABILITIES =
	1ULL << CAP_SYS_PTRACE | 1ULL << CAP_DAC_READ_SEARCH | 1ULL << CAP_CHECKPOINT_RESTORE;

/*
 * The process stays dumpable, because it opens certificates through /proc/self/fd: nobody else has
 * its user.
 */
static void enter_exporter(struct report *r)
{
	int e;

	if (become(LONER))
		note(r, "uid %d", LONER);
	else
		note(r, "uid %d", (int)geteuid());
	drop_capabilities(0, r);
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	e = confine_read_only();
	note(r, e == 0 ? "read-only" : "files writable (no Landlock)");
}

static void enter_other(const struct sandbox_opts *opts, struct report *r)
{
	bool is_opener = opts->kind == SANDBOX_OPENER;

	if (is_opener)
		leave_network(r);
	else
		change_user(opts->in_namespaces, r);
	drop_capabilities(is_opener ? OPENER_CAPABILITIES : 0, r);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

int sandbox_enter(const struct sandbox_opts *opts, char *report, size_t report_len)
{
	struct report r = { .text = report, .len = report_len };
	int e;

	close_others(opts->keep_fd);
	if (opts->kind == SANDBOX_EXPORTER)
		enter_exporter(&r);
	else
		enter_other(opts, &r);
	set_limits(opts, &r);
	if (opts->kind == SANDBOX_EXPORTER)
		e = install_exporter_filter();
	else
		e = opts->kind == SANDBOX_OPENER ? install_opener_filter()
						 : install_reader_filter();
	if (e < 0)
		return e;
	note(&r, "seccomp");
	return 0;
}
