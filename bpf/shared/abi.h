/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * What the BPF programs and the agent share: records in the ring, frame
 * words, and the memory that the agent fills and the walk reads.
 */
#include "bpf/shared/unwind_rule.h"
#include "bpf/shared/vm.h"

#ifndef CAMEO_BPF
#include <linux/types.h>
#endif

/* ---- frames ---------------------------------------------------------------
 *
 * A frame is one or more 64-bit words. The first has the kind in its top five
 * bits, flags in the next three, and 56 bits of payload. A kernel address is a
 * frame word as it is: its top byte is all ones.
 */
enum frame_kind {
	FRAME_ERROR = 1,  /* payload: enum walk_error; ends an incomplete stack */
	FRAME_NATIVE = 2, /* payload: file id (20 bits) << 36 | file offset (36 bits) */
	FRAME_ADDRESS =
		3,    /* payload: address in the process, in no known file (JIT code, garbage) */
	FRAME_VM = 4, /* a virtual machine's, see vm.h */
	FRAME_SCRIPT = 5,   /* the same, read: payload: function id (24 bits) << 32 | place; in the
			       agent only */
	FRAME_VM_PLACE = 6, /* second word of generated code's, see vm.h */
	FRAME_KERNEL = 31,  /* payload: low 56 bits of the address */
};

#define FRAME_KIND_SHIFT    59
#define FRAME_PAYLOAD_MASK  ((1ULL << 56) - 1)
#define FRAME_OFFSET_BITS   36
#define FRAME_OFFSET_MASK   ((1ULL << FRAME_OFFSET_BITS) - 1)
#define FRAME_WORD(kind, v) (((__u64)(kind) << FRAME_KIND_SHIFT) | ((v)&FRAME_PAYLOAD_MASK))

/* Payload of FRAME_NATIVE; the offset is that of the call for callers: return address - 1. */
#define FRAME_NATIVE_WORD(file, off)                                                               \
	FRAME_WORD(FRAME_NATIVE, ((__u64)(file) << FRAME_OFFSET_BITS) | ((off)&FRAME_OFFSET_MASK))

enum walk_error {
	WALK_OK,
#define X(sym, text) WALK_ERR_##sym,
#include "bpf/shared/walk_errors.def"
#undef X
	WALK_ERR_MAX,
};

enum {
	WALK_FRAMES_MAX = 1024,
	WALK_TURNS_MAX = 3072,   /* steps; those of an interpreter's own frames leave no word */
	KERNEL_FRAMES_MAX = 127, /* sysctl kernel.perf_event_max_stack's default */
	RECORD_WORDS_MAX = KERNEL_FRAMES_MAX + 2 * WALK_FRAMES_MAX + 1,
};

/* ---- ring records --------------------------------------------------------- */

enum record_type {
	RECORD_SAMPLE = 1,   /* a walked stack: words */
	RECORD_RAW = 2,      /* registers and a copy of the stack: the agent walks it */
	RECORD_OFF = 3,      /* a thread runs again: struct off_record */
	RECORD_OFF_LAST = 4, /* a thread has ended: struct off_last_record */
};

enum record_flags {
	RECORD_COMPLETE = 1u << 0, /* the walk reached the outermost frame */
	RECORD_KERNEL_MODE = 1u << 1,
	RECORD_NO_USER = 1u << 2, /* a kernel thread, or a process that has given its memory up */
	RECORD_VM_CUT = 1u << 3,  /* outer frames of a virtual machine are missing */
	RECORD_OFF_CPU = 1u << 4, /* taken where the thread was switched out, at time_ns */
};

struct record_header {
	__u16 type;
	__u16 flags;
	__u16 n_kernel; /* words that are kernel frames; they come first */
	__u16 n_words;  /* all words but those of virtual machines, leaf first */
	__u32 pid, tid;
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u32 cpu;
	__u32 stack_len;  /* RECORD_RAW: bytes of stack that were copied */
	__u16 n_vm_words; /* they follow the n_words */
	__u8 off_state;   /* enum off_state */
	__u8 off_shift;   /* RECORD_OFF: the interval stands for 2^off_shift */
	__u16 event;      /* number of what was sampled, below EVENTS_MAX */
	__u8 off_place;   /* RECORD_OFF: one of OFF_PLACES */
	__u8 pad;
	char comm[16]; /* of the thread */
};
_Static_assert(sizeof(struct record_header) == 56, "record header is an ABI");

/* User registers in DWARF order (System V psABI AMD64, fig. 3.36); [16] is rip. */
enum {
	UREG_RBX = 3,
	UREG_RBP = 6,
	UREG_RSP = 7,
	UREG_RIP = 16,
	UREG_COUNT = 17,
};

