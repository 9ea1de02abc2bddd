/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening the BPF object needs no privileges, so its configuration is checked here; sampler.c
 * attaches the programs where the kernel permits it.
 */
#include "sampler/attach.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "base/err.h"
#include "bpf/sample.skel.h"
#include "bpf/shared/abi.h"
#include "sampler/cpu_list.h"
#include "sampler/event.h"
#include "sampler/fault_probe.h"
#include "sampler/sched_probe.h"
#include "tests/test.h"

static char name[] = "an event";
static const struct event perf = { .kind = EVENT_PERF, .name = name, .period = 11 };
static const struct event tracepoint = { .kind = EVENT_TRACEPOINT, .name = name, .period = 1 };
static const struct event uprobe = { .kind = EVENT_UPROBE, .name = name, .period = 1 };

static struct sample_bpf *open_object(const struct sampler_opts *opts)
{
	struct sample_bpf *skel = sample_bpf__open();

	assert_non_null(skel);
	attach_prepare(skel, opts, 4);
	return skel;
}

static void each_context_has_a_walk(void **state)
{
	struct sampler_opts opts = { 0 };

	assert_int_equal(attach_walks(&opts), WALK_CPU + 1);
	opts.off_cpu = true;
	assert_int_equal(attach_walks(&opts), WALK_OFF + 1);
	opts.events = &uprobe;
	opts.n_events = 1;
	assert_int_equal(attach_walks(&opts), WALK_PROBE + WALK_PROBES);
	opts.off_cpu = false;
	assert_int_equal(attach_walks(&opts), WALK_PROBE + WALK_PROBES);
	opts.events = &tracepoint;
	assert_int_equal(attach_walks(&opts), WALK_CPU + 1);
}

static void page_faults_need_two_programs(void **state)
{
	const struct sampler_opts opts = { .freq_hz = 99, .faults = true, .no_samples = true };
	struct sample_bpf *skel = open_object(&opts);

	fault_probe_prepare(skel, &opts);
	assert_true(bpf_program__autoload(skel->progs.on_fault));
	assert_true(bpf_program__autoload(skel->progs.on_map));
	assert_true(bpf_map__max_entries(skel->maps.fault_places) > 1);
	assert_false(bpf_program__autoload(skel->progs.on_sample));
	assert_int_equal(attach_walks(&opts), WALK_PROBE + WALK_PROBES);
	assert_int_equal(bpf_map__max_entries(skel->maps.reserved_walks), 4 * WALK_PROBES);
	fault_probe_prepare(skel, &(struct sampler_opts){ .freq_hz = 99 });
	assert_false(bpf_program__autoload(skel->progs.on_fault));
	sample_bpf__destroy(skel);
}

static void the_clock_needs_one_program(void **state)
{
	const struct sampler_opts opts = { .freq_hz = 99 };
	struct sample_bpf *skel = open_object(&opts);

	assert_true(bpf_program__autoload(skel->progs.on_sample));
	assert_false(bpf_program__autoload(skel->progs.on_tracepoint));
	assert_false(bpf_program__autoload(skel->progs.on_uprobe));
	assert_false(skel->rodata->use_cookies);
	assert_int_equal(skel->rodata->event_of_perf, 0);
	sample_bpf__destroy(skel);
}

static void programs_of_all_kinds_of_events_are_loaded(void **state)
{
	const struct event events[] = { uprobe, perf, tracepoint };
	const struct sampler_opts opts = { .events = events, .n_events = 3 };
	struct sample_bpf *skel = open_object(&opts);

	assert_true(bpf_program__autoload(skel->progs.on_sample));
	assert_true(bpf_program__autoload(skel->progs.on_tracepoint));
	assert_true(bpf_program__autoload(skel->progs.on_uprobe));
	/* One of each kind: a program knows the event without a cookie. */
	assert_false(skel->rodata->use_cookies);
	assert_int_equal(skel->rodata->event_of_uprobe, 0);
	assert_int_equal(skel->rodata->event_of_perf, 1);
	assert_int_equal(skel->rodata->event_of_tracepoint, 2);
	assert_int_equal(skel->rodata->event_periods[1], 11);
	assert_int_equal(bpf_map__max_entries(skel->maps.reserved_walks), 4 * WALK_PROBES);
	sample_bpf__destroy(skel);
}

static void several_events_of_a_kind_need_cookies(void **state)
{
	const struct event events[] = { tracepoint, perf, tracepoint };
	const struct sampler_opts opts = { .events = events, .n_events = 3 };
	struct sample_bpf *skel = open_object(&opts);

	assert_true(skel->rodata->use_cookies);
	assert_false(bpf_program__autoload(skel->progs.on_uprobe));
	sample_bpf__destroy(skel);
}

