/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Heap allocations: the programs at functions of allocators, loaded only with --memory=alloc or
 * live. Part of the object of sample.bpf.c. They are attached to chosen processes only.
 *
 * Bytes are sampled: a CPU counts the allocated bytes down, and the allocation that reaches zero is
 * a sample; then the next gap is drawn from an exponential distribution. So an allocation of S
 * bytes is sampled with the probability 1 - e^(-S/mean), whatever was allocated before it. If the
 * counter reaches zero in a call that an allocator makes to itself, that call is ignored, which
 * leaves the probabilities of other allocations unchanged. A probe that preempts another one on its
 * CPU may undo its subtraction, which is rare.
 *
 * For --memory=live, the program at the return of these functions records the address of a sampled
 * block; the program at free() looks the address up and reports that the block was freed. Between
 * entry and return, a call is identified by its thread and its stack pointer. The return of a call
 * that longjmp() has left is never seen.
 */
#include "bpf/shared/allocs.h"

#define ALLOC_SIZE_MAX (1ULL << 40) /* a call for more is expected to fail */

const volatile __u32 alloc_live = 0;
/* Quantiles of the gaps, in bytes; values between two of them are interpolated. */
const volatile __u64 alloc_gaps[ALLOC_GAPS + 1] = {};

struct alloc_cpu {
	__s64 left; /* bytes up to the next sample */
	__u64 is_started;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct alloc_cpu);
} alloc_cpus SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* ALLOC_FILES_MAX; set before loading */
	__type(key, __u32);
	__type(value, struct alloc_file);
} alloc_files SEC(".maps");

/* A call that has not returned yet, and that allocates a sampled block or is realloc() of one. */
struct alloc_call {
	struct alloc_id id, old;
	__u64 sp;        /* after the return */
	__u64 place;     /* where posix_memalign() stores the address; 0: it is returned */
	__u64 old_block; /* of realloc() */
	__u64 size;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set before loading */
	__type(key, __u32);     /* tid */
	__type(value, struct alloc_call);
} alloc_calls SEC(".maps");

struct alloc_block {
	__u64 address;
	__u32 pid, reserved;
};

/* The sampled blocks that are in use. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set before loading */
	__type(key, struct alloc_block);
	__type(value, struct alloc_id);
} alloc_blocks SEC(".maps");

static __always_inline struct alloc_block alloc_block_at(__u64 address)
{
	return (struct alloc_block){ .address = address, .pid = bpf_get_current_pid_tgid() >> 32 };
}

/* Reports that the allocation @id is over: freed, or failed. */
static __always_inline void alloc_send_end(struct counters *c, const struct alloc_id *id)
{
	__u64 now = bpf_get_current_pid_tgid();
	struct record_header h = { .type = RECORD_FREED,
				   .pid = now >> 32,
				   .tid = (__u32)now,
				   .arg = id->time_ns,
				   .len = id->tid };

	h.time_ns = bpf_ktime_get_ns();
	program_of((void *)bpf_get_current_task(), &h.program);
	if (bpf_ringbuf_output(&ring, &h, sizeof(h), BPF_RB_NO_WAKEUP))
		c->n[COUNTER_FREES_LOST]++;
}

/* Removes the block at @address; its allocation is in *@out. Returns false if it is not sampled. */
static __always_inline int alloc_take_block(__u64 address, struct alloc_id *out)
{
	struct alloc_block block = alloc_block_at(address);
	struct alloc_id *id = bpf_map_lookup_elem(&alloc_blocks, &block);

	if (!id)
		return 0;
	*out = *id;
	bpf_map_delete_elem(&alloc_blocks, &block);
	return 1;
}

/*
 * Records a sampled block. If one is recorded at the same address already, its free() was missed;
 * its end is reported now.
 */
static __always_inline void alloc_put_block(struct counters *c, __u64 address,
					    const struct alloc_id *id)
{
	struct alloc_block block = alloc_block_at(address);
	struct alloc_id old;

	if (alloc_take_block(address, &old))
		alloc_send_end(c, &old);
	if (bpf_map_update_elem(&alloc_blocks, &block, id, BPF_ANY))
		c->n[COUNTER_BLOCKS_LOST]++;
}

static __always_inline __u64 alloc_product(__u64 n, __u64 size)
{
	return n > ALLOC_SIZE_MAX || size > ALLOC_SIZE_MAX || (n >> 24 && size >> 24) ? 0
										      : n * size;
}

