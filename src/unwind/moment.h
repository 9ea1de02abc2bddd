/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Which calls of an interpreter's loop are still those of the sample when
 * the machine's own frames are read later: of a stack copy.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/shared/abi.h"
#include "bpf/shared/vms.h"

enum { MOMENT_WORDS_MAX = VM_WORDS_MAX + 2 * WALK_TURNS_MAX };

/* Frames of a native walk, innermost first. */
struct unwind_moment {
	size_t n;
	struct {
		uint64_t cfa;
		uint32_t loop; /* number of its machine's slot, plus 1; 0: none's */
	} frames[WALK_TURNS_MAX];
};

/**
 * unwind_moment_ends() - how many frames have been left since the stack was copied
 *
 * @copy and @live hold the same @len bytes of stack from @stack_at on, then and
 * now. A frame has been left when its return address is another, or one farther
 * out has been.
 */
size_t unwind_moment_ends(const struct unwind_moment *m, uint64_t stack_at, const uint8_t *copy,
			  const uint8_t *live, size_t len);

/**
 * unwind_moment_filter() - put unreadable frames in the place of those read too late
 *
 * @words is the machines' list; the activations of the @n_left innermost native frames
 * become a frame each that could not be read. Where the native walk is not @whole, nobody
 * knows which activations these are, and all are replaced. @out holds MOMENT_WORDS_MAX
 * words; the number of them is returned.
 */
size_t unwind_moment_filter(const struct unwind_moment *m, size_t n_left, bool whole,
			    const uint64_t *words, size_t n_words, uint64_t *out);
