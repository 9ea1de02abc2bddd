/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the files that read names share. */
#include "lang/v8/heap.h"

/*
 * Low bits of an address that v8_expand() gives, of what is no function of JavaScript: code that
 * was generated, at this address; the builtin of the number in the rest, plus 1; a function of
 * WebAssembly, of the module at this address.
 */
enum { V8_IS_CODE = 1, V8_IS_BUILTIN = 2, V8_IS_WASM = 3, V8_IS_MASK = 3 };

/* Machine code that V8 made of a function. */
struct v8_code {
	uint64_t object; /* its Code */
	uint64_t start;
	uint32_t size;
	uint8_t kind;
};

/* ---- code.c ------------------------------------------------------------------- */

/* The code that holds @pc; -ENOENT: there is none. */
int v8_find_code(const struct v8_heap *h, uint64_t pc, struct v8_code *out);

bool v8_is_baseline(const struct v8_heap *h, const struct v8_code *c);
bool v8_is_optimized(const struct v8_heap *h, const struct v8_code *c);

/* ---- deopt.c -------------------------------------------------------------------- */

/* What optimized code has to leave it by: which functions it holds, and what calls which. */
struct v8_deopt {
	struct v8_array data, literals, inlined;
	uint64_t shared; /* of the function that it was made for */
	uint64_t end;    /* of the instructions */
	uint32_t size;
	bool is_maglev;
};

/* A function that was inlined: where, and the number of the literal that it is. */
struct v8_inlining {
	int64_t position;
	int32_t function, pad;
};

int v8_get_deopt(const struct v8_heap *h, const struct v8_code *c, struct v8_deopt *out);

/* Element @i of an array, an object. */
int v8_get_element(const struct v8_heap *h, const struct v8_array *a, int32_t i, uint64_t *out);

/* The inlining number @i. */
int v8_get_inlining(const struct v8_heap *h, const struct v8_deopt *d, int32_t i,
		    struct v8_inlining *out);

/*
 * Replaces what the table of positions says of a call that returns to @pc, where it errs. @near: or
 * of the last one before.
 */
void v8_correct_call(const struct v8_heap *h, const struct v8_deopt *d, uint32_t pc, bool near,
		     int64_t *position);

/* ---- wasm.c ------------------------------------------------------------------- */

/* The function of WebAssembly that @pc is in, in a frame of @instance; -ENOENT: not known. */
int v8_find_wasm(const struct v8_heap *h, uint64_t instance, uint64_t pc, struct lang_call *out);

/* Its name. @module and @cookie are what v8_find_wasm() gave. */
int v8_put_wasm(const struct v8_heap *h, uint64_t module, uint32_t cookie, struct buf *out);

/* ---- embedded.c --------------------------------------------------------------- */

enum { V8_BUILTIN_NAME_BYTES = 96 };

/* The call of what is at an offset in V8's file; none if it is a passage that @fold leaves out. */
int v8_expand_builtin(const struct v8_heap *h, uint64_t file_off, bool fold,
		      struct lang_call out[LANG_CALLS_MAX]);

/* "[builtin: NAME]" */
void v8_put_builtin(const struct v8_heap *h, int32_t n, struct buf *out);

/* The name of code that is no function's. */
int v8_read_code(const struct v8_heap *h, uint64_t addr, uint32_t cookie,
		 struct lang_function *out);
