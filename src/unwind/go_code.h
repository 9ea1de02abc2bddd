/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Functions of Go's runtime that switch to another stack, which Go's tables do not describe. A
 * dozen functions, written in assembly, do so. They are known by name; the instructions that move
 * rsp and the stores around them are searched for. They are few, short and have hardly changed
 * since Go 1.4. Offsets are from the start of the function.
 */
#include <stddef.h>
#include <stdint.h>

/* The effect of a special function. */
enum go_kind {
	GO_KIND_NORMAL,
	GO_KIND_END,         /* is the outermost function of a stack */
	GO_KIND_LEAVES,      /* switches to an unrelated stack */
	GO_KIND_CLONE,       /* the new thread's code follows the return in the old thread */
	GO_KIND_FRAME,       /* switches to another stack and back, and keeps rbp */
	GO_KIND_SYSTEMSTACK, /* the same, but up to Go 1.20 without a frame of its own */
	GO_KIND_ASMCGOCALL,  /* see go.h */
	GO_KIND_SAVES,       /* is called from C, so it preserves rbx */
	GO_KIND_INJECTED,    /* a signal handler makes it the callee of the interrupted function */
	GO_KIND_SIGRETURN,
};

/*
 * How the CFA is computed from an instruction of a special function on; d is the depth in the
 * table.
 */
enum go_mode {
	GO_MODE_DEPTH,      /* rsp + d + 8 */
	GO_MODE_FP,         /* rbp + 16, where d is at least arg */
	GO_MODE_RBP,        /* rbp + d + 8: rbp holds the old rsp */
	GO_MODE_RDX,        /* rdx + d + 8: rdx holds the old rsp */
	GO_MODE_ASMCGOCALL, /* the goroutine is at rsp + arg */
	GO_MODE_END,
};

struct go_mark {
	uint64_t at; /* offset in the function */
	enum go_mode mode;
	int32_t arg;
};

/* Where GO_KIND_SAVES stores a register. */
struct go_stored {
	uint64_t from; /* offset of the instruction after the store; 0: never */
	int32_t disp;  /* offset from rsp at the store */
	int16_t off;   /* offset from the CFA */
};

enum { GO_MARKS_MAX = 10 };

/* A function's code, and what go_code_find() finds in it. */
struct go_code {
	const uint8_t *code;
	uint64_t len;
	enum go_kind kind;
	struct go_mark marks[GO_MARKS_MAX]; /* in ascending order */
	size_t n_marks;
	struct go_stored fp, aux;
};

enum go_kind go_kind_of(const char *name);

/* Fills the rest of @f, of which code, len and kind are set. Without a match there are no marks. */
void go_code_find(struct go_code *f);

/*
 * The offset from which on rbp is saved at CFA - 16, if the instruction at @at builds a frame of
 * @depth bytes; UINT64_MAX if rbp is not saved.
 */
uint64_t go_code_saves_fp(const struct go_code *f, uint64_t at, int32_t depth);
