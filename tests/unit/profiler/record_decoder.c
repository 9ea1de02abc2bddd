/* SPDX-License-Identifier: Apache-2.0 */
/* The tests make records as the BPF program writes them, both valid and invalid ones. */
#include "profiler/record_decoder.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "lang/lang.h"
#include "process/jit_symbols.h"
#include "process/sideband_event.h"
#include "profiler/offcpu.h"
#include "profiler/sample_counts.h"
#include "tests/test.h"
#include "tests/unit/process/machine.h"
#include "unwind/walk.h"

enum { PID = 1 << 23, TID = PID + 1 };

struct fixture {
	struct machine machine;
	struct vm_tables vms;
	struct langs *langs;
	struct unwind_walker *walker;
	struct jit_symbols *jits;
	struct record_decoder *decoder;
	struct record_decoder_stats stats;
	bool is_slow; /* tables are not made at once */
	int n_waits,
		n_requests; /* tables that the decoder waited for, and those it only requested */
	int n_threads;      /* number of calls of on_thread() */
	uint64_t synced_ns; /* last argument of sync_processes() */
};

static void sync_processes(void *ctx, uint64_t time_ns)
{
	struct fixture *f = ctx;

	f->synced_ns = time_ns;
}

static bool build_table(void *ctx, uint32_t file, bool may_wait)
{
	struct fixture *f = ctx;

	f->n_waits += may_wait;
	f->n_requests += !may_wait;
	return !f->is_slow;
}

static bool is_pending(void *ctx, uint32_t file)
{
	struct fixture *f = ctx;

	return f->is_slow;
}

static void on_thread(void *ctx, const struct sample_counts_thread *thread, uint32_t ppid)
{
	struct fixture *f = ctx;

	f->n_threads++;
}

static void fixture_init(struct fixture *f, struct record_decoder_opts opts)
{
	struct sideband_event exec = {
		.type = SIDEBAND_EXEC, .pid = PID, .tid = PID, .time_ns = 10, .name = "prog"
	};

	*f = (struct fixture){ 0 };
	machine_init(&f->machine);
	process_table_handle(f->machine.processes, &exec);
	f->vms.codes = calloc(VM_TABLE_MAX, sizeof(*f->vms.codes));
#define X(sym, name, ...) f->vms.name = calloc(VM_TABLE_MAX, sizeof(*f->vms.name));
#include "bpf/shared/langs.def"
#undef X
	assert_int_equal(langs_new(&f->langs, &f->vms, false), 0);
	assert_int_equal(unwind_walker_new(&f->walker, f->machine.tables), 0);
	assert_int_equal(jit_symbols_new(&f->jits, f->machine.processes), 0);
	opts.sampler = &f->machine.sampler;
	opts.walker = f->walker;
	opts.langs = f->langs;
	opts.procs = f->machine.processes;
	opts.jits = f->jits;
	opts.sync_processes = sync_processes;
	opts.build_table = build_table;
	opts.is_pending = is_pending;
	opts.max_parked_bytes = 1 << 20;
	opts.on_thread = on_thread;
	opts.ctx = opts.thread_ctx = f;
	assert_int_equal(record_decoder_new(&f->decoder, &opts), 0);
}

static void fixture_fini(struct fixture *f)
{
	record_decoder_free(f->decoder);
	jit_symbols_free(f->jits);
	unwind_walker_free(f->walker);
	langs_free(f->langs);
#define X(sym, name, ...) free(f->vms.name);
#include "bpf/shared/langs.def"
#undef X
	free(f->vms.codes);
	machine_fini(&f->machine);
}

static const struct record_decoder_stats *add(struct fixture *f, const void *record, size_t len)
{
	/* A copy of exactly this length lets a sanitizer detect reads beyond it. */
	_cleanup_(freep) void *copy = malloc(len ? len : 1);

	assert_non_null(copy);
	memcpy(copy, record, len);
	record_decoder_add(f->decoder, copy, len, 0, 1000);
	record_decoder_stats(f->decoder, &f->stats);
	return &f->stats;
}

