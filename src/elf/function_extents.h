/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Where the functions of a file begin and end, without its symbols: from .eh_frame, and in code
 * that .eh_frame does not cover by following the code from instruction to instruction. It names
 * functions without symbols, and bounds symbols without a size. The file may be hostile.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct elf_image;
struct function_extents;

enum {
	/* bytes of code without CFI whose division into functions is kept, per file */
	FUNCTION_EXTENTS_SWEEP_MAX = 32 << 20,
};

/**
 * function_extents_new() - prepare lookups in @img, which must outlive the result
 *
 * Reads nothing of a file with a search table (.eh_frame_hdr); all of .eh_frame otherwise.
 *
 * Return: 0 or -ENOMEM. Malformed unwind information counts as absent.
 */
int function_extents_new(struct function_extents **out, const struct elf_image *img);
void function_extents_free(struct function_extents *fe);

DEFINE_FREEP(struct function_extents, function_extents_free)

/*
 * Finds the start of the function that holds @vaddr. The result depends on nothing but the file and
 * is the same for all addresses of the function, unless that has more than 32 KiB and no CFI. Code
 * without CFI is divided into functions in parts of 64 KiB: each once, if addresses come in
 * ascending order. Returns 0; -ENOENT if @vaddr is not in code; -ENOMEM.
 */
int function_extents_start(struct function_extents *fe, uint64_t vaddr, uint64_t *out_start);

/* True if .eh_frame has a function that holds @vaddr. */
bool function_extents_in_eh_frame(const struct function_extents *fe, uint64_t vaddr);

/*
 * The end of the function that begins at @vaddr, but at most @limit: for functions in .eh_frame
 * their end there, otherwise the end of the code that can be reached without leaving through a call
 * or a jump to another function.
 */
uint64_t function_extents_end(const struct function_extents *fe, uint64_t vaddr, uint64_t limit);

/* The memory that is held, in bytes. */
size_t function_extents_bytes(const struct function_extents *fe);
