/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Languages whose frames a virtual machine keeps: which files are such
 * machines, whose frames stand where in a stack, and what they are called.
 *
 * A language is a folder here, bpf/lib/NAME.h and bpf/shared/NAME.h, and a
 * line in bpf/shared/langs.def (with its meson.build's line). Everything a
 * process says about itself is bounded and checked here; what does not hold
 * is a frame that says so. One thread.
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
struct langs;

/* A file that is a virtual machine; vm 0: it is none. */
struct lang_file {
	uint32_t vm;                   /* index of the tables */
	uint64_t loop_off, loop_vaddr; /* the same place: tells where a mapping puts the file */
	bool attaches; /* it has no loop, but code of its own making: see langs_attach() */
};

/* The process whose frames are read. */
struct lang_process {
	uint32_t pid;
	uint64_t start_ns; /* tells programs apart that ran under one pid */
	int (*read)(void *ctx, uint64_t addr, void *dst, size_t len); /* 0 or negative */
	/* What is added to the addresses of machine @vm's file; NULL, or 0: not known. */
	uint64_t (*bias)(void *ctx, uint32_t vm);
	void *ctx;
	/* Words of the frame that called the one being read; NULL: another machine, C, not sure. */
	const uint64_t *caller;
	bool signatures;        /* set by langs: names are wanted with their parameters */
	struct lang_memo *memo; /* set by langs, for read() and expand(); may be NULL */
};

enum lang_function_state {
	LANG_FUNCTION_READ,
	LANG_FUNCTION_STALE,
	LANG_FUNCTION_UNREADABLE,
	LANG_FUNCTION_FORGOTTEN, /* its number is free */
};

/* What was at an address when it was first seen on a stack. */
struct lang_function {
	uint8_t lang;  /* enum vm_lang */
	uint8_t state; /* enum lang_function_state */
	uint16_t version;
	uint32_t first_line;
	uint32_t place;    /* of the frame that it is read for */
	uint32_t bytecode; /* where a place's zero is */
	uint32_t n_lines;  /* bytes of the line table, as the process has it */
	uint8_t *lines;
	char *name, *file;  /* owned */
	bool covers_caller; /* it is a part of its caller, which is shown as this */
	uint8_t unnamed;    /* its name only tells where it is: who calls it may know better */
	char *near_name;    /* owned; the raw name where only the nearest place is known; or NULL */
	uint32_t hash, used; /* langs' own: of its key; the window that last had it */
};

/* A call of a function, as a frame of generated code shows it. */
struct lang_call {
	uint64_t addr;   /* of what read() reads */
	uint32_t cookie; /* as read() has it */
	uint32_t place;  /* as line() has it, and LANG_PLACE_NEAR */
};

enum {
	LANG_NAME_MAX = 1024, /* bytes; longer names are cut */
	LANG_CALLS_MAX = 64,  /* functions inlined in one place */
	LANG_REGIONS_MAX = 16,
	LANG_ATTACH_PARTLY = 1 << 8, /* ask again */
	LANG_LINES_MAX = 1 << 18,
	LANG_FUNCTIONS_MAX = 1 << 20,
	LANG_FUNCTIONS_KEPT = 1 << 16, /* as many stay whether or not they are used */
};

struct lang_detected {
	struct vm_code code;
	uint64_t loop_vaddr;
	char name[48]; /* "Python 2.7" */
};

/* What a language does; NAME_lang, for each in langs.def. */
struct lang {
	/* Functions are told apart by their cookies alone: copies of one come and go. */
	bool by_cookie;
	/* A thread's stack may hold loops of another one's coroutine: see weave.c. */
	bool may_hold_foreign;
	/* Generated code that calls the loop is a trampoline for other profilers' sake. */
	bool trampolines;
	/*
	 * Is @img this machine? Fills tables' entry @vm, the loop in d->code
	 * (file offsets), and where the loop begins. 0; -ENOENT; -ENOTSUP for
	 * one whose frames can't be read, with its name.
	 */
	int (*detect)(const struct elf_image *img, const struct vm_tables *tables, uint32_t vm,
		      struct lang_detected *d);
	/* Read what is at @addr. 0; -ESTALE if @cookie says it is another thing now; -errno. */
	int (*read)(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
		    uint64_t addr, uint32_t cookie, struct lang_function *out);
	/*
	 * Is what was read as @f still at @addr, if @place is in it? NULL: cookies tell.
	 * What can't be read any more is still there.
	 */
	bool (*is_still)(const struct lang_process *p, uint64_t addr, const struct lang_function *f,
			 uint32_t place);
	/* The line of a place; 0: not known. */
	uint32_t (*line)(const struct lang_function *f, uint32_t place);
	/* Its column in that line, in characters from 1; NULL, or 0: not known. */
	uint32_t (*column)(const struct lang_function *f, uint32_t place);
	/*
	 * The rest is of machines that generate code; else NULL.
	 *
	 * Where is the code of the process that has file @vm at @bias? Fills @out,
	 * and entry @spare of the tables if no older one describes it. The number of
	 * regions, with LANG_ATTACH_PARTLY if there will be more; -EAGAIN: not yet;
	 * another -errno: nowhere.
	 */
	int (*attach)(const struct vm_tables *tables, uint32_t vm, uint32_t spare, uint64_t bias,
		      const struct lang_process *p, struct unwind_mapping *out);
	/* What ran at a frame's two words, innermost first. Number of calls, at least 1. */
	int (*expand)(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
		      const uint64_t words[2], struct lang_call out[LANG_CALLS_MAX]);
};

/* A place that is only the nearest of those that the machine knows. */
#define LANG_PLACE_NEAR (1u << 31)

/* A frame's cookie as the walk makes it of eight bytes. */
static inline uint32_t lang_cookie(uint64_t bytes)
{
	return (uint32_t)(bytes * 0x9e3779b97f4a7c15ULL >> 32) | 1;
}

/* Keeps @tables' pointers. @fold: the machines' own frames are left out of stacks. */
int langs_new(struct langs **out, const struct vm_tables *tables, bool fold);
/* Names with parameters, where a language has such. */
void langs_want_signatures(struct langs *l);
void langs_free(struct langs *l);

DEFINE_FREEP(struct langs, langs_free)

/* Is it a virtual machine? Called once a file, under sigbus_run(). */
void langs_detect(struct langs *l, const struct elf_image *img, struct lang_file *out);

/* The @i-th machine that was met and is not supported, by its name; NULL behind the last. */
const char *langs_unsupported(const struct langs *l, size_t i);

/**
 * langs_attach() - ask a process for the code that its virtual machine generates
 *
 * @file is one that the process has mapped, at @bias. Return: the number of
 * regions in @out, LANG_REGIONS_MAX at most, of which a later one replaces what it
 * covers of those before, with LANG_ATTACH_PARTLY if the machine is not far enough to
 * tell all; -EAGAIN: it tells nothing yet; another -errno: it is none.
 */
int langs_attach(struct langs *l, const struct lang_file *file, uint64_t bias,
		 const struct lang_process *p, struct unwind_mapping *out);

/* A stack as the walk left it. */
struct lang_stack {
	struct lang_process process;
	const uint64_t *words, *vm_words;
	size_t n_words, n_vm_words;
	bool cut;   /* outer frames are missing in vm_words */
	bool later; /* vm_words were read after the sample, while the process ran on */
};

enum { LANG_STACK_MAX = RECORD_WORDS_MAX + 2 * VM_FRAMES_MAX };

/**
 * langs_weave() - one stack, with the languages' frames where they belong
 *
 * @out holds LANG_STACK_MAX words. The frames of each activation of an
 * interpreter's loop replace the loop's frame, as FRAME_SCRIPT words; what
 * was not seen before is read from the process. A frame of generated code becomes
 * one for each function that was inlined there. Return: number of words.
 */
size_t langs_weave(struct langs *l, const struct lang_stack *in, uint64_t *out);

/*
 * A window of a long recording has ended: the words of this one are still to be named, those
 * before it are not any more. What neither holds is forgotten, once there are many functions or
 * more than @text_max bytes of their names and lines.
 */
void langs_window(struct langs *l, size_t text_max);

size_t langs_bytes(const struct langs *l); /* held by what was read */

/* The name of a FRAME_SCRIPT word, borrowed. Its language, LANG_NONE for an unknown one. */
enum vm_lang langs_name(const struct langs *l, uint64_t word, struct symbol_frame *out);
