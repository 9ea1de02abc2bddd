/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A HotSpot like 17's, made by hand in a process's memory: its tables, a code heap
 * with an interpreter, a class with two methods, and a compiled method.
 */
#include "lang/jvm/jvm.h"
#include "memory.h"

enum {
	JVM_HEAP_AT = MEMORY_AT + 0x8000, /* in the memory's upper half */
	JVM_HEAP_BYTES = 0x4000,
	JVM_SEGMENT_SHIFT = 7,
	JVM_BLOCK_USED = 8,    /* in front of a blob, from its block's start */
	JVM_STUB_CODE = 0x180, /* behind the stub's head */
	JVM_CODE_PLACE = 0x30, /* of the place in the compiled method that has a note */
};

struct jvm_memory {
	struct memory m;
	struct jvm_vm jvm[VM_TABLE_MAX];
	uint64_t outer, inner;         /* methods: pkg.Outer.run(int[], String) calls inner() */
	uint64_t nmethod, stub;        /* blobs */
	uint64_t interpreter, threads; /* addresses of variables */
	uint64_t pool, lines;
	uint64_t klasses;  /* the VM's array of classes */
	uint64_t routines; /* the newest node of their list */
};

/* All of it; machine 1 is the file. */
void jvm_memory_init(struct jvm_memory *j);

/* Ask it for its code, as the agent does. */
int jvm_memory_attach(struct jvm_memory *j, struct unwind_mapping out[LANG_REGIONS_MAX]);

/* The frame of the compiled method, or of the stub. */
void jvm_memory_frame(struct jvm_memory *j, enum jvm_object object, uint32_t place,
		      uint64_t words[2]);
