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

/* Offsets and versions that reading a function requires; see ruby_copy.h and src/lang/ruby. */
enum {
	RUBY_ISEQ_BODY = 16,
	RUBY_ISEQ_BYTES = 24,
	RUBY_BODY_SIZE = 4, /* offsets in an iseq's body */
	RUBY_BODY_PATH = 64,
	RUBY_BODY_LABEL = 80,
	RUBY_BODY_LINES_OLD = 120,
	RUBY_BODY_LINES = 112,
	RUBY_BODY_PARENT = 160, /* in 3.4; from 4.0 on it is RUBY_BODY_PARENT_40 */
	RUBY_BODY_PARENT_40 = 168,
	RUBY_BODY_BYTES = 176,
	RUBY_LINES_COUNT = 16, /* offsets in a body's line table (insns_info) */
	RUBY_LINES_INDEX = 24,
	RUBY_INDEX_SMALL =
		54, /* positions in the first part of an index: six words with nine each */
	RUBY_INDEX_SMALL_BYTES = 48,
	RUBY_INDEX_BLOCK_BITS = 512,
	RUBY_INDEX_BLOCK_BYTES = 80,
	RUBY_METHOD_BYTES = 40,
	RUBY_DEF_NAME = 32,     /* in the definition of a method */
	RUBY_STRING_BYTES = 32, /* of a string object without its embedded text */
	RUBY_ARRAY_BYTES = 40,
	RUBY_ARRAY_DATA = 16, /* elements that are embedded */
	RUBY_ARRAY_DATA_AT = 32,
	RUBY_TYPE_OF = 0x1f, /* in an object's flags */
	RUBY_TYPE_ARRAY = 7,
	RUBY_COPIED_EVALS = 4,       /* nested eval()s whose surrounding code the walk copies */
	RUBY_NOT_EMBEDDED = 1 << 13, /* flag of a string: its text is elsewhere */
	RUBY_EMBEDDED_ARRAY = 1 << 13,
	RUBY_EMBEDDED_LEN_SHIFT = 14,
	RUBY_SYMBOLS_IDS = 16, /* the array of pages in the table of symbols */
	RUBY_SYMBOL_SHIFT = 4,
	RUBY_SYMBOLS_A_PAGE = 512,
	RUBY_FIRST_WITH_NODES = 301, /* from here on, lines have a node id as well */
	RUBY_FIRST_PLAIN_LINE = 302, /* from here on, the first line is an int, not an object */
	RUBY_FIRST_VARIABLE = 302,   /* from here on, the size of an object varies */
	RUBY_FIRST_COMPILED = 304,   /* from here on, code of eval() is labelled <compiled> */
};

struct ruby_text {
	__u64 at, len;
};

/* Where the text of the string at @at is, whose first words are @string. */
static inline struct ruby_text ruby_text_of(const struct ruby_vm *ruby, __u64 at,
					    const __u64 string[RUBY_STRING_BYTES / 8])
{
	struct ruby_text text = { at + 24, string[2] };

	if (string[0] & RUBY_NOT_EMBEDDED) {
		text.at = string[3];
	} else if (ruby->version < RUBY_FIRST_VARIABLE) {
		text.at = at + 16;
		text.len = string[0] >> RUBY_EMBEDDED_LEN_SHIFT & 31;
	}
	return text;
}

/* The offset of the line table in a body, and the size of its entries. */
static inline __u32 ruby_lines_at(const struct ruby_vm *ruby)
{
	return ruby->version < RUBY_FIRST_PLAIN_LINE ? RUBY_BODY_LINES_OLD : RUBY_BODY_LINES;
}

static inline __u32 ruby_line_bytes(const struct ruby_vm *ruby)
{
	return ruby->version >= RUBY_FIRST_WITH_NODES ? 12 : 8;
}

/* The size of the index of a line table for code of @n_words. */
static inline __u64 ruby_index_bytes(__u32 n_words)
{
	if (n_words <= RUBY_INDEX_SMALL)
		return RUBY_INDEX_SMALL_BYTES;
	return RUBY_INDEX_SMALL_BYTES + ((n_words - RUBY_INDEX_SMALL) / RUBY_INDEX_BLOCK_BITS + 1) *
						(__u64)RUBY_INDEX_BLOCK_BYTES;
}

/* The offset in a body of the iseq that surrounds it; not used before 3.4. */
static inline __u32 ruby_parent_at(const struct ruby_vm *ruby)
{
	return ruby->version < 400 ? RUBY_BODY_PARENT : RUBY_BODY_PARENT_40;
}

/* The position of a symbol in the table. */
static inline __u64 ruby_symbol_serial(const struct ruby_vm *ruby, __u64 id)
{
	return id > ruby->last_operator ? id >> RUBY_SYMBOL_SHIFT : id;
}

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
	/* hashes of addresses that were methods recently; lives from sample to sample */
	__u64 methods[RUBY_METHODS_CACHED];
};
