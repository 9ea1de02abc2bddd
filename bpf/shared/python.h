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
	__u16 code_cookie;  /* of eight bytes that differ between code objects */
	/* what only the reader of names needs */
	__u16 minor;
	__u16 code_filename, code_name, code_qualname, code_lines, code_first_line, code_bytecode;
	__u16 object;     /* size of PyObject */
	__u16 ascii_data; /* of the text of a compact ASCII string */
	__u16 kind_shift; /* in a string's state */
};