enum {
	RAW_STACK_MAX = 32 * 1024,
	RAW_STACK_SHORT = 8 * 1024, /* when the ring is half full */
};

struct sample_record {
	struct record_header head;
	__u64 words[RECORD_WORDS_MAX + VM_WORDS_MAX]; /* n_words + n_vm_words of them are sent */
};

struct raw_record {
	struct record_header head; /* n_words == n_kernel */
	__u64 regs[UREG_COUNT];
	__u64 fs_base; /* the thread's own, by which virtual machines know it */
	__u64 kernel[KERNEL_FRAMES_MAX];
	__u64 stack_at; /* address of stack[0]: rsp, or the page above if that is absent */
	__u8 stack[RAW_STACK_MAX]; /* upwards; stack_len bytes of it are sent */
};

/* Which of a CPU's states a walk has: each kind of entry its own, since one may interrupt another.
 */
enum {
	WALK_CPU,
	WALK_OFF,
	WALK_UPROBE,      /* the first of those of uprobes */
	WALK_UPROBES = 2, /* so many */
};

/* ---- tables in arena chunks ------------------------------------------------
 *
 * The arena is an address space of 4-byte units in chunks of 1 MiB: rows (1
 * unit), page entries (2), mappings (8). An object never straddles a chunk;
 * arrays of page entries and of mappings may, so each access finds its chunk.
 */
#define ARENA_CHUNK_SHIFT 18
#define ARENA_CHUNK_UNITS (1u << ARENA_CHUNK_SHIFT)
#define ARENA_CHUNK_MASK  (ARENA_CHUNK_UNITS - 1)
#define ARENA_CHUNK_BYTES (ARENA_CHUNK_UNITS * 4)
#define ARENA_CHUNKS_MAX  1024

struct arena_chunk {
	__u32 units[ARENA_CHUNK_UNITS];
};

#define FILE_PAGE_SHIFT 16

/* The rows of one 64 KiB page of a file's text; n_rows 0: nothing known there. */
struct unwind_page {
	__u32 first_row; /* arena unit; the rows lie in one chunk */
	__u32 n_rows;
};

enum file_table_state {
	FILE_TABLE_NOT_READY, /* not built yet: the sample goes up raw */
	FILE_TABLE_READY,
	FILE_TABLE_ABSENT,  /* the file has no unwind information: frame pointers */
	FILE_TABLE_FULL,    /* did not fit under the memory limit */
	FILE_TABLE_UNSWEPT, /* ready, but for code without CFI that nobody has run so far */
};

struct unwind_file {
	__u32 first_page; /* arena unit of the first struct unwind_page */
	__u32 page_lo;    /* number (file offset >> 16) of that page */
	__u32 n_pages;
	__u16 state; /* enum file_table_state */
	__u16 used;  /* set by the walk when it looks a rule up; the agent clears it */
};

enum { UNWIND_FILES_MAX = 1 << 15 };

enum mapping_kind {
	MAPPING_FILE,      /* unwind by the file's rows */
	MAPPING_ANONYMOUS, /* generated code without a table: frame pointers */
	/* generated code of a virtual machine, which tells where it is */
	MAPPING_JVM,       /* file_off: add pc >> shift to find its segment's entry in the map */
	MAPPING_JVM_LOOP,  /* the same, of the interpreter */
	MAPPING_JVM_ENTRY, /* the same, where interpreted frames are made */
};

struct unwind_mapping {
	__u64 start, end;
	__u64 file_off; /* of start */
	__u32 file;     /* file id; 0 for MAPPING_ANONYMOUS; JVM_MAPPING_FILE */
	__u32 kind;     /* enum mapping_kind */
};
_Static_assert(sizeof(struct unwind_mapping) == 32, "8 arena units");

/* Value of the map of processes, by pid (thread group id). */
struct unwind_process {
	__u32 first_mapping; /* arena unit of the first struct unwind_mapping, sorted by start */
	__u32 n_mappings;
	/*
	 * The agent has looked and found no mapping for some address, so that
	 * one more is an error; else the sample goes up raw, since mappings
	 * may have appeared that are not published yet.
	 */
	__u32 unmapped_is_final;
	/* A virtual machine has not told yet where its code is: samples of such go up raw. */
	__u32 generated_wanted;
	struct vm_slot vms[VM_SLOTS_MAX];
};

enum {
	PROCESSES_MAX = 32768,
	EVENTS_MAX = 8, /* of one recording; a power of two */
};

enum counter {
#define X(sym, label) COUNTER_##sym,
#include "bpf/shared/counters.def"
#undef X
	COUNTER_MAX,
};

/* One for each CPU; walk errors are counted by reason beside the rest. */
struct counters {
	__u64 n[COUNTER_MAX];
	__u64 walk_errors[WALK_ERR_MAX];
};
