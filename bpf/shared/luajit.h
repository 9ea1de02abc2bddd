/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * The layout of LuaJIT 2.1 with 64-bit references (LJ_GC64) on x86-64. Objects are laid out alike
 * in all its versions and forks; what differs are the positions in the global_State, which
 * src/lang/luajit/detect.c finds in the code. The names are those of LuaJIT's source (lj_obj.h,
 * lj_frame.h, lj_jit.h).
 *
 * A frame is two words among the native ones (bpf/shared/vm.h), in one of these forms:
 *
 *  LUAJIT_FUNCTION  the address of the function's prototype; place: number of the next instruction,
 *                   0 if it is unknown; cookie: see luajit_proto_key().
 *  LUAJIT_C         the address of the code of a function written in C or assembly; place:
 *                   LUAJIT_PLACE_C; cookie: of the address, its caller and the place there.
 *  LUAJIT_TRACE     the address of a compiled trace (GCtrace); place: offset in its code; cookie:
 *                   see luajit_trace_key(). It stands for the functions that the trace runs there.
 *  LUAJIT_LATE      functions that could only have been read after the sample; address and place
 *                   are 0; cookie: 1.
 */
#ifndef CAMEO_BPF
#include <linux/types.h>
#endif

enum luajit_object { LUAJIT_FUNCTION, LUAJIT_C, LUAJIT_TRACE, LUAJIT_LATE };

enum {
	LUAJIT_PLACE_C = 0xffffff,
	/* garbage-collected objects: the type, and its values */
	LUAJIT_TYPE = 9,
	LUAJIT_STRING = 4,
	LUAJIT_THREAD = 6,
	LUAJIT_PROTO = 7,
	LUAJIT_CLOSURE = 8,
	LUAJIT_GCTRACE = 9,
	/* lua_State */
	LUAJIT_STATE_GLOBAL = 16,
	LUAJIT_STATE_BASE = 32,
	LUAJIT_STATE_END = 48,
	LUAJIT_STATE_STACK = 56,
	LUAJIT_STATE_CFRAME = 80,
	LUAJIT_STATE_BYTES = 96,
	/* GCfunc: kind (0: written in Lua); first instruction, or code of a C function */
	LUAJIT_FUNC_KIND = 10,
	LUAJIT_FUNC_PC = 32,
	LUAJIT_FUNC_CODE = 40,
	LUAJIT_FUNC_BYTES = 48,
	/* GCproto; its instructions follow it */
	LUAJIT_PROTO_N_CODE = 12,
	LUAJIT_PROTO_CONSTANTS = 32,
	LUAJIT_PROTO_SOURCE = 64,
	LUAJIT_PROTO_LINE = 72,
	LUAJIT_PROTO_N_LINES = 76,
	LUAJIT_PROTO_LINES = 80,
	LUAJIT_PROTO_UPVALUES = 88,
	LUAJIT_PROTO_VARIABLES = 96,
	LUAJIT_PROTO_BYTES = 104,
	/* GCtrace */
	LUAJIT_TRACE_N_SNAPS = 10,
	LUAJIT_TRACE_IR = 32,
	LUAJIT_TRACE_N_MAP = 44,
	LUAJIT_TRACE_SNAPS = 48,
	LUAJIT_TRACE_MAP = 56,
	LUAJIT_TRACE_START = 64,
	LUAJIT_TRACE_N_MCODE = 84,
	LUAJIT_TRACE_MCODE = 88,
	LUAJIT_TRACE_BYTES = 112,
	LUAJIT_TRACES_MAX = 1 << 16,
	/* the C frame of the interpreter */
	LUAJIT_FRAME_TOP = 8, /* 32 bits */
	LUAJIT_FRAME_STATE = 16,
	LUAJIT_FRAME_PC = 24,
	LUAJIT_FRAME_OUTER = 32, /* the C frame outside of it, of the same state */
	LUAJIT_FRAME_AUX = 56,
	LUAJIT_FRAME_FP = 64,
	LUAJIT_FRAME_RA = 72,
	LUAJIT_FRAME_BYTES = 80,
	LUAJIT_FRAME_FLAGS = 3, /* in the pointer to a C frame */
	/* the low bits of the word below a frame's base: how it was entered (FRAME_*) */
	LUAJIT_LINK_TYPE = 3,
	LUAJIT_LINK_P = 7,
	LUAJIT_LINK_LUA = 0,
	LUAJIT_LINK_C = 1,
	LUAJIT_LINK_CONT = 2,
	LUAJIT_LINK_VARARG = 3,
	LUAJIT_CALLBACK = 1, /* a continuation: C called Lua through a callback */
};

struct luajit_vm {
	__u32 vmstate, jit_base; /* offsets from the global_State; 0: traces are not read */
	__u32 traces;            /* the same, of the pointer to the array of traces */
	__u32 pad;
};

/* Combines the words that identify a prototype: constants, source, lines, names of variables. */
static inline __u64 luajit_proto_key(const __u64 proto[LUAJIT_PROTO_BYTES / 8])
{
	__u64 v = proto[LUAJIT_PROTO_N_CODE / 8] >> 32;

	v = (v << 9 | v >> 55) ^ proto[LUAJIT_PROTO_CONSTANTS / 8];
	for (int i = LUAJIT_PROTO_SOURCE / 8; i < LUAJIT_PROTO_BYTES / 8; i++)
		v = (v << 9 | v >> 55) ^ proto[i];
	return v;
}

/* Combines the words that identify a trace: its start, its code and its number. */
static inline __u64 luajit_trace_key(const __u64 trace[LUAJIT_TRACE_BYTES / 8])
{
	__u64 v = trace[LUAJIT_TRACE_BYTES / 8 - 1] & 0xffff;

	for (int i = LUAJIT_TRACE_SNAPS / 8; i < LUAJIT_TRACE_MCODE / 8 + 1; i++)
		v = (v << 9 | v >> 55) ^ trace[i];
	return v;
}

struct luajit_walk {
	__u64 frame;         /* the C frame of the interpreter; 0: none was found yet */
	__u64 outer;         /* the next outer C frame of the same state */
	__u64 state, global; /* its lua_State and global_State */
	__u64 stack, end;    /* bounds of the state's stack */
	__u64 base;          /* of the next Lua frame */
	__u64 pc;            /* the next instruction there; 0: unknown */
	__u64 scan;          /* the next word that may be a C frame */
	__u32 c_word;        /* index of the second word of the C function pushed last; or 0 */
	__u8 is_pending;     /* the frames of this activation are being pushed */
	__u8 is_known;       /* the function at base was pushed already */
	__u8 pad[2];
};
