/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One sample: a kernel stack, a user stack and one record in the ring. on_sample() runs at each
 * perf event of each CPU. Nothing is aggregated here; the agent counts equal stacks.
 *
 * A sample whose process or file has no tables yet is sent raw (registers and a copy of the stack),
 * and the agent walks it with the same code.
 *
 * Two raw tracepoints (bpf/lib/programs.h) do what the agent would do too late: they report the
 * identity of each new program, and apply the selection of a parent to its child from the child's
 * first instruction on.
 */
#include "bpf/vmlinux.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/lib/read.h"
#include "bpf/lib/select.h"
#include "bpf/lib/walk_state.h"

enum {
	PF_EXITING = 0x00000004,
	PF_KTHREAD = 0x00200000,
	FUNCTIONS_COPIED = 1 << 15, /* functions that are known to be copied; a power of two */
};

const volatile __u32 collect_kernel = 1;
const volatile __u32 collect_user = 1;
const volatile __u32 collect_idle = 0;
const volatile __u32 languages = 0; /* set of languages that this program knows: those with code for
				       a walk, those with lists for the last stage */
const volatile __u32 ring_wakeup_bytes = 0;
const volatile __u32 n_walks = 1; /* states of walks per CPU */
const volatile __u64 code_mask = ~0ULL;
/*
 * True if a recording has several events of one kind: then the cookie of an attachment is the
 * number of its event.
 */
const volatile __u32 use_cookies = 0;
const volatile __u32 event_of_tracepoint = 0;
const volatile __u32 event_of_uprobe = 0;
const volatile __u32 event_of_perf = 0;
const volatile __u64
	event_periods[EVENTS_MAX] = {}; /* sampling periods of tracepoints and uprobes, in events */
volatile __u32 table_generation = 0;

struct {
	/* not a per-CPU array, because those are limited to 32 KiB per value */
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* n_walks for each CPU; set before loading */
	__type(key, __u32);
	__type(value, struct walk);
} walks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PROCESSES_MAX);
	__type(key, __u32);
	__type(value, struct unwind_process);
} processes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* one more than walks, for the task iterator; set before loading */
	__type(key, __u32);
	__type(value, struct raw_record);
} raw_records SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct counters);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* a power of two of at least a page; set before loading */
} ring SEC(".maps");

/* Keys of the functions that were copied, by a part of the key; see vm_copy.h. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FUNCTIONS_COPIED);
	__type(key, __u32);
	__type(value, __u64);
} functions SEC(".maps");

static __always_inline __u32 walk_number(__u32 which)
{
	return bpf_get_smp_processor_id() * n_walks + which;
}

static __always_inline struct walk *walk_get(__u32 which)
{
	__u32 key = walk_number(which);

	return bpf_map_lookup_elem(&walks, &key);
}

static __always_inline int walk_knows(__u32 lang)
{
	return languages >> lang & 1;
}

static __always_inline __u32 walk_generation(void)
{
	return table_generation;
}

/* The bits of a code address; see arch_code_address(), which does not use it on all processors. */
static __always_inline __attribute__((unused)) __u64 walk_code_mask(void)
{
	return code_mask;
}

static __always_inline struct counters *counters_get(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&counts, &zero);
}

static __always_inline __u64 *copy_slot(__u32 hash)
{
	__u32 i = hash & (FUNCTIONS_COPIED - 1);

	return bpf_map_lookup_elem(&functions, &i);
}

/*
 * Sends w->function. While the agent lags behind samples go first. Returns WALK_CONTINUE, or
 * WALK_OTHER if it was not sent.
 */
static __always_inline int copy_send(struct walk *w)
{
	__u32 n = bounded_here(w->function.n_bytes);
	struct counters *c = counters_get();

	if (!c || n > FUNCTION_BYTES)
		return WALK_OTHER;
	if (bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) > ring_wakeup_bytes ||
	    bpf_ringbuf_output(&ring, &w->function,
			       __builtin_offsetof(struct function_record, bytes) + n,
			       BPF_RB_NO_WAKEUP)) {
		c->n[COUNTER_FUNCTIONS_LOST]++;
		return WALK_OTHER;
	}
	c->n[COUNTER_FUNCTIONS]++;
	return WALK_CONTINUE;
}