static struct sample_record *sample_new(uint16_t n_words)
{
	struct sample_record *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	r->head = (struct record_header){ .type = RECORD_SAMPLE,
					  .pid = PID,
					  .tid = TID,
					  .time_ns = 100,
					  .cpu = 3,
					  .n_words = n_words,
					  .comm = "worker" };
	for (uint16_t i = 0; i < n_words; i++)
		r->words[i] = FRAME_WORD(FRAME_ADDRESS, 0x1000 + i);
	return r;
}

static size_t sample_len(const struct sample_record *r)
{
	return sizeof(r->head) + (r->head.n_words + r->head.n_vm_words) * sizeof(uint64_t);
}

static struct raw_record *raw_new(uint32_t pid)
{
	struct raw_record *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	r->head = (struct record_header){ .type = RECORD_RAW,
					  .pid = pid,
					  .tid = pid,
					  .time_ns = 100,
					  .n_kernel = 1,
					  .n_words = 1,
					  .stack_len = 64,
					  .comm = "raw" };
	r->kernel[0] = 0xffffffff81000000;
	r->regs[UREG_PC] = 0x4000;
	return r;
}

static void counts_a_walked_stack_with_its_thread(void **state)
{
	struct sample_record *r = sample_new(3);
	const struct sample_counts *c;
	const uint64_t *words;
	struct fixture f;
	size_t n;

	fixture_init(&f, (struct record_decoder_opts){ .keep_cpus = true });
	add(&f, r, sample_len(r));
	r->head.time_ns = 200;
	assert_int_equal(add(&f, r, sample_len(r))->n_samples, 2);
	assert_int_equal(f.stats.n_complete, 2);
	assert_int_equal(f.stats.n_bad, 0);
	assert_int_equal(f.n_threads, 1);
	assert_int_equal(f.synced_ns, 200);
	c = record_decoder_counts(f.decoder);
	assert_int_equal(sample_counts_n_samples(c), 1);
	assert_int_equal(sample_counts_sample(c, 0)->count, 2);
	assert_int_equal(sample_counts_thread(c, 0)->tid, TID);
	assert_int_equal(sample_counts_thread(c, 0)->cpu_plus_1, 4);
	assert_int_equal(sample_counts_thread(c, 0)->start_ns, 10);
	assert_string_equal(sample_counts_thread(c, 0)->comm, "worker");
	assert_string_equal(sample_counts_thread(c, 0)->process_comm, "prog");
	words = sample_counts_stack(c, 0, &n);
	assert_int_equal(n, 3);
	assert_int_equal(words[2], FRAME_WORD(FRAME_ADDRESS, 0x1002));
	free(r);
	fixture_fini(&f);
}

/* A stack with a mark is another one than the same frames without, and is counted apart. */
static void counts_stacks_found_by_search_apart(void **state)
{
	struct sample_record *r = sample_new(3);
	const uint64_t *words;
	struct fixture f;
	size_t n;

	fixture_init(&f, (struct record_decoder_opts){ 0 });
	r->words[0] = 0xffffffff81000000;
	r->head.n_kernel = 1;
	add(&f, r, sample_len(r));
	r->head.flags = RECORD_SEARCHED;
	add(&f, r, sample_len(r));
	assert_int_equal(f.stats.n_complete, 1);
	assert_int_equal(f.stats.n_searched, 1);
	assert_int_equal(sample_counts_n_samples(record_decoder_counts(f.decoder)), 2);
	words = sample_counts_stack(record_decoder_counts(f.decoder), 1, &n);
	assert_int_equal(words[0], r->words[0]);
	assert_int_equal(words[1], r->words[1] | SAMPLE_COUNTS_SEARCHED);
	/* an incomplete stack counts as that, and one of the kernel alone has no mark */
	r->words[2] = FRAME_WORD(FRAME_ERROR, WALK_ERR_NO_RULE);
	add(&f, r, sample_len(r));
	assert_int_equal(f.stats.n_searched, 1);
	assert_int_equal(f.stats.walk_errors[WALK_ERR_NO_RULE], 1);
	free(r);
	fixture_fini(&f);
}

