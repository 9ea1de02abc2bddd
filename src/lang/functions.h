/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What weaving asks of the registry. */
#include "lang/lang.h"

/* The FRAME_SCRIPT word of a virtual machine's frame, read if it was not seen before. */
uint64_t langs_script_word(struct langs *l, const struct lang_process *p, const uint64_t words[2]);

bool langs_fold(const struct langs *l);
