/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Steps through LuaJIT: its interpreter, which is one block of assembly, and the traces that it
 * compiles. Both run on the C frame that an entry to the interpreter made. A trace makes that frame
 * larger by an amount that only the trace knows, and a helper of the interpreter has pushed its
 * return address. So the C frame is searched for and verified: it contains a pointer to the
 * lua_State, which in turn points to the frame.
 *
 * A Lua frame is found by its base, which is the first slot after the function and the link. The
 * link leads to the caller. One activation, from the C frame's innermost function to the one that
 * C called, is pushed a frame per step.
 */
#include "bpf/lib/walk_memory.h"

enum {
	LUAJIT_NEAR = 3, /* words of helpers below the C frame of the interpreter */
	/* a trace's frame has at most 1 KiB, and so has each trace that led to it */
	LUAJIT_SCAN_WORDS = 16,
	LUAJIT_SCAN_TURNS = 17,
	LUAJIT_BASE_REG = 1, /* the register that has the base in the interpreter (DWARF) */
};

static __always_inline void luajit_walk_begin(struct walk *w)
{
	w->lang.luajit.is_pending = 0;
	w->lang.luajit.state = 0;
	w->lang.luajit.outer = 0;
	w->lang.luajit.c_word = 0;
}

/* Uses the C frame at @at, if there is one. WALK_OTHER: there is none. */
WALK_FN int luajit_take_frame(__u32 which, __u64 at)
{
	struct walk *w = lang_walk_get(LANG_LUAJIT, which);
	struct luajit_walk *lj;
	__u64 *state, addr = 0;

	if (!w)
		return WALK_STOP;
	lj = &w->lang.luajit;
	state = w->vm_frame.words;
	if (stack_word(w, at + LUAJIT_FRAME_STATE, &addr) || !addr || (addr & 7) || addr >> 47 ||
	    read_user(state, LUAJIT_STATE_BYTES, addr) ||
	    w->vm_frame.bytes[LUAJIT_TYPE] != LUAJIT_THREAD)
		return WALK_OTHER;
	if (addr != lj->state || at != lj->outer) {
		if ((state[LUAJIT_STATE_CFRAME / 8] & ~(__u64)LUAJIT_FRAME_FLAGS) != at)
			return WALK_OTHER;
		lj->base = state[LUAJIT_STATE_BASE / 8];
	}
	lj->frame = at;
	lj->state = addr;
	lj->global = state[LUAJIT_STATE_GLOBAL / 8];
	lj->stack = state[LUAJIT_STATE_STACK / 8];
	lj->end = state[LUAJIT_STATE_END / 8];
	return WALK_CONTINUE;
}

WALK_FN int luajit_scan(__u32 which, __u32 n)
{
	struct walk *w = lang_walk_get(LANG_LUAJIT, which);
	__u64 at;

	if (!w)
		return WALK_STOP;
	for (__u32 i = 0; i < LUAJIT_SCAN_WORDS && i < n; i++) {
		at = w->lang.luajit.scan;
		w->lang.luajit.scan = at + 8;
		if (luajit_take_frame(which, at) == WALK_CONTINUE)
			return WALK_CONTINUE;
	}
	return WALK_OTHER;
}

/*
 * Finds the C frame: in the interpreter (@is_trace 0) at most LUAJIT_NEAR words above the stack
 * pointer, in a trace at most LUAJIT_SCAN_TURNS * LUAJIT_SCAN_WORDS.
 */
static __always_inline int luajit_find_frame(struct walk *w, __u32 which, int is_trace)
{
	int r = WALK_OTHER;

	w->lang.luajit.scan = w->regs[UREG_SP];
	if (!is_trace)
		return luajit_scan(which, LUAJIT_NEAR);
	for (int i = 0; i < LUAJIT_SCAN_TURNS && r == WALK_OTHER; i++)
		r = luajit_scan(which, LUAJIT_SCAN_WORDS);
	return r;
}