/* Tries to attach programs that were not loaded, and returns the error. */
static int attach(const struct sampler_opts *opts, struct err *err)
{
	struct sample_bpf *skel = open_object(opts);
	struct cpu_list back = { 0 };
	struct attach *a;
	int r;

	assert_int_equal(attach_new(&a, opts, skel), 0);
	r = attach_update(a, &back, err);
	assert_int_equal(back.len, 0);
	assert_int_equal(attach_pause(a, true), 0);
	attach_detach(a);
	attach_free(a);
	vec_fini(&back);
	sample_bpf__destroy(skel);
	return r;
}

static void an_event_that_does_not_exist_is_named(void **state)
{
	struct event missing = perf;
	const struct sampler_opts opts = { .events = &missing, .n_events = 1, .freq_hz = 99 };
	struct err err = { 0 };

	missing.type = PERF_TYPE_SOFTWARE;
	missing.config = UINT32_MAX;
	assert_true(attach(&opts, &err) < 0);
	if (geteuid() == 0)
		assert_non_null(strstr(err.msg, "event \"an event\" is not available"));
	assert_true(*err.msg);
	missing.is_hardware = true;
	err = (struct err){ 0 };
	assert_true(attach(&opts, &err) < 0);
	if (geteuid() == 0)
		assert_non_null(strstr(err.msg, "virtual machines often lack hardware counters"));
}

static void a_program_that_is_not_loaded_cannot_be_attached(void **state)
{
	const struct sampler_opts opts = { .freq_hz = 99 };
	struct err err = { 0 };

	assert_true(attach(&opts, &err) < 0);
	assert_non_null(strstr(err.msg, "open a perf event"));
	attach_detach(NULL);
	attach_free(NULL);
}

static void no_selected_cpu_is_an_error(void **state)
{
	struct cpu_list none = { 0 };
	const struct sampler_opts opts = { .freq_hz = 99, .cpus = &none };
	struct err err = { 0 };

	assert_int_equal(attach(&opts, &err), -ENODEV);
	assert_string_equal(err.msg, "none of the CPUs in --cpus is online");
}

/* ---- The scheduler's tracepoints ---------------------------------------------------- */

static bool is_power_of_two(uint32_t n)
{
	return n && !(n & (n - 1));
}

static void programs_of_waits_are_loaded_on_request(void **state)
{
	struct sampler_opts opts = { .off_cpu = true, .off_min_ns = 1234 };
	struct sample_bpf *skel = sample_bpf__open();
	uint32_t n;

	if (access("/sys/kernel/btf/vmlinux", R_OK) < 0)
		skip();
	assert_int_equal(sched_probe_prepare(skel, &opts, 77, NULL), 0);
	assert_true(bpf_program__autoload(skel->progs.on_switch));
	assert_true(bpf_program__autoload(skel->progs.on_wakeup_new));
	assert_true(bpf_program__autoload(skel->progs.off_tasks));
	/* Either the queue's clock can be read, or wake-ups are observed. */
	assert_int_equal(bpf_program__autoload(skel->progs.on_wakeup),
			 !skel->rodata->off_queue_clock);
	assert_int_equal(skel->rodata->off_min_ns, 1234);
	assert_int_equal(skel->rodata->off_task_record, 77);
	assert_int_equal(skel->rodata->off_cgroup_id, 0);
	n = skel->rodata->off_threads_mask + 1;
	assert_true(is_power_of_two(n) && n >= 1 << 13 && n <= OFF_THREADS_MAX);
	assert_int_equal(bpf_map__max_entries(skel->maps.off_threads), n);
	assert_int_equal(bpf_map__max_entries(skel->maps.off_owners), n);
	assert_int_equal(bpf_map__max_entries(skel->maps.off_others), n / 2);
	sample_bpf__destroy(skel);
	skel = sample_bpf__open();
	opts.off_cpu = false;
	assert_int_equal(sched_probe_prepare(skel, &opts, 77, NULL), 0);
	assert_false(bpf_program__autoload(skel->progs.on_switch));
	assert_false(bpf_program__autoload(skel->progs.on_wakeup));
	assert_false(bpf_program__autoload(skel->progs.off_tasks));
	sample_bpf__destroy(skel);
}

static void without_probes_no_thread_is_known(void **state)
{
	struct off_thread t;

	assert_int_equal(sched_probe_get_thread(NULL, 1, &t), -ENOENT);
	assert_int_equal(sched_probe_each_thread(NULL, NULL, NULL), 0);
	assert_int_equal(sched_probe_scan_sleepers(NULL, 0, NULL, NULL), 0);
	sched_probe_remove_thread(NULL, 1);
	sched_probe_detach(NULL);
	sched_probe_free(NULL);
}

TEST_GROUP(test_attach, TEST(each_context_has_a_walk), TEST(page_faults_need_two_programs),
	   TEST(the_clock_needs_one_program), TEST(programs_of_all_kinds_of_events_are_loaded),
	   TEST(several_events_of_a_kind_need_cookies), TEST(an_event_that_does_not_exist_is_named),
	   TEST(a_program_that_is_not_loaded_cannot_be_attached), TEST(no_selected_cpu_is_an_error),
	   TEST(programs_of_waits_are_loaded_on_request), TEST(without_probes_no_thread_is_known))