#include "bpf/lib/vm.h"
#include "bpf/lib/vm_copy.h"
#include "bpf/lib/walk.h"

static __always_inline void program_of(struct task_struct *task, struct program_id *out)
{
	out->start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
	out->exec_id = (__u32)BPF_CORE_READ(task, self_exec_id);
	out->reserved = 0;
}

static __always_inline int is_same_program(const struct program_id *a, const struct program_id *b)
{
	return a->start_ns == b->start_ns && a->exec_id == b->exec_id;
}

#include "bpf/lib/newcomer.h"
#include "bpf/lib/walk_programs.h"

/* True if these are the registers of a thread in execve(), from either program. */
static __always_inline int is_in_exec(const struct saved_regs *regs)
{
	return saved_syscall(regs) == NR_EXECVE || saved_syscall(regs) == NR_EXECVEAT;
}

/* True during an exec before the new program is mapped: the registers are meaningless then. */
static __always_inline int is_between_programs(struct task_struct *task,
					       const struct saved_regs *regs)
{
	return is_in_exec(regs) && !BPF_CORE_READ(task, mm, start_code);
}

/*
 * Reads the registers that the current task saved when it entered the kernel. Returns 0, 1 for a
 * task without a user part (kernel thread, exiting, in exec), or -1 if they are not readable.
 */
static __always_inline int regs_of_current(struct saved_regs *out)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u32 task_flags = BPF_CORE_READ(task, flags);
	void *stack; /* address of the registers on the kernel stack */

	if (task_flags & PF_KTHREAD)
		return 1;
	if ((task_flags & PF_EXITING) && !BPF_CORE_READ(task, mm))
		return 1;
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs)) {
		struct task_struct *btf_task = (void *)bpf_get_current_task_btf();

		stack = (void *)bpf_task_pt_regs(btf_task);
	} else {
		/* before 5.15 there is no helper: they are at the top of the kernel stack */
		stack = BPF_CORE_READ(task, stack) + KERNEL_STACK_BYTES - SAVED_REGS_BYTES;
	}
	if (bpf_probe_read_kernel(out, sizeof(*out), stack))
		return -1;
	return is_between_programs(task, out);
}

#include "bpf/lib/context.h"
#include "bpf/lib/send.h"

/* Counts frames and the reason why the walk ended. */
static __always_inline void count_walk(struct counters *c, struct walk *w)
{
	__u32 n = w->record.head.n_words;
	__u64 last;

	c->n[COUNTER_FRAMES] += n - w->record.head.n_kernel - w->n_second_words;
	c->n[COUNTER_CACHE_HITS] += w->n_cache_hits;
	c->n[COUNTER_WINDOW_FILLS] += w->n_fills;
	if (w->complete) {
		w->record.head.flags |= RECORD_COMPLETE;
		c->n[COUNTER_COMPLETE]++;
		return;
	}
	n = bounded_here(n - 1);
	if (n >= RECORD_WORDS_MAX)
		return;
	last = w->record.words[n] & FRAME_PAYLOAD_MASK;
	if (last < WALK_ERR_MAX)
		c->walk_errors[last]++;
}

static __always_inline void count_context(struct counters *c, const struct walk *w)
{
	c->n[COUNTER_CONTEXTS] += w->context.len > 0;
	c->n[COUNTER_CONTEXT_LABELS_DROPPED] += w->context.n_dropped;
}

/* Takes WALK_TURNS_EACH steps at most. */
WALK_FN int walk_steps(__u32 which)
{
	int r = WALK_CONTINUE;

	for (int i = 0; i < WALK_TURNS_EACH && !r; i++)
		r = walk_step(which);
	return r;
}

/* Walks the native stack of a published program. Returns 1 if the agent has to. */
static __always_inline int native_stack(struct walk *w, __u32 which)
{
	int r = WALK_CONTINUE;

	walk_begin(w);
	for (int i = 0; i < WALK_TURNS_MAX / WALK_TURNS_EACH && !r; i++)
		r = walk_steps(which);
	if (r == WALK_NEED_FILE || r == WALK_NEED_MAPPINGS)
		return 1;
	if (r == WALK_CONTINUE)
		walk_fail(w, WALK_ERR_DEPTH);
	return 0;
}

