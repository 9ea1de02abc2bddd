/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stack that the BPF program has walked is counted unmodified, unless a mapping was replaced. A
 * raw record has a copy of registers and stack instead. It is walked here, and missing unwind
 * tables are requested. If that takes long, the record is parked (profiler/parked.h) and walked
 * again later. A stack beyond the copy is read from memory that has changed since (unwind/walk.c).
 */
#include "profiler/record_decoder.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "lang/copy.h"
#include "lang/lang.h"
#include "process/jit_symbols.h"
#include "process/process_table.h"
#include "profiler/context_keys.h"
#include "profiler/offcpu.h"
#include "profiler/parked.h"
#include "profiler/process_memory.h"
#include "profiler/record.h"
#include "profiler/stack_parts.h"
#include "profiler/wait_records.h"
#include "sampler/sampler.h"
#include "unwind/walk.h"

/* A reader that does not start is the only reason why a record may wait as long. */
#define PARKED_MAX_NS 30000000000ULL

struct record_decoder {
	struct record_decoder_opts opts;
	struct sample_counts *counts;
	struct offcpu *offcpu;
	uint64_t now_ns;
	unsigned int flags;            /* enum record_decoder_flags of the current record */
	const struct process *program; /* of the current record; NULL: unknown */
	struct process_memory memory;  /* of its process */
	struct parked parked;
	struct stack_parts parts;
	struct outer_stack *outer;     /* of the current record; may be NULL */
	struct outer_stack *taken;     /* NULL, or the same; freed unless the record is parked */
	struct parked_record *resumed; /* the current record, if it was parked */
	bool is_fault; /* the current record is of a page fault: nothing waits for its stack */
	struct context_keys *context_keys;
	struct sample_labels labels; /* of the current record */
	bool is_searched;            /* the current stack has a caller that was found by search */
	uint64_t woven[LANG_STACK_MAX]; /* the current stack */
	bool is_complete;               /* the current stack reaches its outermost frame */
	uint64_t error;                 /* else enum walk_error, or WALK_ERR_MAX: not known */
	struct record_decoder_stats stats;
};

static bool is_full(const struct record_decoder *d)
{
	return sample_counts_is_full(d->counts, d->opts.max_counts_bytes);
}

/* Counts time that a thread waited; callback of offcpu.h. */
static void count_wait(void *ctx, const struct offcpu_time *t)
{
	struct record_decoder *d = ctx;
	const struct process *p = process_table_find(d->opts.procs, t->thread->pid, d->now_ns);
	int r;

	if (process_table_excludes(d->opts.procs, p, SELECT_NO_OFF_CPU)) {
		d->stats.n_off_excluded += t->count;
		return;
	}
	if (is_full(d)) {
		d->stats.n_no_room += t->count;
		return;
	}
	r = wait_records_count(d->counts, t);
	d->stats.n_no_room += r < 0 ? t->count : 0;
	if (r == SAMPLE_COUNTS_NEW_THREAD && d->opts.on_thread)
		d->opts.on_thread(d->opts.thread_ctx, t->thread, p ? p->ppid : 0);
}

int record_decoder_new(struct record_decoder **out, const struct record_decoder_opts *opts)
{
	_cleanup_(record_decoder_freep) struct record_decoder *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return -ENOMEM;
	d->opts = *opts;
	d->parked.max_bytes = opts->max_parked_bytes;
	r = sample_counts_new(&d->counts, opts->keep_times);
	if (r == 0)
		r = offcpu_new(&d->offcpu, count_wait, d);
	if (r == 0 && opts->wakers)
		offcpu_enable_wakers(d->offcpu);
	if (r == 0)
		r = context_keys_new(&d->context_keys, opts->langs);
	if (r < 0)
		return r;
	*out = steal_ptr(&d);
	return 0;
}

void record_decoder_free(struct record_decoder *d)
{
	if (!d)
		return;
	parked_fini(&d->parked);
	stack_parts_fini(&d->parts);
	offcpu_free(d->offcpu);
	context_keys_free(d->context_keys);
	sample_counts_free(d->counts);
	free(d);
}

/* ---- counting --------------------------------------------------------------- */

static const struct process *program_of(struct record_decoder *d, const struct record_header *h)
{
	return process_table_identify(d->opts.procs, h->pid, h->time_ns, &h->program,
				      !(h->flags & RECORD_IN_EXEC));
}

