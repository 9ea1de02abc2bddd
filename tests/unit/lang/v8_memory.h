/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The heap of a V8 like 11.3's, made by hand in a process's memory: a script with two
 * functions, byte code, and optimized code of the one with the other inlined.
 */
#include "lang/v8/reader.h"
#include "memory.h"

enum {
	V8_CODE_AT = MEMORY_AT + 0x9000, /* a page of the memory's upper half */
	V8_CODE_BYTES = 0x100,
	V8_CODE_PLACE = 0x20, /* of a call in the inlined function */
	V8_BLOB_OFF = 0x5000, /* offset of the embedded code in the file */
	V8_OUTER_START = 27,  /* of the functions in the script */
	V8_INNER_START = 57,
	V8_INNER_CALL = 64, /* where something is called in the inner one; it, in the outer one */
	V8_OUTER_CALL = 35,
	V8_INNER_LITERAL = 0, /* the functions as literals of the code */
	V8_OUTER_LITERAL = 1,
	V8_ENTRIES_MAX = 8,
};

struct v8_memory {
	struct memory m;
	struct v8_vm v8[VM_TABLE_MAX];
	uint64_t maps[512];            /* by instance type */
	uint64_t script, outer, inner; /* SharedFunctionInfos of the latter */
	uint64_t code;                 /* the Code; its instructions are at V8_CODE_AT */
	uint64_t frames;               /* those that its calls have; an array of bytes */
};

/* All of it; machine 1 is the file. */
void v8_memory_init(struct v8_memory *v);

/* For a test of its own: *@state is one, then freed. */
int v8_memory_setup(void **state);
int v8_memory_teardown(void **state);

/* Objects, without tags. A text has one byte a character. */
uint64_t v8_memory_string(struct v8_memory *v, const char *text);
uint64_t v8_memory_wide_string(struct v8_memory *v, const uint16_t *text, size_t n);
uint64_t v8_memory_bytes(struct v8_memory *v, const void *data, size_t n);
uint64_t v8_memory_cons(struct v8_memory *v, uint64_t first, uint64_t second, uint32_t n);
/* A function in the script. Strings may be 0. */
uint64_t v8_memory_function(struct v8_memory *v, uint64_t name, uint64_t inferred, int32_t start,
			    int32_t end);

/* What the code keeps in order to be left. */
struct v8_memory_deopt {
	struct v8_memory_entry {
		int32_t place, begin, pc; /* in the byte code; of its frames; returned to */
	} entries[V8_ENTRIES_MAX];
	size_t n_entries;
	const struct v8_inlining *inlined;
	size_t n_inlined;
	const uint8_t *frames;
	size_t frames_len;
	bool is_maglev;
};

/* Gives it to the code, instead of what it has. */
void v8_memory_put_deopt(struct v8_memory *v, const struct v8_memory_deopt *d);

/* Nothing more is added: the process has all of the memory. */
void v8_memory_seal(struct v8_memory *v);

/* The cookie that a sample would have seen. */
uint32_t v8_memory_cookie(struct v8_memory *v, uint64_t shared);

/* Words of a frame: at an offset of byte code; at one of the optimized code. */
void v8_memory_bytecode_frame(struct v8_memory *v, uint64_t shared, uint32_t offset,
			      uint64_t words[2]);
void v8_memory_code_frame(struct v8_memory *v, uint32_t offset, bool leaf, uint64_t words[2]);
