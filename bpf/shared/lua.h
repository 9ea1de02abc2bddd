/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * The layout of one version of Lua (lobject.h and lstate.h of its source). Builds of a version
 * differ only in where the loop is. src/lang/lua/layout.c has the values.
 */
#ifndef CAMEO_BPF
#include <linux/types.h>
#endif

struct lua_vm {
	__u32 version; /* 5.4: 504 */
	__u32 pad;
};

enum {
	LUA_TYPE = 8, /* in an object */
	LUA_STATE = 8,
	LUA_STATE_CALL = 32,
	LUA_STATE_BYTES = 40,
	LUA_CALL_FUNC = 0, /* in a call: where its function is on Lua's stack */
	LUA_CALL_PREV = 16,
	LUA_CALL_PC = 32,
	LUA_CALL_STATUS = 62,
	LUA_CALL_BYTES = 64,
	LUA_CALL_C = 1 << 1,     /* the function is written in C */
	LUA_CALL_FRESH = 1 << 2, /* the loop was entered with this call */
	LUA_C_FUNCTION = 0x16,   /* type of a value that is the address of code; for others there is
				    an object */
	LUA_CLOSURE_CODE = 24,   /* offset of its prototype, or of its C function */
	LUA_PROTO = 10,
	LUA_PROTO_SIZES = 16, /* what precedes belongs to the garbage collector */
	LUA_PROTO_N_CODE = 24,
	LUA_PROTO_N_LINES = 28,
	LUA_PROTO_N_MARKS = 40,
	LUA_PROTO_LINE = 44,
	LUA_PROTO_CODE = 64,
	LUA_PROTO_LINES = 88,
	LUA_PROTO_MARKS = 96,
	LUA_PROTO_SOURCE = 112,
	LUA_PROTO_BYTES = 120,
	LUA_MARK_BYTES = 8, /* AbsLineInfo: the position of an instruction, then its line */
	LUA_STRING_LONG = 0x14,
	LUA_STRING_SHORT_LEN = 11, /* in a string (TString) */
	LUA_STRING_LONG_LEN = 16,
	LUA_STRING_TEXT = 24,
	LUA_CODE_MAX = 1 << 24, /* instructions, at most */
};

/* The place of a function written in C. */
#define LUA_PLACE_C 0xffffffffU

/*
 * Combines the words of a prototype that never change into its cookie: sizes, lines and all of its
 * arrays, since code that is compiled later often gets the memory of a few of them.
 */
static inline __u64 lua_cookie_of(const __u64 proto[LUA_PROTO_BYTES / 8])
{
	__u64 v = 0;

	for (int i = LUA_PROTO_SIZES / 8; i < LUA_PROTO_BYTES / 8; i++)
		v = (v << 7 | v >> 57) ^ proto[i];
	return v;
}

struct lua_walk {
	__u64 state;      /* the current lua_State; 0: none yet */
	__u64 c_function; /* of the frame pushed last, if C code: 0 otherwise */
	__u32 n_words;    /* of the record up to the last call that entered the loop */
	__u32 caller;     /* index of the next of walk.loop_callers to be tried */
};