struct sample_counts_thread record_decoder_thread(struct record_decoder *d,
						  const struct record_header *h)
{
	return record_thread(program_of(d, h), h);
}

/* Keeps the stack of a waiting thread, or of one that wakes it. */
static void keep_stack(struct record_decoder *d, const struct record_header *h,
		       const struct sample_counts_thread *t, const uint64_t *words, size_t n)
{
	const struct wait_stack s = { .head = h,
				      .thread = t,
				      .labels = &d->labels,
				      .words = words,
				      .n = n,
				      .is_asleep = d->flags & RECORD_ASLEEP };

	if (!(h->flags & RECORD_WAKER)) {
		d->stats.n_off_stacks++;
		d->stats.n_off_complete += d->is_complete && !d->is_searched;
	}
	d->stats.n_off_no_memory += wait_records_keep(d->offcpu, d->opts.sampler, &s) < 0;
}

/* Notes how the native stack of @n words ends: completely or for which reason. */
static void note_end(struct record_decoder *d, const uint64_t *words, size_t n, bool complete)
{
	uint64_t last = n ? words[n - 1] : 0;
	bool is_truncated = last >> FRAME_KIND_SHIFT == FRAME_ERROR;

	d->is_complete = complete && !is_truncated;
	d->error = is_truncated ? last & FRAME_PAYLOAD_MASK : WALK_ERR_MAX;
}

/* Counts a stack of a sample that was counted, and how it ends. */
static void count_end(struct record_decoder *d)
{
	d->stats.n_samples++;
	if (d->error < WALK_ERR_MAX)
		d->stats.walk_errors[d->error]++;
	else if (d->is_complete && d->is_searched)
		d->stats.n_searched++;
	else if (d->is_complete)
		d->stats.n_complete++;
}

/* Truncates the current stack of @n words if memory is short. Returns the new number of words. */
static size_t truncate_stack(struct record_decoder *d, size_t n)
{
	size_t kept = sample_counts_truncate(d->counts, d->opts.max_counts_bytes, d->woven, n);

	if (kept != n)
		note_end(d, d->woven, kept, false);
	return kept;
}

/* Counts the current stack of @n words. */
static void count_stack(struct record_decoder *d, const struct record_header *h, size_t n)
{
	const uint64_t *words = d->woven;
	struct sample_counts_thread t = record_thread(d->program, h);
	int r;

	if (is_full(d)) {
		d->stats.n_no_room++;
		return;
	}
	if (d->opts.keep_cpus && !(h->flags & RECORD_OFF_CPU))
		t.cpu_plus_1 = h->cpu + 1;
	if (d->opts.max_stack && n > d->opts.max_stack)
		n = d->opts.max_stack;
	n = truncate_stack(d, n);
	for (size_t i = h->n_kernel; i < n; i++)
		if (words[i] >> FRAME_KIND_SHIFT == FRAME_ADDRESS)
			jit_symbols_note(d->opts.jits, h->pid, t.start_ns);
	if (d->is_searched)
		record_mark_searched(h, d->woven, n);
	if (h->flags & RECORD_OFF_CPU) {
		keep_stack(d, h, &t, words, n);
		return;
	}
	if (memory_records_stack(&d->opts.memory, h, &t, &d->labels, words, n)) {
		count_end(d);
		return;
	}
	r = sample_counts_add_event(d->counts, &t, &d->labels, (uint8_t)h->event, h->time_ns, words,
				    n);
	if (r < 0)
		d->stats.n_no_room++;
	else
		count_end(d);
	if (r != SAMPLE_COUNTS_NEW_THREAD || !d->opts.on_thread)
		return;
	d->opts.on_thread(d->opts.thread_ctx, &t, d->program ? d->program->ppid : 0);
}

/* ---- walking ---------------------------------------------------------------- */

/* Returns the load bias of runtime @vm in the process that is being read. */
static uint64_t process_bias(void *ctx, uint32_t vm)
{
	struct record_decoder *d = ctx;

	return process_table_vm_bias(d->opts.procs, d->program, vm);
}

static int read_process(void *ctx, uint64_t addr, void *dst, size_t len)
{
	struct record_decoder *d = ctx;

	/* the memory may be that of the next program already */
	if (!d->program || d->program->end_ns)
		return -1;
	return process_memory_read(&d->memory, addr, dst, len);
}

