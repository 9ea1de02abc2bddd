/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/* One CPython: addresses as linked, offsets in its structures. */
#ifndef CAMEO_BPF
#include <linux/types.h>
#endif

enum python_entry {
	PYTHON_ENTRY_ALWAYS, /* to 3.10: each frame has the loop to itself */
	PYTHON_ENTRY_FLAG,   /* 3.11: the frame says so */
	PYTHON_ENTRY_SHIM,   /* from 3.12: a frame of another owner lies behind it */
};

enum {
	PYTHON_NONE = 0xffff,  /* an offset that this version has not */
	PYTHON_OWNER_SHIM = 3, /* from 3.12: this and above */
	PYTHON_COOKIE_WORDS = 8,
};

struct python_vm {
	__u64 interp_head; /* address of the pointer to the first interpreter */
	__u16 interp_next, interp_threads;
	__u16 thread_prev, thread_next, thread_interp, thread_id, thread_frame;
	__u16 cframe_frame; /* 3.11, 3.12: thread_frame leads to a struct with the frame there */
	__u16 frame_bytes;  /* as much as is there to be read */
	__u16 frame_code, frame_back, frame_place;
	__u16 frame_owner;  /* of the byte that decides on entry */
	__u8 entry;         /* enum python_entry */
	__u8 place_is_addr; /* frame_place holds an address; else a 32-bit index */
	/* what only the reader of names needs */
	__u16 minor;
	__u16 code_filename, code_name, code_qualname, code_lines, code_first_line, code_bytecode;
	__u16 object;     /* size of PyObject */
	__u16 ascii_data; /* of the text of a compact ASCII string */
	__u16 kind_shift; /* in a string's state */
};

/*
 * What a code object's cookie is made of: the words up to the one that leads to
 * its line table. They do not change, and some are another object's own: names,
 * file, line table, from 3.12 on a number that each code object has to itself.
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