/* True if @base can be the base of a frame of the current state. */
static __always_inline int luajit_is_base(const struct luajit_walk *lj, __u64 base)
{
	return !(base & 7) && base > lj->stack + 8 && base <= lj->end;
}

/* Reads the function at the current base, and its link, to @link. */
static __always_inline int luajit_read_function(struct walk *w, __u64 *link)
{
	__u64 pair[2];

	if (read_user(pair, sizeof(pair), w->lang.luajit.base - 16))
		return -1;
	*link = pair[1];
	return read_user(w->vm_frame.words, LUAJIT_FUNC_BYTES, pair[0] & ((1ULL << 47) - 1)) ||
			       w->vm_frame.bytes[LUAJIT_TYPE] != LUAJIT_CLOSURE
		       ? -1
		       : 0;
}

/* Moves the base to the caller. WALK_OTHER: C called the function, or the stack ends. */
WALK_FN int luajit_up(__u32 which, __u64 link)
{
	struct walk *w = lang_walk_get(LANG_LUAJIT, which);
	struct luajit_walk *lj;
	__u32 type = link & LUAJIT_LINK_TYPE, call = 0;
	__u64 bytes = link & ~(__u64)LUAJIT_LINK_P, continuation[2] = { 0 };

	if (!w)
		return WALK_STOP;
	lj = &w->lang.luajit;
	if (type == LUAJIT_LINK_LUA) {
		if (read_user(&call, sizeof(call), link - 4))
			return walk_fail(w, WALK_ERR_STACK_READ);
		lj->pc = link;
		bytes = 8 * (2 + (call >> 8 & 0xff));
	} else if ((link & LUAJIT_LINK_P) == LUAJIT_LINK_CONT) {
		if (read_user(continuation, sizeof(continuation), lj->base - 32))
			return walk_fail(w, WALK_ERR_STACK_READ);
		lj->pc = continuation[1];
	}
	lj->is_known = (link & LUAJIT_LINK_P) == LUAJIT_LINK_VARARG;
	lj->base -= bytes;
	if (!bytes || !luajit_is_base(lj, lj->base) || type == LUAJIT_LINK_C ||
	    continuation[0] == LUAJIT_CALLBACK)
		return WALK_OTHER;
	return WALK_CONTINUE;
}

/* Moves to the C function that entered the interpreter. */
WALK_FN int luajit_leave(__u32 which)
{
	struct walk *w = lang_walk_get(LANG_LUAJIT, which);
	struct luajit_walk *lj;
	__u64 ra = 0, fp = 0, aux = 0;

	if (!w)
		return WALK_STOP;
	lj = &w->lang.luajit;
	lj->is_pending = 0;
	lj->is_known = 0;
	lj->c_word = 0;
	if (stack_word(w, lj->frame + LUAJIT_FRAME_OUTER, &lj->outer) ||
	    stack_word(w, lj->frame + LUAJIT_FRAME_AUX, &aux) ||
	    stack_word(w, lj->frame + LUAJIT_FRAME_FP, &fp) ||
	    stack_word(w, lj->frame + LUAJIT_FRAME_RA, &ra))
		return walk_fail(w, WALK_ERR_STACK_READ);
	lj->outer &= ~(__u64)LUAJIT_FRAME_FLAGS;
	return walk_to_caller(w, ra, lj->frame + LUAJIT_FRAME_BYTES, fp, aux);
}

/*
 * True if the function at the base runs the instruction before pc: only then is its link valid. The
 * interpreter changes base, pc and link one after another. @is_caller: the function has called.
 */
WALK_FN int luajit_is_entered(__u32 which, __u32 is_caller)
{
	struct walk *w = lang_walk_get(LANG_LUAJIT, which);
	__u64 link = 0, distance;
	__u32 n = 0;

	if (!w || !luajit_is_base(&w->lang.luajit, w->lang.luajit.base) ||
	    luajit_read_function(w, &link))
		return 0;
	if (w->lang.luajit.pc == link) /* it returns */
		return 1;
	distance = w->lang.luajit.pc - w->vm_frame.words[LUAJIT_FUNC_PC / 8];
	if (w->vm_frame.bytes[LUAJIT_FUNC_KIND])
		return is_caller || distance <= 4;
	return !read_user(&n, sizeof(n),
			  w->vm_frame.words[LUAJIT_FUNC_PC / 8] - LUAJIT_PROTO_BYTES +
				  LUAJIT_PROTO_N_CODE) &&
	       distance <= 4ULL * n;
}

