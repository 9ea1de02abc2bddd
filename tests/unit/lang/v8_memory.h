/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The heap of a process with a V8 like 11.3, built by hand: a script with two functions, their
 * byte code, and optimized code of the outer one with the inner one inlined.
 */
#include "lang/v8/reader.h"
#include "memory.h"

enum {
	V8_CODE_AT = MEMORY_AT + 0x9000, /* a page in the upper half of the memory */
	V8_CODE_BYTES = 0x100,
	V8_CODE_PLACE = 0x20, /* offset of a call in the inlined function */
	V8_BLOB_OFF = 0x5000, /* offset of the embedded code in the file */
	V8_OUTER_START = 27,  /* start positions of the functions in the script */
	V8_INNER_START = 57,
	V8_INNER_CALL = 64, /* positions of a call in the inner function, and of its own call in the
			       outer one */
	V8_OUTER_CALL = 35,
	V8_INNER_LITERAL = 0, /* indices of the functions' literals */
	V8_OUTER_LITERAL = 1,
	V8_ENTRIES_MAX = 8,
	/* instance types of strings of one byte per character, as in v8_memory_object() */
	V8_STRING = 8,
	V8_STRING_EXTERNAL = 10,
	V8_STRING_SLICED = 11,
	V8_STRING_THIN = 13,
	/* instance types of other objects */
	V8_BYTES = 190,
	V8_BYTECODES = 191,
	V8_CODES = 245,
	V8_SCOPE = 261,
	V8_OTHER = 300, /* a type of which nothing is known */
};

struct v8_memory {
	struct memory m;
	struct v8_vm v8[VM_TABLE_MAX];
	uint64_t maps[512];            /* by instance type */
	uint64_t script, outer, inner; /* outer and inner are SharedFunctionInfos */
	uint64_t code;                 /* the Code; its instructions are at V8_CODE_AT */
	uint64_t frames;               /* a byte array with the translations */
};

/* Builds all of it. VM 1 is the file. */
void v8_memory_init(struct v8_memory *v);

/*
 * Setup for a test that builds its own objects. *@state is a struct v8_memory, freed by the
 * teardown.
 */
int v8_memory_setup(void **state);
int v8_memory_teardown(void **state);

#define V8_TEST(fn) cmocka_unit_test_setup_teardown(fn, v8_memory_setup, v8_memory_teardown)

/*
 * These add an object and return its address without the tag. A text has one byte per character.
 * An object of any type has @bytes bytes, zero after its first word.
 */
uint64_t v8_memory_object(struct v8_memory *v, uint16_t type, size_t bytes);
uint64_t v8_memory_string(struct v8_memory *v, const char *text);
uint64_t v8_memory_wide_string(struct v8_memory *v, const uint16_t *text, size_t n);
uint64_t v8_memory_bytes(struct v8_memory *v, const void *data, size_t n);
uint64_t v8_memory_cons(struct v8_memory *v, uint64_t first, uint64_t second, uint32_t n);
/* Adds a function to the script. Strings may be 0. */
uint64_t v8_memory_function(struct v8_memory *v, uint64_t name, uint64_t inferred, int32_t start,
			    int32_t end);

/* Deoptimization data of the code. */
struct v8_memory_deopt {
	struct v8_memory_entry {
		int32_t place, begin,
			pc; /* byte code offset, start of its translation, return address */
	} entries[V8_ENTRIES_MAX];
	size_t n_entries;
	const struct v8_inlining *inlined;
	size_t n_inlined;
	const uint8_t *frames;
	size_t frames_len;
	bool is_maglev;
};

/* Replaces the deoptimization data of the code. */
void v8_memory_put_deopt(struct v8_memory *v, const struct v8_memory_deopt *d);

/* Initializes @h for the version of the memory. */
void v8_memory_heap(struct v8_memory *v, struct v8_heap *h);

/* Writes a reference to @object (0: none), or a small integer. */
void v8_memory_put_object(struct v8_memory *v, uint64_t at, uint64_t object);
void v8_memory_put_smi(struct v8_memory *v, uint64_t at, int32_t n);

/* Ends the construction, so that the process has all of the memory. */
void v8_memory_seal(struct v8_memory *v);

/* Returns the cookie of a sample of this function. */
uint32_t v8_memory_cookie(struct v8_memory *v, uint64_t shared);

/* Build the words of a frame: at an offset in byte code, or in the optimized code. */
void v8_memory_bytecode_frame(struct v8_memory *v, uint64_t shared, uint32_t offset,
			      uint64_t words[2]);
void v8_memory_code_frame(struct v8_memory *v, uint32_t offset, bool leaf, uint64_t words[2]);
