/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * The contract between the BPF programs and the agent: the records in the ring, the words that
 * stand for frames, and the tables that the agent fills and the walk reads. Layouts are fixed; both
 * sides are always built together, so there is no version.
 */
#include "bpf/arch/regs.h"
#include "bpf/shared/context.h"
#include "bpf/shared/unwind_rule.h"
#include "bpf/shared/vm.h"

#ifndef CAMEO_BPF
#include <linux/types.h>
#endif

/*
 * ---- frames ---------------------------------------------------------------
 *
 * A frame is one or more 64-bit words. The first has the kind in its top five bits, flags in the
 * next three, and 56 bits of payload. A kernel address needs no conversion: its top byte is all
 * ones, which makes it a FRAME_KERNEL.
 */
enum frame_kind {
	FRAME_ERROR = 1,   /* payload: enum walk_error; the last word of an incomplete stack */
	FRAME_NATIVE = 2,  /* payload: file id (20 bits) << 36 | file offset (36 bits) */
	FRAME_ADDRESS = 3, /* payload: address in the process, outside of any known file */
	FRAME_VM = 4,      /* a frame of a language's runtime, see vm.h */
	FRAME_SCRIPT =
		5, /* the same after the agent has read it: function id (24 bits) << 32 | place */
	FRAME_VM_PLACE = 6, /* second word of a frame in generated code, see vm.h */
	FRAME_TEXT = 7,     /* made by the agent: a text that stands for a frame; payload: its id */
	FRAME_WAKER = 8,    /* made by the agent: divides a waiting thread from its waker; see
			       profiler/wakers.h */
	FRAME_KERNEL = 31,  /* payload: low 56 bits of the address */
};

#define FRAME_KIND_SHIFT    59
#define FRAME_PAYLOAD_MASK  ((1ULL << 56) - 1)
#define FRAME_OFFSET_BITS   36
#define FRAME_OFFSET_MASK   ((1ULL << FRAME_OFFSET_BITS) - 1)
#define FRAME_WORD(kind, v) (((__u64)(kind) << FRAME_KIND_SHIFT) | ((v)&FRAME_PAYLOAD_MASK))

/*
 * Payload of FRAME_NATIVE. For callers @off is the return address - 1, which lies within the call
 * instruction and so in the calling function.
 */
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
	WALK_TURNS_MAX =
		3072, /* steps; frames of an interpreter's own functions are steps without a word */
	KERNEL_FRAMES_MAX = 127, /* sysctl kernel.perf_event_max_stack's default */
	RECORD_WORDS_MAX = KERNEL_FRAMES_MAX + 2 * WALK_FRAMES_MAX + 1,
};

/* ---- programs -------------------------------------------------------------- */

/*
 * Identifies a program that a process ran: a pid is reused, and a process runs another program
 * after each exec. Together with the pid it is unique while the machine runs.
 */
struct program_id {
	__u64 start_ns; /* start of the process: start_boottime of its main thread; 0: unknown */
	__u32 exec_id;  /* execs of the process, plus those of its parent before the fork */
	__u32 reserved; /* 0: ids are compared by their bytes */
};

/* ---- ring records --------------------------------------------------------- */

enum record_type {
	RECORD_SAMPLE = 1, /* a walked stack: struct sample_record */
	RECORD_RAW =
		2, /* registers and a copy of the stack, for the agent to walk: struct raw_record */
	RECORD_OFF = 3,      /* an off-CPU interval has ended: struct off_record */
	RECORD_OFF_LAST = 4, /* a thread has exited: struct off_last_record */
	RECORD_PROGRAM = 5,  /* a process began, or an exec is done: a header alone */
	RECORD_FUNCTION = 6, /* memory that names a function: struct function_record */
	RECORD_STACK = 7,    /* an outer part of the stack of a RECORD_RAW: struct raw_record */
	RECORD_FREED = 8, /* a sampled block was freed, or not allocated at all: a header alone */
};