static void counts_why_a_stack_ends_early(void **state)
{
	struct sample_record *r = sample_new(2);
	struct fixture f;

	fixture_init(&f, (struct record_decoder_opts){ 0 });
	r->words[1] = FRAME_WORD(FRAME_ERROR, WALK_ERR_NO_RULE);
	add(&f, r, sample_len(r));
	assert_int_equal(f.stats.walk_errors[WALK_ERR_NO_RULE], 1);
	assert_int_equal(f.stats.n_complete, 0);
	r->words[1] = FRAME_WORD(FRAME_ERROR, 0xffff);
	add(&f, r, sample_len(r));
	assert_int_equal(f.stats.n_samples, 2);
	free(r);
	fixture_fini(&f);
}

static void map_file(struct fixture *f, const char *path, uint64_t time_ns)
{
	struct file_ref ref = machine_file_ref(path, 0x10000);
	struct sideband_event ev = {
		.type = SIDEBAND_MAP,
		.pid = PID,
		.tid = PID,
		.start = ref.start,
		.len = 4096,
		.dev_major = ref.dev_major,
		.dev_minor = ref.dev_minor,
		.inode = ref.inode,
		.name = path,
		.time_ns = time_ns,
	};

	process_table_handle(f->machine.processes, &ev);
}

/* A walk with a mapping that another one had replaced shows the wrong file from there on. */
static void cuts_a_stack_at_a_replaced_mapping(void **state)
{
	struct sample_record *r = sample_new(3);
	const struct process *p;
	struct fixture f;

	fixture_init(&f, (struct record_decoder_opts){ 0 });
	map_file(&f, "/proc/self/exe", 20);
	p = process_table_find(f.machine.processes, PID, 30);
	assert_non_null(p);
	r->words[1] = FRAME_NATIVE_WORD(p->exe, 0x10);
	map_file(&f, "/bin/true", 100);
	r->head.time_ns = 99;
	add(&f, r, sample_len(r));
	assert_int_equal(f.stats.n_complete, 1);
	r->head.time_ns = 100;
	add(&f, r, sample_len(r));
	assert_int_equal(f.stats.n_complete, 1);
	assert_int_equal(f.stats.walk_errors[WALK_ERR_PC_UNMAPPED], 1);
	r->words[1] = FRAME_NATIVE_WORD(p->exe + 1, 0x10);
	add(&f, r, sample_len(r));
	assert_int_equal(f.stats.n_complete, 2);
	free(r);
	fixture_fini(&f);
}

/* Every length of a valid record but its own makes it invalid, and nothing beyond it is read. */
static void refuses_records_that_claim_more_than_they_contain(void **state)
{
	struct sample_record *r = sample_new(4);
	struct raw_record *raw = raw_new(PID + 100);
	size_t raw_len = offsetof(struct raw_record, stack) + raw->head.stack_len;
	struct fixture f;
	uint64_t n = 0;

	fixture_init(&f, (struct record_decoder_opts){ 0 });
	r->head.n_vm_words = 2;
	for (size_t len = 0; len < sample_len(r); len++)
		assert_int_equal(add(&f, r, len)->n_bad, ++n);
	for (size_t len = 0; len < raw_len; len++)
		assert_int_equal(add(&f, raw, len)->n_bad, ++n);
	raw->head.n_kernel = KERNEL_FRAMES_MAX + 1;
	assert_int_equal(add(&f, raw, raw_len)->n_bad, ++n);
	r->head.n_words = UINT16_MAX;
	assert_int_equal(add(&f, r, sizeof(*r))->n_bad, ++n);
	r->head.n_words = 4;
	r->head.event = EVENTS_MAX;
	assert_int_equal(add(&f, r, sample_len(r))->n_bad, ++n);
	r->head.event = 0;
	r->head.type = 77;
	assert_int_equal(add(&f, r, sample_len(r))->n_bad, ++n);
	r->head.type = RECORD_OFF;
	assert_int_equal(add(&f, r, sizeof(r->head))->n_bad, ++n);
	assert_int_equal(f.stats.n_samples, 0);
	free(r);
	free(raw);
	fixture_fini(&f);
}

