/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The parts of HotSpot's support. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/shared/jvm.h"
#include "lang/lang.h"

struct elf_image;
struct jvm_structs;

/* ---- what libjvm says of itself -------------------------------------------- */

/*
 * X(symbol, name): the exported variables that lead to the tables, in struct jvm_vm's order. The
 * last one is not exported, and only known where libjvm has a table of symbols.
 */
#define JVM_SYMBOLS(X)                                                                             \
	X(STRUCTS, gHotSpotVMStructs)                                                              \
	X(STRUCT_STRIDE, gHotSpotVMStructEntryArrayStride)                                         \
	X(STRUCT_TYPE, gHotSpotVMStructEntryTypeNameOffset)                                        \
	X(STRUCT_FIELD, gHotSpotVMStructEntryFieldNameOffset)                                      \
	X(STRUCT_KIND, gHotSpotVMStructEntryTypeStringOffset)                                      \
	X(STRUCT_OFFSET, gHotSpotVMStructEntryOffsetOffset)                                        \
	X(STRUCT_ADDRESS, gHotSpotVMStructEntryAddressOffset)                                      \
	X(TYPES, gHotSpotVMTypes)                                                                  \
	X(TYPE_STRIDE, gHotSpotVMTypeEntryArrayStride)                                             \
	X(TYPE_NAME, gHotSpotVMTypeEntryTypeNameOffset)                                            \
	X(TYPE_SIZE, gHotSpotVMTypeEntrySizeOffset)                                                \
	X(INTS, gHotSpotVMIntConstants)                                                            \
	X(INT_STRIDE, gHotSpotVMIntConstantEntryArrayStride)                                       \
	X(INT_NAME, gHotSpotVMIntConstantEntryNameOffset)                                          \
	X(INT_VALUE, gHotSpotVMIntConstantEntryValueOffset)                                        \
	X(ROUTINES, _ZN12StubCodeDesc5_listE)

enum jvm_symbol {
#define X(sym, name) JVM_SYMBOL_##sym,
	JVM_SYMBOLS(X)
#undef X
		JVM_SYMBOL_MAX,
};
_Static_assert((int)JVM_SYMBOL_MAX <= (int)JVM_SYMBOLS_MAX, "they are in struct jvm_vm");

/* The fields that we know how to use; versions have them in different types. */
enum jvm_fact {
#define X(sym, type, field) JVM_FACT_##sym,
#include "lang/jvm/facts.def"
#undef X
	JVM_FACT_MAX,
};

/* What one field, size or constant is in this process. */
struct jvm_found {
	bool found;
	uint8_t width;  /* bytes that its type has; 8 for addresses */
	uint64_t value; /* offset in its type; address of a static one; a size; a constant */
};

/**
 * jvm_structs_read() - the facts that a process's libjvm exports
 *
 * Everything may be garbage: reading is bounded, and what is not found is not
 * set. Return: 0; -EAGAIN when the tables are not there (yet); -ENOMEM.
 */
int jvm_structs_read(const struct jvm_vm *vm, uint64_t bias, const struct lang_process *p,
		     struct jvm_found out[JVM_FACT_MAX]);

/* The layout that facts make; -ENOENT when they don't suffice or can't be true. */
int jvm_layout(const struct jvm_found facts[JVM_FACT_MAX], struct jvm_vm *out);

/**
 * jvm_chunks_read() - how a virtual thread's frames are found in the heap
 *
 * Of a VM that runs; @out has the rest of the layout. What has no virtual threads,
 * or can't be understood, leaves @out->chunk_stack zero: such frames are
 * then told as missing.
 */
void jvm_chunks_read(const struct jvm_found facts[JVM_FACT_MAX], const struct lang_process *p,
		     struct jvm_vm *out);

/* ---- packed numbers --------------------------------------------------------- */

/* Bytes being read; past the end there are zeros. */
struct jvm_packed {
	const uint8_t *data;
	size_t len, at;
	bool zero_free;
};

uint32_t jvm_packed_uint(struct jvm_packed *p);
int32_t jvm_packed_int(struct jvm_packed *p); /* signed ones have their sign in the lowest bit */

/* Bits of an address that jvm_expand() gives. */
enum {
	JVM_IS_STUB = 1,    /* not a method's */
	JVM_IS_BARRIER = 2, /* a stub where a virtual thread's frames come back from the heap */
};

/* The same, of a routine's first byte: addresses of user space do not have this bit. */
#define JVM_IS_ROUTINE (1ULL << 47)

/* Where the routine begins that holds @pc; 0: none is told of. */
uint64_t jvm_routine_at(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
			uint64_t pc);

/* The name of a blob that is no method, or of a routine, by its address with one of these bits. */
int jvm_stub_read(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
		  uint64_t addr, uint32_t cookie, struct lang_function *out);

/*
 * What tells the method at @method apart from others that were or will be there: its constant part
 * and its class's name. Both are bytes of which a frame's cookie may be: the walk can't
 * always read the second. 0 or -EFAULT.
 */
struct jvm_identity {
	uint64_t part, whole;
};

int jvm_identity_read(const struct jvm_vm *vm, const struct lang_process *p, uint64_t method,
		      struct jvm_identity *out);

/* ---- the rest --------------------------------------------------------------- */

int jvm_detect(const struct elf_image *img, const struct vm_tables *tables, uint32_t vm,
	       struct lang_detected *out);

int jvm_attach(const struct vm_tables *tables, uint32_t vm, uint32_t spare, uint64_t bias,
	       const struct lang_process *p, struct unwind_mapping *out);

int jvm_expand(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
	       const uint64_t words[2], struct lang_call out[LANG_CALLS_MAX]);

int jvm_read(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
	     uint64_t addr, uint32_t cookie, struct lang_function *out);

/* The line of a byte code index in @f; 0: none. Tables of any content are borne. */
uint32_t jvm_line(const struct lang_function *f, uint32_t place);

/* The lowest line in a table; 0: it has none. */
uint32_t jvm_first_line(const uint8_t *table, size_t len, bool zero_free);
