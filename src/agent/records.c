/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A record that the kernel has walked is counted as it is. A raw one is walked here, with the
 * tables built that its walk asks for. What its stack copy does not hold is read from the
 * process, which has gone on since; where that shows, the stack ends there (unwind/walk.c).
 */
#include "agent/records.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/jits.h"
#include "agent/offcpu.h"
#include "agent/procs.h"
#include "agent/sampler.h"
#include "lang/lang.h"
#include "proc/memory.h"
#include "unwind/walk.h"

struct records {
	struct records_opts opts;
	struct collect *collect;
	struct offcpu *off;
	uint64_t now_ns;
	unsigned int how;               /* enum records_how: the record in work */
	uint32_t read_pid;              /* whose memory is being read */
	uint64_t woven[LANG_STACK_MAX]; /* the stack in work */
	struct records_stats stats;
};

/* More would be over the limit. */
static bool is_full(const struct records *rs)
{
	return collect_is_full(rs->collect, rs->opts.max_counts_bytes);
}

/* Time that a thread waited. */
static void count_wait(void *ctx, const struct off_time *t)
{
	struct records *rs = ctx;
	struct collect_wait wait = { .ns = t->ns,
				     .count = t->count,
				     .state = (uint8_t)t->state,
				     .is_thinned = t->is_thinned,
				     .place_plus_1 = t->place_plus_1 };
	int r;

	if (is_full(rs)) {
		rs->stats.n_no_room += t->count;
		return;
	}
	r = collect_add_off(rs->collect, t->thread, &wait, t->words, t->n_words);

	if (r == COLLECT_NEW_THREAD && rs->opts.on_thread) {
		const struct process *p = procs_find(rs->opts.procs, t->thread->pid, rs->now_ns);

		rs->opts.on_thread(rs->opts.thread_ctx, t->thread, p ? p->ppid : 0);
	}
}

int records_new(struct records **out, const struct records_opts *opts)
{
	_cleanup_(records_freep) struct records *rs = calloc(1, sizeof(*rs));
	int r;

	if (!rs)
		return -ENOMEM;
	rs->opts = *opts;
	r = collect_new(&rs->collect, opts->keep_times);
	if (r == 0)
		r = offcpu_new(&rs->off, count_wait, rs);
	if (r < 0)
		return r;
	*out = steal_ptr(&rs);
	return 0;
}

void records_free(struct records *rs)
{
	if (!rs)
		return;
	offcpu_free(rs->off);
	collect_free(rs->collect);
	free(rs);
}

/* ---- counting --------------------------------------------------------------- */

struct collect_thread records_thread(struct records *rs, const struct record_header *h)
{
	const struct process *p = procs_find(rs->opts.procs, h->pid, h->time_ns);
	struct collect_thread t = { .pid = h->pid, .tid = h->tid };
	bool own;

	memcpy(t.comm, h->comm, sizeof(t.comm));
	t.comm[sizeof(t.comm) - 1] = '\0';
	/* a process's name is its first thread's, of which the sample knows the one of its moment
	 */
	own = h->tid == h->pid && t.comm[0];
	memcpy(t.process_comm, p && p->comm[0] && !own ? p->comm : t.comm, sizeof(t.process_comm));
	if (!t.process_comm[0]) /* prctl() takes that, and Perl does so for a moment */
		snprintf(t.process_comm, sizeof(t.process_comm), "[no name]");
	if (p) {
		t.exe = p->exe;
		t.start_ns = p->start_ns;
	}
	return t;
}

/* The stack of a thread that waits, unless it has gone on while it was read. */
static void keep_stack(struct records *rs, const struct record_header *h,
		       const struct collect_thread *t, const uint64_t *words, size_t n)
{
	struct off_thread now;

	if (rs->how & RECORDS_ASLEEP &&
	    (sampler_off_thread(rs->opts.sampler, h->tid, &now) < 0 || now.out_ns != h->time_ns))
		return;
	(void)offcpu_stack(rs->off, t, h->time_ns, words, n);
}

