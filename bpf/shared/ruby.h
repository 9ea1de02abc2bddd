/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/* One Ruby: addresses as linked, offsets that differ between versions. */
#ifndef CAMEO_BPF
#include <linux/types.h>
#endif

/* How a thread's execution context is found. */
enum ruby_context {
	RUBY_CONTEXT_GLOBAL, /* to 2.7: a pointer to the running thread's */
	RUBY_CONTEXT_TLS,    /* a thread-local pointer: where its module and offset are */
	RUBY_CONTEXT_STATIC, /* the same, at a fixed distance from the thread's base */
};

struct ruby_vm {
	__u64 context; /* as enum ruby_context has it */
	__u8 how;      /* enum ruby_context */
	__u8 frame_bytes;
	__u16 version;       /* 3.1: 301 */
	__u32 last_operator; /* the largest symbol that is its own number */
	__u64 symbols;       /* address of the table of symbols; 0: not known */
	__u64 object_class;  /* of the pointer to the class Object */
	/* Is garbage collected? The pointer to the machine, and offsets; 0: not known. */
	__u64 machine;
	__u16 machine_heap;
	__u16 heap_flags;
	__u32 pad;
};

/* The same in Ruby 2.7 to 3.4. */
enum {
	RUBY_CONTEXT_STACK = 0,   /* its address, its size in words, the innermost frame */
	RUBY_CONTEXT_THREAD = 56, /* to 2.7 */
	RUBY_FRAME_PC = 0,
	RUBY_FRAME_ISEQ = 16,
	RUBY_FRAME_EP = 32,
	RUBY_FRAME_BYTES = 40, /* that are read of it */
	RUBY_FRAME_BYTES_MAX = 64,
	RUBY_TYPE_MASK = 0x7fff0001, /* of a frame's flags */
	RUBY_TYPE_CFUNC = 0x55550001,
	RUBY_TYPE_IFUNC = 0x66660001, /* a block written in C: it is its caller's */
	RUBY_TYPE_DUMMY = 0x79990001,
	RUBY_FLAG_FINISH = 0x20, /* the loop was entered with this frame */
	RUBY_ENV_LOCAL = 2,
	RUBY_INTERNAL_MASK = 0xf01f, /* of an object's flags: what kind of an internal one it is */
	RUBY_INTERNAL_METHOD = 0x601a,
	RUBY_INTERNAL_MATCH = 0x201a,
	RUBY_METHOD_DEF = 16,
	/*
	 * A frame's place: the address of its instruction in words, and above
	 * it the top of its method's address, whose other bits are the cookie.
	 */
	RUBY_PLACE_BITS = 20,
};

/* What an address is of, in its low bits. */
enum {
	RUBY_ISEQ = 0,
	RUBY_CFUNC = 1,
	RUBY_GC = 2, /* garbage collection; above it the phase */
	RUBY_KIND_BITS = 3,
	RUBY_KIND_MASK = (1 << RUBY_KIND_BITS) - 1,
};

/* Of the heap's flags. */
enum { RUBY_GC_PHASE_MASK = 3, RUBY_GC_RUNS = 1 << 5 };