static void a_raw_stack_of_an_exited_process_keeps_its_kernel_frames(void **state)
{
	struct raw_record *raw = raw_new(PID + 100);
	const uint64_t *words;
	struct fixture f;
	size_t n;

	fixture_init(&f, (struct record_decoder_opts){ 0 });
	add(&f, raw, offsetof(struct raw_record, stack) + raw->head.stack_len);
	assert_int_equal(f.stats.n_raw, 1);
	assert_int_equal(f.stats.n_raw_failed, 1);
	assert_int_equal(f.stats.n_samples, 1);
	assert_int_equal(f.stats.walk_errors[WALK_ERR_NO_PROCESS], 1);
	words = sample_counts_stack(record_decoder_counts(f.decoder), 0, &n);
	assert_int_equal(n, 3);
	assert_int_equal(words[0], 0xffffffff81000000);
	assert_int_equal(words[1], FRAME_WORD(FRAME_ADDRESS, 0x4000));
	assert_int_equal(words[2], FRAME_WORD(FRAME_ERROR, WALK_ERR_NO_PROCESS));
	free(raw);
	fixture_fini(&f);
}

/*
 * A raw record whose pc is in this program: its table is not there. The stack begins at a variable,
 * and continues far above the copy.
 */
static struct raw_record *own_raw_new(uint16_t flags)
{
	struct raw_record *r = raw_new((uint32_t)getpid());

	r->head.time_ns = clock_monotonic_ns();
	r->head.flags = flags;
	r->regs[UREG_PC] = (uintptr_t)own_raw_new;
	r->regs[UREG_SP] = r->stack_at = (uintptr_t)&flags & ~7UL;
	return r;
}

static void nothing_waits_for_the_stack_of_a_fault(void **state)
{
	const uint16_t flags[] = { 0, RECORD_FAULT };

	for (size_t i = 0; i < 2; i++) {
		struct raw_record *raw = own_raw_new(flags[i]);
		struct fixture f;

		fixture_init(&f, (struct record_decoder_opts){ 0 });
		assert_int_equal(process_table_follow(f.machine.processes, raw->head.pid), 0);
		f.is_slow = true;
		record_decoder_add(f.decoder, raw,
				   offsetof(struct raw_record, stack) + raw->head.stack_len, 0,
				   raw->head.time_ns);
		assert_int_equal(record_decoder_n_parked(f.decoder), 1);
		assert_int_equal(f.n_waits, flags[i] ? 0 : 1);
		assert_int_equal(f.n_requests, flags[i] ? 1 : 0);
		free(raw);
		fixture_fini(&f);
	}
}

static void excludes_this_process_on_request(void **state)
{
	struct sample_record *r = sample_new(1);
	struct fixture f;

	fixture_init(&f, (struct record_decoder_opts){ .exclude_self = true });
	r->head.pid = r->head.tid = (uint32_t)getpid();
	add(&f, r, sample_len(r));
	assert_int_equal(f.stats.n_excluded, 1);
	assert_int_equal(f.stats.n_samples, 0);
	r->head.pid = r->head.tid = PID;
	add(&f, r, sample_len(r));
	assert_int_equal(f.stats.n_excluded, 1);
	assert_int_equal(f.stats.n_samples, 1);
	free(r);
	fixture_fini(&f);
}

static void limits_the_depth_of_stacks_and_the_memory_of_counts(void **state)
{
	struct sample_record *r = sample_new(64);
	struct fixture f;
	size_t n;

	fixture_init(&f,
		     (struct record_decoder_opts){ .max_stack = 5, .max_counts_bytes = 1 << 16 });
	add(&f, r, sample_len(r));
	(void)sample_counts_stack(record_decoder_counts(f.decoder), 0, &n);
	assert_int_equal(n, 5);
	for (uint64_t i = 0; i < 20000 && !f.stats.n_no_room; i++) {
		r->words[0] = FRAME_WORD(FRAME_ADDRESS, 0x100000 + i);
		add(&f, r, sample_len(r));
	}
	assert_int_equal(f.stats.n_no_room, 1);
	assert_true(sample_counts_bytes(record_decoder_counts(f.decoder)) < 1 << 18);
	free(r);
	fixture_fini(&f);
}