/*
 * Finds the description of the program. Returns 0 if there is no user stack; then the sample has
 * been sent.
 */
static __always_inline int user_stack_begin(struct counters *c, struct walk *w, __u32 pid)
{
	struct unwind_process *p = bpf_map_lookup_elem(&processes, &pid);
	struct task_struct *task = (void *)bpf_get_current_task();

	w->thread_pointer = BPF_CORE_READ(task, ARCH_THREAD_POINTER);
	w->is_published = p && is_published(p, &w->record.head);
	if (w->is_published) {
		w->process = *p;
	} else if (w->record.head.flags & RECORD_IN_EXEC) {
		/*
		 * At the end of an exec the registers are still those of the old program and the
		 * memory is that of the new one: there is no stack.
		 */
		w->record.head.flags |= RECORD_NO_USER;
		send_walked(c, w);
		return 0;
	} else {
		newcomer_describe(w, task);
	}
	return 1;
}

static __always_inline void user_stack_send(struct counters *c, struct walk *w, __u32 which)
{
	context_read(w, which);
	count_context(c, w);
	if (w->is_raw) {
		send_raw(c, w, which);
		return;
	}
	count_walk(c, w);
	send_walked(c, w);
}

/*
 * The program that walks the stack: the native frames, and those of languages that have theirs
 * there. Ends with the program of @lists that appends the frames of lists. While a program that
 * knows the languages of the process is being loaded, the agent walks the stack.
 */
static __always_inline void user_stack_walk(void *ctx, void *lists, struct counters *c,
					    struct walk *w, __u32 which)
{
	w->is_raw = 1;
	if (w->is_published && !(w->process.languages & LANGUAGES_CODE & ~languages))
		w->is_raw = native_stack(w, which);
	else
		walk_begin(w);
	if (w->process.lists) {
		bpf_tail_call(ctx, lists, w->process.lists);
		w->is_raw = 1;
	}
	user_stack_send(c, w, which);
}

/* The program that appends the frames that runtimes keep in lists. */
static __always_inline void user_stack_lists(struct counters *c, struct walk *w, __u32 which)
{
	vm_walk(w, which);
	vm_copy_new(w, which);
	user_stack_send(c, w, which);
}

static __always_inline void record_begin(struct walk *w, __u64 id)
{
	struct record_header *h = &w->record.head;

	h->type = RECORD_SAMPLE;
	h->flags = 0;
	h->n_kernel = 0;
	h->n_words = 0;
	h->n_vm_words = 0;
	h->event = 0;
	h->n_context = 0;
	w->context.len = 0;
	h->pid = id >> 32;
	h->tid = (__u32)id;
	h->time_ns = bpf_ktime_get_ns();
	program_of((void *)bpf_get_current_task(), &h->program);
	h->cpu = bpf_get_smp_processor_id();
	h->stack_len = 0;
	w->at_breakpoint = 0;
	h->arg = 0;
	h->len = 0;
	bpf_get_current_comm(h->comm, sizeof(h->comm));
}

static __always_inline void kernel_stack(void *ctx, struct walk *w)
{
	long n = bpf_get_stack(ctx, w->record.words, KERNEL_FRAMES_MAX * sizeof(__u64), 0);

	if (n <= 0)
		return;
	w->record.head.n_kernel = n / sizeof(__u64);
	w->record.head.n_words = n / sizeof(__u64);
}

/*
 * Copies the registers that the thread saved when it entered the kernel to w->leaf_regs. Returns
 * false if there is no user part to walk; if that is an error, an error frame with the reason was
 * pushed.
 */
static __always_inline int saved_registers(struct walk *w)
{
	/*
	 * not on the BPF stack, which is too small in a sched_switch program; the window is still
	 * unused
	 */
	struct saved_regs *regs = (void *)w->window;
	int r;

	_Static_assert(sizeof(*regs) <= sizeof(w->window), "registers fit into the window");
	__builtin_memset(regs, 0, sizeof(*regs));
	r = regs_of_current(regs);
	if (r >= 0 && is_in_exec(regs))
		w->record.head.flags |= RECORD_IN_EXEC;
	if (r > 0)
		w->record.head.flags |= RECORD_NO_USER;
	if (r < 0)
		walk_fail(w, WALK_ERR_NO_REGISTERS);
	if (r)
		return 0;
	if (mode_is_32bit(regs_mode(&regs->user))) {
		walk_fail(w, WALK_ERR_COMPAT_32BIT);
		return 0;
	}
	regs_copy(w->leaf_regs, &regs->user);
	if (saved_by_trap(regs))
		breakpoint_undo(w);
	return 1;
}

