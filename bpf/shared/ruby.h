/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/* The layout of one Ruby: addresses as linked, and offsets that differ between versions. */
#ifndef CAMEO_BPF
#include <linux/types.h>
#endif

/* How a thread's execution context is found. */
enum ruby_context {
	RUBY_CONTEXT_GLOBAL, /* up to 2.7: a pointer to the running thread's context */
	RUBY_CONTEXT_TLS,    /* a thread-local pointer: the address of its module and offset */
	RUBY_CONTEXT_STATIC, /* the same at a fixed offset from the thread's base */
};

struct ruby_vm {
	__u64 context; /* its meaning depends on how */
	__u8 how;      /* enum ruby_context */
	__u8 frame_bytes;
	__u16 version;       /* 3.1: 301 */
	__u32 last_operator; /* the largest symbol that is its own number */
	__u64 symbols;       /* address of the table of symbols; 0 if unknown */
	__u64 object_class;  /* address of the pointer to the class Object */
	/*
	 * For recognizing garbage collection: the address of the pointer to the VM, and offsets; 0
	 * if unknown.
	 */
	__u64 machine;
	__u16 machine_heap;
	__u16 heap_flags;
	__u32 pad;
};

/* Offsets that are the same in Ruby 2.7 to 4.0. */
enum {
	RUBY_CONTEXT_STACK = 0,   /* the stack's address, its size in words, the innermost frame */
	RUBY_CONTEXT_THREAD = 56, /* up to 2.7 */
	RUBY_FRAME_PC = 0,
	RUBY_FRAME_ISEQ = 16,
	RUBY_FRAME_EP = 32,
	RUBY_FRAME_BYTES = 40, /* bytes that are read of a frame */
	RUBY_FRAME_BYTES_MAX = 64,
	RUBY_TYPE_MASK = 0x7fff0001, /* in a frame's flags */
	RUBY_TYPE_CFUNC = 0x55550001,
	RUBY_TYPE_IFUNC = 0x66660001, /* a block written in C, which belongs to its caller */
	RUBY_TYPE_DUMMY = 0x79990001,
	RUBY_FLAG_FINISH = 0x20, /* the loop was entered with this frame */
	RUBY_ENV_LOCAL = 2,
	RUBY_INTERNAL_MASK = 0xf01f, /* in an object's flags: the kind of internal object */
	RUBY_INTERNAL_METHOD = 0x601a,
	RUBY_INTERNAL_MATCH = 0x201a,
	RUBY_METHOD_DEF = 16,
	/*
	 * A frame's place: bits of the address of its instruction in words, and above them the top
	 * of its method's address, whose other bits are the cookie.
	 */
	RUBY_PLACE_BITS = 20,
};

/* The kind of object of an address, in its low bits. */
enum {
	RUBY_ISEQ = 0,
	RUBY_CFUNC = 1,
	RUBY_GC = 2, /* garbage collection; the phase is above these bits */
	RUBY_KIND_BITS = 3,
	RUBY_KIND_MASK = (1 << RUBY_KIND_BITS) - 1,
};

/* In the flags of the heap (objspace). */
enum { RUBY_GC_PHASE_MASK = 3, RUBY_GC_RUNS = 1 << 5 };

enum { RUBY_METHODS_CACHED = 256 };

struct ruby_walk {
	__u64 stack, stack_end; /* the VM stack of the running fiber */
	/* hashes of addresses that were methods lately; lives from sample to sample */
	__u64 methods[RUBY_METHODS_CACHED];
};
