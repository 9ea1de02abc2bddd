/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The memory of a process that runs a HotSpot like that of JDK 17, built by hand: its exported
 * tables, a code heap with an interpreter, a class with two methods, a compiled method and a
 * stub.
 */
#include "lang/jvm/jvm.h"
#include "memory.h"

enum {
	JVM_HEAP_AT = MEMORY_AT + 0x8000, /* in the upper half of the memory */
	JVM_HEAP_BYTES = 0x4000,
	JVM_SEGMENT_SHIFT = 7,
	JVM_BLOCK_USED = 8,               /* offset of the flag in the block header before a blob */
	JVM_STUB_CODE = 0x180,            /* offset of the stub's code */
	JVM_CODE_PLACE = 0x30,            /* offset of a PcDesc in the compiled method */
	JVM_FREE_AT = MEMORY_AT + 0xc000, /* zeros up to the end of the memory */
};

struct jvm_memory {
	struct memory m;
	struct jvm_vm jvm[VM_TABLE_MAX];
	uint64_t outer, inner;         /* methods: pkg.Outer.run(int[], String) calls inner() */
	uint64_t nmethod, stub;        /* addresses of the blobs */
	uint64_t interpreter, threads; /* addresses of variables */
	uint64_t pool, lines;
	uint64_t klasses;  /* address of vmClasses::_klasses */
	uint64_t routines; /* address of the newest node of the list */
};

/* Builds all of it. VM 1 is the file. */
void jvm_memory_init(struct jvm_memory *j);

/* Sets up @j, which is its state, before a test. */
int jvm_memory_setup(void **state);
int jvm_memory_teardown(void **state);

#define JVM_TEST(fn) cmocka_unit_test_setup_teardown(fn, jvm_memory_setup, jvm_memory_teardown)

void jvm_memory_put32(struct jvm_memory *j, uint64_t addr, uint32_t value);
void jvm_memory_put16(struct jvm_memory *j, uint64_t addr, uint16_t value);
uint64_t jvm_memory_word(struct jvm_memory *j, uint64_t addr);

/* Writes a Symbol at @at. */
void jvm_memory_put_symbol(struct jvm_memory *j, uint64_t at, const char *text);

/* Attaches to the process, as the agent does. */
int jvm_memory_attach(struct jvm_memory *j, struct unwind_mapping out[LANG_REGIONS_MAX]);

/* Builds the frame words of the compiled method or of the stub. */
void jvm_memory_frame(struct jvm_memory *j, enum jvm_object object, uint32_t place,
		      uint64_t words[2]);
