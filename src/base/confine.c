/* SPDX-License-Identifier: Apache-2.0 */
#include "base/confine.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { CAPABILITIES_MAX = 64 };

int confine_syscalls(struct sock_filter *code, size_t n)
{
	struct sock_fprog prog = { .len = (unsigned short)n, .filter = code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog, 0, 0) < 0 ? -errno : 0;
}

int confine_syscalls_of_all_threads(struct sock_filter *code, size_t n)
{
	struct sock_fprog prog = { .len = (unsigned short)n, .filter = code };
	long r;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &prog);
	if (r > 0)
		return -EBUSY; /* the kernel returned the id of a thread that has another filter */
	return r < 0 ? -errno : 0;
}

int confine_read_only(void)
{
	const struct landlock_ruleset_attr attr = {
		.handled_access_fs = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
				     LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
				     LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
				     LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
				     LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM,
	};
	int fd = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0), r = 0;

	if (fd < 0)
		return -errno;
	/* The ruleset gets no rules, so all handled accesses are denied. */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    syscall(SYS_landlock_restrict_self, fd, 0) < 0)
		r = -errno;
	close(fd);
	return r;
}

static int get_capabilities(struct __user_cap_data_struct data[2])
{
	struct __user_cap_header_struct hdr = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capget, &hdr, data) < 0 ? -errno : 0;
}

int confine_drop_capabilities(uint64_t keep)
{
	struct __user_cap_header_struct hdr = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };
	int r = get_capabilities(data);

	/* A change of user leaves capabilities permitted, but not effective. */
	for (int i = 0; i < 2; i++)
		data[i].effective = data[i].permitted;
	if (r == 0)
		syscall(SYS_capset, &hdr, data);
	/*
	 * Without CAP_SETPCAP the bounding set cannot be reduced; no_new_privs, which the
	 * caller sets with its filter, then prevents an exec from gaining capabilities.
	 */
	for (int cap = 0; cap < CAPABILITIES_MAX; cap++)
		if (!(keep >> cap & 1))
			prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	for (int i = 0; i < 2; i++) {
		data[i].permitted &= (uint32_t)(keep >> (32 * i));
		data[i].effective = data[i].permitted;
		data[i].inheritable = 0;
	}
	if (r == 0 && syscall(SYS_capset, &hdr, data) < 0)
		r = -errno;
	return r;
}

int confine_keep_capabilities(void)
{
	struct __user_cap_header_struct hdr = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };
	int r = get_capabilities(data);

	for (int i = 0; i < 2; i++)
		data[i].inheritable = data[i].permitted;
	if (r == 0 && syscall(SYS_capset, &hdr, data) < 0)
		r = -errno;
	for (int cap = 0; r == 0 && cap < CAPABILITIES_MAX; cap++)
		if (data[cap / 32].permitted >> (cap % 32) & 1 &&
		    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0) < 0)
			r = -errno;
	return r;
}

uint64_t confine_capabilities(void)
{
	struct __user_cap_data_struct data[2] = { 0 };

	get_capabilities(data);
	return (uint64_t)data[1].effective << 32 | data[0].effective;
}