enum record_flags {
	RECORD_COMPLETE = 1u << 0, /* the walk reached the outermost frame */
	RECORD_KERNEL_MODE = 1u << 1,
	RECORD_NO_USER = 1u << 2, /* a kernel thread, or a process that has released its memory */
	RECORD_VM_TRUNCATED = 1u << 3, /* outer frames of a runtime's list are missing */
	RECORD_OFF_CPU = 1u << 4,      /* taken where the thread was switched out, at time_ns */
	RECORD_SEARCHED = 1u << 5,     /* a caller was found by search: see walk_searched() */
	/*
	 * The thread was in execve(), where its name, its memory and its number of execs change one
	 * after the other, so only the member program identifies the program.
	 */
	RECORD_IN_EXEC = 1u << 6,
	RECORD_FAULT = 1u << 7, /* taken at a page fault, before the kernel handled it */
	/* The page of a fault was present (the access was not allowed yet); it was written to. */
	RECORD_FAULT_PRESENT = 1u << 8,
	RECORD_FAULT_WRITE = 1u << 9,
	RECORD_MAPPED = 1u << 10, /* taken where the kernel chose an area for a mapping */
	RECORD_ALLOC = 1u << 11,  /* taken where memory was allocated from the heap */
	RECORD_WAKER = 1u << 12,  /* taken where the thread woke another one: see offcpu.h */
	RECORD_KERNEL_THREAD =
		1u << 13, /* with RECORD_WAKER: the waker is a kernel thread or an idle CPU */
	/*
	 * with RECORD_WAKER: the waker has itself waited since the beginning of the wait that it
	 * ends
	 */
	RECORD_WAKER_WAITED = 1u << 14,
};

struct record_header {
	__u16 type;
	__u16 flags;
	__u16 n_kernel; /* kernel frames, which are the first of words[] */
	__u16 n_words;  /* kernel and native frames, leaf first */
	__u32 pid, tid;
	__u64 time_ns; /* CLOCK_MONOTONIC */
	struct program_id program;
	__u32 cpu;
	__u32 stack_len;  /* RECORD_RAW, RECORD_STACK: bytes of stack[] that are valid */
	__u16 n_vm_words; /* words of runtimes' lists, which follow the n_words */
	__u8 off_state;   /* enum off_state */
	__u8 off_shift;   /* RECORD_OFF: the interval represents 2^off_shift intervals */
	__u16 event;      /* index of the event that was sampled, below EVENTS_MAX */
	__u8 off_place;   /* RECORD_OFF: index of the wait place, below OFF_PLACES */
	__u8 n_context;   /* words of struct context, which end the record */
	char comm[16];    /* name of the thread */
	/*
	 * RECORD_FAULT: the page's address; RECORD_MAPPED: that of the area; RECORD_PROGRAM of a
	 * fork: the parent's pid; RECORD_ALLOC: the size in bytes; RECORD_FREED: time_ns of the
	 * allocation's record; RECORD_WAKER: WAKER_ARG(); else 0.
	 */
	__u64 arg;
	/*
	 * RECORD_MAPPED: bytes of the area; RECORD_FREED: the thread that allocated; RECORD_WAKER:
	 * start of the wait; else 0
	 */
	__u64 len;
};
_Static_assert(sizeof(struct record_header) == 88, "record header is an ABI");

enum {
	RAW_STACK_MAX = 32 * 1024,
	RAW_STACK_SHORT = 8 * 1024, /* used when the ring is half full */
	/*
	 * The parts of a deeper stack precede the record and have its header, and stack_at and
	 * stack of their own; their addresses ascend. Between them are absent pages and, if the
	 * stack exceeds all parts, bytes that are omitted from its middle.
	 */
	RAW_STACK_PARTS = 7,
	RAW_STACK_PARTS_OUTER =
		4, /* parts that are reserved for the outermost bytes of the stack */
	RAW_VM_WORDS_MAX = 1024,
};

struct sample_record {
	struct record_header head;
	/* the first n_words + n_vm_words + n_context are sent */
	__u64 words[RECORD_WORDS_MAX + VM_WORDS_MAX + CONTEXT_WORDS_MAX];
};

struct raw_record {
	struct record_header head; /* n_words == n_kernel */
	__u64 regs[UREG_COUNT];
	__u64 thread_pointer; /* by which runtimes identify the thread */
	__u64 kernel[KERNEL_FRAMES_MAX];
	__u64 stack_at; /* address of stack[0]: just below rsp, or the next page that is present */
	/*
	 * Ascending addresses; the first stack_len bytes are sent. They are followed by the
	 * n_vm_words of runtimes' lists, if the runtime was known, and the n_context of a context.
	 */
	__u8 stack[RAW_STACK_MAX + (RAW_VM_WORDS_MAX + CONTEXT_WORDS_MAX) * sizeof(__u64)];
};

