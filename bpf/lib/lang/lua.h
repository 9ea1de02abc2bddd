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

/*
 * Returns the word at offset @off of the object in w->vm_frame. Offsets are masked, so any @off is
 * safe.
 */
static __always_inline __u64 lua_word(const struct walk *w, __u32 off)
{
	return w->vm_frame.words[(off >> 3) & (VM_FRAME_BYTES / 8 - 1)];
}

/* Continues with the calls of @at if it is a state other than the current one. */
static __always_inline int lua_take_state(struct walk *w, const struct lua_vm *lua, __u64 at)
{
	__u64 call;

	if (!at || (at & 7) || at == w->lang.lua.state ||
	    read_user(w->vm_frame.words, LUA_STATE_BYTES, at) ||
	    (w->vm_frame.words[LUA_TYPE / 8] & 0xff) != LUA_STATE)
		return 0;
	call = lua_word(w, lua->state_call);
	if (!call)
		return 0;
	w->lang.lua.state = at;
	w->lang.lua.pc = lua->state_pc ? lua_word(w, lua->state_pc) : 0;
	w->lang.lua.base = lua->state_calls ? lua_word(w, lua->state_calls) : 0;
	w->vm_at = call;
	return 1;
}

/* Moves to the next state that a loop runs. WALK_STOP: there is none. */
WALK_FN int lua_next_state(__u32 which, __u32 slot)
{
	struct walk *w = lang_walk_get(LANG_LUA, which);
	const struct lua_vm *lua;

	if (!w || slot >= VM_SLOTS_MAX)
		return WALK_STOP;
	lua = lua_get(w->process.vms[slot].vm);
	if (!lua)
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
		if (lua_take_state(w, lua, w->loop_callers[n].aux) ||
		    lua_take_state(w, lua, w->loop_callers[n].fp))
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
	w->lang.lua.is_open = 0;
	w->lang.lua.n_words = w->record.head.n_vm_words;
	return lua_next_state(which, slot);
}

/* Marks the frame pushed last as the one with which the loop was entered. */
static __always_inline void lua_end_activation(struct walk *w)
{
	vm_mark_last(w);
	w->lang.lua.is_open = 0;
	w->lang.lua.n_words = w->record.head.n_vm_words;
}

/* Ends a state: the calls outside its outermost loop are C functions, which have native frames. */
static __always_inline int lua_state_end(struct walk *w, __u32 which, __u32 slot)
{
	if (w->lang.lua.is_open)
		lua_end_activation(w);
	w->record.head.n_vm_words = w->lang.lua.n_words;
	w->vm_last = 0;
	return lua_next_state(which, slot);
}

/* The instruction after the current one. In the loop itself a register holds it. */
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

static __always_inline void lua_push(struct walk *w, const struct lua_vm *lua, __u32 slot,
				     __u64 proto, __u64 saved)
{
	__u64 code, pc;
	__u32 n_code, place;

	if (read_user(w->vm_frame.words, LUA_PROTO_BYTES, proto)) {
		vm_push(w, slot, proto, 0, 0);
		return;
	}
	code = lua_word(w, lua->proto_code);
	n_code = (__u32)(lua_word(w, lua->proto_n_code) >> (lua->proto_n_code & 4) * 8) &
		 (LUA_CODE_MAX - 1);
	pc = lua_pc(w, slot, saved, code, code + 4ULL * n_code);
	place = (__u32)((pc - code) >> 2) & (LUA_CODE_MAX - 1);
	lua_add_caller(w, proto, place);
	vm_push(w, slot, proto, place, vm_cookie(lua_cookie_of(lua, w->vm_frame.words)));
}

/* A call, as lua_step() needs it. */
struct lua_call {
	__u64 value[2]; /* the function */
	__u64 code;     /* its prototype or C function */
	__u64 pc, status;
	__u32 is_c;
};

/* Finds the code of the function that a call runs. */
static __always_inline void lua_find_code(const struct lua_vm *lua, struct lua_call *call)
{
	__u64 type = 0;

	call->code = 0;
	if ((call->value[1] & 0xff) == LUA_C_FUNCTION && !lua->closure_c) {
		call->code = call->value[0];
		return;
	}
	if (read_user(&call->code, sizeof(call->code), call->value[0] + lua->closure_code))
		call->code = 0;
	if (lua->closure_c && !read_user(&type, sizeof(type), call->value[0] + LUA_TYPE))
		call->is_c = type >> (lua->closure_c & 7) * 8 & 0xff;
}

/*
 * Calls of Lua 5.1 do not show whether they entered the loop. If the caller is a Lua function and
 * its current instruction is a call, its loop runs the function; otherwise a further loop does.
 */
static __always_inline int lua_is_same_loop(const struct lua_call *caller)
{
	__u32 code = 0;

	if (caller->is_c || read_user(&code, sizeof(code), caller->pc - sizeof(code)))
		return 0;
	code &= LUA_51_OPCODE_MASK;
	return code == LUA_51_CALL || code == LUA_51_TAILCALL;
}

/* Reads the call at w->vm_at and moves to its caller. WALK_STOP: it is the state's base. */
static __always_inline int lua_read_call(struct walk *w, const struct lua_vm *lua,
					 struct lua_call *call)
{
	__u32 n = bounded_here(lua->call_bytes);
	__u64 at = w->vm_at;

	if (n > LUA_CALL_BYTES_MAX || read_user(w->vm_frame.words, n, at)) {
		w->record.head.flags |= RECORD_VM_TRUNCATED;
		return WALK_OTHER;
	}
	call->pc = lua_word(w, lua->call_pc);
	call->status = lua_word(w, lua->call_status) ^ lua->call_flip;
	call->is_c = (call->status & lua->call_c) != 0;
	if (w->lang.lua.base) {
		w->vm_at = at - n;
		if (w->lang.lua.pc)
			call->pc = w->lang.lua.pc;
		w->lang.lua.pc = 0;
		return at <= w->lang.lua.base ? WALK_STOP : WALK_CONTINUE;
	}
	w->vm_at = w->vm_frame.words[LUA_CALL_PREV / 8];
	return w->vm_at ? WALK_CONTINUE : WALK_STOP;
}

WALK_FN int lua_step(__u32 which, __u32 slot)
{
	struct walk *w = lang_walk_get(LANG_LUA, which);
	struct lua_call call = { 0 };
	const struct lua_vm *lua;
	int r;

	if (!w || slot >= VM_SLOTS_MAX)
		return WALK_STOP;
	lua = lua_get(w->process.vms[slot].vm);
	if (!lua)
		return WALK_STOP;
	r = lua_read_call(w, lua, &call);
	if (r == WALK_OTHER)
		return WALK_STOP;
	if (r == WALK_STOP) /* the base call stands for the state's C code */
		return lua_state_end(w, which, slot);
	if (read_user(call.value, sizeof(call.value), lua_word(w, lua->call_func)))
		call.value[0] = call.value[1] = 0;
	lua_find_code(lua, &call);
	if (w->lang.lua.is_open && !lua_is_same_loop(&call))
		lua_end_activation(w);
	w->lang.lua.is_open = 0;
	if (call.is_c) {
		vm_push(w, slot, call.code, LUA_PLACE_C, call.code ? vm_cookie(call.code) : 0);
		w->lang.lua.c_function = call.code;
		return WALK_CONTINUE;
	}
	lua_push(w, lua, slot, call.code, call.pc);
	if (w->lang.lua.base)
		w->lang.lua.is_open = 1;
	else if (call.status & lua->call_fresh)
		lua_end_activation(w);
	return WALK_CONTINUE;
}