/*
 * The registers that a probe needs. All are read at once, at the start of the program: else the
 * compiler computes addresses of the context, which the verifier refuses.
 */
struct alloc_entry {
	__u64 args[3], sp, pc, link, cookie;
};

static __always_inline void alloc_read_entry(struct user_regs *ctx, struct alloc_entry *out)
{
	out->args[0] = regs_arg0(ctx);
	out->args[1] = regs_arg1(ctx);
	out->args[2] = regs_arg2(ctx);
	out->sp = *(const volatile __u64 *)regs_sp(ctx);
	out->pc = regs_pc(ctx);
	out->link = regs_link(ctx);
	out->cookie = event_cookie(ctx);
}

static __always_inline __u64 alloc_size(const struct alloc_entry *e)
{
	switch (ALLOC_COOKIE_KIND(e->cookie)) {
	case ALLOC_SIZE_0:
		return e->args[0];
	case ALLOC_SIZE_1:
	case ALLOC_RESIZE:
		return e->args[1];
	case ALLOC_TO_PLACE:
		return e->args[2];
	case ALLOC_PRODUCT:
		return alloc_product(e->args[0], e->args[1]);
	}
	return 0;
}

/* A random gap. */
static __always_inline __u64 alloc_gap(void)
{
	__u32 r = bpf_get_prandom_u32(), i = r >> 24;
	__u64 lo = alloc_gaps[i & (ALLOC_GAPS - 1)], hi = alloc_gaps[(i & (ALLOC_GAPS - 1)) + 1];

	return lo + ((hi - lo) * (r & 0xffffff) >> 24);
}

/* True if a sample falls on these bytes. */
static __always_inline int alloc_is_due(__u64 size)
{
	__u32 zero = 0;
	struct alloc_cpu *cpu = bpf_map_lookup_elem(&alloc_cpus, &zero);

	if (!cpu || !size || size > ALLOC_SIZE_MAX)
		return 0;
	if (!cpu->is_started) {
		cpu->is_started = 1;
		cpu->left = alloc_gap();
	}
	cpu->left -= size;
	if (cpu->left > 0)
		return 0;
	cpu->left = alloc_gap();
	return 1;
}

/* The return address, at the entry of a function. */
static __always_inline __u64 alloc_caller(const struct alloc_entry *e)
{
	__u64 caller = 0;

	if (!ARCH_RETURN_BYTES)
		return e->link;
	return read_user(&caller, sizeof(caller), e->sp) ? 0 : caller;
}

/* True if the caller is a function of the allocator too. */
static __always_inline int alloc_is_nested(const struct alloc_entry *e)
{
	__u32 n = ALLOC_COOKIE_FILE(e->cookie);
	struct alloc_file *file = bpf_map_lookup_elem(&alloc_files, &n);
	__u64 caller = alloc_caller(e) - e->pc + ALLOC_COOKIE_OFFSET(e->cookie);

	for (int i = 0; file && i < ALLOC_RANGES_MAX; i++)
		if (caller > file->ranges[i].lo && caller <= file->ranges[i].hi)
			return 1;
	return 0;
}

/* Expects the return of a call that matters. */
static __always_inline void alloc_expect_return(struct counters *c, const struct alloc_call *call)
{
	__u32 tid = bpf_get_current_pid_tgid();

	if (bpf_map_update_elem(&alloc_calls, &tid, call, BPF_ANY))
		c->n[COUNTER_BLOCKS_LOST]++;
}

/*
 * Does the same as user_stack_begin() without its path that sends the sample of a process in an
 * exec. Such a process allocates nothing, and with that path the verifier of Linux 6.1 loses a
 * bound in this program.
 */
static __always_inline void alloc_find_stack(struct walk *w, __u32 pid, struct task_struct *task)
{
	struct unwind_process *p = bpf_map_lookup_elem(&processes, &pid);

	w->thread_pointer = BPF_CORE_READ(task, ARCH_THREAD_POINTER);
	w->is_published = p && is_published(p, &w->record.head);
	if (w->is_published)
		w->process = *p;
	else
		newcomer_describe(w, task);
}

