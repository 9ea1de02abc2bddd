/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order matters: namespaces while there are privileges, then the user, then
 * capabilities, then limits, and the filter last, since it forbids all of the
 * former. The filter is written out here instead of taken from libseccomp: it
 * is one list of system calls, and one rule for PROT_EXEC.
 */
#include "symbol/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/confine.h"

#ifdef __SANITIZE_ADDRESS__
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

enum { NOBODY = 65534, FDS_MAX = 64 };

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
		if (fd != keep && (fd != 2 || !SANITIZED))
			dup2(null, fd);
	if (keep > 3)
		syscall(SYS_close_range, 3, keep - 1, 0);
	syscall(SYS_close_range, keep < 3 ? 3 : keep + 1, ~0U, 0);
}

static bool become_nobody(void)
{
	return geteuid() == 0 && setgroups(0, NULL) == 0 &&
	       setresgid(NOBODY, NOBODY, NOBODY) == 0 && setresuid(NOBODY, NOBODY, NOBODY) == 0;
}

/* As root: nobody. Otherwise: a user namespace in which we are nobody too. */
static void change_user(struct report *r)
{
	if (geteuid() == 0 && unshare(CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS) == 0)
		note(r, "no network");
	if (become_nobody()) {
		note(r, "uid %d", NOBODY);
		return;
	}
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC) == 0)
		note(r, "own user namespace, no network");
	else
		note(r, "uid %d (no user namespace: %s)", (int)geteuid(), strerror(errno));
}

static void drop_capabilities(struct report *r)
{
	int e = confine_drop_capabilities(0);

	if (e == 0)
		note(r, "no capabilities");
	else
		note(r, "capabilities kept (%s)", strerror(-e));
}

static void limit(int what, size_t n)
{
	struct rlimit l = { .rlim_cur = n, .rlim_max = n };

	setrlimit(what, &l);
}

static void set_limits(const struct sandbox_opts *opts, struct report *r)
{
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_FSIZE, 0);
	limit(RLIMIT_NOFILE, FDS_MAX);
	limit(RLIMIT_NPROC, 0);
	limit(RLIMIT_MEMLOCK, 0);
	if (SANITIZED) {
		note(r, "no memory limit (address sanitizer)");
		return;
	}
	limit(RLIMIT_DATA, opts->data_bytes);
	limit(RLIMIT_AS, opts->data_bytes + opts->map_bytes);
	note(r, "%zu MiB of heap", opts->data_bytes >> 20);
}

#define ALLOW(name) CONFINE_CALL(__NR_##name, SECCOMP_RET_ALLOW)

/* mmap and mprotect, but not of code: the number is loaded again behind it. */
#define NOT_EXECUTABLE(name)                                                                       \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##name, 0, 4), CONFINE_LOAD(args[2]),             \
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),                             \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),                              \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static int install_filter(void)
{
	struct sock_filter code[] = {
		CONFINE_BEGIN,
		ALLOW(recvmsg),
		ALLOW(sendmsg),
		ALLOW(close),
		ALLOW(fstat),
		ALLOW(newfstatat), /* glibc has fstat() on it */
		ALLOW(lseek),
		ALLOW(read),
		ALLOW(pread64),
		NOT_EXECUTABLE(mmap),
		NOT_EXECUTABLE(mprotect),
		ALLOW(munmap),
		ALLOW(mremap),
		ALLOW(madvise),
		ALLOW(brk),
		ALLOW(futex),
		ALLOW(clock_gettime),
		ALLOW(getrandom),
		ALLOW(gettid),
		ALLOW(getpid),
		ALLOW(sysinfo), /* glibc's qsort() sizes its buffer by it */
		ALLOW(rt_sigaction),
		ALLOW(rt_sigprocmask),
		ALLOW(rt_sigreturn),
		ALLOW(sigaltstack),
		ALLOW(exit),
		ALLOW(exit_group),
		CONFINE_CALL(__NR_write, SANITIZED ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | EPERM),
		/* Refused, not killed: another C library may try what it can do without. */
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	};

	return confine_syscalls(code, sizeof(code) / sizeof(*code));
}

int sandbox_enter(const struct sandbox_opts *opts, char *report, size_t report_len)
{
	struct report r = { .text = report, .len = report_len };
	int e;

	close_others(opts->keep_fd);
	change_user(&r);
	drop_capabilities(&r);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	set_limits(opts, &r);
	e = install_filter();
	if (e < 0)
		return e;
	note(&r, "seccomp");
	return 0;
}

void sandbox_drop(int keep_fd)
{
	char unread[256];
	struct report r = { .text = unread, .len = sizeof(unread) };

	close_others(keep_fd);
	become_nobody();
	drop_capabilities(&r);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	/* where nobody else can be become, the files are still root's */
	(void)confine_read_only();
}