static bool is_current(void *ctx)
{
	struct record_decoder *d = ctx;

	if (d->program && !d->program->end_ns)
		d->opts.sync_processes(d->opts.ctx, UINT64_MAX);
	return d->program && !d->program->end_ns;
}

static struct lang_process lang_process_of(struct record_decoder *d, const struct record_header *h)
{
	process_memory_begin_now(&d->memory, h->pid);
	return (struct lang_process){
		.pid = h->pid,
		.start_ns = d->program ? d->program->start_ns : 0,
		.read = read_process,
		.bias = process_bias,
		.is_current = is_current,
		.ctx = d,
	};
}

/* Makes the labels of the record of @len bytes. */
static void read_labels(struct record_decoder *d, const struct record_header *h, size_t len)
{
	struct lang_process p;

	d->labels = (struct sample_labels){ 0 };
	if (!h->n_context)
		return;
	p = lang_process_of(d, h);
	d->labels = context_keys_labels(d->context_keys, &p, h, len, d->now_ns);
}

/* Inserts the frames of language runtimes into a walked stack and counts it. */
static void weave_and_count(struct record_decoder *d, const struct record_header *h,
			    struct lang_stack *stack)
{
	size_t n;

	d->stats.n_vm_truncated += stack->truncated;
	stack->process = lang_process_of(d, h);
	n = langs_weave(d->opts.langs, stack, d->woven);
	count_stack(d, h, n);
}

static bool build_table(void *ctx, uint32_t file)
{
	struct record_decoder *d = ctx;

	return d->opts.build_table(d->opts.ctx, file, !d->is_fault);
}

/*
 * Walks a stack copy. The stack beyond the copy is read from the process afterwards; if the program
 * has ended by then, the walk ends with the copy.
 */
static size_t walk_copy(struct record_decoder *d, struct unwind_walk_input *in,
			const uint64_t **out_words, bool *out_complete)
{
	size_t n = unwind_walk(d->opts.walker, in, out_words, out_complete);

	if (!d->program->end_ns)
		d->opts.sync_processes(d->opts.ctx, UINT64_MAX);
	if (!d->program->end_ns)
		return n;
	in->read = NULL;
	return unwind_walk(d->opts.walker, in, out_words, out_complete);
}

/*
 * Walks a raw record's stack. An address outside all known mappings may be in one that is newer
 * than the last read of the side-band, so the walk is repeated after that was read; and once more
 * if the mappings were read again. Returns the number of words; 0 if the program ended before that.
 */
static size_t walk_raw(struct record_decoder *d, const struct raw_record *rec,
		       const uint64_t **out_words, bool *out_complete)
{
	const struct record_header *h = &rec->head;
	/* the stack of a thread that still waits is still in its memory; see keep_stack() */
	bool is_copied = d->resumed && !(d->flags & RECORD_ASLEEP);
	uint64_t lists[RAW_VM_WORDS_MAX];
	struct unwind_walk_input in = {
		.stack = rec->stack,
		.stack_len = h->stack_len,
		.lists = lists,
		.n_lists = h->n_vm_words,
		.stack_at = rec->stack_at,
		.pieces = d->outer ? d->outer->pieces : NULL,
		.n_pieces = d->outer ? d->outer->n : 0,
		.rest = is_copied ? &d->resumed->rest : NULL,
		.read = d->is_fault ? NULL : read_process,
		.need_file = d->flags & RECORD_NO_TABLES ? NULL : build_table,
		.lists_are_late = !(d->flags & RECORD_ASLEEP),
		.is_stopped = d->flags & RECORD_ASLEEP, /* see keep_stack() */
		.ctx = d,
	};
	bool again = true;
	size_t n = 0;

	record_copy_lists(rec, lists);
	memcpy(in.regs, rec->regs, sizeof(in.regs));
	in.thread_pointer = rec->thread_pointer;
	process_memory_begin(&d->memory, h->pid, h->time_ns);
	for (int attempt = 0; again; attempt++) {
		if (process_table_mappings(d->opts.procs, d->program, d->now_ns, &in.process) < 0)
			return 0;
		n = walk_copy(d, &in, out_words, out_complete);
		if (!record_ends_unmapped(*out_words, n))
			return n;
		again = !attempt ||
			process_table_ignore_unmapped(d->opts.procs, d->program, d->now_ns);
	}
	return n;
}