/*
 * The memory from which the name of an interpreter's function is read, copied when the walk first
 * met the function, because it may be gone when the agent processes the stack. The record precedes
 * the sample's, whose header it has. A function is copied again if the walk has forgotten that it
 * was.
 */
enum {
	FUNCTION_RANGES_MAX = 24,
	FUNCTION_RANGE_BYTES = 2048, /* of one range, at most */
	FUNCTION_BYTES = 4096 + FUNCTION_RANGE_BYTES,
};

struct function_range {
	__u64 at;       /* address in the process */
	__u32 len, off; /* its length, and where it begins in bytes[] */
};

struct function_record {
	struct record_header head;
	__u64 words[2]; /* the frame, see vm.h */
	__u32 n_ranges, n_bytes;
	struct function_range ranges[FUNCTION_RANGES_MAX];
	__u8 bytes[FUNCTION_BYTES]; /* the first n_bytes are sent */
};

/*
 * The states of walks that each CPU has. Programs that may interrupt each other on one CPU need
 * separate states.
 */
enum {
	WALK_CPU,
	WALK_OFF,
	WALK_PROBE,      /* the first state for uprobes and page faults */
	WALK_PROBES = 2, /* number of states for them */
};

/*
 * ---- tables in arena chunks ------------------------------------------------
 *
 * The arena is an address space of 4-byte units in chunks of 1 MiB. It holds rows (1 unit), page
 * entries (2 units) and mappings (8 units). No object straddles two chunks; arrays of page entries
 * and of mappings may, so each access looks up its chunk.
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

/* The rows of one 64 KiB page of a file's text. With n_rows 0 nothing is known about the page. */
struct unwind_page {
	__u32 first_row; /* arena unit; all rows lie in one chunk */
	__u32 n_rows;
};

enum file_table_state {
	FILE_TABLE_NOT_READY, /* not built yet: the sample is sent raw */
	FILE_TABLE_READY,
	FILE_TABLE_ABSENT, /* the file has no unwind information: the walk follows frame pointers */
	FILE_TABLE_FULL,   /* the table did not fit under the memory limit */
	FILE_TABLE_UNSWEPT, /* ready, except for code without CFI, which is analysed once a walk
			       meets it */
	FILE_TABLE_FAILED,  /* the reader of the file failed: another attempt follows */
};

struct unwind_file {
	__u32 first_page; /* arena unit of the first struct unwind_page */
	__u32 page_lo;    /* number (file offset >> 16) of that page */
	__u32 n_pages;
	__u16 state; /* enum file_table_state */
	__u16 used;  /* set by the walk that looks up a rule, cleared by the agent */
};

enum { UNWIND_FILES_MAX = 1 << 15 };

enum mapping_kind {
	MAPPING_FILE,      /* unwound by the rows of the file */
	MAPPING_ANONYMOUS, /* memory without a file: runtimes, trampolines or frame pointers */
	MAPPING_LANG,      /* code that a language's runtime generated: MAPPING_LANG_KIND() */
};

/*
 * The kind of memory that a language has registered (struct lang's attach()): the walk steps
 * through it with NAME_step_generated(). @part is a distinction of the language's own. The flag
 * MAPPING_ENTERED_BY_JUMP marks code to which the runtime returns without a call: there any address
 * may be a return address.
 */
#define MAPPING_LANG_KIND(lang, part) (MAPPING_LANG | (__u32)(lang) << 8 | (__u32)(part) << 16)
#define MAPPING_ENTERED_BY_JUMP       (1u << 31)
#define MAPPING_LANG_OF(kind)         ((kind) >> 8 & 0xff)
#define MAPPING_PART_OF(kind)         ((kind) >> 16 & 0x7fff)

/*
 * unwind_mapping.file of such memory: the index of the runtime's tables, and 16 bits for the
 * language.
 */
