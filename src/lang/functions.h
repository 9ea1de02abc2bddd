/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What weaving asks of the registry. */
#include "lang/lang.h"

/* The FRAME_SCRIPT word of a virtual machine's frame, read if it was not seen before. */
uint64_t langs_script_word(struct langs *l, const struct lang_process *p, const uint64_t words[2]);

/* Is generated code that calls the loop of the machine @vm to be left out? */
bool langs_is_trampoline(const struct langs *l, uint32_t vm);

/* May a stack hold loops that are not the running coroutine's? */
bool langs_may_hold_foreign(const struct langs *l, uint32_t vm);

/* What a frame of generated code shows: FRAME_SCRIPT words, borrowed until the next call. */
size_t langs_expand(struct langs *l, const struct lang_process *p, const uint64_t words[2],
		    const uint64_t **out);

/* Is the FRAME_SCRIPT word @word of a part of its caller, whose frame is left out? */
bool langs_covers_caller(const struct langs *l, uint64_t word);

bool langs_fold(const struct langs *l);