/*
 * True if the function at the base is being called, but does not have its link yet, which is in the
 * register of the pc. The word below the base belongs to an earlier call. Then the caller becomes
 * the innermost frame.
 */
static __always_inline int luajit_is_calling(struct walk *w, __u32 which)
{
	__u64 link = w->lang.luajit.pc;
	__u32 call;

	if ((link & LUAJIT_LINK_TYPE) == LUAJIT_LINK_LUA &&
	    read_user(&call, sizeof(call), link - 4))
		return 0;
	return luajit_up(which, link) == WALK_CONTINUE && luajit_is_entered(which, 1);
}

/* Pushes a frame which shows that the functions of the activation are not known, and leaves it. */
static __always_inline int luajit_skip(struct walk *w, __u32 which, __u32 slot)
{
	vm_push_place(w, LUAJIT_LATE, w->process.vms[slot & (VM_SLOTS_MAX - 1)].vm, 0, 0, 1);
	return luajit_leave(which);
}

/* Takes the base of the trace that is being left. Returns 0 if there is none. */
static __always_inline int luajit_take_trace_base(struct walk *w, __u32 slot)
{
	const struct luajit_vm *vm = luajit_get(w->process.vms[slot & (VM_SLOTS_MAX - 1)].vm);
	struct luajit_walk *lj = &w->lang.luajit;
	__u64 base = 0;

	if (!vm || !vm->traces || read_user(&base, sizeof(base), lj->global + vm->jit_base) ||
	    !luajit_is_base(lj, base))
		return 0;
	lj->base = base;
	lj->pc = 0;
	return 1;
}

/*
 * The innermost Lua frame of the interpreter. In the interpreter's code, two registers have its
 * base and the next instruction; while that calls C, the state and the C frame have them. Elsewhere
 * in the interpreter's code the registers have other values, and those of the state may be those of
 * an earlier call, so a frame is used only if base and pc belong together.
 */
WALK_FN int luajit_enter_interpreter(__u32 which, __u32 slot)
{
	struct walk *w = lang_walk_get(LANG_LUAJIT, which);
	struct luajit_walk *lj;
	__u64 saved;
	int is_leaf;

	if (!w)
		return WALK_STOP;
	slot = bounded_here(slot) & (VM_SLOTS_MAX - 1);
	lj = &w->lang.luajit;
	saved = lj->base;
	is_leaf = !w->is_call && w->other_regs == WALK_REGS_ALL;
	if (is_leaf) {
		lj->base = w->regs[LUAJIT_BASE_REG];
		lj->pc = w->regs[UREG_AUX];
		if (luajit_is_entered(which, 0) || luajit_is_calling(w, which))
			return WALK_CONTINUE;
		lj->is_known = 0;
		if (luajit_take_trace_base(w, slot))
			return WALK_CONTINUE;
	}
	lj->base = saved;
	if (stack_word(w, lj->frame + LUAJIT_FRAME_PC, &lj->pc))
		return walk_fail(w, WALK_ERR_STACK_READ);
	return is_leaf && !luajit_is_entered(which, 1) ? luajit_skip(w, which, slot)
						       : WALK_CONTINUE;
}

