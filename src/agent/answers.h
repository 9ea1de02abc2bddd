/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Names of native places that were asked for once, so that an agent does not
 * ask again in every window. Bounded: what was not wanted for longest goes.
 * One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "symbol/symbol.h"

struct answers;

enum { ANSWER_FRAMES_MAX = 256 }; /* inlined calls at a place; more are left out */

/* A place: a frame word, and which file has its file id now. */
struct answers_place {
	uint64_t word, serial;
};

/* Holds @max_bytes at most; 0: as many as there are. 0 or -ENOMEM. */
int answers_new(struct answers **out, size_t max_bytes);
void answers_free(struct answers *a);

DEFINE_FREEP(struct answers, answers_free)

/* What is there: @n frames, [0] the innermost; 0 frames: nobody knows a name. 0 or -ENOMEM. */
int answers_put(struct answers *a, const struct answers_place *place,
		const struct symbol_frame *frames, size_t n);

/* False: it was never asked, or is forgotten. The frames are borrowed until the next call. */
bool answers_get(struct answers *a, const struct answers_place *place,
		 const struct symbol_frame **out, size_t *out_n);

size_t answers_bytes(const struct answers *a);

/* Forget all. */
void answers_clear(struct answers *a);