static __always_inline int user_registers(struct perf_event_ctx *ctx, struct walk *w, int in_kernel)
{
	if (in_kernel)
		return saved_registers(w);
	regs_copy(w->leaf_regs, &ctx->regs);
	/* else the compiler merges this with the copy above, at a computed address of the context
	 */
	asm volatile("" ::: "memory");
	return 1;
}

/* The cookie of the attachment that fired; 0 before Linux 5.15, which has none. */
static __always_inline __u64 event_cookie(void *ctx)
{
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_attach_cookie))
		return bpf_get_attach_cookie(ctx);
	return 0;
}

/* The number of the event that fired; @alone is the number of the only one of its kind. */
static __always_inline __u32 event_number(void *ctx, __u32 alone)
{
	return use_cookies ? event_cookie(ctx) : alone;
}

/*
 * Adds the run time of the program, because reading the kernel's own statistics (run_time_ns)
 * requires CAP_SYS_ADMIN.
 */
static __always_inline void count_time(struct counters *c, struct walk *w)
{
	c->n[COUNTER_RUN_NS] += bpf_ktime_get_ns() - w->record.head.time_ns;
}

static __always_inline void take_sample(struct perf_event_ctx *ctx, struct counters *c,
					struct walk *w, __u32 pid)
{
	__u64 mode = regs_mode(&ctx->regs);
	int in_kernel = mode_is_kernel(mode);

	if (in_kernel) {
		w->record.head.flags |= RECORD_KERNEL_MODE;
		if (collect_kernel)
			kernel_stack(ctx, w);
	}
	if (mode_is_32bit(mode))
		walk_fail(w, WALK_ERR_COMPAT_32BIT);
	if (mode_is_32bit(mode) || !pid || !collect_user || !user_registers(ctx, w, in_kernel))
		send_walked(c, w);
	else if (user_stack_begin(c, w, pid))
		walk_by_program(ctx, &sample_walks, c, w);
}

SEC("perf_event")
int on_sample(struct perf_event_ctx *ctx)
{
	__u64 id = bpf_get_current_pid_tgid();
	struct counters *c = counters_get();
	struct walk *w = walk_get(WALK_CPU);
	__u32 pid = id >> 32;

	if (!c || !w)
		return 0;
	c->n[COUNTER_SAMPLES]++;
	if (!pid && !collect_idle) {
		c->n[COUNTER_IDLE]++;
		return 0;
	}
	if (select_excludes(c, pid, SELECT_NO_CPU))
		return 0;
	record_begin(w, id);
	w->record.head.event = event_number(ctx, event_of_perf);
	take_sample(ctx, c, w, pid);
	count_time(c, w);
	return 0;
}

SEC("perf_event")
int walk_sample(void *ctx)
{
	struct counters *c = counters_get();
	struct walk *w = walk_get(WALK_CPU);

	if (!c || !w)
		return 0;
	user_stack_walk(ctx, &sample_lists, c, w, WALK_CPU);
	count_time(c, w);
	return 0;
}

SEC("perf_event")
int list_sample(void *ctx)
{
	struct counters *c = counters_get();
	struct walk *w = walk_get(WALK_CPU);

	if (!c || !w)
		return 0;
	user_stack_lists(c, w, WALK_CPU);
	count_time(c, w);
	return 0;
}

#include "bpf/lib/programs.h"

_Static_assert((KERNEL_FRAMES_MAX & (KERNEL_FRAMES_MAX + 1)) == 0, "used as a mask");

#include "bpf/lib/offcpu.h"
#include "bpf/lib/offcpu_wakers.h"
#include "bpf/lib/probes.h"

#include "bpf/lib/allocs.h" /* these reserve walk states with functions of probes.h */
#include "bpf/lib/faults.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
