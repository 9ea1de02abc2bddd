/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/* The state of a walk between two frames, and the few ways to end it. */
#include "bpf/shared/abi.h"
#include "bpf/shared/vms.h"

enum {
	WALK_WINDOW = 1024,
	WALK_SEARCH_STEPS = 17, /* 2^17 mappings, or rows of a page */
	RULE_CACHE_SLOTS = 1024,
	PUSHED_WORDS_MAX = 24, /* that generated code without a frame has on the stack */
	VM_THREADS_CACHED = 256,
	VM_SEEN_SLOTS = 1024,
	RUBY_METHODS_CACHED = 256,
	JVM_CACHE_SLOTS = 512,
	JVM_CLASS_SLOTS = 64,
	LOOP_CALLERS_MAX = 32,
	LOOP_CALLERS_EACH = 3,        /* frames outside of a loop that are noted */
	VM_STEPS_MAX = 3072,          /* not every step of a machine's list is a frame */
	VM_FILE_BYTES_MAX = 64 << 20, /* of a file whose generated code is stepped through */
	USER_PAGE = 4096,
	GUESS_FRAME_MAX = 1 << 20, /* bytes; larger frames are not guessed */
	KEPT_FRAME_MAX = 4096,     /* by a register that may have been left alone */
};

enum walk_step_result {
	WALK_CONTINUE,
	WALK_STOP,          /* complete, or an error frame says why not */
	WALK_NEED_FILE,     /* the table of walk.need_file is not built yet */
	WALK_NEED_MAPPINGS, /* those known may be behind the times */
};

/* The native frames of one activation, where functions of their own enter the loop. */
enum walk_run {
	WALK_RUN_NONE,
	WALK_RUN_OPEN,  /* its loop, or code that it generated, was passed */
	WALK_RUN_ENTRY, /* and what entered that */
};

struct rule_cache_slot {
	__u64 word; /* the frame's word; 0: empty */
	__u32 rule;
	__u32 generation; /* when tables have moved or gone, older slots are void */
};

/* Where a thread's state in a virtual machine was last found. */
struct vm_thread {
	__u64 fs_base;
	__u64 state;
	__u32 pid;
	__u32 pad;
};

/* Which of the JVM's blobs a pc was found in. */
struct jvm_cache_slot {
	__u64 pc, blob_at;
	__u32 pid;
	__u32 cookie; /* of what the blob was then */
};

/* What a walk read of a class. */
struct jvm_class_slot {
	__u64 at, time_ns;
	__u32 pid;
	__u32 hash;
};

/* Registers of a frame just outside of a machine's loop. */
struct loop_caller {
	__u64 rbx, rbp;
};

/* Which registers of the frame in work are known besides rbx, rbp, rsp, rip? */
enum walk_regs {
	WALK_REGS_LOST,
	WALK_REGS_ALL,  /* leaf or interrupted by a signal */
	WALK_REGS_KEPT, /* those that the leaf, which it called, may have left alone */
};

struct walk {
	__u64 leaf_regs[UREG_COUNT]; /* as sampled, DWARF order */
	__u64 regs[UREG_COUNT];      /* of the current frame */
	__u8 other_regs;             /* enum walk_regs */
	__u8 is_call;                /* rip is a return address: look up rip - 1 */
	__u8 complete;
	__u8 by_frame_pointer; /* so was this frame reached: its rbp is what its callee saved */
	__u32 need_file;

	struct unwind_process process;
	struct unwind_mapping mapping; /* the one that held the last pc, tried first */

	__u64 cfa; /* of the current frame, where a step function leaves it */

	__u64 window_at; /* address of window[0]; 0: nothing copied */
	__u32 window_len;
	__u32 n_fills;
	__u32 n_cache_hits;
	__u32 rule; /* id of the rule in force in the current frame */
	__u64 window[WALK_WINDOW / 8];

