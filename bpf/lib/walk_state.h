/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * The state of a walk between two frames, what may end it, and pushing frames. struct walk is too
 * large for the BPF stack (512 bytes), so it lives in a map; each step looks it up with walk_get().
 */
#include "bpf/shared/abi.h"
#include "bpf/shared/vms.h"

enum {
	WALK_WINDOW = 1024,
	WALK_SEARCH_STEPS = 17, /* bisection over at most 2^17 mappings, or rows of a page */
	RULE_CACHE_SLOTS = 1024,
	PUSHED_WORDS_MAX = 24, /* words that generated code without a frame may have pushed */
	VM_SEEN_SLOTS = 1024,
	VM_NEW_MAX = 256, /* new functions of one stack that are copied; a power of two */
	LOOP_CALLERS_MAX = 32,
	LOOP_CALLERS_EACH = 3, /* frames outside of a loop whose registers are stored */
	VM_STEPS_MAX = 3072,   /* more than VM_FRAMES_MAX: not every step of a list is a frame */
	/*
	 * The verifier follows every turn of a loop, so a loop of many turns is two, the inner one
	 * in a function of its own: N * M turns are checked as N + M.
	 */
	WALK_TURNS_EACH = 64,
	VM_STEPS_EACH = 64,
	VM_FILE_BYTES_MAX = 64 << 20, /* size of a file whose generated code is stepped through */
	USER_PAGE = 4096,
	GUESS_FRAME_MAX =
		1 << 20, /* bytes; a frame pointer without a rule is not believed beyond this */
	KEPT_FRAME_MAX =
		4096, /* bytes; the same for a register that the callee may have preserved */
};

enum walk_step_result {
	WALK_CONTINUE,
	WALK_STOP,      /* the walk is complete, or an error frame has the reason */
	WALK_NEED_FILE, /* the table of walk.need_file is not built yet */
	/*
	 * the published mappings may be out of date, or memory is not resident: the agent walks a
	 * copy of the stack
	 */
	WALK_NEED_MAPPINGS,
	WALK_OTHER, /* result of a language's step: the code is not its runtime's */
};

/*
 * How far the walk is through the native frames of one activation, for runtimes where functions of
 * their own enter the loop.
 */
enum walk_run {
	WALK_RUN_NONE,
	WALK_RUN_OPEN,  /* its loop, or code that it generated, was passed */
	WALK_RUN_ENTRY, /* the function that entered them was passed as well */
};

struct rule_cache_slot {
	__u64 word; /* the frame's word; 0 if the slot is empty */
	__u32 rule;
	__u32 generation; /* slots of an older generation are void: tables have moved or were
			     dropped */
};

/* Registers of a frame just outside of a runtime's loop. */
struct loop_caller {
	__u64 aux, fp;
};

/* The registers of the current frame that are known in addition to aux, fp, sp and pc. */
enum walk_regs {
	WALK_REGS_LOST,
	WALK_REGS_ALL,  /* all of them: in the leaf, or in a frame that a signal interrupted */
	WALK_REGS_KEPT, /* those of the leaf, in its caller, if the leaf has not changed them */
};

/* The words of a frame whose function is new to this CPU. */
struct vm_new {
	__u64 words[2];
};

struct lang_walks {
#define X(sym, name) struct name##_walk name;
#include "bpf/shared/langs.def"
#undef X
};

struct walk {
	__u64 leaf_regs[UREG_COUNT]; /* as sampled, in DWARF order */
	__u64 regs[UREG_COUNT];      /* registers of the current frame */
	__u8 other_regs;             /* enum walk_regs */
	__u8 is_call;                /* pc is a return address: pc - 1 is looked up */
	__u8 complete;
	__u8 by_frame_pointer; /* the frame was reached by a frame pointer: its fp is what its
				  callee saved */
	__u8 absent_is_final;  /* unreadable memory does not exist: set in the agent */
	__u8 is_published;  /* process describes the program completely: its stack can be walked */
	__u8 is_raw;        /* the agent walks the stack */
	__u8 at_breakpoint; /* pc is a breakpoint whose instruction the kernel may have emulated:
			       see breakpoint.h */
	__u8 at_root; /* a return address or a frame pointer of zero was read: see walk_root() */
	__u32 need_file;

	struct unwind_process process;
	struct unwind_mapping mapping; /* mapping of the last pc, tried first */

	__u64 cfa; /* CFA of the current frame, as a result of a step function */
	/* the frame of an exception handler, as a result of walk_find_handler() */
	struct {
		__u64 pc, cfa;
	} handler;
	/* the search for a return address (generated.h); the best one so far is in cfa */
	struct {
		__u64 at;     /* the word that is examined */
		__u64 broken; /* a word whose frames are known to be broken */
		__u32 best;   /* the certainty of the best one */
	} search;
	/* the frame that walk_link() checks for a return address that was found by search */
	struct {
		__u64 at;        /* address of the return address into it */
		__u64 fp;        /* its fp, if that is known */
		__u64 ra;        /* the return address into the frame below */
		__u64 frame_end; /* address of the return address of the first frame */
		__u32 n;         /* frames that were consistent so far */
		__u32 may_enter; /* the first one's call may lead to generated code */
		__u32 misfits;   /* a direct call leads to another function than the frame's */
	} link;

