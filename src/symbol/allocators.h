/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds the functions of a file by which programs allocate and free memory: those of the C library,
 * and of jemalloc, tcmalloc and mimalloc, in a library or linked statically, also with the prefixes
 * of Rust's crates. operator new is among them only in files of these three, since elsewhere it
 * calls malloc(). Functions that only pass their calls on to another one are not. The file may be
 * hostile.
 */
#include <stdint.h>

enum { ALLOCATOR_FUNCTIONS_MAX = 48 };

/* Flags of a function. */
enum {
	ALLOCATOR_STEPPED = 1u << 0, /* the kernel single-steps the instruction of the probe */
	/*
	 * The function may throw an exception. Unwinding cannot pass a probe at a return, so this
	 * one must not be probed.
	 */
	ALLOCATOR_THROWS = 1u << 1,
};

/* All offsets are in the file. */
struct allocator_function {
	uint64_t lo, hi; /* the function's code */
	uint64_t place;  /* where a probe costs least: the arguments are unchanged there */
	uint32_t kind;   /* enum alloc_kind (bpf/shared/allocs.h) */
	uint32_t flags;
};

/**
 * allocator_functions_find() - find the functions of allocators in the file @fd
 *
 * Reads .symtab and .dynsym; each function is found once, whatever its aliases.
 *
 * Return: their number; 0 if there are none; -ENOEXEC: not an ELF file of this processor; -errno.
 */
int allocator_functions_find(int fd, struct allocator_function out[ALLOCATOR_FUNCTIONS_MAX]);