	__u64 fs_base;               /* the thread's */
	__u64 folded;                /* the frame passed last, if it left no word */
	__u32 n_loops[VM_SLOTS_MAX]; /* frames of each machine's loop so far */
	__u32 vm_run[VM_SLOTS_MAX];  /* enum walk_run: how far through an activation */
	__u64 loop_rbx;              /* in the innermost frame of a loop */
	__u32 n_to_note;             /* frames left of those whose registers are kept */
	__u32 n_loop_callers;
	struct loop_caller loop_callers[LOOP_CALLERS_MAX]; /* the innermost first */
	__u64 vm_at;                                       /* next frame of the machine in work */
	__u64 vm_base, vm_cop; /* Perl's: the stack's first frame, the place reached */
	__u64 vm_interp;       /* while its thread is sought: where the next list is */
	__u32 vm_found;
	__u32 vm_first;       /* words of machines before the one in work */
	__u32 n_activations;  /* of the machine in work, so far */
	__u32 n_second_words; /* of frames that have two */
	__u32 vm_last;        /* index of the words of the one before; 0: none */
	__u32 vm_is_new;      /* one of them was not seen lately on this CPU */
	union {
		__u64 words[VM_FRAME_BYTES / 8];
		__u8 bytes[VM_FRAME_BYTES];
	} vm_frame;

	__u64 vm_near_at[2]; /* addresses of what the halves of the window hold; see vm_near.h */

	__u32 v8_vm; /* of the frame in work */
	__u32 v8_pad;
	__u64 v8_embedded;    /* where its code is in V8's file, plus 1; 0: it is not in it */
	__u64 v8_interpreter; /* where its interpreter's entry was last found to be returned to */
	__u64 v8_function;    /* tagged; 0: it is no function's, or not known */
	__u64 v8_type;        /* of the frame, or V8_PLACE_NONE */
	__u64 v8_instance;    /* of WebAssembly, tagged; 0: it has none */
	__u64 v8_ra, v8_sp, v8_rbp; /* of the caller */
	__u64 v8_last, v8_shared;   /* the function pushed last, tagged, and what it shares */
	__u32 v8_cookie, v8_pad2;   /* of that */

	__u64 jvm_frame; /* bytes of it */
	__u64 blob_at;   /* the JVM's code blob of the frame in work */
	__u64 blob[JVM_BLOB_BYTES / 8];
	__u64 code[8]; /* bytes of the code there */
	/* of a virtual thread's frames in the heap: chunk, 0: none yet; its end, 0: not in it */
	__u64 chunk, chunk_end, chunk_return; /* and rsp behind it */

	/* these live from sample to sample */
	struct rule_cache_slot cache[RULE_CACHE_SLOTS];
	struct vm_thread threads[VM_THREADS_CACHED];
	struct jvm_cache_slot blobs[JVM_CACHE_SLOTS];
	struct jvm_class_slot classes[JVM_CLASS_SLOTS];
	__u32 vm_seen[VM_SEEN_SLOTS]; /* hashes of frames of virtual machines */
	__u64 ruby_methods[RUBY_METHODS_CACHED];

	struct sample_record record; /* frames are appended here */
};

/*
 * @n as the compiler knows nothing about it: of two pushes in a row it would
 * fold the second bound into a test for equality, from which verifiers up to
 * 6.12 learn nothing.
 */
static __always_inline __u32 bounded_here(__u32 n)
{
	asm volatile("" : "+r"(n));
	return n;
}

static __always_inline void walk_push(struct walk *w, __u64 word)
{
	__u32 n = bounded_here(w->record.head.n_words);

	if (n >= RECORD_WORDS_MAX)
		return;
	w->record.words[n] = word;
	w->record.head.n_words = n + 1;
}

/* Move the frame pushed last up by @n bytes. */
static __always_inline void walk_repush(struct walk *w, __u32 n)
{
	__u32 last = w->record.head.n_words - 1;

	if (last < RECORD_WORDS_MAX)
		w->record.words[last] += n;
}

/* The outermost frame stays, whatever it is. */
static __always_inline void walk_unfold(struct walk *w)
{
	if (w->folded)
		walk_push(w, w->folded);
	w->folded = 0;
}

static __always_inline int walk_fail(struct walk *w, enum walk_error why)
{
	walk_unfold(w);
	walk_push(w, FRAME_WORD(FRAME_ERROR, why));
	return WALK_STOP;
}

static __always_inline int walk_done(struct walk *w)
{
	walk_unfold(w);
	w->complete = 1;
	return WALK_STOP;
}

