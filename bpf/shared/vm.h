/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Virtual machines whose frames are not native ones: what the walk must know
 * of each. Everything here is said in a file's own terms (file offsets,
 * addresses as linked): a process only adds where the file is mapped. So
 * there is one entry for each interpreter or library, however many processes
 * run it, and a fork, an exec or a dlopen needs no words but the mappings'.
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

enum {
	VM_TABLE_MAX = 256, /* interpreters; [0] stands for none */
	VM_SLOTS_MAX = 2,   /* virtual machines in one process */
	VM_RANGES_MAX = 2,  /* the loop, and the parts of it that the compiler moved away */
	VM_FRAMES_MAX = 1024,
	VM_FRAME_BYTES = 128, /* as much of a machine's frame as is read at once */
	VM_WORDS_MAX = 2 * VM_FRAMES_MAX,
};

struct vm_range {
	__u64 lo, hi; /* file offsets; hi 0: unused */
};

/* How code that a machine generates stands on the stack, where it has no frames of its own. */
enum vm_generated {
	VM_GENERATED_NONE,
	VM_GENERATED_IN_LOOP, /* it runs in the frame of the loop */
	VM_GENERATED_CALLED,  /* it was called by the file's code, and pushed a few words */
};

/* Where the interpreter's loop is in its file. */
struct vm_code {
	__u32 lang;      /* enum vm_lang */
	__u16 fold;      /* leave out the interpreter's other frames between two of the loop's */
	__u16 generated; /* enum vm_generated */
	struct vm_range loop[VM_RANGES_MAX];
	/* functions that call the loop, or generated code, or both; unused where the loop is all */
	struct vm_range entry[VM_RANGES_MAX];
	struct vm_range collector[VM_RANGES_MAX]; /* V8: functions that collect garbage */
};

/* A virtual machine in a process. */
struct vm_slot {
	__u32 vm;   /* index of the tables; 0: unused */
	__u32 file; /* id of the file that holds the loop */
	__u64 bias; /* added to an address of that file */
};

/*
 * The frames of a virtual machine follow a record's words, leaf first, two
 * words each: FRAME_VM with the machine's index and the address of what was
 * running (a code object), then a place in it (upper half) and a cookie (lower
 * half; 0: it could not be read), by which the reader knows that the address
 * still holds the same thing. VM_FRAME_LAST: the C function that runs the
 * loop was entered with this frame. The slot's number is above that.
 */
#define VM_FRAME_LAST     (1ULL << 56)
#define VM_FRAME_INDEX(w) ((__u32)((w) >> 48) & 0xff)
#define VM_FRAME_ADDR(w)  ((w) & ((1ULL << 48) - 1))
#define VM_FRAME_SLOT(w)  ((__u32)((w) >> 57) & 3)
#define VM_FRAME_WORD(slot, vm, addr)                                                              \
	(FRAME_WORD(FRAME_VM, ((__u64)(vm) << 48) | VM_FRAME_ADDR(addr)) | (__u64)(slot) << 57)

/*
 * Frames of code that a virtual machine generated stand among the native ones,
 * two words each: the first as above, with what kind of object the address is
 * of in the slot's place, and FRAME_VM_PLACE. A frame so made counts as one.
 */
#define VM_PLACE_WORD(place, cookie) FRAME_WORD(FRAME_VM_PLACE, ((__u64)(place) << 32) | (cookie))

#define VM_PLACE_OF(w) ((__u32)(((w)&FRAME_PAYLOAD_MASK) >> 32))

/* Two flag bits of a native frame of the loop: the number of its slot, plus 1. */
#define VM_LOOP_SHIFT   56
#define VM_LOOP_SLOT(w) ((__u32)((w) >> VM_LOOP_SHIFT) & 7)
