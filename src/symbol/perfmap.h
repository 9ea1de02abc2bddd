/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds functions in /tmp/perf-PID.map, to which runtimes append one line "START SIZE NAME" for
 * each function that they generate, with numbers in hexadecimal.
 */
#include <stdint.h>

#include "symbol/jit_places.h"

struct jit_input;

#define PERFMAP_BYTES_MAX (UINT64_C(256) << 20)

/**
 * perfmap_scan() - apply the lines from *@at on to @places
 *
 * Invalid and overlong lines are skipped, because threads of a runtime may interleave their writes.
 * An incomplete line at the end remains for the next call: *@at becomes its offset.
 */
void perfmap_scan(struct jit_input *in, uint64_t *at, struct jit_places *places);