#define MAPPING_LANG_FILE(vm, data) ((__u32)(vm) | (__u32)(data) << 16)
#define MAPPING_LANG_VM(file)       ((file)&0xffff)
#define MAPPING_LANG_DATA(file)     ((file) >> 16)

struct unwind_mapping {
	__u64 start, end;
	__u64 file_off; /* file offset of start; a language's own value for MAPPING_LANG */
	__u32 file;     /* file id; 0 for MAPPING_ANONYMOUS; MAPPING_LANG_FILE() */
	__u32 kind;     /* enum mapping_kind, or MAPPING_LANG_KIND() */
};
_Static_assert(sizeof(struct unwind_mapping) == 32, "8 arena units");

/* Value of the map of processes, keyed by pid (thread group id). */
struct unwind_process {
	struct program_id program; /* the other members are used only for this program */
	__u32 first_mapping; /* arena unit of the first struct unwind_mapping; they are sorted by
				start */
	__u32 n_mappings;
	/*
	 * Set when the agent has searched for an unmapped address and found none: a further one is
	 * an error. While this is 0, samples at unmapped addresses are sent raw, because mappings
	 * may exist that are not published yet.
	 */
	__u32 unmapped_is_final;
	/*
	 * A runtime has not reported yet where its code is: samples in anonymous code are sent raw.
	 */
	__u32 generated_pending;
	/*
	 * 0, or the CLOCK_MONOTONIC time up to which this is valid: a child uses its parent's
	 * description until the agent publishes one for it.
	 */
	__u64 until_ns;
	__u32 languages; /* of its runtimes: bits 1 << enum vm_lang */
	/* Indices of programs that know them (bpf/lib/walk_programs.h); below WALK_PROGRAMS_MAX. */
	__u16 walk, lists;
	/* Load bias of the runtime that reports where its generated code is; 0: there is none. */
	__u64 reporting_bias;
	struct vm_slot vms[VM_SLOTS_MAX];
	__u64 contexts[CONTEXT_SLOTS_MAX]; /* CONTEXT_SLOT(); 0: unused */
};

/*
 * Identifies an executable that is an interpreter, by which the runtime of a process that is not
 * published yet is found.
 */
struct executable_key {
	__u64 inode;
	__u32 device; /* as the kernel has it: major << 20 | minor */
	__u32 reserved;
};

struct executable {
	__u64 bytes; /* size of the file, by which a reused inode is recognized */
	__u32 vm, file;
	__u64 bias;      /* load bias, relative to the start of the program's code */
	__u32 languages; /* as in struct unwind_process */
	__u16 walk, lists;
};

enum {
	PROCESSES_MAX = 32768,
	EXECUTABLES_MAX = 1024,
	WALK_PROGRAMS_MAX = 64, /* sets of languages */
	EVENTS_MAX = 8,         /* events of one recording; a power of two, used as a mask */
};

enum counter {
#define X(sym, label) COUNTER_##sym,
#include "bpf/shared/counters.def"
#undef X
	COUNTER_MAX,
};

/*
 * An entry of the map of selected processes: a target of the recording, or the decision of the
 * agent's rules (src/metadata/select_rules.h), which may exclude the process.
 */
enum {
	SELECT_RULES_MAX = 64,                 /* a power of two */
	SELECT_NO_RULE = SELECT_RULES_MAX - 1, /* the number that stands for none */
};

enum select_flags {
	SELECT_NO_CPU = 1 << 0,     /* not sampled */
	SELECT_NO_OFF_CPU = 1 << 1, /* off-CPU time is not recorded */
	SELECT_EXCLUDED = SELECT_NO_CPU | SELECT_NO_OFF_CPU,
	SELECT_UNTIL_EXEC =
		1 << 2, /* the decision may be another one for the next program of the process */
};

struct selection {
	__u64 start_ns; /* of the process (struct program_id), 0 if the agent chose it */
	__u32 flags;    /* enum select_flags */
	__u32 rule;     /* number of the rule that decided, from 0 */
};
_Static_assert(sizeof(struct selection) == 16, "selections are an ABI");

/* The counters of one CPU; walk errors are counted by reason, excluded samples by rule. */
struct counters {
	__u64 n[COUNTER_MAX];
	__u64 walk_errors[WALK_ERR_MAX];
	__u64 excluded[SELECT_RULES_MAX];
};
