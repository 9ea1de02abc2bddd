/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Interfaces between the files that expand and symbolize V8's frames. */
#include "lang/v8/heap.h"

/*
 * Low bits of the addresses that v8_expand() returns; 0 for a SharedFunctionInfo. V8_IS_CODE:
 * generated code at this address. V8_IS_BUILTIN: the other bits are the index of a builtin plus
 * 1. V8_IS_WASM: a function of the WebAssembly module at this address; the cookie has its
 * index.
 */
enum { V8_IS_CODE = 1, V8_IS_BUILTIN = 2, V8_IS_WASM = 3, V8_IS_MASK = 3 };

/* Machine code that V8 generated for a function. */
struct v8_code {
	uint64_t object; /* its Code */
	uint64_t start;
	uint32_t size;
	uint8_t kind;
};

/* ---- code.c ------------------------------------------------------------------- */

/* Finds the code that contains @pc. Returns -ENOENT if there is none. */
int v8_find_code(const struct v8_heap *h, uint64_t pc, struct v8_code *out);

/* Return whether Sparkplug (baseline), or Maglev or TurboFan (optimized), generated the code. */
bool v8_is_baseline(const struct v8_heap *h, const struct v8_code *c);
bool v8_is_optimized(const struct v8_heap *h, const struct v8_code *c);

/* ---- deopt.c -------------------------------------------------------------------- */

/* The deoptimization data of optimized code: its inlined functions, and the frames of each call. */
struct v8_deopt {
	struct v8_array data, literals, inlined;
	uint64_t shared; /* the function that was optimized */
	uint64_t end;    /* end of the instructions */
	uint32_t size;
	bool is_maglev;
};

/* An inlined function: the position of its call, and the index of its literal. */
struct v8_inlining {
	int64_t position;
	int32_t function, pad;
};

/* Reads the deoptimization data of optimized code. */
int v8_get_deopt(const struct v8_heap *h, const struct v8_code *c, struct v8_deopt *out);

/* Reads the object that is element @i of an array. */
int v8_get_element(const struct v8_heap *h, const struct v8_array *a, int32_t i, uint64_t *out);

/* Reads inlining @i. */
int v8_get_inlining(const struct v8_heap *h, const struct v8_deopt *d, int32_t i,
		    struct v8_inlining *out);

/*
 * Corrects the source position of the call that returns to @pc if the source position table is
 * wrong about it. With @near, the last call before @pc is used if none returns there.
 * *@position stays unchanged if the deoptimization data does not help.
 */
void v8_correct_call(const struct v8_heap *h, const struct v8_deopt *d, uint32_t pc, bool near,
		     int64_t *position);

/* ---- wasm.c ------------------------------------------------------------------- */

/*
 * Finds the WebAssembly function that contains @pc, in a frame of @instance. Returns -ENOENT if
 * it is not known.
 */
int v8_find_wasm(const struct v8_heap *h, uint64_t instance, uint64_t pc, struct lang_call *out);

/*
 * Appends the function's name. @module and @cookie are from v8_find_wasm(). Returns 0, -ESTALE
 * or -ENOMEM.
 */
int v8_put_wasm(const struct v8_heap *h, uint64_t module, uint32_t cookie, struct buf *out);

/* ---- embedded.c --------------------------------------------------------------- */

enum { V8_BUILTIN_NAME_BYTES = 96 };

/*
 * Writes the call for the builtin at an offset in V8's file. Returns 1, or 0 if @fold is set
 * and the builtin is a mere trampoline.
 */
int v8_expand_builtin(const struct v8_heap *h, uint64_t file_off, bool fold,
		      struct lang_call out[LANG_CALLS_MAX]);

/* Appends "[builtin: NAME]". */
void v8_put_builtin(const struct v8_heap *h, int32_t n, struct buf *out);

/* Reads the name of code that is not a JavaScript function: @addr has one of the bits above. */
int v8_read_code(const struct v8_heap *h, uint64_t addr, uint32_t cookie,
		 struct lang_function *out);
