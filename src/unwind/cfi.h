/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Translates a row of call frame information (DWARF 5, 6.4) into a rule of the walk. */
#include <stdbool.h>

#include "bpf/shared/unwind_rule.h"
#include "elf/eh_frame.h"

/**
 * unwind_cfi_rule() - the rule for a row of a function
 *
 * Return: true; false if the walk cannot express this state, *@out is then
 * UNWIND_CFA_NONE.
 */
bool unwind_cfi_rule(const struct eh_frame *ef, const struct eh_frame_fde *fde,
		     const struct cfi_state *s, struct unwind_rule *out);
