/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * The layout of one version of Lua (lobject.h and lstate.h of its source). Builds of a version
 * differ only in where the loop is. src/lang/lua/layout.c has the values.
 */
#ifndef CAMEO_BPF
#include <linux/types.h>
#endif

/* Fields are offsets in bytes, unless they say otherwise. */
struct lua_vm {
	/* bits of the word at call_status, after those of call_flip were inverted */
	__u64 call_flip;
	__u64 call_c;      /* the function is written in C */
	__u64 call_fresh;  /* the loop was entered with this call */
	__u16 version;     /* 5.4: 504 */
	__u16 proto_fixed; /* bit i: word i of a prototype never changes */

	/* a state (lua_State) */
	__u8 state_call;  /* its current call */
	__u8 state_pc;    /* the next instruction of that call; 0: the call itself has it */
	__u8 state_calls; /* the first of its calls, which are an array; 0: they are a list */

	/* a call (CallInfo); call_status is a multiple of 8 */
	__u8 call_func, call_pc, call_status, call_bytes;

	/* a closure */
	__u8 closure_c;    /* a byte: it is written in C; 0: the type of the value has that */
	__u8 closure_code; /* its prototype, or its C function */

	/* a prototype (Proto); names that begin with proto_n_ are numbers of elements */
	__u8 proto_type; /* the value of LUA_TYPE */
	__u8 proto_n_constants, proto_n_code, proto_n_lines, proto_n_locals, proto_line;
	__u8 proto_n_marks; /* 0: there are no marks */
	__u8 proto_constants, proto_code, proto_upvalues, proto_lines, proto_locals, proto_source;
	__u8 proto_marks;
	__u8 line_bytes;    /* size of an element of the lines; 1: the difference to the previous */
	__u8 upvalue_bytes; /* size of an element of the upvalues, which begins with its name */

	/* a string (TString) */
	__u8 string_short_len;   /* a byte; 0: all lengths are words at LUA_STRING_LEN */
	__u8 string_is_external; /* long strings have a pointer to the text in its place */
	__u8 pad[5];
};

enum {
	LUA_TYPE = 8, /* in an object */
	LUA_STATE = 8,
	LUA_STATE_BYTES = 88,
	LUA_CALL_PREV = 16, /* in calls that are a list */
	LUA_CALL_BYTES_MAX = 80,
	LUA_FUNCTION = 6,      /* type of a value: an object, which has LUA_TYPE and the code */
	LUA_C_FUNCTION = 0x16, /* type of a value that is the address of code; for others there is
				  an object */
	LUA_CLOSURE_BYTES = 40,
	LUA_PROTO_BYTES = 120,
	LUA_MARK_BYTES = 8, /* AbsLineInfo: the position of an instruction, then its line */
	LUA_STRING_LONG = 0x14,
	LUA_STRING_LEN = 16, /* in a string (TString) */
	LUA_STRING_TEXT = 24,
	LUA_CODE_MAX = 1 << 24, /* instructions, at most */
	/* Instructions of Lua 5.1 that call a function in the same loop. */
	LUA_51_OPCODE_MASK = 0x3f,
	LUA_51_CALL = 28,
	LUA_51_TAILCALL = 29,
};

/* The place of a function written in C. */
#define LUA_PLACE_C 0xffffffffU

/*
 * Combines the words of a prototype that never change into its cookie: sizes, lines and all of its
 * arrays, since code that is compiled later often gets the memory of a few of them.
 */
static inline __u64 lua_cookie_of(const struct lua_vm *vm, const __u64 proto[LUA_PROTO_BYTES / 8])
{
	__u64 v = 0;

	for (int i = 0; i < LUA_PROTO_BYTES / 8; i++)
		if (vm->proto_fixed >> i & 1)
			v = (v << 7 | v >> 57) ^ proto[i];
	return v;
}

struct lua_walk {
	__u64 state;      /* the current lua_State; 0: none yet */
	__u64 base;       /* its first call, if its calls are an array */
	__u64 pc;         /* the next instruction of its current call; 0: the call has it */
	__u64 c_function; /* of the frame pushed last, if C code: 0 otherwise */
	__u32 n_words;    /* of the record up to the last call that entered the loop */
	__u32 caller;     /* index of the next of walk.loop_callers to be tried */
	__u32 is_open; /* the frame pushed last is Lua's; whether it entered the loop is unknown */
	__u32 pad;
};
