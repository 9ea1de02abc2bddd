/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Translates the stack traces that Go's runtime stores into stacks of a profile, as runtime/pprof
 * does. A trace has one program counter for each call, also for inlined ones; only the calls into
 * which its last one is inlined may be missing.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct golang_heap_program;
struct profile;

enum { GOLANG_PLACES = 4096 };

/* The frame at a program counter. */
struct golang_place {
	uint64_t pc; /* 0: free */
	uint32_t location;
	bool is_runtime; /* of the runtime: hidden above the program's own functions */
	bool is_exit;    /* of runtime.goexit, which is always omitted */
};

struct golang_frames {
	const struct golang_heap_program *program;
	struct profile *out;
	struct golang_place places[GOLANG_PLACES]; /* by hash */
};

/*
 * Adds the stack with these return addresses, innermost first; @n is at most
 * GOLANG_HEAP_FRAMES_MAX. Returns 0 or -ENOMEM.
 */
int golang_frames_add(struct golang_frames *f, const uint64_t *pcs, size_t n, uint32_t *out);
