/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads the heap of a V8 process, object by object. The process runs meanwhile, so any object
 * may be garbage or move while it is read. Functions return -EBADMSG for an object of
 * unexpected form and -EFAULT for unreadable memory. Addresses of objects are without V8's
 * pointer tag.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lang/v8/v8.h"

struct buf;

/*
 * Encoding of the code offsets in a source position table, each of which is a difference to
 * that of the entry before.
 */
enum v8_positions {
	V8_POSITIONS_FROM_START, /* bitwise complement for expression positions */
	V8_POSITIONS_FROM_ENTRY, /* likewise; the first one is relative to -1 */
	V8_POSITIONS_FLAGGED, /* shifted left by two flag bits; the first one is relative to -1 */
};

/*
 * Layout that differs between versions and that no symbol exports. All offsets are in bytes
 * from the start of the object.
 */
struct v8_shape {
	bool split; /* instructions are in an InstructionStream that refers to its Code */
	uint16_t instructions;           /* offset of the first instruction */
	uint16_t code_stream, code_size; /* in Code; code_stream only if split */
	uint16_t code_flags;
	uint8_t kind_shift, kind_mask;
	uint8_t kind_regexp;
	/* Kinds above kind_baseline, up to kind_top, are optimized. */
	uint8_t kind_baseline, kind_top;
	uint16_t code_deopt, code_positions;
	uint8_t deopt_literals, deopt_shared, deopt_inlined; /* indices in DeoptimizationData */
	uint16_t bytecode_positions;
	uint8_t positions;       /* enum v8_positions */
	uint16_t shared_builtin; /* in a builtin's SharedFunctionInfo: the builtin's index */
	/* ScopeInfo: offset of its slots, and its flags */
	uint16_t scope_slots;
	uint8_t scope_first;     /* slot of the first name */
	uint8_t scope_flags_u32; /* the flags are an uint32, not a Smi */
	uint8_t scope_function_shift;
	bool scope_class_flag, scope_receiver, scope_table, scope_positions_first;
	bool scope_module_first;
	uint8_t scope_module, scope_class;
	uint16_t scope_positioned; /* bit set of the scope types that have positions */
};

struct v8_heap {
	const struct v8_vm *vm;
	uint32_t vm_index;
	const struct lang_process *p;
	struct v8_shape shape;
};

/* Initializes @h. @vm and @p must outlive it. Returns -ENOENT if the version is not supported. */
int v8_heap_init(struct v8_heap *h, const struct v8_vm *vm, uint32_t index,
		 const struct lang_process *p);

/* Copies @len bytes. Returns 0 or -EFAULT. */
int v8_get(const struct v8_heap *h, uint64_t at, void *dst, size_t len);
/* Reads the address of the object that the word at @at refers to, by a strong or weak reference. */
int v8_get_object(const struct v8_heap *h, uint64_t at, uint64_t *out);
/* Reads a small integer. Returns -EBADMSG if the word is not one. */
int v8_get_smi(const struct v8_heap *h, uint64_t at, int32_t *out);
/* Returns the instance type of an object, or a negative value if @object is not an object. */
int v8_type(const struct v8_heap *h, uint64_t object);

/* The elements of an array: words, or single bytes in a byte array. */
struct v8_array {
	uint64_t at;
	uint32_t n;
};

int v8_get_array(const struct v8_heap *h, uint64_t object, struct v8_array *out);

/* Copies the byte array that the word at @at refers to. The caller frees *@out. */
int v8_get_bytes(const struct v8_heap *h, uint64_t at, uint8_t **out, size_t *out_len);

/* Copies the source position table that the word at @at refers to. The caller frees *@out. */
int v8_get_positions(const struct v8_heap *h, uint64_t at, uint8_t **out, size_t *out_len);

/* ---- strings (strings.c) ------------------------------------------------------ */

/* Returns whether the instance type of @object is that of a string. */
bool v8_is_string(const struct v8_heap *h, uint64_t object);

