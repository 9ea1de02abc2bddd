/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The heap of a process's V8, read object by object. Any of it may be garbage, or move
 * while it is read: what is not what it should be is -EBADMSG, what is not there -EFAULT.
 * Addresses are of the objects, without V8's tag.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lang/v8/v8.h"

struct buf;

/* How entries of a source position table tell the code's offset: by its difference to the last's.
 */
enum v8_positions {
	V8_POSITIONS_FROM_START, /* complemented where an expression begins, no statement */
	V8_POSITIONS_FROM_ENTRY, /* so, too; the first one's to -1 */
	V8_POSITIONS_FLAGGED,    /* above two bits; the first one's to -1 */
};

/* What differs between versions and no symbol tells. */
struct v8_shape {
	bool split; /* instructions are in an object of their own, which leads to their Code */
	uint16_t instructions;           /* the first one, from its object's start */
	uint16_t code_stream, code_size; /* of Code; the former if split */
	uint16_t code_flags;
	uint8_t kind_shift, kind_mask;
	uint8_t kind_regexp;
	uint8_t kind_baseline, kind_top; /* those above the first, to the second, optimize */
	uint16_t code_deopt, code_positions;
	uint8_t deopt_literals, deopt_shared, deopt_inlined; /* indices */
	uint16_t bytecode_positions;
	uint8_t positions;       /* enum v8_positions */
	uint16_t shared_builtin; /* of a function of V8's own: the builtin's number */
	/* ScopeInfo: where its slots begin, which flags mean what */
	uint16_t scope_slots;
	uint8_t scope_first;     /* slot of the first name */
	uint8_t scope_flags_u32; /* the flags are a plain number */
	uint8_t scope_function_shift;
	bool scope_class_flag, scope_receiver, scope_table, scope_positions_first;
	bool scope_module_first;
	uint8_t scope_module, scope_class;
	uint16_t scope_positioned; /* set of the types that have positions */
};

struct v8_heap {
	const struct v8_vm *vm;
	uint32_t vm_index;
	const struct lang_process *p;
	struct v8_shape shape;
};

/* -ENOENT for a version that is not known. */
int v8_heap_init(struct v8_heap *h, const struct v8_vm *vm, uint32_t index,
		 const struct lang_process *p);

int v8_get(const struct v8_heap *h, uint64_t at, void *dst, size_t len);
/* The object that the word at @at refers to, weakly or not. */
int v8_get_object(const struct v8_heap *h, uint64_t at, uint64_t *out);
int v8_get_smi(const struct v8_heap *h, uint64_t at, int32_t *out);
/* Its instance type; negative: it is no object. */
int v8_type(const struct v8_heap *h, uint64_t object);

/* An array's elements: eight bytes each, or bytes, by what array it is. */
struct v8_array {
	uint64_t at;
	uint32_t n;
};

int v8_get_array(const struct v8_heap *h, uint64_t object, struct v8_array *out);

/* The bytes of the array of bytes that the word at @at refers to; to be freed. */
int v8_get_bytes(const struct v8_heap *h, uint64_t at, uint8_t **out, size_t *out_len);

/* The source position table that the word at @at refers to, likewise. */
int v8_get_positions(const struct v8_heap *h, uint64_t at, uint8_t **out, size_t *out_len);

/* ---- strings (strings.c) ------------------------------------------------------ */

bool v8_is_string(const struct v8_heap *h, uint64_t object);

/* At most LANG_NAME_MAX characters as UTF-8; control characters are '?'. */
int v8_put_string(const struct v8_heap *h, uint64_t object, struct buf *out);

/* The characters of a string where they lie in one piece. */
struct v8_text {
	uint64_t at;
	uint32_t n;
	uint8_t width; /* bytes of one */
};

int v8_get_text(const struct v8_heap *h, uint64_t object, struct v8_text *out);

/* At most @max characters of it, as above. Their number. */
int v8_put_text(const struct v8_heap *h, const struct v8_text *t, uint32_t max, struct buf *out);

/* ---- what a function is (function.c) ------------------------------------------ */

/* A place in a script is the number of characters before it. */
enum { V8_POSITION_NONE = 0x7fffffff };

struct v8_function {
	uint64_t script; /* 0: none */
	int32_t start, end;
	bool positioned;         /* start and end are known */
	uint64_t name, inferred; /* strings; 0: none */
};

/* What the SharedFunctionInfo @shared says. */
int v8_get_function(const struct v8_heap *h, uint64_t shared, struct v8_function *out);

/* Its BytecodeArray. */
int v8_get_bytecode(const struct v8_heap *h, uint64_t shared, uint64_t *out);

/* The cookie of a SharedFunctionInfo, as the walk makes it. */
int v8_get_cookie(const struct v8_heap *h, uint64_t shared, uint32_t *out);

/* What is kept of a process (lang/memo.h): of scripts, and of an instance of WebAssembly. */
enum v8_memo { V8_MEMO_LINES, V8_MEMO_METHODS, V8_MEMO_MODULE };

/* ---- a script's text (script.c) ------------------------------------------------- */

/* Fills first_line and lines of @out for the characters of @f in its script. */
int v8_get_lines(const struct v8_heap *h, const struct v8_function *f, struct lang_function *out);

/* The name of the class that has @f as a method; nothing if none has. */
int v8_put_class(const struct v8_heap *h, const struct v8_function *f, struct buf *out);

/* ---- tables of positions (positions.c): bytes of any content are borne ---------- */

/* A place in the source as V8 packs it. */
#define V8_SOURCE_OFFSET(raw)       ((int32_t)((raw) >> 1 & 0x3fffffff) - 1)
#define V8_SOURCE_INLINING(raw)     ((int32_t)((raw) >> 31 & 0xffff) - 1) /* -1: not inlined */
#define V8_SOURCE_IS_OTHER(raw)     ((raw)&1)                             /* not of a script */
#define V8_SOURCE(offset, inlining) (((int64_t)(offset) + 1) << 1 | ((int64_t)(inlining) + 1) << 31)

/* What the source position table says of @code_offset: that of the last entry up to it. */
bool v8_position_at(enum v8_positions form, const uint8_t *table, size_t len, uint32_t code_offset,
		    int64_t *out);

/* Which of the byte codes baseline code ran that ends behind @pc_offset - 1, by its table. */
bool v8_baseline_index(const uint8_t *table, size_t len, uint32_t pc_offset, uint32_t *out);

enum { V8_BASELINE_SINCE = 9 /* the version */ };
enum { V8_PREFIXES = 4, V8_SCALES = 3 }; /* the first byte codes widen the one behind them */

/*
 * Where the byte code number @index begins. @sizes: of each of @n_codes codes with its operands,
 * once for each of V8_SCALES.
 */
bool v8_bytecode_at(const uint8_t *code, size_t len, const uint8_t *sizes, size_t n_codes,
		    uint32_t index, uint32_t *out);
