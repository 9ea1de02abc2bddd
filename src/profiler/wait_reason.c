/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The function nearest to the leaf that is in the table decides. Between kernel versions,
 * names differ mostly in suffixes (".isra.0", "_locked"), so prefixes are compared.
 */
#include "profiler/wait_reason.h"

#include <stdbool.h>
#include <string.h>

/*
 * The first matching prefix counts. NULL: this function does not show the reason, its callers do.
 */
static const struct {
	const char *prefix, *reason;
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

static bool begins_with(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

static const char *reason_of(const char *name)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (begins_with(name, table[i].prefix))
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

/* Returns the first name that begins with none of the @n_prefixes; "" if there is none. */
static const char *first_without(const char *const *names, size_t n, const char *const *prefix,
				 size_t n_prefixes)
{
	for (size_t i = 0, k; i < n; i++) {
		for (k = 0; k < n_prefixes && !begins_with(names[i], prefix[k]); k++)
			;
		if (k == n_prefixes)
			return names[i];
	}
	return "";
}

static const char *const scheduler_prefixes[] = { "__schedule", "schedule", "rt_mutex_",
						  "__rt_mutex_" };

/*
 * Frozen through cgroup v2 is an ordinary sleep in the signal delivery path. The function
 * that does it is usually inlined into get_signal(); everything else that sleeps there has a
 * frame of its own.
 */
static bool is_frozen(const char *const *names, size_t n)
{
	return begins_with(first_without(names, n, scheduler_prefixes, 2), "get_signal");
}

/*
 * A user-space mutex with priority inheritance is built on a kernel mutex, which must not be
 * mistaken for a kernel lock.
 */
static bool is_pi_futex(const char *const *names, size_t n)
{
	return begins_with(first_without(names, n, scheduler_prefixes, 4), "futex_");
}

const char *wait_reason_find(const char *const *names, size_t n)
{
	const char *reason = is_frozen(names, n)     ? "frozen"
			     : is_pi_futex(names, n) ? "futex"
						     : NULL;

	for (size_t i = 0; i < n && !reason; i++)
		reason = reason_of(names[i]);
	if ((!reason || !strcmp(reason, "disk")) && is_page_fault(names, n))
		return "page fault";
	return reason ? reason : "";
}

size_t wait_reason_skip_frames(const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (begins_with(names[i], "__schedule"))
			return i;
	return 0;
}