/* Appends at most LANG_NAME_MAX characters as UTF-8. Control characters become '?'. */
int v8_put_string(const struct v8_heap *h, uint64_t object, struct buf *out);

/* The characters of a string that is contiguous in memory. */
struct v8_text {
	uint64_t at;
	uint32_t n;
	uint8_t width; /* bytes per character: 1 (Latin-1) or 2 (UTF-16) */
};

/* Gets the characters of a string. Returns -EBADMSG if they are not contiguous, or -ELOOP. */
int v8_get_text(const struct v8_heap *h, uint64_t object, struct v8_text *out);

/* Appends at most @max characters, as above. Returns the number of characters or -EFAULT. */
int v8_put_text(const struct v8_heap *h, const struct v8_text *t, uint32_t max, struct buf *out);

/* ---- functions (function.c) --------------------------------------------------- */

/* Positions in a script count the characters before it, from 0. */
enum { V8_POSITION_NONE = 0x7fffffff };

struct v8_function {
	uint64_t script; /* 0 if there is none */
	int32_t start, end;
	bool positioned;         /* start and end are known */
	uint64_t name, inferred; /* strings; 0 if there is none */
};

/* Reads the function with the SharedFunctionInfo @shared. */
int v8_get_function(const struct v8_heap *h, uint64_t shared, struct v8_function *out);

/* Finds the BytecodeArray of a function. */
int v8_get_bytecode(const struct v8_heap *h, uint64_t shared, uint64_t *out);

/* Computes the cookie of a SharedFunctionInfo in the same way as the walk. */
int v8_get_cookie(const struct v8_heap *h, uint64_t shared, uint32_t *out);

/*
 * Kinds of data in the memo of a process (lang/memo.h): line starts and methods of a script,
 * and the module of a WebAssembly instance.
 */
enum v8_memo { V8_MEMO_LINES, V8_MEMO_METHODS, V8_MEMO_MODULE };

/* ---- source text (script.c) ----------------------------------------------------- */

/*
 * Sets first_line and lines of @out to the lines of @f. They remain empty if they cannot be
 * read. Returns 0 or -ENOMEM.
 */
int v8_get_lines(const struct v8_heap *h, const struct v8_function *f, struct lang_function *out);

/* Appends the name of the class that has @f as a method, or nothing. Returns 0 or -ENOMEM. */
int v8_put_class(const struct v8_heap *h, const struct v8_function *f, struct buf *out);

/* ---- tables of positions (positions.c) ------------------------------------------ */

/* V8's packed source positions (SourcePosition in codegen/source-position.h). */
#define V8_SOURCE_OFFSET(raw)       ((int32_t)((raw) >> 1 & 0x3fffffff) - 1)
#define V8_SOURCE_INLINING(raw)     ((int32_t)((raw) >> 31 & 0xffff) - 1) /* -1: not inlined */
#define V8_SOURCE_IS_EXTERNAL(raw)  ((raw)&1)                             /* not in a script */
#define V8_SOURCE(offset, inlining) (((int64_t)(offset) + 1) << 1 | ((int64_t)(inlining) + 1) << 31)

/* Returns the source position of the last entry up to @code_offset, or false if there is none. */
bool v8_position_at(enum v8_positions form, const uint8_t *table, size_t len, uint32_t code_offset,
		    int64_t *out);

/* Computes the index of the byte code whose baseline code contains the byte before @pc_offset. */
bool v8_baseline_index(const uint8_t *table, size_t len, uint32_t pc_offset, uint32_t *out);

/* The first major version with baseline code. */
enum { V8_BASELINE_SINCE = 9 };
/* The first byte codes are prefixes that widen the operands of the next one. */
enum { V8_PREFIXES = 4, V8_SCALES = 3 };

/*
 * Computes the offset of the byte code number @index. @sizes has the sizes of @n_codes byte
 * codes with their operands, for each of V8_SCALES. Returns false if @code is malformed.
 */
bool v8_bytecode_at(const uint8_t *code, size_t len, const uint8_t *sizes, size_t n_codes,
		    uint32_t index, uint32_t *out);