/* Pushes the trace that contains the pc. Returns 0 if it is not known. */
WALK_FN int luajit_push_trace(__u32 which, __u32 slot)
{
	struct walk *w = lang_walk_get(LANG_LUAJIT, which);
	const struct luajit_vm *vm;
	__u64 pc, addr = 0, traces = 0;
	__u64 *trace;
	__u32 number = 0;

	if (!w)
		return 0;
	slot = bounded_here(slot) & (VM_SLOTS_MAX - 1);
	vm = luajit_get(w->process.vms[slot].vm);
	trace = w->vm_frame.words;
	pc = w->regs[UREG_PC] - w->is_call;
	if (!vm || read_user(&number, sizeof(number), w->lang.luajit.global + vm->vmstate) ||
	    number >= LUAJIT_TRACES_MAX ||
	    read_user(&traces, sizeof(traces), w->lang.luajit.global + vm->traces) ||
	    read_user(&addr, sizeof(addr), traces + 8ULL * number) || !addr ||
	    read_user(trace, LUAJIT_TRACE_BYTES, addr) ||
	    w->vm_frame.bytes[LUAJIT_TYPE] != LUAJIT_GCTRACE ||
	    pc - trace[LUAJIT_TRACE_MCODE / 8] >= trace[LUAJIT_TRACE_N_MCODE / 8] >> 32)
		return 0;
	vm_push_place(w, LUAJIT_TRACE, w->process.vms[slot & (VM_SLOTS_MAX - 1)].vm, addr,
		      (__u32)(pc - trace[LUAJIT_TRACE_MCODE / 8]),
		      vm_cookie(luajit_trace_key(trace)));
	return 1;
}

/*
 * The innermost Lua frame that a trace has made: it has its base in the global_State. Functions
 * that the trace has inlined have no frame; the trace's own word stands for them.
 */
WALK_FN int luajit_enter_trace(__u32 which, __u32 slot)
{
	struct walk *w = lang_walk_get(LANG_LUAJIT, which);
	const struct luajit_vm *vm;
	struct luajit_walk *lj;
	__u64 base = 0;

	if (!w)
		return WALK_STOP;
	slot = bounded_here(slot) & (VM_SLOTS_MAX - 1);
	vm = luajit_get(w->process.vms[slot].vm);
	if (!vm)
		return WALK_STOP;
	lj = &w->lang.luajit;
	lj->pc = 0;
	if (!vm->traces || read_user(&base, sizeof(base), lj->global + vm->jit_base) ||
	    !luajit_is_base(lj, base))
		return WALK_CONTINUE;
	lj->base = base;
	lj->is_known = luajit_push_trace(which, slot) != 0;
	return WALK_CONTINUE;
}

/* Completes the C function pushed last: where it was called determines its name. */
static __always_inline void luajit_add_caller(struct walk *w, __u64 proto, __u32 place)
{
	__u32 n = bounded_here(w->lang.luajit.c_word);

	w->lang.luajit.c_word = 0;
	if (n && n < RECORD_WORDS_MAX)
		w->record.words[n] ^= vm_cookie(proto ^ (__u64)place << 40) & ~1U;
}

/* Pushes the function at the base that is written in Lua; its first instruction is at @code. */
WALK_FN int luajit_push_lua(__u32 which, __u32 slot, __u64 code)
{
	struct walk *w = lang_walk_get(LANG_LUAJIT, which);
	__u64 *proto, at = code - LUAJIT_PROTO_BYTES, n;

	if (!w)
		return WALK_STOP;
	proto = w->vm_frame.words;
	if (read_user(proto, LUAJIT_PROTO_BYTES, at) ||
	    w->vm_frame.bytes[LUAJIT_TYPE] != LUAJIT_PROTO)
		return walk_fail(w, WALK_ERR_STACK_READ);
	n = (w->lang.luajit.pc - code) >> 2;
	if (w->lang.luajit.pc < code || n > proto[LUAJIT_PROTO_N_CODE / 8] >> 32 ||
	    n >= LUAJIT_PLACE_C)
		n = 0;
	luajit_add_caller(w, at, (__u32)n);
	vm_push_place(w, LUAJIT_FUNCTION, w->process.vms[slot & (VM_SLOTS_MAX - 1)].vm, at,
		      (__u32)n, vm_cookie(luajit_proto_key(proto)));
	return WALK_CONTINUE;
}