/* The stack in work, of @n words. */
static void count_stack(struct records *rs, const struct record_header *h, size_t n)
{
	const uint64_t *words = rs->woven;
	struct collect_thread t = records_thread(rs, h);
	const struct process *p;
	int r;

	if (is_full(rs)) {
		rs->stats.n_no_room++;
		return;
	}
	if (rs->opts.keep_cpus && !(h->flags & RECORD_OFF_CPU))
		t.cpu_plus_1 = h->cpu + 1;
	if (rs->opts.max_stack && n > rs->opts.max_stack)
		n = rs->opts.max_stack;
	n = collect_cut(rs->collect, rs->opts.max_counts_bytes, rs->woven, n);
	for (size_t i = h->n_kernel; i < n; i++)
		if (words[i] >> FRAME_KIND_SHIFT == FRAME_ADDRESS)
			jits_note(rs->opts.jits, h->pid, t.start_ns);
	if (h->flags & RECORD_OFF_CPU) {
		keep_stack(rs, h, &t, words, n);
		return;
	}
	r = collect_add_of(rs->collect, &t, (uint8_t)h->event, h->time_ns, words, n);
	rs->stats.n_samples += r >= 0;
	if (r != COLLECT_NEW_THREAD || !rs->opts.on_thread)
		return;
	p = procs_find(rs->opts.procs, h->pid, h->time_ns);
	rs->opts.on_thread(rs->opts.thread_ctx, &t, p ? p->ppid : 0);
}

/* The reason that ends an incomplete stack. */
static void count_end(struct records *rs, const struct record_header *h, const uint64_t *words,
		      size_t n, bool complete)
{
	uint64_t why = n ? words[n - 1] : 0;
	bool is_cut = n && why >> FRAME_KIND_SHIFT == FRAME_ERROR;

	if (h->flags & RECORD_OFF_CPU) {
		rs->stats.n_off_stacks++;
		rs->stats.n_off_complete += complete && !is_cut;
		return;
	}
	if (n && why >> FRAME_KIND_SHIFT == FRAME_ERROR &&
	    (why & FRAME_PAYLOAD_MASK) < WALK_ERR_MAX)
		rs->stats.walk_errors[why & FRAME_PAYLOAD_MASK]++;
	else if (complete)
		rs->stats.n_complete++;
}

/* ---- walking ---------------------------------------------------------------- */

/* Where the virtual machine @vm is mapped in the process that is being read. */
static uint64_t process_bias(void *ctx, uint32_t vm)
{
	struct records *rs = ctx;

	return procs_vm_bias(rs->opts.procs, rs->read_pid, vm);
}

static int read_process(void *ctx, uint64_t addr, void *dst, size_t len)
{
	struct records *rs = ctx;

	return proc_memory_read(rs->read_pid, addr, dst, len);
}

/* Count a walked stack, with the frames of virtual machines where they belong. */
static void weave_and_count(struct records *rs, const struct record_header *h,
			    struct lang_stack *stack)
{
	const struct process *p = procs_find(rs->opts.procs, h->pid, h->time_ns);
	size_t n;

	rs->read_pid = h->pid;
	stack->process = (struct lang_process){
		.pid = h->pid,
		.start_ns = p ? p->start_ns : 0,
		.read = read_process,
		.bias = process_bias,
		.ctx = rs,
	};
	n = langs_weave(rs->opts.langs, stack, rs->woven);
	count_stack(rs, h, n);
}

static void need_file(void *ctx, uint32_t file)
{
	struct records *rs = ctx;

	rs->opts.need_file(rs->opts.ctx, file);
}

static bool ends_unmapped(const uint64_t *words, size_t n)
{
	return n && words[n - 1] == FRAME_WORD(FRAME_ERROR, WALK_ERR_PC_UNMAPPED);
}

/*
 * Walk a stack copy with what is known of its process. An address that is in
 * no mapping may be newer than what was read of the side-band: that is read
 * again, once. Number of words; 0 if the process has gone unseen.
 */
static size_t walk_raw(struct records *rs, const struct raw_record *rec, const uint64_t **out_words,
		       bool *out_complete)
{
	const struct record_header *h = &rec->head;
	struct unwind_walk_input in = {
		.stack = rec->stack,
		.stack_len = h->stack_len,
		.stack_at = rec->stack_at,
		.read = read_process,
		.need_file = rs->how & RECORDS_NO_TABLES ? NULL : need_file,
		.ctx = rs,
	};
	size_t n = 0;

	memcpy(in.regs, rec->regs, sizeof(in.regs));
	in.fs_base = rec->fs_base;
	rs->read_pid = h->pid;
	for (int turn = 0; turn < 2; turn++) {
		if (procs_mappings(rs->opts.procs, h->pid, h->time_ns, rs->now_ns, &in.process) < 0)
			return 0;
		n = unwind_walk(rs->opts.walker, &in, out_words, out_complete);
		if (!ends_unmapped(*out_words, n))
			return n;
		if (turn == 0)
			rs->opts.take_in(rs->opts.ctx, UINT64_MAX);
	}
	procs_unmapped_is_final(rs->opts.procs, h->pid);
	return n;
}

