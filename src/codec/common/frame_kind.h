/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Frame kinds for formats that have no field for them, derived from file names
 * or from labels.
 */
#include "profile/profile.h"

/*
 * Guesses the kind from the executable's and the source file's name; either may be "". Returns
 * PROFILE_FRAME_UNKNOWN if neither gives an indication. The kernel is recognized by the names that
 * perf uses ("[kernel.kallsyms]", "[guest.kernel.…]"). format_losses() uses the same guess to
 * decide whether a format loses a kind.
 */
enum profile_frame_kind frame_kind_guess(const char *mapping_file, const char *source_file);

/* Guesses the kind of @l, which belongs to @p, by the file of the innermost inlined function. */
enum profile_frame_kind frame_kind_guess_location(const struct profile *p,
						  const struct profile_location *l);

/* The inverse of profile_frame_kind_label(); PROFILE_FRAME_UNKNOWN for any other text. */
uint8_t frame_kind_from_label(const char *label);
