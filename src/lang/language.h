/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The interface of a language: struct lang, and the structs of its operations. lang.h describes the
 * parts of a language.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/shared/abi.h"
#include "bpf/shared/vms.h"

struct elf_image;
struct lang_memo;

/* A file with debug information that lies next to a mapped file. */
struct lang_side_file {
	uint64_t addr;  /* where the other file is mapped */
	char name[128]; /* without a directory */
};

/* The process whose frames are read. */
struct lang_process {
	uint32_t pid;
	uint64_t start_ns; /* distinguishes programs that ran with the same pid */
	int (*read)(void *ctx, uint64_t addr, void *dst, size_t len); /* 0, or negative */
	/* Returns the load bias of the file of @vm, 0 if it is unknown. NULL: no bias is known. */
	uint64_t (*bias)(void *ctx, uint32_t vm);
	void *ctx;
	/*
	 * Applies pending events of the process, and returns whether it still runs this program;
	 * NULL: that is not known.
	 */
	bool (*is_current)(void *ctx);
	/*
	 * The two words of the frame that called the frame being read; NULL if the caller belongs
	 * to another virtual machine, is native code or is uncertain. For generated code, it is set
	 * only if the language is named_by_caller.
	 */
	const uint64_t *caller;
	/*
	 * Returns a descriptor of a file, borrowed; -ENOENT if there is none; -EAGAIN if it is
	 * opened first: the answer to the question is not used then. NULL: none can be opened.
	 */
	int (*side_file)(void *ctx, const struct lang_side_file *file);
	bool is_copy;           /* read() serves parts of the memory that were copied; see copy.h */
	bool signatures;        /* set by langs: names include parameter types */
	struct lang_memo *memo; /* set by langs for read() and expand(); may be NULL */
};

enum lang_function_state {
	LANG_FUNCTION_READ,
	LANG_FUNCTION_STALE,
	LANG_FUNCTION_UNREADABLE,
	LANG_FUNCTION_LATE,      /* stands for an activation that was not read in time */
	LANG_FUNCTION_FORGOTTEN, /* its id is free */
};

/*
 * The description of a function, read when a stack first contained it. A place is a position in its
 * code as the walk recorded it, in a unit that each language defines.
 */
struct lang_function {
	uint8_t lang;     /* enum vm_lang */
	uint8_t state;    /* enum lang_function_state */
	uint16_t version; /* of the runtime, in a form that the language chooses */
	uint32_t first_line;
	uint32_t place;    /* input of read(): the place of the frame that is read */
	uint32_t bytecode; /* the place at which the code begins */
	uint32_t n_lines;  /* length of lines, in bytes */
	uint8_t *lines;    /* owned; the line table, in a form that the language chooses */
	char *name, *file; /* owned */
	/* The function is part of its caller, such as a rescue clause: the caller is omitted. */
	bool covers_caller;
	/* If not 0, another caller may have a better name: one with a smaller doubt. */
	uint8_t doubt;
	/* Owned; the raw name for frames of which only the nearest place is known; or NULL. */
	char *near_name;
	/*
	 * Private to langs: the hash of the key; the last window that used it; the last stack for
	 * which it was requested; how many more callers are tried for a better name; whether it has
	 * no answer yet.
	 */
	uint32_t hash, used, asked;
	uint8_t n_tries;
	bool is_missing;
};

/* One of the calls that a frame of generated code stands for. */
struct lang_call {
	uint64_t addr;   /* as read() expects it */
	uint32_t cookie; /* as read() expects it */
	uint32_t place;  /* as line() expects it, with LANG_PLACE_NEAR if it is approximate */
};

enum {
	LANG_NAME_MAX = 1024, /* bytes; longer names are truncated */
	LANG_CALLS_MAX = 64,  /* functions inlined at one place */
	LANG_REGIONS_MAX = 16,
	LANG_ATTACH_PARTIAL = 1 << 8, /* call again later for the remaining regions */
	LANG_LINES_MAX = 1 << 18,     /* bytes of a line table; larger ones are ignored */
	LANG_FUNCTIONS_MAX = 1 << 20,
	LANG_FUNCTIONS_RETAINED = 1 << 16, /* below this, functions that are not used stay, and all
					      expansions of frames of generated code */
};

