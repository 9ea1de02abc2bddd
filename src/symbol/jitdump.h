/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds functions in jit-PID.dump, perf's record of generated code: functions, moves and line
 * numbers. The format is specified in the kernel's
 * tools/perf/Documentation/jitdump-specification.txt. A process that writes such a file maps it
 * executable, and profilers find it by that mapping.
 */
#include <stdbool.h>
#include <stdint.h>

#include "symbol/jit_places.h"

struct jit_input;

#define JITDUMP_BYTES_MAX (UINT64_C(1) << 30)

/* Returns true if @path has the form of a jitdump's: ".../jit-123.dump". */
bool jitdump_is_path(const char *path);

/**
 * jitdump_scan() - apply the records from *@at on to @places
 *
 * *@at is 0 or the result of an earlier call. It becomes the offset of the first record that is
 * incomplete. Code that was moved is found at its present address if the whole file is read.
 *
 * Return: 0; -EAGAIN if code moved from where the records before *@at are needed: scan from 0;
 * -EBADMSG for a file that is not a jitdump in this byte order, or from a malformed record on,
 * whose offset is in *@at; -ENOMEM.
 */
int jitdump_scan(struct jit_input *in, uint64_t *at, struct jit_places *places);
