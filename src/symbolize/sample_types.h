/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The sample types of profiles, by the mode in which a window is symbolized. profile_builder.h
 * fills in the values in their order. Pure functions; any thread.
 */
#include <stddef.h>

#include "symbolize/window.h"

struct profile;

/* Returns the sample type of event number @i of the window, and its unit in *@out_unit. */
const char *sample_type_of_event(const struct symbolize_window *w, size_t i, const char **out_unit);

/* Adds the sample types to @p, and sets the default one if it is not the last. 0 or -ENOMEM. */
int sample_types_add(struct profile *p, enum symbolize_mode mode, const struct symbolize_window *w);