/* The properties of a virtual machine's file; detect() fills it. */
struct lang_detected {
	struct vm_code code;
	uint64_t loop_vaddr;
	const char *runtime; /* "Python"; static text */
	char version[24];    /* "2.7"; "" if it is unknown */
	const char *problem; /* with -ENOTSUP, unless the version is unknown; static text */
};

/* The implementation of a language: NAME_lang, for each line of langs.def. */
struct lang {
	/*
	 * The names of its files usually contain this. It decides nothing but when the BPF programs
	 * of the language are loaded. NULL: unknown.
	 */
	const char *name_part;
	/* Neither the detection nor the frames depend on the processor, or all processors are
	 * handled. */
	bool is_portable;
	/* The cookie alone identifies a function: its address is that of a short-lived copy. */
	bool by_cookie;
	/* A thread's native stack may hold loops of another coroutine; see weave.c. */
	bool may_hold_foreign;
	/* Generated code that calls the loop is a trampoline that only serves other profilers. */
	bool trampolines;
	/* Functions in generated code are named as their callers name them: read() needs those. */
	bool named_by_caller;
	/*
	 * Determines whether @img is this virtual machine. Fills entry @vm of the language's table
	 * and @d; the ranges in @d->code are file offsets. Return: 0; -ENOENT if it is not;
	 * -ENOTSUP if it is but its frames cannot be read. d->runtime and d->version are set unless
	 * it is -ENOENT, and d->code.loop also with -ENOTSUP if it is known.
	 */
	int (*detect)(const struct elf_image *img, const struct vm_tables *tables, uint32_t vm,
		      struct lang_detected *d);
	/*
	 * Reads the function at @addr. The caller frees the members of @out, on errors as well.
	 * Return: 0; -ESTALE if @cookie shows that another object is there now; another -errno.
	 */
	int (*read)(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
		    uint64_t addr, uint32_t cookie, struct lang_function *out);
	/*
	 * Returns true if a frame at @place does not fit @f, so that only is_still() can decide.
	 * Reads nothing. NULL: the cookie detects a replaced function.
	 */
	bool (*is_suspect)(uint64_t addr, const struct lang_function *f, uint32_t place);
	/*
	 * Returns true if @f is still the function at @addr, or if that cannot be read any more.
	 * Only bytecode, n_lines and first_line of @f are known.
	 */
	bool (*is_still)(const struct lang_process *p, uint64_t addr, const struct lang_function *f,
			 uint32_t place);
	/* Returns the line of a place; 0: unknown. */
	uint32_t (*line)(const struct lang_function *f, uint32_t place);
	/* Returns the column of a place, in characters from 1; 0: unknown. May be NULL. */
	uint32_t (*column)(const struct lang_function *f, uint32_t place);
	/* Returns the address of a place in code that has no lines, or 0. May be NULL. */
	uint64_t (*address)(const struct lang_function *f, uint32_t place);
	/*
	 * The functions below are NULL for languages that do not generate code.
	 *
	 * Finds the generated code of a process that has the file of @vm mapped at @bias. Fills
	 * entry 0 of the language's table in @own, which describes the code, and @out, whose
	 * regions are those of VM 0. Return: the number of regions, with LANG_ATTACH_PARTIAL if
	 * more will follow; -EAGAIN: not yet known; another -errno: there is none.
	 */
	int (*attach)(const struct vm_tables *tables, uint32_t vm, uint64_t bias,
		      const struct lang_process *p, const struct vm_tables *own,
		      struct unwind_mapping *out);
	/* Lists the calls of a frame, innermost first. Return: their number, at least 1. */
	int (*expand)(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
		      const uint64_t words[2], struct lang_call out[LANG_CALLS_MAX]);
};

/* Set in a place that is only the nearest one that the virtual machine has recorded. */
#define LANG_PLACE_NEAR (1u << 31)

/* Returns the cookie that the walk makes of eight bytes, never 0; see vm_cookie() in bpf/lib. */
static inline uint32_t lang_cookie(uint64_t bytes)
{
	return (uint32_t)(bytes * 0x9e3779b97f4a7c15ULL >> 32) | 1;
}