	__u64 window_at; /* address of window[0]; 0 if nothing is in the window */
	__u32 window_len;
	__u32 n_fills;
	__u32 n_cache_hits;
	__u32 rule; /* id of the current frame's rule */
	__u64 window[WALK_WINDOW / 8];

	__u64 thread_pointer;
	__u64 folded; /* the frame passed last, if its word was omitted; 0 otherwise */
	__u32 n_loops[VM_SLOTS_MAX]; /* frames of each runtime's loop so far */
	__u32 vm_run[VM_SLOTS_MAX];  /* enum walk_run */
	__u64 loop_aux;              /* aux in the innermost frame of a loop */
	__u32 n_to_note;             /* further frames whose registers must be stored */
	__u32 n_loop_callers;
	struct loop_caller loop_callers[LOOP_CALLERS_MAX]; /* the innermost frame first */
	__u64 vm_at;          /* address of the next frame in the current runtime's list */
	__u32 vm_first;       /* n_vm_words where the current runtime's list begins */
	__u32 n_activations;  /* activations of the current runtime so far */
	__u32 n_second_words; /* number of frames with two words */
	__u32 vm_last;   /* index of the first word of the list's frame pushed last; 0 if none */
	__u32 vm_is_new; /* a frame was pushed that this CPU has not seen recently */
	__u32 n_vm_new;  /* new frames of runtimes' lists */
	union {
		__u64 words[VM_FRAME_BYTES / 8];
		__u8 bytes[VM_FRAME_BYTES];
	} vm_frame;

	__u64 vm_near_at[2]; /* addresses of the memory in the window's halves; see vm_near.h */

	__u64 code[8]; /* bytes of the process's code, read last */

	struct lang_walks lang; /* state of each language; parts of it live from sample to sample */

	/* The rest lives from sample to sample. */
	struct rule_cache_slot cache[RULE_CACHE_SLOTS];
	__u32 vm_seen[VM_SEEN_SLOTS]; /* hashes of runtimes' frames */

	struct context context; /* of the current record; its len is 0 if there is none */

	struct vm_new vm_new[VM_NEW_MAX];
	struct function_record function; /* the current copy; see copy.h */
	struct sample_record record;     /* the current record; frames are appended to it */
};

/* The builds define these: the state of walk @which; whether this program's walk knows @lang. */
static __always_inline struct walk *walk_get(__u32 which);
static __always_inline int walk_knows(__u32 lang);

/*
 * The state of a walk for a function of @lang; NULL in a program that does not know the language.
 * Before 6.8 the verifier also checks functions that are never called; with NULL here it finds
 * nothing to check in them.
 */
static __always_inline struct walk *lang_walk_get(__u32 lang, __u32 which)
{
	return walk_knows(lang) ? walk_get(which) : NULL;
}

/*
 * Returns @n in a way that hides its range from the compiler. Otherwise the compiler folds
 * the second bounds check of two consecutive pushes into a test for equality, from which verifiers
 * up to 6.12 learn nothing.
 */
static __always_inline __u32 bounded_here(__u32 n)
{
	asm volatile("" : "+r"(n));
	return n;
}

/*
 * Returns @n, but at most @max, a constant. One register is compared and returned: clang 19
 * compares a copy, from which verifiers before 6.8 learn nothing about the register that is used.
 */
static __always_inline __u64 at_most(__u64 n, const __u32 max)
{
#ifdef __bpf__
	asm volatile("if %0 <= %1 goto +1; %0 = %1" : "+r"(n) : "i"(max));
	return n;
#else
	return n < max ? n : max;
#endif
}

static __always_inline void walk_push(struct walk *w, __u64 word)
{
	__u32 n = bounded_here(w->record.head.n_words);

	if (n >= RECORD_WORDS_MAX)
		return;
	w->record.words[n] = word;
	w->record.head.n_words = n + 1;
}

/* Moves the frame pushed last up by @n bytes. */
static __always_inline void walk_repush(struct walk *w, __u32 n)
{
	__u32 last = w->record.head.n_words - 1;

	if (last < RECORD_WORDS_MAX)
		w->record.words[last] += n;
}

/* The outermost frame keeps its word, whatever it is. */
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

/*
 * Returned where memory that describes code cannot be read: a page of a file that was not used yet
 * may be absent.
 */
static __always_inline int walk_absent(struct walk *w)
{
	return w->absent_is_final ? walk_fail(w, WALK_ERR_NO_RULE) : WALK_NEED_MAPPINGS;
}

static __always_inline int walk_done(struct walk *w)
{
	walk_unfold(w);
	w->complete = 1;
	return WALK_STOP;
}

