/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Internal interfaces of the HotSpot support (JDK 8 to 26). structs.c and layout.c read how a
 * process lays out its data, attach.c registers its code, scopes.c expands a sampled frame to
 * method calls, and symbolize.c and stubs.c read their names. bpf/shared/jvm.h defines struct
 * jvm_vm, which these share with the walk. All of them read a live process: each value may be
 * garbage and is checked before use.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/shared/jvm.h"
#include "lang/lang.h"

/* ---- facts that libjvm exports ---------------------------------------------- */

/*
 * X(symbol, name): the variables of libjvm that lead to the tables, in the order of struct
 * jvm_vm's symbols. The last one is not exported, and is found only if libjvm has a symbol
 * table.
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
_Static_assert((int)JVM_SYMBOL_MAX <= (int)JVM_SYMBOLS_MAX,
	       "struct jvm_vm must have room for all symbols");

/*
 * The fields, sizes and constants that are used (facts.def). Each version has a subset of
 * them.
 */
enum jvm_fact {
#define X(sym, type, field) JVM_FACT_##sym,
#include "lang/jvm/facts.def"
#undef X
	JVM_FACT_MAX,
};

/* The value of one field, size or constant in a process. */
struct jvm_found {
	bool found;
	uint8_t width;  /* size of the field's type in bytes; 8 for pointers */
	uint64_t value; /* offset of a field, address of a static field, size, or constant */
};

/**
 * jvm_structs_read() - read the facts that a process's libjvm exports
 *
 * Reading is bounded, since all memory may be garbage. Facts that are missing have @found
 * unset.
 *
 * Return: 0; -EAGAIN if the tables are not readable yet; -ENOMEM.
 */
int jvm_structs_read(const struct jvm_vm *vm, uint64_t bias, const struct lang_process *p,
		     struct jvm_found out[JVM_FACT_MAX]);

/*
 * Computes the layout from @facts. @out->symbols and @out->entry_pc are retained, everything else
 * in it is replaced. Returns 0, or -ENOENT if the facts are incomplete or implausible.
 */
int jvm_layout(const struct jvm_found facts[JVM_FACT_MAX], struct jvm_vm *out);

/**
 * jvm_chunks_read() - find out where the heap has the frames of virtual threads
 *
 * The VM must be running, its file loaded at @bias, and @out must already have the layout of
 * jvm_layout(). All processes of the file have the same layout then. If the VM has no virtual
 * threads, or its classes are not understood, @out is left unchanged with a chunk_stack of zero,
 * and the walk reports such frames as missing.
 */
void jvm_chunks_read(const struct jvm_found facts[JVM_FACT_MAX], uint64_t bias,
		     const struct lang_process *p, struct jvm_vm *out);

/* ---- packed numbers --------------------------------------------------------- */

/* A reader of packed numbers (UNSIGNED5). Past the end it reads zeros. */
struct jvm_packed {
	const uint8_t *data;
	size_t len, at;
	bool zero_free;
};

uint32_t jvm_packed_uint(struct jvm_packed *p);
int32_t jvm_packed_int(struct jvm_packed *p); /* the sign is in the lowest bit */

/*
 * Low bits of the addresses that jvm_expand() returns; without any of them, the address is that
 * of a Method.
 */
enum {
	JVM_IS_STUB = 1,    /* the address of a CodeBlob that is not a method */
	JVM_IS_BARRIER = 2, /* with JVM_IS_STUB: the stub that returns a virtual thread's frames
			       from the heap */
};

/*
 * Marks the address of the first byte of a stub routine. User-space addresses do not have this
 * bit.
 */
#define JVM_IS_ROUTINE (1ULL << 47)

/* Returns the start of the stub routine that contains @pc, or 0 if HotSpot lists none. */
uint64_t jvm_routine_at(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
			uint64_t pc);

/*
 * Reads the name of a CodeBlob that is not a method, or of a stub routine. @addr has one of the
 * bits above. Returns 0, -ESTALE if something else is there by now, or -ENOMEM.
 */
int jvm_stub_read(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
		  uint64_t addr, uint32_t cookie, struct lang_function *out);

/*
 * Identifies the method at the address @method, and distinguishes it from others that had or
 * will have the same address: @part is the address of its ConstMethod; @whole combines it with
 * the hash of its class's name. A frame's cookie may be of either, because the walk cannot
 * always read the name. jvm_identity_read() returns 0 or -EFAULT.
 */
struct jvm_identity {
	uint64_t part, whole;
};

int jvm_identity_read(const struct jvm_vm *vm, const struct lang_process *p, uint64_t method,
		      struct jvm_identity *out);

/* ---- entry points of struct lang --------------------------------------------- */

/* These implement the operations of struct lang (lang/language.h) with the same names. */
int jvm_detect(const struct elf_image *img, const struct vm_tables *tables, uint32_t vm,
	       struct lang_detected *out);

int jvm_attach(const struct vm_tables *tables, uint32_t vm, uint64_t bias,
	       const struct lang_process *p, const struct vm_tables *own,
	       struct unwind_mapping *out);

int jvm_expand(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
	       const uint64_t words[2], struct lang_call out[LANG_CALLS_MAX]);

int jvm_read(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
	     uint64_t addr, uint32_t cookie, struct lang_function *out);

/*
 * Returns the line of the byte code index @place in @f, or 0 if there is none. The table may
 * have any content.
 */
uint32_t jvm_line(const struct lang_function *f, uint32_t place);

/* Returns the lowest line in a table, or 0 if it has none. */
uint32_t jvm_first_line(const uint8_t *table, size_t len, bool zero_free);
