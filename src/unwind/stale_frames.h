/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds the frames of a runtime's list that are newer than the stack copy. The list is read after
 * the copy was made; activations whose native frame has returned since are stale.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/shared/abi.h"
#include "bpf/shared/vms.h"

enum { STALE_WORDS_MAX = VM_WORDS_MAX + 2 * WALK_TURNS_MAX };

/* The native frames of a walk, innermost first. */
struct unwind_native_frames {
	size_t n;
	struct {
		uint64_t cfa;
		uint32_t loop; /* number of the runtime's slot whose loop it is, plus 1; 0 if it is
				  none */
	} frames[WALK_TURNS_MAX];
};

/**
 * unwind_stale_count() - count the frames that have returned since the stack was copied
 *
 * @copy and @live hold the same @len bytes of stack from @stack_at on, then and now. A frame has
 * returned when its return address has changed, or that of a frame farther out.
 */
size_t unwind_stale_count(const struct unwind_native_frames *m, uint64_t stack_at,
			  const uint8_t *copy, const uint8_t *live, size_t len);

/**
 * unwind_stale_replace() - replace frames that were read too late by unreadable ones
 *
 * @words is the runtimes' lists. Each activation of the @n_left innermost native frames becomes one
 * frame that could not be read. If the native walk is not @whole it is unknown which activations
 * these are, and all are replaced.
 *
 * Return: the number of words in @out, which has room for STALE_WORDS_MAX.
 */
size_t unwind_stale_replace(const struct unwind_native_frames *m, size_t n_left, bool whole,
			    const uint64_t *words, size_t n_words, uint64_t *out);