static void on_raw(struct records *rs, const struct raw_record *rec)
{
	uint64_t words[RECORD_WORDS_MAX];
	const uint64_t *walked;
	size_t n = rec->head.n_kernel, n_walked;
	struct lang_stack stack = { .words = words, .later = true };
	bool complete = false;

	rs->stats.n_raw++;
	memcpy(words, rec->kernel, n * sizeof(*words));
	n_walked = walk_raw(rs, rec, &walked, &complete);
	if (n_walked > RECORD_WORDS_MAX - n)
		n_walked = RECORD_WORDS_MAX - n;
	if (n_walked) {
		memcpy(words + n, walked, n_walked * sizeof(*words));
		n += n_walked;
		stack.n_vm_words =
			unwind_walk_vm_words(rs->opts.walker, &stack.vm_words, &stack.cut);
	} else {
		rs->stats.n_raw_failed++;
		words[n++] = FRAME_WORD(FRAME_ADDRESS, rec->regs[UREG_RIP]);
		words[n++] = FRAME_WORD(FRAME_ERROR, WALK_ERR_NO_PROCESS);
	}
	count_end(rs, &rec->head, words, n, complete);
	stack.n_words = n;
	weave_and_count(rs, &rec->head, &stack);
}

static void on_walked(struct records *rs, const struct sample_record *rec)
{
	const uint64_t *words = (const uint64_t *)rec->words;
	struct lang_stack stack = {
		.words = words,
		.n_words = rec->head.n_words,
		.vm_words = words + rec->head.n_words,
		.n_vm_words = rec->head.n_vm_words,
		.cut = rec->head.flags & RECORD_VM_CUT,
	};

	/* a kernel thread, or a recording without user stacks, needs no outermost frame */
	count_end(rs, &rec->head, words, stack.n_words, true);
	weave_and_count(rs, &rec->head, &stack);
}

bool records_is_own(struct records *rs, const struct record_header *h)
{
	const struct process *p = procs_find(rs->opts.procs, h->pid, h->time_ns);

	return (pid_t)h->pid == getpid() || (p && (pid_t)p->ppid == getpid());
}

static void on_wait_end(struct records *rs, const struct off_record *rec)
{
	struct collect_thread t = records_thread(rs, &rec->head);

	offcpu_end(rs->off, rec, &t);
}

static void on_thread_end(struct records *rs, const struct off_last_record *rec)
{
	struct collect_thread t = records_thread(rs, &rec->head);

	offcpu_last(rs->off, rec, &t);
}

void records_take(struct records *rs, const void *record, size_t len, unsigned int how,
		  uint64_t now_ns)
{
	const struct record_header *h = record;

	rs->how = how;
	rs->now_ns = now_ns;
	if (len >= sizeof(*h))
		rs->opts.take_in(rs->opts.ctx, h->time_ns);
	if (len >= sizeof(*h) && h->event >= EVENTS_MAX)
		rs->stats.n_bad++;
	else if (rs->opts.exclude_self && len >= sizeof(*h) && records_is_own(rs, h))
		rs->stats.n_excluded++;
	else if (len >= sizeof(struct off_record) && h->type == RECORD_OFF)
		on_wait_end(rs, record);
	else if (len >= sizeof(struct off_last_record) && h->type == RECORD_OFF_LAST)
		on_thread_end(rs, record);
	else if (len >= sizeof(*h) && h->type == RECORD_SAMPLE &&
		 len >= sizeof(*h) + (h->n_words + h->n_vm_words) * sizeof(uint64_t))
		on_walked(rs, record);
	else if (len >= offsetof(struct raw_record, stack) && h->type == RECORD_RAW &&
		 h->n_kernel <= KERNEL_FRAMES_MAX &&
		 len >= offsetof(struct raw_record, stack) + h->stack_len)
		on_raw(rs, record);
	else
		rs->stats.n_bad++;
}

/* ---- what was counted ------------------------------------------------------- */

struct offcpu *records_off(struct records *rs)
{
	return rs->off;
}

struct collect *records_collect(struct records *rs)
{
	return rs->collect;
}

struct collect *records_swap_collect(struct records *rs, struct collect *fresh)
{
	struct collect *old = rs->collect;

	rs->collect = fresh;
	return old;
}

void records_keep_cpus(struct records *rs, bool keep)
{
	rs->opts.keep_cpus = keep;
}

void records_stats(const struct records *rs, struct records_stats *out)
{
	*out = rs->stats;
}