/* Begin the walk of a process's stack at the registers in w->leaf_regs. */
static __always_inline void walk_begin(struct walk *w, const struct unwind_process *p)
{
	__builtin_memcpy(w->regs, w->leaf_regs, sizeof(w->regs));
	w->process = *p;
	w->mapping.start = 0;
	w->mapping.end = 0;
	w->window_at = 0;
	w->n_fills = 0;
	w->n_cache_hits = 0;
	w->other_regs = WALK_REGS_ALL;
	w->is_call = 0;
	w->by_frame_pointer = 0;
	w->complete = 0;
	w->need_file = 0;
	w->folded = 0;
	for (int i = 0; i < VM_SLOTS_MAX; i++) {
		w->n_loops[i] = 0;
		w->vm_run[i] = WALK_RUN_NONE;
	}
	w->n_to_note = 0;
	w->n_loop_callers = 0;
	w->n_second_words = 0;
	w->v8_interpreter = 0;
	w->v8_last = 0;
	w->blob_at = 0;
	w->chunk = 0;
	w->chunk_end = 0;
	w->vm_last = 0;
	w->vm_is_new = 0;
	w->record.head.n_vm_words = 0;
}

/* Has a frame of a virtual machine been seen lately? Else it should be read soon. */
static __always_inline void vm_note(struct walk *w, __u64 head, __u32 cookie)
{
	__u32 hash = (__u32)(((head ^ ((__u64)cookie << 20)) * 0x9e3779b97f4a7c15ULL) >> 32);
	__u32 seen = hash & (VM_SEEN_SLOTS - 1);

	if (w->vm_seen[seen] != hash)
		w->vm_is_new = 1;
	w->vm_seen[seen] = hash;
}

/* Two words of a virtual machine's frame, behind all others. */
static __always_inline void vm_push(struct walk *w, __u32 slot, __u64 addr, __u32 place,
				    __u32 cookie)
{
	__u32 n = bounded_here(w->record.head.n_words + w->record.head.n_vm_words);
	__u64 head = VM_FRAME_WORD(slot, w->process.vms[slot].vm, addr);

	if (n >= RECORD_WORDS_MAX + VM_WORDS_MAX - 1)
		return;
	w->record.words[n] = head;
	w->record.words[n + 1] = (__u64)place << 32 | cookie;
	w->record.head.n_vm_words += 2;
	w->vm_last = n;
	vm_note(w, head, cookie);
}

/* A machine's frames follow. */
static __always_inline void vm_start(struct walk *w)
{
	w->vm_first = w->record.head.n_vm_words;
	w->vm_last = 0;
	w->n_activations = 0;
	w->vm_near_at[0] = w->vm_near_at[1] = 0;
}

/* Is the frame in work the machine's innermost? */
static __always_inline int vm_is_first(const struct walk *w)
{
	return w->record.head.n_vm_words == w->vm_first;
}

static __always_inline int vm_is_in(const struct vm_range ranges[VM_RANGES_MAX], __u64 off)
{
	return (off >= ranges[0].lo && off < ranges[0].hi) ||
	       (off >= ranges[1].lo && off < ranges[1].hi);
}

/* Was the machine's loop itself running, so that the sampled registers are its? */
static __always_inline int vm_leaf_is_loop(const struct walk *w, __u32 slot)
{
	__u32 n = w->record.head.n_kernel;

	return n < RECORD_WORDS_MAX && VM_LOOP_SLOT(w->record.words[n]) == slot + 1 &&
	       w->record.words[n] >> FRAME_KIND_SHIFT == FRAME_NATIVE;
}

/* They are read once more. */
static __always_inline void vm_restart(struct walk *w)
{
	w->record.head.n_vm_words = w->vm_first;
	w->vm_last = 0;
	w->n_activations = 0;
}

/* The frame pushed last is the one that its loop was entered with. */
static __always_inline void vm_mark_last(struct walk *w)
{
	__u32 n = w->vm_last;

	w->vm_last = 0;
	if (!n)
		return;
	w->n_activations++;
	n = bounded_here(n);
	if (n < RECORD_WORDS_MAX + VM_WORDS_MAX)
		w->record.words[n] |= VM_FRAME_LAST;
}

/* Never 0: that says that the bytes could not be read. */
static __always_inline __u32 vm_cookie(__u64 bytes)
{
	return (__u32)((bytes * 0x9e3779b97f4a7c15ULL) >> 32) | 1;
}
