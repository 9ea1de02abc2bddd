/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * The data that the walk needs about language runtimes whose frames are not plain native ones. All
 * of it is relative to a file (file offsets, addresses as linked); a process only adds where the
 * file is mapped. So there is one entry per interpreter or library, however many processes run it,
 * and fork, exec and dlopen only change mappings.
 */
#ifndef CAMEO_BPF
#include <linux/types.h>
#endif

enum vm_lang {
	LANG_NONE,
#define X(sym, name) LANG_##sym,
#include "bpf/shared/langs.def"
#undef X
	LANG_MAX,
};

/* Sets of languages are bits 1 << enum vm_lang. */
enum {
	LANGUAGES_LIST = 0
#define LANG_LIST(sym, name) | 1 << LANG_##sym
#include "bpf/shared/langs.def"
	,
	LANGUAGES_CODE = 0
#define LANG_CODE(sym, name) | 1 << LANG_##sym
#include "bpf/shared/langs.def"
};

enum {
	VM_TABLE_MAX = 256, /* interpreters and libraries; index 0 stands for none */
	VM_SLOTS_MAX = 2,   /* runtimes in one process */
	VM_RANGES_MAX = 2,  /* the loop, and the part of it that the compiler moved away (.cold) */
	VM_FRAMES_MAX = 1024,
	VM_FRAME_BYTES = 128, /* bytes of a runtime's frame that are read at once */
	VM_WORDS_MAX = 2 * VM_FRAMES_MAX,
};

struct vm_range {
	__u64 lo, hi; /* file offsets; with hi 0 the range is unused */
};

/* How the frames of code that a runtime generates are found on the stack. */
enum vm_generated {
	VM_GENERATED_NONE,
	VM_GENERATED_IN_LOOP, /* it runs in the frame of the interpreter's loop (PHP's JIT) */
	VM_GENERATED_CALLED,  /* the file's code called it, and it pushed a few words (YJIT) */
	VM_GENERATED_STEPPED, /* it lies in anonymous memory, where NAME_step_generated() steps
				 through it (V8) */
	VM_GENERATED_RANGES,  /* the same, and also in files that are not ELF files: the runtime
				 has a list of where its code is (.NET) */
};

/* Where the code of a runtime is in its file. */
struct vm_code {
	__u16 lang;      /* enum vm_lang */
	__u16 by_cookie; /* the cookie alone identifies a function, whatever its address */
	__u16 fold; /* omit the interpreter's other native frames between two frames of its loop */
	__u16 generated; /* enum vm_generated */
	struct vm_range loop[VM_RANGES_MAX];
	/*
	 * functions that enter the loop, generated code, or both; unused if each loop frame is an
	 * activation
	 */
	struct vm_range entry[VM_RANGES_MAX];
	/* functions around which the language puts a frame of its own: garbage collection */
	struct vm_range marked[VM_RANGES_MAX];
	/* code in the file that NAME_step_file() steps through */
	struct vm_range stepped[VM_RANGES_MAX];
};

/* A runtime in a process. */
struct vm_slot {
	__u32 vm;   /* index of the tables; 0 if the slot is unused */
	__u32 file; /* id of the file that holds the loop */
	__u64 bias; /* load bias: added to an address as linked */
};

/*
 * The frames of a runtime's list follow a record's words, leaf first, two words each: FRAME_VM with
 * the runtime's index and the address of the code object, then the place in it (upper half) and a
 * cookie (lower half). The cookie is a fingerprint of the object, by which the agent notices that
 * the memory was reused; it is 0 if the object could not be read. VM_FRAME_LAST marks the outermost
 * frame of an activation: the function with which the loop was entered. The bits above it hold the
 * number of the slot.
 */
#define VM_FRAME_LAST     (1ULL << 56)
#define VM_FRAME_INDEX(w) ((__u32)((w) >> 48) & 0xff)
#define VM_FRAME_ADDR(w)  ((w) & ((1ULL << 48) - 1))
#define VM_FRAME_SLOT(w)  ((__u32)((w) >> 57) & 3)
#define VM_FRAME_WORD(slot, vm, addr)                                                              \
	(FRAME_WORD(FRAME_VM, ((__u64)(vm) << 48) | VM_FRAME_ADDR(addr)) | (__u64)(slot) << 57)

/*
 * The second word of a frame that stands for all frames of an activation, because they could only
 * have been read after the sample, when the thread may have entered other functions. Its address is
 * 0.
 */
#define VM_FRAME_LATE 0xffffffff00000000ULL

/*
 * Frames of generated code are among the native ones, two words each: the first as above, with the
 * kind of object that the address belongs to in place of the slot, and FRAME_VM_PLACE. Such a frame
 * counts as one.
 */
#define VM_PLACE_WORD(place, cookie) FRAME_WORD(FRAME_VM_PLACE, ((__u64)(place) << 32) | (cookie))

#define VM_PLACE_OF(w) ((__u32)(((w)&FRAME_PAYLOAD_MASK) >> 32))

/* The flag bits of a native frame of the loop: the number of its slot, plus 1. */
#define VM_LOOP_SHIFT   56
#define VM_LOOP_SLOT(w) ((__u32)((w) >> VM_LOOP_SHIFT) & 7)