/* The hash of a runtime's frame in this process; its low bits are the slot in vm_seen. */
static __always_inline __u32 vm_hash(const struct walk *w, __u64 head, __u32 cookie)
{
	__u64 key = head ^ (__u64)cookie << 20 ^ w->process.program.start_ns;

	return (__u32)((key * 0x9e3779b97f4a7c15ULL) >> 32);
}

/* Makes a runtime's frame new again. */
static __always_inline void vm_forget(struct walk *w, __u64 head, __u32 cookie)
{
	w->vm_seen[vm_hash(w, head, cookie) & (VM_SEEN_SLOTS - 1)] = 0;
}

/*
 * Notes whether a runtime's frame is new to this CPU; the agent is woken to read new ones soon.
 * Returns 1 if it is.
 */
static __always_inline int vm_note(struct walk *w, __u64 head, __u32 cookie)
{
	__u32 hash = vm_hash(w, head, cookie), seen = hash & (VM_SEEN_SLOTS - 1);

	if (w->vm_seen[seen] == hash)
		return 0;
	w->vm_is_new = 1;
	/* a function without room in vm_new is copied when a later sample meets it */
	w->vm_seen[seen] = w->n_vm_new < VM_NEW_MAX ? hash : 0;
	return 1;
}

/* Remembers a new frame of a runtime's list, so that its function is copied after the walk. */
static __always_inline void vm_remember(struct walk *w, __u64 head, __u64 place)
{
	__u32 n = bounded_here(w->n_vm_new);

	if (n >= VM_NEW_MAX)
		return;
	w->vm_new[n].words[0] = head;
	w->vm_new[n].words[1] = place;
	w->n_vm_new = n + 1;
}

/* Appends the two words of a frame in a runtime's list. */
static __always_inline void vm_push(struct walk *w, __u32 slot, __u64 addr, __u32 place,
				    __u32 cookie)
{
	__u32 n = bounded_here(w->record.head.n_words + w->record.head.n_vm_words);
	__u64 head = VM_FRAME_WORD(slot, w->process.vms[slot].vm, addr);
	__u64 second = (__u64)place << 32 | cookie;

	if (n >= RECORD_WORDS_MAX + VM_WORDS_MAX - 1)
		return;
	w->record.words[n] = head;
	w->record.words[n + 1] = second;
	w->record.head.n_vm_words += 2;
	w->vm_last = n;
	if (vm_note(w, head, cookie))
		vm_remember(w, head, second);
}

/* Pushes a frame of generated code of @vm among the words of the stack; @second ends with its
 * cookie. */
static __always_inline void vm_push_words(struct walk *w, __u32 object, __u32 vm, __u64 addr,
					  __u64 second)
{
	__u64 head = VM_FRAME_WORD(object, vm & 0xff, addr);

	w->folded = 0;
	w->n_second_words++;
	walk_push(w, head);
	walk_push(w, second);
	vm_note(w, head, (__u32)second);
}

/* Does the same as vm_push_words() for a function at @addr and a place in it. */
static __always_inline void vm_push_place(struct walk *w, __u32 object, __u32 vm, __u64 addr,
					  __u32 place, __u32 cookie)
{
	vm_push_words(w, object, vm, addr, VM_PLACE_WORD(place & 0xffffff, cookie));
}

/* Begins the list of a runtime. */
static __always_inline void vm_start(struct walk *w)
{
	w->vm_first = w->record.head.n_vm_words;
	w->vm_last = 0;
	w->n_activations = 0;
	w->vm_near_at[0] = w->vm_near_at[1] = 0;
}

/* True while the list of the current runtime is empty, that is, for its innermost frame. */
static __always_inline int vm_is_first(const struct walk *w)
{
	return w->record.head.n_vm_words == w->vm_first;
}

static __always_inline int vm_is_in(const struct vm_range ranges[VM_RANGES_MAX], __u64 off)
{
	return (off >= ranges[0].lo && off < ranges[0].hi) ||
	       (off >= ranges[1].lo && off < ranges[1].hi);
}

/*
 * True if the sampled function is the loop of @slot, so that the sampled registers are the loop's.
 */
static __always_inline int vm_leaf_is_loop(const struct walk *w, __u32 slot)
{
	__u32 n = w->record.head.n_kernel;

	return n < RECORD_WORDS_MAX && VM_LOOP_SLOT(w->record.words[n]) == slot + 1 &&
	       w->record.words[n] >> FRAME_KIND_SHIFT == FRAME_NATIVE;
}

/* Empties the list of the current runtime, so that it is read again. */
static __always_inline void vm_restart(struct walk *w)
{
	w->record.head.n_vm_words = w->vm_first;
	w->vm_last = 0;
	w->n_activations = 0;
}

/* Marks the frame pushed last as the one with which its loop was entered. */
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

/* A fingerprint of @bytes; never 0, which stands for bytes that could not be read. */
static __always_inline __u32 vm_cookie(__u64 bytes)
{
	return (__u32)((bytes * 0x9e3779b97f4a7c15ULL) >> 32) | 1;
}
