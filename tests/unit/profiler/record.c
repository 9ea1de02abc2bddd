/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/record.h"

#include <string.h>
#include <unistd.h>

#include "bpf/shared/offcpu.h"
#include "process/process_table.h"
#include "process/sideband_event.h"
#include "tests/test.h"
#include "tests/unit/process/machine.h"

enum { PID = 1 << 23, TID = PID + 1 };

static void a_record_has_all_that_its_fields_claim(void **state)
{
	struct raw_record r = { .head = { .type = RECORD_SAMPLE, .n_words = 2, .n_vm_words = 1 } };
	struct record_header *h = &r.head;
	const size_t head = sizeof(*h), raw = offsetof(struct raw_record, stack);

	assert_false(record_is_valid(h, 0));
	assert_false(record_is_valid(h, head - 1));
	assert_false(record_is_valid(h, head + 3 * sizeof(uint64_t) - 1));
	assert_true(record_is_valid(h, head + 3 * sizeof(uint64_t)));
	h->event = EVENTS_MAX;
	assert_false(record_is_valid(h, sizeof(r)));
	*h = (struct record_header){ .type = RECORD_RAW, .stack_len = 8 };
	assert_false(record_is_valid(h, raw + 7));
	assert_true(record_is_valid(h, raw + 8));
	h->n_vm_words = 2;
	assert_false(record_is_valid(h, raw + 8 + 2 * sizeof(uint64_t) - 1));
	assert_true(record_is_valid(h, raw + 8 + 2 * sizeof(uint64_t)));
	h->n_vm_words = 1;
	assert_false(record_is_valid(h, sizeof(r)));
	h->n_vm_words = RAW_VM_WORDS_MAX + 2;
	assert_false(record_is_valid(h, sizeof(r) + 2 * sizeof(uint64_t)));
	h->n_vm_words = 0;
	h->n_kernel = KERNEL_FRAMES_MAX + 1;
	assert_false(record_is_valid(h, raw + 8));
	*h = (struct record_header){ .type = RECORD_OFF };
	assert_false(record_is_valid(h, sizeof(struct off_record) - 1));
	assert_true(record_is_valid(h, sizeof(struct off_record)));
	h->type = RECORD_OFF_LAST;
	assert_false(record_is_valid(h, sizeof(struct off_last_record) - 1));
	h->type = RECORD_PROGRAM;
	assert_true(record_is_valid(h, head));
	h->type = UINT8_MAX;
	assert_false(record_is_valid(h, sizeof(r)));
}

static void a_process_is_called_like_its_main_thread(void **state)
{
	struct record_header main = { .pid = PID, .tid = PID, .comm = "now" };
	struct record_header other = { .pid = PID, .tid = TID, .comm = "worker" };
	const struct process p = { .pid = PID, .comm = "before", .exe = 7, .start_ns = 5 };
	struct sample_counts_thread t = record_thread(&p, &main);

	assert_string_equal(t.process_comm, "now");
	assert_string_equal(t.comm, "now");
	assert_int_equal(t.exe, 7);
	assert_int_equal(t.start_ns, 5);
	t = record_thread(&p, &other);
	assert_string_equal(t.process_comm, "before");
	assert_string_equal(t.comm, "worker");
	assert_int_equal(t.tid, TID);
	/* during an exec, the name may be the next program's */
	main.flags = RECORD_IN_EXEC;
	t = record_thread(&p, &main);
	assert_string_equal(t.process_comm, "before");
	assert_string_equal(t.comm, "before");
	t = record_thread(NULL, &other);
	assert_string_equal(t.process_comm, "worker");
	assert_int_equal(t.start_ns, 0);
	other.comm[0] = 0;
	assert_string_equal(record_thread(NULL, &other).process_comm, "[no name]");
}

static void fork_process(struct machine *m, uint32_t pid, uint32_t ppid)
{
	struct sideband_event ev = {
		.type = SIDEBAND_FORK, .pid = pid, .tid = pid, .ppid = ppid, .time_ns = 10
	};

	process_table_handle(m->processes, &ev);
}

static void own_processes_are_this_and_two_generations(void **state)
{
	const uint32_t self = (uint32_t)getpid();
	struct record_header h = { .pid = self, .tid = self, .time_ns = 100 };
	struct machine m;

	machine_init(&m);
	assert_true(record_is_own(m.processes, NULL, &h));
	h.pid = PID;
	assert_false(record_is_own(m.processes, NULL, &h));
	fork_process(&m, PID, self);
	fork_process(&m, PID + 1, PID);
	fork_process(&m, PID + 2, PID + 1);
	for (h.pid = PID; h.pid < PID + 3; h.pid++)
		assert_int_equal(
			record_is_own(m.processes, process_table_find(m.processes, h.pid, 100), &h),
			h.pid < PID + 2);
	machine_fini(&m);
}

TEST_GROUP(test_record, TEST(a_record_has_all_that_its_fields_claim),
	   TEST(a_process_is_called_like_its_main_thread),
	   TEST(own_processes_are_this_and_two_generations))
