/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/wait_reason.h"

#include "tests/test.h"

#define REASON(...) reason((const char *const[]){ __VA_ARGS__, NULL })

static const char *reason(const char *const *names)
{
	size_t n = 0;

	while (names[n])
		n++;
	return wait_reason_find(names, n);
}

static void kernel_functions_determine_the_reason(void **state)
{
	assert_string_equal(REASON("__schedule", "schedule", "futex_do_wait", "__futex_wait"),
			    "futex");
	assert_string_equal(
		REASON("__schedule", "schedule_hrtimeout_range", "ep_poll", "do_epoll_wait"),
		"epoll");
	assert_string_equal(REASON("__schedule", "anon_pipe_read", "vfs_read"), "pipe");
	assert_string_equal(REASON("__schedule", "do_nanosleep", "hrtimer_nanosleep"), "sleep");
	assert_string_equal(
		REASON("__schedule", "io_schedule", "folio_wait_bit_common", "filemap_read"),
		"disk");
	assert_string_equal(REASON("__schedule", "locks_lock_inode_wait", "__do_sys_flock"),
			    "file lock");
	assert_string_equal(REASON("__schedule", "schedule", "fcntl_setlk", "do_fcntl"),
			    "file lock");
	assert_string_equal(REASON("__schedule", "schedule", "read_events", "do_io_getevents"),
			    "aio");
	assert_string_equal(REASON("__schedule", "schedule", "do_wait_intr_irq", "eventfd_read"),
			    "eventfd");
	assert_string_equal(REASON("__schedule", "schedule", "do_wait", "kernel_wait4"), "child");
	assert_string_equal(REASON("__schedule", "wait_for_completion_state", "kernel_clone"),
			    "child");
	assert_string_equal(REASON("__schedule", "__skb_wait_for_more_packets", "unix_accept"),
			    "accept");
}

static void a_mutex_with_priority_inheritance_is_a_lock(void **state)
{
	assert_string_equal(REASON("__schedule", "rt_mutex_schedule", "rt_mutex_slowlock_block",
				   "rt_mutex_wait_proxy_lock", "futex_lock_pi"),
			    "futex");
	assert_string_equal(REASON("__schedule", "rt_mutex_slowlock", "rt_mutex_lock", "i2c_lock"),
			    "kernel lock");
}

static void the_function_nearest_to_the_leaf_decides(void **state)
{
	assert_string_equal(REASON("__schedule", "rwsem_down_write_slowpath", "ext4_file_write"),
			    "kernel lock");
}

static void waiting_for_the_disk_in_a_page_fault_is_a_page_fault(void **state)
{
	assert_string_equal(REASON("__schedule", "io_schedule", "filemap_fault", "__do_fault",
				   "handle_mm_fault", "exc_page_fault"),
			    "page fault");
	assert_string_equal(REASON("__schedule", "futex_wait", "exc_page_fault"), "futex");
}

static void a_sleep_in_signal_delivery_is_the_freezer(void **state)
{
	assert_string_equal(
		REASON("__schedule", "schedule", "get_signal", "exit_to_user_mode_loop"), "frozen");
	assert_string_equal(REASON("get_signal", "exit_to_user_mode_loop"), "frozen");
	assert_string_equal(REASON("__schedule", "schedule", "do_signal_stop", "get_signal"),
			    "stopped");
	assert_string_equal(REASON("__schedule", "__cond_resched", "get_signal"), "cpu");
	assert_string_equal(REASON("__schedule", "some_exit", "get_signal"), "");
}

static void an_unknown_function_has_no_reason(void **state)
{
	assert_string_equal(REASON("__schedule", "some_driver_read"), "");
	assert_string_equal(wait_reason_find(NULL, 0), "");
}

static void frames_of_the_tracepoint_are_skipped(void **state)
{
	const char *const names[] = { "bpf_get_stack_raw_tp", "bpf_prog_1", "bpf_trace_run4",
				      "__schedule", "schedule" };

	assert_int_equal(wait_reason_skip_frames(names, 5), 3);
	assert_int_equal(wait_reason_skip_frames(names + 3, 2), 0);
	assert_int_equal(wait_reason_skip_frames(names, 3), 0);
}

TEST_GROUP(test_waits, TEST(kernel_functions_determine_the_reason),
	   TEST(a_mutex_with_priority_inheritance_is_a_lock),
	   TEST(the_function_nearest_to_the_leaf_decides),
	   TEST(waiting_for_the_disk_in_a_page_fault_is_a_page_fault),
	   TEST(a_sleep_in_signal_delivery_is_the_freezer), TEST(an_unknown_function_has_no_reason),
	   TEST(frames_of_the_tracepoint_are_skipped))
