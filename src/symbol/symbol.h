/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The answer of every source of names, and the batch in which they are asked.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One function at an address; [0] of an answer is the innermost inlined call. */
struct symbol_frame {
	const char *name;        /* for people (demangled) */
	const char *system_name; /* raw */
	const char *file;        /* "" if not known */
	uint32_t line;           /* 0 if not known */
	uint32_t start_line;
	uint32_t column; /* of @line, from 1; 0 if not known */
};

/*
 * Called once for an address that has a name; the frames and their strings are
 * borrowed for the call. @cookie is the address's index in the batch.
 * Non-zero stops the batch and is returned by it.
 */
typedef int (*symbol_answer_fn)(void *ctx, size_t cookie, const struct symbol_frame *frames,
				size_t n_frames);