/*
 * Parks a record whose walk ended because a table is still being made. Returns false if it has to
 * be counted incomplete. A stack of a wait that has ended cannot be added later.
 */
static bool park(struct record_decoder *d, const struct raw_record *rec, size_t len)
{
	uint32_t file = unwind_walk_missing(d->opts.walker);
	struct parked_record *r = d->resumed;

	if (!file || (rec->head.flags & RECORD_OFF_CPU && !(d->flags & RECORD_ASLEEP)))
		return false;
	if (!r)
		r = parked_new(&d->parked, rec, len, &d->taken, d->is_fault ? NULL : read_process,
			       d);
	if (!r)
		return false;
	r->file = file;
	if (parked_put(&d->parked, r) < 0) {
		if (!d->resumed)
			parked_free(&d->parked, r);
		return false;
	}
	if (!d->resumed) {
		r->since_ns = d->now_ns;
		r->flags = d->flags;
		d->stats.n_parked++;
	}
	d->resumed = NULL;
	return true;
}

static void on_stack(struct record_decoder *d, const struct raw_record *rec, size_t len)
{
	uint64_t words[RECORD_WORDS_MAX], lists[RAW_VM_WORDS_MAX];
	const uint64_t *walked;
	size_t n = rec->head.n_kernel, n_walked;
	struct lang_stack stack = { .words = words, .vm_words = lists };
	bool complete = false;

	n_walked = walk_raw(d, rec, &walked, &complete);
	if (n_walked && park(d, rec, len))
		return;
	d->stats.n_raw++;
	memcpy(words, rec->kernel, n * sizeof(*words));
	d->is_searched = n_walked && unwind_walk_searched(d->opts.walker);
	if (n_walked > RECORD_WORDS_MAX - n)
		n_walked = RECORD_WORDS_MAX - n;
	if (n_walked) {
		memcpy(words + n, walked, n_walked * sizeof(*words));
		n += n_walked;
		stack.n_vm_words =
			unwind_walk_vm_words(d->opts.walker, &stack.vm_words, &stack.truncated);
	} else {
		d->stats.n_raw_failed++;
		words[n++] = FRAME_WORD(FRAME_ADDRESS, rec->regs[UREG_PC]);
		words[n++] = FRAME_WORD(FRAME_ERROR, WALK_ERR_NO_PROCESS);
		record_copy_lists(rec, lists);
		stack.n_vm_words = rec->head.n_vm_words;
	}
	stack.truncated |= rec->head.flags & RECORD_VM_TRUNCATED;
	note_end(d, words, n, complete);
	stack.n_words = n;
	weave_and_count(d, &rec->head, &stack);
}

static void on_raw(struct record_decoder *d, const struct raw_record *rec, size_t len)
{
	d->is_fault = rec->head.flags & RECORD_FAULT;
	d->taken = stack_parts_take(&d->parts, &rec->head);
	d->outer = d->resumed ? d->resumed->outer : d->taken;
	on_stack(d, rec, len);
	outer_stack_free(d->taken);
	d->taken = d->outer = NULL;
}

static void on_walked(struct record_decoder *d, const struct sample_record *rec)
{
	const uint64_t *words = (const uint64_t *)rec->words;
	uint64_t cut[RECORD_WORDS_MAX];
	size_t n_cut = record_cut_replaced(d->program, rec, cut);
	struct lang_stack stack = {
		.words = n_cut ? cut : words,
		.n_words = n_cut ? n_cut : rec->head.n_words,
		.vm_words = words + rec->head.n_words,
		.n_vm_words = rec->head.n_vm_words,
		.truncated = rec->head.flags & RECORD_VM_TRUNCATED,
	};

	d->is_searched = rec->head.flags & RECORD_SEARCHED;
	/* kernel threads, and all stacks without user frames, need no outermost frame */
	note_end(d, stack.words, stack.n_words, true);
	weave_and_count(d, &rec->head, &stack);
}

static void on_function(struct record_decoder *d, const struct function_record *rec)
{
	struct lang_process process = lang_process_of(d, &rec->head);

	langs_add_copy(d->opts.langs, &process, rec);
}

bool record_decoder_is_own(struct record_decoder *d, const struct record_header *h)
{
	return record_is_own(d->opts.procs, process_table_find(d->opts.procs, h->pid, h->time_ns),
			     h);
}

