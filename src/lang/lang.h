/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The languages whose virtual machines keep stack frames of their own. This registry detects
 * which files are such virtual machines, weaves their frames into native stacks and symbolizes
 * them. Native code and perf maps are not handled here.
 *
 * A language is a folder here, bpf/lib/lang/NAME.h and bpf/shared/NAME.h, and one line in
 * bpf/shared/langs.def. Everything that is read from a process is bounded and validated: a frame
 * that fails becomes "[stale function]" or "[unreadable function]". One thread uses a registry.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "bpf/shared/abi.h"
#include "bpf/shared/vms.h"
#include "symbol/symbol.h"

struct elf_image;
struct lang_memo;
struct lang_runtimes;
struct langs;

/* The result of detection for one file. */
struct lang_file {
	uint32_t vm; /* index into the VM tables; 0: the file is not a virtual machine */
	/* One location as file offset and as linked address: they yield a mapping's load bias. */
	uint64_t loop_off, loop_vaddr;
	bool attaches;   /* it generates code that langs_attach() finds */
	uint8_t runtime; /* number in langs_runtimes(); 0: none, or no room */
	/* File offsets of the code that runs programs; hi is 0 if that can be all of the file. */
	struct vm_range runs[VM_RANGES_MAX];
};

/* The process whose frames are read. */
struct lang_process {
	uint32_t pid;
	uint64_t start_ns; /* distinguishes programs that ran under one pid */
	int (*read)(void *ctx, uint64_t addr, void *dst, size_t len); /* 0, or negative */
	/* Returns the load bias of the file of @vm; NULL, or 0: it is unknown. */
	uint64_t (*bias)(void *ctx, uint32_t vm);
	void *ctx;
	/*
	 * The two words of the frame that called the frame being read; NULL if the caller belongs
	 * to another virtual machine, is native code or is uncertain.
	 */
	const uint64_t *caller;
	bool signatures;        /* set by langs: names include parameter types */
	struct lang_memo *memo; /* set by langs for read() and expand(); may be NULL */
};

enum lang_function_state {
	LANG_FUNCTION_READ,
	LANG_FUNCTION_STALE,
	LANG_FUNCTION_UNREADABLE,
	LANG_FUNCTION_FORGOTTEN, /* its id is free */
};

/*
 * The description of a function, read when a stack first contained it. A place is a position in its
 * code as the walk recorded it, in a unit that each language defines.
 */
