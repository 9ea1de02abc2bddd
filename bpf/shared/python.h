/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/* One CPython: addresses as linked, offsets in its structures. */
#ifndef CAMEO_BPF
#include <linux/types.h>
#endif

enum python_entry {
	PYTHON_ENTRY_ALWAYS, /* up to 3.10: each frame has the loop to itself */
	PYTHON_ENTRY_FLAG,   /* 3.11: a flag of the frame */
	PYTHON_ENTRY_SHIM,   /* from 3.12: a frame of another owner follows it */
};

enum {
	PYTHON_NONE = 0xffff,  /* an offset that this version does not have */
	PYTHON_OWNER_SHIM = 3, /* from 3.12: this value and above */
	PYTHON_COOKIE_WORDS = 8,
	/*
	 * The head of a string follows its PyObject: length, hash and state. The bits of a state,
	 * from the lowest, are the width of a character, "compact" and "ascii";
	 * python_vm.kind_shift is where they begin.
	 */
	PYTHON_STRING_STATE = 16,
	PYTHON_STRING_KIND = 7,
	PYTHON_STRING_COMPACT = 1 << 3,
	PYTHON_STRING_ASCII = 1 << 4,
	PYTHON_NOT_ASCII_36 =
		24, /* additional head of a string that is not ASCII, before its text */
	PYTHON_NOT_ASCII_312 = 16, /* the same, from 3.12 on */
	PYTHON_BYTES_DATA = 16,    /* of a bytes object, after its PyObject */
	PYTHON_TYPE_NAME = 8,      /* of a type, after its PyObject */
	PYTHON_CODE_MAX = 512,     /* bytes of a code object up to the end of code_lines */
};

struct python_vm {
	__u64 interp_head; /* address of the pointer to the first interpreter */
	__u16 interp_next, interp_threads;
	__u16 thread_prev, thread_next, thread_interp, thread_id, thread_frame;
	__u16 cframe_frame; /* 3.11 and 3.12: thread_frame leads to a struct that holds the frame at
			       this offset */
	__u16 frame_bytes;  /* bytes of a frame that are read */
	__u16 frame_code, frame_back, frame_place;
	__u16 frame_owner;  /* offset of the byte that decides on entry */
	__u16 frame_object; /* from 3.12: the frame object, or null ... */
	__u16 object_link;  /* ... and where in it greenlet stores the frame's original link */
	__u8 entry;         /* enum python_entry */
	__u8 place_is_addr; /* frame_place holds an address; otherwise a 32-bit index */
	/* for reading a function, see python_copy.h and src/lang/python/code.c */
	__u16 minor;
	__u16 code_filename, code_name, code_qualname, code_lines, code_first_line, code_bytecode;
	__u16 object;     /* size of PyObject */
	__u16 ascii_data; /* offset of the text in a compact ASCII string */
	__u16 kind_shift; /* shift of the kind in a string's state */
};

/* The offset of the text in a string with @state, which was shifted. */
static inline __u64 python_text_at(const struct python_vm *py, __u64 state)
{
	if (state & PYTHON_STRING_ASCII)
		return py->ascii_data;
	return py->ascii_data + (py->minor >= 12 ? PYTHON_NOT_ASCII_312 : PYTHON_NOT_ASCII_36);
}

/* The offset of the pointer to a code object's name, which is its qualified one if it has that. */
static inline __u16 python_name_at(const struct python_vm *py)
{
	return py->code_qualname != PYTHON_NONE ? py->code_qualname : py->code_name;
}

/*
 * A code object's cookie is made of its words up to the one that leads to its line table. They
 * never change, and some are unique to the object: its names, its file, its line table and, from
 * 3.12 on, a version number.
 */
static inline __u64 python_cookie_at(const struct python_vm *py, __u64 code)
{
	return code + py->code_lines + 8 - 8 * PYTHON_COOKIE_WORDS;
}

static inline __u64 python_cookie_of(const __u64 words[PYTHON_COOKIE_WORDS])
{
	__u64 v = 0;

	for (int i = 0; i < PYTHON_COOKIE_WORDS; i++)
		v = (v ^ words[i]) * 0x9e3779b97f4a7c15ULL;
	return v ^ v >> 32;
}

/* Where the state of a thread was last found. */
struct python_thread {
	__u64 thread_pointer;
	__u64 state;
	__u32 pid;
	__u32 pad;
};

enum { PYTHON_THREADS_CACHED = 256 };

struct python_walk {
	__u64 interp; /* while the thread is searched for: address of the next interpreter's link */
	__u32 found;
	__u32 pad;
	struct python_thread threads[PYTHON_THREADS_CACHED]; /* lives from sample to sample */
};