/* Takes the sample; returns only if its stack could not be walked. */
static __always_inline void alloc_sample(struct user_regs *ctx, struct counters *c, __u32 which,
					 struct alloc_call *call)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u64 id = bpf_get_current_pid_tgid();
	struct walk *w = walk_get(which);

	if (!w)
		return;
	record_begin(w, id);
	w->record.head.flags = RECORD_ALLOC;
	w->record.head.arg = call->size;
	call->id.time_ns = w->record.head.time_ns;
	call->id.tid = (__u32)id;
	if (alloc_live)
		alloc_expect_return(c, call);
	regs_copy(w->leaf_regs, ctx);
	alloc_find_stack(w, id >> 32, task);
	walk_by_program(ctx, &uprobe_walks, c, w);
}

/* The old block ends when realloc() begins, because its address may be used before it returns. */
static __always_inline void alloc_resize(const struct alloc_entry *e, struct alloc_call *call)
{
	if (ALLOC_COOKIE_KIND(e->cookie) == ALLOC_RESIZE && e->args[0] &&
	    alloc_take_block(e->args[0], &call->old))
		call->old_block = e->args[0];
}

/* Returns the state that is reserved for the sample; 0 if there is none. */
static __always_inline __u32 alloc_begin(struct counters *c, const struct alloc_entry *e,
					 const struct alloc_call *call)
{
	__u32 which;

	if (!alloc_is_due(call->size) || alloc_is_nested(e))
		return 0;
	c->n[COUNTER_SAMPLES]++;
	which = walk_reserve();
	c->n[COUNTER_LOST] += !which;
	return which;
}

static __always_inline void alloc_count(struct counters *c, enum counter which, __u64 cookie)
{
	c->n[which]++;
	c->n[COUNTER_ALLOCS_STEPPED] += !!(cookie & ALLOC_COOKIE_STEPPED);
}

SEC("uprobe")
int on_alloc(struct user_regs *ctx)
{
	struct counters *c = counters_get();
	struct alloc_call call = {};
	struct alloc_entry e;
	__u32 which;

	alloc_read_entry(ctx, &e);
	if (!c)
		return 0;
	alloc_count(c, COUNTER_ALLOCS, e.cookie);
	call.size = alloc_size(&e);
	call.sp = e.sp + ARCH_RETURN_BYTES;
	if (ALLOC_COOKIE_KIND(e.cookie) == ALLOC_TO_PLACE)
		call.place = e.args[0];
	if (alloc_live)
		alloc_resize(&e, &call);
	which = alloc_begin(c, &e, &call);
	if (which) {
		alloc_sample(ctx, c, which, &call);
		walk_release(which);
	} else if (call.old_block) {
		alloc_expect_return(c, &call);
	}
	return 0;
}

/* The address of a block that was just allocated; 0 if that failed. */
static __always_inline __u64 alloc_result(__u64 address, const struct alloc_call *call)
{
	if (!call->place)
		return address;
	if ((__u32)address || read_user(&address, sizeof(address), call->place))
		return 0;
	return address;
}

SEC("uprobe")
int on_alloc_return(struct user_regs *ctx)
{
	__u64 result = regs_result(ctx), sp = *regs_sp(ctx), address;
	__u32 tid = bpf_get_current_pid_tgid();
	struct alloc_call *found = bpf_map_lookup_elem(&alloc_calls, &tid), call;
	struct counters *c = counters_get();

	if (!found || !c)
		return 0;
	call = *found;
	if (sp < call.sp)
		return 0; /* of a function that it has called */
	bpf_map_delete_elem(&alloc_calls, &tid);
	if (sp != call.sp)
		return 0;
	address = alloc_result(result, &call);
	if (call.old_block && !address && call.size)
		alloc_put_block(c, call.old_block,
				&call.old); /* realloc() failed, so the block still exists */
	else if (call.old_block)
		alloc_send_end(c, &call.old);
	if (call.id.time_ns && address)
		alloc_put_block(c, address, &call.id);
	else if (call.id.time_ns)
		alloc_send_end(c, &call.id);
	return 0;
}

SEC("uprobe")
int on_free(struct user_regs *ctx)
{
	__u64 block = regs_arg0(ctx), cookie = event_cookie(ctx);
	struct counters *c = counters_get();
	struct alloc_id id;

	if (!c)
		return 0;
	alloc_count(c, COUNTER_FREES, cookie);
	if (block && alloc_take_block(block, &id))
		alloc_send_end(c, &id);
	return 0;
}