/* Pushes the function at the base, unless that was done, and reads its link. */
static __always_inline int luajit_push_function(struct walk *w, __u32 which, __u32 slot,
						__u64 *link)
{
	struct luajit_walk *lj = &w->lang.luajit;
	__u64 code;

	if (luajit_read_function(w, link))
		return walk_fail(w, WALK_ERR_STACK_READ);
	if (lj->is_known) {
		lj->is_known = 0;
		return WALK_CONTINUE;
	}
	if (!w->vm_frame.bytes[LUAJIT_FUNC_KIND])
		return luajit_push_lua(which, slot, w->vm_frame.words[LUAJIT_FUNC_PC / 8]);
	code = w->vm_frame.words[LUAJIT_FUNC_CODE / 8];
	vm_push_place(w, LUAJIT_C, w->process.vms[slot & (VM_SLOTS_MAX - 1)].vm, code,
		      LUAJIT_PLACE_C, vm_cookie(code));
	lj->c_word = w->record.head.n_words - 1;
	return WALK_CONTINUE;
}

/* Pushes one Lua frame of the activation. */
static __always_inline int luajit_step(struct walk *w, __u32 which, __u32 slot)
{
	__u64 link = 0;
	int r = luajit_push_function(w, which, slot, &link);

	if (r != WALK_CONTINUE)
		return r;
	r = luajit_up(which, link);
	return r == WALK_OTHER ? luajit_leave(which) : r;
}

/*
 * Begins an activation. The agent reads the Lua stack later than the C stack was copied, so there
 * one frame without a function stands for all.
 */
static __always_inline int luajit_begin(struct walk *w, __u32 which, __u32 slot)
{
	w->lang.luajit.is_pending = 1;
	w->lang.luajit.is_known = 0;
	if (!w->absent_is_final)
		return WALK_CONTINUE;
	return luajit_skip(w, which, slot);
}

/*
 * True if the C frame runs a C function that has called no Lua function yet (lj_vm_cpcall). It has
 * the top of the stack then, as a negative distance, and the innermost Lua frame is older.
 */
static __always_inline int luajit_is_bare(struct walk *w)
{
	struct luajit_walk *lj = &w->lang.luajit;
	__u64 word = 0;
	__s32 top;

	if (stack_word(w, lj->frame + LUAJIT_FRAME_TOP, &word))
		return 0;
	top = (__s32)word;
	return top < 0 && lj->base - 8 < lj->stack + (__u64)(-(__s64)top);
}

/* Steps through a trace; WALK_OTHER if it is other code. */
static __always_inline int luajit_step_generated(struct walk *w, __u32 which, __u32 slot)
{
	int r;

	if (!w->lang.luajit.is_pending) {
		r = luajit_find_frame(w, which, 1);
		if (r == WALK_CONTINUE)
			r = luajit_begin(w, which, slot);
		if (r == WALK_CONTINUE && w->lang.luajit.is_pending)
			r = luajit_enter_trace(which, slot);
		if (r != WALK_CONTINUE || !w->lang.luajit.is_pending)
			return r;
	}
	return luajit_step(w, which, slot);
}

/* Steps through the interpreter; WALK_OTHER where it has no C frame, at its start and end. */
static __always_inline int luajit_step_file(__u32 which, __u32 slot, __u64 word)
{
	struct walk *w = lang_walk_get(LANG_LUAJIT, which);
	int r;

	if (!w)
		return WALK_OTHER;
	if (!w->lang.luajit.is_pending) {
		r = luajit_find_frame(w, which, 0);
		if (r == WALK_CONTINUE)
			r = luajit_begin(w, which, slot);
		if (r == WALK_CONTINUE && w->lang.luajit.is_pending)
			r = luajit_is_bare(w) ? luajit_leave(which)
					      : luajit_enter_interpreter(which, slot);
		if (r != WALK_CONTINUE || !w->lang.luajit.is_pending)
			return r;
	}
	return luajit_step(w, which, slot);
}

/* No function of the runtime has a frame of its own. */
static __always_inline void luajit_push_marker(struct walk *w, __u32 slot)
{
}
