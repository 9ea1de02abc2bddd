/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Offsets in the structures of CPython 3.9 to 3.14 that asyncio's tasks consist of, in addition to
 * those for unwinding (bpf/shared/python.h). Sources: Modules/_asynciomodule.c,
 * Include/cpython/genobject.h and the frames of each release; debug information of each.
 */
#include <stdbool.h>
#include <stdint.h>

#include "bpf/shared/python.h"

struct elf_image;

/* How the end of a suspended frame's stack is found. */
enum asyncio_stack {
	ASYNCIO_STACK_POINTER, /* a pointer to the word after its top */
	ASYNCIO_STACK_DEPTH,   /* 3.10: the number of objects, and a pointer to the first */
	ASYNCIO_STACK_INDEX,   /* 3.11 to 3.13: an index into the frame's own objects */
};

struct asyncio_layout {
	char version[24];
	struct python_vm py;
	uint16_t task_waiter, task_coroutine, task_name;
	/*
	 * From 3.14 on: a list of tasks in each thread and interpreter. 0: only the set contains
	 * them.
	 */
	uint16_t task_node, thread_tasks;
	uint32_t interp_tasks;

	uint16_t generator_frame; /* the frame, or up to 3.10 the pointer to it */
	uint16_t generator_state; /* a byte; in 3.10 in the frame */
	int8_t created;           /* the value of that byte; suspended ones are below 0 */
	bool has_own_frames;      /* up to 3.10: frames are objects of their own */
	uint8_t stack;            /* enum asyncio_stack */
	uint16_t frame_stack, frame_locals;
	uint16_t frame_values; /* with ASYNCIO_STACK_DEPTH: the pointer to the first object */
	uint16_t code_bytes;   /* up to 3.10: the pointer to the byte code */
};

/* Words of struct Py_AsyncioModuleDebugOffsets of 3.14. */
enum { ASYNCIO_DEBUG_WORDS = 13 };

/*
 * The layout of an interpreter with the layout @py for unwinding; @debug are the offsets that
 * releases since 3.14 publish, or NULL. Return: 0; -ENODATA if these are needed; -ENOTSUP if its
 * tasks cannot be read. The version is left empty.
 */
int asyncio_layout_of(const struct python_vm *py, const uint64_t debug[ASYNCIO_DEBUG_WORDS],
		      struct asyncio_layout *out);

/*
 * @img is the interpreter; @module the file of _asyncio, or NULL if that is unknown. Return: 0;
 * -ENOENT if @img is not CPython; -ENODATA if it needs @module; -ENOTSUP if its tasks cannot be
 * read.
 */
int asyncio_layout_find(const struct elf_image *img, const struct elf_image *module,
			struct asyncio_layout *out);