/* The record of the switch out has the stack, that of the switch in has the time. */
static void a_wait_is_counted_with_the_stack_that_came_before(void **state)
{
	struct sample_record *r = sample_new(2);
	const struct sample_counts_sample *s;
	struct off_record end = { 0 };
	struct fixture f;
	size_t n;

	fixture_init(&f, (struct record_decoder_opts){ 0 });
	r->head.flags = RECORD_OFF_CPU;
	r->head.off_state = OFF_SLEEPING;
	add(&f, r, sample_len(r));
	assert_int_equal(f.stats.n_off_stacks, 1);
	assert_int_equal(f.stats.n_samples, 0);
	assert_int_equal(sample_counts_n_samples(record_decoder_counts(f.decoder)), 0);
	end.head = r->head;
	end.head.type = RECORD_OFF;
	end.in_ns = 400;
	end.wake_ns = 400;
	add(&f, &end, sizeof(end));
	assert_int_equal(f.stats.n_bad, 0);
	assert_int_equal(sample_counts_n_samples(record_decoder_counts(f.decoder)), 1);
	s = sample_counts_sample(record_decoder_counts(f.decoder), 0);
	assert_int_equal(s->off_ns, 300);
	assert_int_equal(s->off_state, OFF_SLEEPING);
	(void)sample_counts_stack(record_decoder_counts(f.decoder), s->stack, &n);
	assert_int_equal(n, 2);
	free(r);
	fixture_fini(&f);
}

/* A sleeping thread's stack is valid only if the thread still sleeps in the same wait. */
static void a_sleeper_that_has_resumed_keeps_no_stack(void **state)
{
	struct sample_record *r = sample_new(2);
	struct fixture f;

	fixture_init(&f, (struct record_decoder_opts){ 0 });
	r->head.flags = RECORD_OFF_CPU;
	f.machine.sampler.thread = (struct off_thread){ .tid = TID, .pid = PID, .out_ns = 101 };
	record_decoder_add(f.decoder, r, sample_len(r), RECORD_ASLEEP, 1000);
	assert_false(offcpu_has_thread(record_decoder_offcpu(f.decoder), TID));
	f.machine.sampler.thread.out_ns = 100;
	record_decoder_add(f.decoder, r, sample_len(r), RECORD_ASLEEP, 1000);
	assert_true(offcpu_has_thread(record_decoder_offcpu(f.decoder), TID));
	free(r);
	fixture_fini(&f);
}

/* Random bytes, mostly with plausible types and counts, may change only counters. */
static void survives_random_records(void **state)
{
	static uint8_t bytes[sizeof(struct raw_record)];
	struct record_header *h = (void *)bytes;
	uint32_t random = 1;
	struct fixture f;

	fixture_init(&f, (struct record_decoder_opts){ .max_counts_bytes = 1 << 20 });
	for (int i = 0; i < 3000; i++) {
		for (size_t k = 0; k < 512; k++) {
			random = random * 1664525 + 1013904223;
			bytes[k] = (uint8_t)(random >> 24);
		}
		h->type = (uint16_t)(1 + i % 5);
		h->pid = PID + (uint32_t)(i % 3);
		h->event %= EVENTS_MAX + 1;
		h->n_words %= 64;
		h->n_vm_words %= 4;
		h->n_kernel %= KERNEL_FRAMES_MAX + 2;
		h->stack_len %= 2048;
		add(&f, bytes, (size_t)(random % 4096));
	}
	assert_true(f.stats.n_bad > 0);
	assert_true(f.stats.n_samples > 0);
	fixture_fini(&f);
}

TEST_GROUP(test_record_decoder, TEST(counts_a_walked_stack_with_its_thread),
	   TEST(counts_stacks_found_by_search_apart), TEST(counts_why_a_stack_ends_early),
	   TEST(cuts_a_stack_at_a_replaced_mapping),
	   TEST(refuses_records_that_claim_more_than_they_contain),
	   TEST(a_raw_stack_of_an_exited_process_keeps_its_kernel_frames),
	   TEST(nothing_waits_for_the_stack_of_a_fault), TEST(excludes_this_process_on_request),
	   TEST(limits_the_depth_of_stacks_and_the_memory_of_counts),
	   TEST(a_wait_is_counted_with_the_stack_that_came_before),
	   TEST(a_sleeper_that_has_resumed_keeps_no_stack), TEST(survives_random_records))
