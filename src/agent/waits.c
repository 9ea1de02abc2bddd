/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The function nearest to the leaf that is in the table decides. Names differ between
 * versions of the kernel mostly in what stands before and behind, so beginnings are compared.
 */
#include "agent/waits.h"

#include <stdbool.h>
#include <string.h>

/* The first that fits; NULL: what called it tells. */
static const struct {
	const char *begins, *reason;
} table[] = {
	{ "futex_", "futex" },
	{ "__futex_", "futex" },
	{ "ep_poll", "epoll" },
	{ "do_epoll_", "epoll" },
	{ "do_poll", "poll" },
	{ "do_sys_poll", "poll" },
	{ "do_select", "poll" },
	{ "do_nanosleep", "sleep" },
	{ "hrtimer_nanosleep", "sleep" },
	{ "pipe_", "pipe" },
	{ "anon_pipe_", "pipe" },
	{ "fifo_open", "pipe" },
	{ "inet_csk_accept", "accept" },
	{ "unix_accept", "accept" },
	{ "vsock_accept", "accept" },
	{ "tcp_", "socket" },
	{ "udp_", "socket" },
	{ "inet_", "socket" },
	{ "unix_", "socket" },
	{ "sk_", "socket" },
	{ "sock_", "socket" },
	{ "netlink_", "socket" },
	{ "vsock_", "socket" },
	{ "do_wait_intr", NULL },
	{ "do_wait", "child" },
	{ "kernel_wait", "child" },
	{ "wait_for_vfork", "child" },
	{ "kernel_clone", "child" },
	{ "locks_lock_", "file lock" },
	{ "flock_", "file lock" },
	{ "posix_lock_", "file lock" },
	{ "do_lock_file_wait", "file lock" },
	{ "fcntl_setlk", "file lock" },
	{ "__break_lease", "file lock" },
	{ "nfs", "network file" },
	{ "cifs_", "network file" },
	{ "smb2_", "network file" },
	{ "ceph_", "network file" },
	{ "rpc_", "network file" },
	{ "fuse_", "fuse" },
	{ "request_wait_answer", "fuse" },
	{ "p9_", "network file" },
	{ "io_cqring_", "io_uring" },
	{ "io_wq_", "io_uring" },
	{ "io_sq_", "io_uring" },
	{ "read_events", "aio" },
	{ "do_io_getevents", "aio" },
	{ "io_schedule", "disk" },
	{ "folio_wait", "disk" },
	{ "wait_on_page", "disk" },
	{ "wait_on_buffer", "disk" },
	{ "__wait_on_buffer", "disk" },
	{ "submit_bio", "disk" },
	{ "blk_", "disk" },
	{ "blkdev_", "disk" },
	{ "rq_qos_", "disk" },
	{ "jbd2_", "disk" },
	{ "balance_dirty", "disk" },
	{ "ext4_", "disk" },
	{ "xfs_", "disk" },
	{ "btrfs_", "disk" },
	{ "f2fs_", "disk" },
	{ "zfs_", "disk" },
	{ "writeback_", "disk" },
	{ "rwsem_", "kernel lock" },
	{ "__rwsem", "kernel lock" },
	{ "down_", "kernel lock" },
	{ "__down", "kernel lock" },
	{ "mutex_", "kernel lock" },
	{ "__mutex", "kernel lock" },
	{ "rt_mutex", "kernel lock" },
	{ "__rt_mutex", "kernel lock" },
	{ "percpu_rwsem", "kernel lock" },
	{ "ptrace_", "traced" },
	{ "do_signal_stop", "stopped" },
	{ "do_jobctl_trap", "stopped" },
	{ "__refrigerator", "frozen" },
	{ "do_freezer_trap", "frozen" },
	{ "do_sigtimedwait", "signal" },
	{ "sigsuspend", "signal" },
	{ "__do_sys_pause", "signal" },
	{ "__x64_sys_pause", "signal" },
	{ "signalfd_", "signal" },
	{ "eventfd_", "eventfd" },
	{ "timerfd_", "sleep" },
	{ "inotify_", "inotify" },
	{ "n_tty_", "terminal" },
	{ "tty_", "terminal" },
	{ "do_msgrcv", "queue" },
	{ "do_semtimedop", "queue" },
	{ "__do_semtimedop", "queue" },
	{ "wq_sleep", "queue" },
	{ "shrink_", "memory" },
	{ "try_to_free", "memory" },
	{ "mem_cgroup_", "memory" },
	{ "throttle_", "memory" },
	{ "exit_to_user_mode", "cpu" },
	{ "irqentry_exit", "cpu" },
	{ "preempt_schedule", "cpu" },
	{ "__cond_resched", "cpu" },
	{ "do_sched_yield", "cpu" },
	{ "yield", "cpu" },
};

static bool begins_with(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

static const char *reason_of(const char *name)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (begins_with(name, table[i].begins))
			return table[i].reason;
	return NULL;
}

static bool is_page_fault(const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (begins_with(names[i], "exc_page_fault") ||
		    begins_with(names[i], "asm_exc_page_fault") ||
		    begins_with(names[i], "do_user_addr_fault") ||
		    begins_with(names[i], "handle_mm_fault"))
			return true;
	return false;
}

/* The first name that begins with none of these; "" if there is none. */
static const char *past(const char *const *names, size_t n, const char *const *begins, size_t n_of)
{
	for (size_t i = 0, k; i < n; i++) {
		for (k = 0; k < n_of && !begins_with(names[i], begins[k]); k++)
			;
		if (k == n_of)
			return names[i];
	}
	return "";
}

static const char *const below[] = { "__schedule", "schedule", "rt_mutex_", "__rt_mutex_" };

/*
 * Frozen by the second cgroup hierarchy: an ordinary sleep, where signals are taken. The function
 * that does it is mostly inlined there; whatever else sleeps in it has one of its own.
 */
static bool is_frozen(const char *const *names, size_t n)
{
	return begins_with(past(names, n, below, 2), "get_signal");
}

/* A mutex of user space with priority inheritance is made of one of the kernel's. */
static bool is_lending(const char *const *names, size_t n)
{
	return begins_with(past(names, n, below, 4), "futex_");
}

const char *wait_reason(const char *const *names, size_t n)
{
	const char *reason = is_frozen(names, n) ? "frozen" : is_lending(names, n) ? "futex" : NULL;

	for (size_t i = 0; i < n && !reason; i++)
		reason = reason_of(names[i]);
	if ((!reason || !strcmp(reason, "disk")) && is_page_fault(names, n))
		return "page fault";
	return reason ? reason : "";
}

size_t wait_skip(const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (begins_with(names[i], "__schedule"))
			return i;
	return 0;
}