static void on_wait_end(struct record_decoder *d, const struct off_record *rec)
{
	struct sample_counts_thread t = record_thread(d->program, &rec->head);

	offcpu_end_wait(d->offcpu, rec, &t);
}

static void on_thread_end(struct record_decoder *d, const struct off_last_record *rec)
{
	struct sample_counts_thread t = record_thread(d->program, &rec->head);

	offcpu_end_thread(d->offcpu, rec, &t);
}

static void on_record(struct record_decoder *d, const void *record, size_t len)
{
	const struct record_header *h = record;

	read_labels(d, h, len);
	switch (h->type) {
	case RECORD_OFF:
		on_wait_end(d, record);
		break;
	case RECORD_OFF_LAST:
		on_thread_end(d, record);
		break;
	case RECORD_SAMPLE:
		on_walked(d, record);
		break;
	case RECORD_FUNCTION:
		on_function(d, record);
		break;
	case RECORD_RAW:
		on_raw(d, record, len);
		break;
	case RECORD_STACK:
		stack_parts_add(&d->parts, record);
		break;
	}
}

void record_decoder_add(struct record_decoder *d, const void *record, size_t len,
			unsigned int flags, uint64_t now_ns)
{
	const struct record_header *h = record;

	d->flags = flags;
	d->now_ns = now_ns;
	if (!record_is_valid(h, len)) {
		d->stats.n_bad++;
		return;
	}
	d->opts.sync_processes(d->opts.ctx, h->time_ns);
	d->program = program_of(d, h);
	if (memory_records_begin(&d->opts.memory, h, d->resumed))
		return;
	if (d->opts.exclude_self && !(h->flags & RECORD_WAKER) &&
	    record_is_own(d->opts.procs, d->program, h)) {
		d->stats.n_excluded++;
		return;
	}
	if (record_is_excluded(d->opts.procs, d->program, h)) {
		d->stats.n_excluded_late += h->type != RECORD_STACK;
		return;
	}
	process_table_count_recorded(d->opts.procs, d->program);
	on_record(d, record, len);
}

/* Walks a parked record again. It is freed, or parked again. */
static void resume_one(struct record_decoder *d, struct parked_record *r, unsigned int flags,
		       uint64_t now_ns)
{
	d->resumed = r;
	record_decoder_add(d, r->record, r->len, flags | r->flags, now_ns);
	if (d->resumed)
		parked_free(&d->parked, r);
	d->resumed = NULL;
}

void record_decoder_resume(struct record_decoder *d, unsigned int flags, uint64_t now_ns)
{
	size_t n;
	struct parked_record **all = parked_take_all(&d->parked, &n);

	for (size_t i = 0; i < n; i++) {
		struct parked_record *r = all[i];
		bool is_old = now_ns - r->since_ns > PARKED_MAX_NS;

		if ((flags & RECORD_NO_TABLES) || is_old ||
		    !d->opts.is_pending(d->opts.ctx, r->file) || parked_put(&d->parked, r) < 0)
			resume_one(d, r, is_old ? RECORD_NO_TABLES : flags, now_ns);
	}
	free(all);
}

size_t record_decoder_n_parked(const struct record_decoder *d)
{
	return d->parked.records.len;
}

uint64_t record_decoder_parked_since_ns(const struct record_decoder *d)
{
	return parked_since_ns(&d->parked);
}

/* ---- results ---------------------------------------------------------------- */

struct offcpu *record_decoder_offcpu(struct record_decoder *d)
{
	return d->offcpu;
}

struct sample_counts *record_decoder_counts(struct record_decoder *d)
{
	return d->counts;
}

struct sample_counts *record_decoder_swap_counts(struct record_decoder *d,
						 struct sample_counts *fresh)
{
	struct sample_counts *old = d->counts;

	d->stats.n_unlabelled += sample_counts_n_unlabelled(old);
	d->counts = fresh;
	return old;
}

void record_decoder_set_keep_cpus(struct record_decoder *d, bool keep)
{
	d->opts.keep_cpus = keep;
}

void record_decoder_stats(const struct record_decoder *d, struct record_decoder_stats *out)
{
	*out = d->stats;
	context_keys_stats(d->context_keys, &out->n_bad_contexts, &out->n_labels_dropped);
	out->n_unlabelled += sample_counts_n_unlabelled(d->counts);
}
