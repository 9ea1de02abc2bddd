/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Lua's calls (struct CallInfo, lstate.h). A process may have any number of states and has no list
 * of them, but the caller of the loop holds its state in rbx or rbp, as GCC and Clang compile it. A
 * coroutine is a state of its own: its calls are followed by those of the state that resumed it,
 * which an outer loop runs.
 */
#include "bpf/lib/lang/lua_copy.h"
#include "bpf/lib/walk_state.h"

/* Continues with the calls of @at if it is a state other than the current one. */
static __always_inline int lua_take_state(struct walk *w, __u64 at)
{
	__u64 *state = w->vm_frame.words;

	if (!at || (at & 7) || at == w->lang.lua.state || read_user(state, LUA_STATE_BYTES, at) ||
	    (state[LUA_TYPE / 8] & 0xff) != LUA_STATE || !state[LUA_STATE_CALL / 8])
		return 0;
	w->lang.lua.state = at;
	w->vm_at = state[LUA_STATE_CALL / 8];
	return 1;
}

/* Moves to the next state that a loop runs. WALK_STOP: there is none. */
WALK_FN int lua_next_state(__u32 which)
{
	struct walk *w = lang_walk_get(LANG_LUA, which);

	if (!w)
		return WALK_STOP;
	for (int i = 0; i < LOOP_CALLERS_MAX; i++) {
		__u32 n = bounded_here(w->lang.lua.caller);

		if (n >= w->n_loop_callers || n >= LOOP_CALLERS_MAX)
			return WALK_STOP;
		w->lang.lua.caller = n + 1;
		/* another call with the same state */
		if (w->lang.lua.state && (w->loop_callers[n].aux == w->lang.lua.state ||
					  w->loop_callers[n].fp == w->lang.lua.state))
			continue;
		if (lua_take_state(w, w->loop_callers[n].aux) ||
		    lua_take_state(w, w->loop_callers[n].fp))
			return WALK_CONTINUE;
	}
	return WALK_STOP;
}

WALK_FN int lua_begin(__u32 which, __u32 slot)
{
	struct walk *w = lang_walk_get(LANG_LUA, which);

	if (!w || slot >= VM_SLOTS_MAX || !lua_get(w->process.vms[slot].vm))
		return WALK_STOP;
	w->lang.lua.caller = 0;
	w->lang.lua.state = 0;
	w->lang.lua.c_function = 0;
	w->lang.lua.n_words = w->record.head.n_vm_words;
	return lua_next_state(which);
}

/* Ends a state: the calls outside its outermost loop are C functions, which have native frames. */
static __always_inline int lua_state_end(struct walk *w, __u32 which)
{
	w->record.head.n_vm_words = w->lang.lua.n_words;
	w->vm_last = 0;
	return lua_next_state(which);
}

/* The instruction behind the current one. In the loop itself a register holds it. */
static __always_inline __u64 lua_pc(const struct walk *w, __u32 slot, __u64 saved, __u64 code,
				    __u64 end)
{
	__u64 pc = 0;

	if (!vm_is_first(w) || !vm_leaf_is_loop(w, slot))
		return saved;
	for (int i = 0; i < UREG_PC; i++)
		if (w->leaf_regs[i] > code && w->leaf_regs[i] <= end && !(w->leaf_regs[i] & 3) &&
		    w->leaf_regs[i] > pc)
			pc = w->leaf_regs[i];
	return pc ? pc : saved;
}

/*
 * A C function may have many uses (coroutine.wrap's), so the cookie of the C frame pushed last
 * includes its caller, whose code determines its name.
 */
static __always_inline void lua_add_caller(struct walk *w, __u64 proto, __u32 place)
{
	__u32 is_there = w->lang.lua.c_function && w->vm_last;
	__u32 n = bounded_here(w->vm_last + 1);

	if (is_there && n < RECORD_WORDS_MAX + VM_WORDS_MAX)
		w->record.words[n] = (__u64)LUA_PLACE_C << 32 |
				     vm_cookie(w->lang.lua.c_function ^ proto ^ (__u64)place << 40);
	w->lang.lua.c_function = 0;
}

static __always_inline void lua_push(struct walk *w, __u32 slot, __u64 proto, __u64 saved)
{
	__u64 code, pc;
	__u32 n_code, place;

	if (read_user(w->vm_frame.words, LUA_PROTO_BYTES, proto)) {
		vm_push(w, slot, proto, 0, 0);
		return;
	}
	code = w->vm_frame.words[LUA_PROTO_CODE / 8];
	n_code = (__u32)w->vm_frame.words[LUA_PROTO_N_CODE / 8] & (LUA_CODE_MAX - 1);
	pc = lua_pc(w, slot, saved, code, code + 4ULL * n_code);
	place = (__u32)((pc - code) >> 2) & (LUA_CODE_MAX - 1);
	lua_add_caller(w, proto, place);
	vm_push(w, slot, proto, place, vm_cookie(lua_cookie_of(w->vm_frame.words)));
}

WALK_FN int lua_step(__u32 which, __u32 slot)
{
	struct walk *w = lang_walk_get(LANG_LUA, which);
	__u64 value[2] = { 0 }, at, pc, code = 0;
	__u32 status;

	if (!w || slot >= VM_SLOTS_MAX)
		return WALK_STOP;
	if (read_user(w->vm_frame.words, LUA_CALL_BYTES, w->vm_at)) {
		w->record.head.flags |= RECORD_VM_TRUNCATED;
		return WALK_STOP;
	}
	at = w->vm_frame.words[LUA_CALL_FUNC / 8];
	pc = w->vm_frame.words[LUA_CALL_PC / 8];
	status = w->vm_frame.words[LUA_CALL_STATUS / 8] >> 48;
	w->vm_at = w->vm_frame.words[LUA_CALL_PREV / 8];
	if (!w->vm_at) /* the base call of a state, which stands for its C code */
		return lua_state_end(w, which);
	if (read_user(value, sizeof(value), at))
		value[0] = value[1] = 0;
	if ((value[1] & 0xff) == LUA_C_FUNCTION)
		code = value[0];
	else if (read_user(&code, sizeof(code), value[0] + LUA_CLOSURE_CODE))
		code = 0;
	if (status & LUA_CALL_C) {
		vm_push(w, slot, code, LUA_PLACE_C, code ? vm_cookie(code) : 0);
		w->lang.lua.c_function = code;
	} else {
		lua_push(w, slot, code, pc);
	}
	if (!(status & LUA_CALL_FRESH))
		return WALK_CONTINUE;
	vm_mark_last(w);
	w->lang.lua.n_words = w->record.head.n_vm_words;
	return WALK_CONTINUE;
}