struct lang_function {
	uint8_t lang;     /* enum vm_lang */
	uint8_t state;    /* enum lang_function_state */
	uint16_t version; /* of the runtime, as the language counts */
	uint32_t first_line;
	uint32_t place;    /* input of read(): the place of the frame that is read */
	uint32_t bytecode; /* the place at which the code begins */
	uint32_t n_lines;  /* length of lines, in bytes */
	uint8_t *lines;    /* owned; the line table, in a form that the language chooses */
	char *name, *file; /* owned */
	/* The function is part of its caller, such as a rescue clause: the caller is omitted. */
	bool covers_caller;
	/* If not 0, the name is derived from the location; that many more callers are tried. */
	uint8_t unnamed;
	/* Owned; the raw name for frames of which only the nearest place is known; or NULL. */
	char *near_name;
	uint32_t hash, used; /* private to langs: hash of the key; last window that used it */
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
	/* The cookie alone identifies a function: its address is that of a short-lived copy. */
	bool by_cookie;
	/* A thread's native stack may hold loops of another coroutine; see weave.c. */
	bool may_hold_foreign;
	/* Generated code that calls the loop is a trampoline that only serves other profilers. */
	bool trampolines;
	/*
	 * Determines whether @img is this virtual machine. Fills entry @vm of the language's table
	 * and @d; the ranges in @d->code are file offsets. Return: 0; -ENOENT if it is not;
	 * -ENOTSUP if it is but its frames cannot be read. d->runtime and d->version are set unless
	 * it is -ENOENT, and d->code.loop also with -ENOTSUP if it is known.
	 */
	int (*detect)(const struct elf_image *img, const struct vm_tables *tables, uint32_t vm,
		      struct lang_detected *d);
	/*
	 * Reads the function at @addr. What @out owns is freed by the caller, on errors as well.
	 * Return: 0; -ESTALE if @cookie shows that another object is there now; another -errno.
	 */
	int (*read)(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
		    uint64_t addr, uint32_t cookie, struct lang_function *out);
	/*
	 * Returns true if @f is still the function at @addr, given that a frame at @place was seen
	 * there, or if it cannot be read any more. NULL: the cookie detects a replaced function.
	 */
	bool (*is_still)(const struct lang_process *p, uint64_t addr, const struct lang_function *f,
			 uint32_t place);
	/* Returns the line of a place; 0: unknown. */
	uint32_t (*line)(const struct lang_function *f, uint32_t place);
	/* Returns the column of a place, in characters from 1; 0: unknown. May be NULL. */
	uint32_t (*column)(const struct lang_function *f, uint32_t place);
	/*
	 * The functions below are NULL for languages that do not generate code.
	 *
	 * Finds the generated code of a process that has the file of @vm mapped at @bias. Fills
	 * @out, and entry @spare of the tables if no existing one describes the code. Return: the
	 * number of regions, with LANG_ATTACH_PARTIAL if more will follow; -EAGAIN: not yet known;
	 * another -errno: there is none.
	 */
	int (*attach)(const struct vm_tables *tables, uint32_t vm, uint32_t spare, uint64_t bias,
		      const struct lang_process *p, struct unwind_mapping *out);
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

/*
 * The arrays that @tables points to are borrowed for the registry's lifetime. With @fold, native
 * frames of the virtual machines are omitted from stacks.
 */
int langs_new(struct langs **out, const struct vm_tables *tables, bool fold);
/*
 * Makes names include parameters, for languages that record them. Call it before any stack is
 * woven.
 */
void langs_enable_signatures(struct langs *l);
void langs_free(struct langs *l);

DEFINE_FREEP(struct langs, langs_free)

/* Detects whether a file is a virtual machine. Called once per file, under sigbus_run(). */
void langs_detect(struct langs *l, const struct elf_image *img, struct lang_file *out);

/* The runtimes that were detected (runtime.h); as long as @l, for all threads. */
const struct lang_runtimes *langs_runtimes(const struct langs *l);

/*
 * Notes that a sample has a frame at offset @off of @file, whose path is @path, if programs run in
 * that code. Uses no lock; any thread, one at a time.
 */
void langs_note_sample(struct langs *l, const struct lang_file *file, uint64_t off,
		       const char *path);

/**
 * langs_attach() - find the code that a process's virtual machine generates
 *
 * @file->attaches is set and the process has mapped the file at @bias. @out holds
 * LANG_REGIONS_MAX regions; where two overlap, the later one applies.
 *
 * Return: the number of regions, with LANG_ATTACH_PARTIAL if the virtual machine has not
 * started far enough to know all of them; -EAGAIN if none is known yet; another -errno if there
 * is none, and the runtime is then unsupported.
 */
int langs_attach(struct langs *l, const struct lang_file *file, uint64_t bias,
		 const struct lang_process *p, struct unwind_mapping *out);

/* The runtime of @file never reported its code, although it was queried as often as permitted. */
void langs_give_up(struct langs *l, const struct lang_file *file);

/* A stack as the walk recorded it; the words are borrowed. */
struct lang_stack {
	struct lang_process process;
	const uint64_t *words, *vm_words;
	size_t n_words, n_vm_words;
	bool truncated; /* outer frames are missing in vm_words */
	bool later;     /* vm_words were read after the sample, while the process ran on */
};

enum { LANG_STACK_MAX = RECORD_WORDS_MAX + 2 * VM_FRAMES_MAX };

/**
 * langs_weave() - merge the frames of virtual machines into a native stack
 *
 * The frames of each activation of an interpreter's loop replace the loop's frame, as FRAME_SCRIPT
 * words, and a frame of generated code becomes one word for each function inlined there. New
 * functions are read from the process. @out holds LANG_STACK_MAX words.
 *
 * Return: the number of words in @out.
 */
size_t langs_weave(struct langs *l, const struct lang_stack *in, uint64_t *out);

/*
 * Ends a window of a continuous recording. Words of this window can still be symbolized, words of
 * earlier ones cannot. Functions that neither this window nor the one before it used are forgotten
 * once there are more than LANG_FUNCTIONS_RETAINED or their text exceeds @text_max bytes.
 */
void langs_window(struct langs *l, size_t text_max);

/* Returns the memory used, in bytes. */
size_t langs_bytes(const struct langs *l);

/*
 * Symbolizes a FRAME_SCRIPT word. The strings in @out are borrowed until langs_window() or the
 * next stack. Return: the language; LANG_NONE for an unknown word, with a bracketed name in @out.
 */
enum vm_lang langs_symbolize(const struct langs *l, uint64_t word, struct symbol_frame *out);

/* Returns the state of a FRAME_SCRIPT word's function; LANG_FUNCTION_FORGOTTEN: none is known. */
enum lang_function_state langs_function_state(const struct langs *l, uint64_t word);
