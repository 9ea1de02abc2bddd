/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The reasons for which stacks end early, explained; see docs/troubleshooting.md. */
#include <stddef.h>

struct buf;
struct err;
struct profile;

/*
 * The meaning of @reason, a text of bpf/shared/walk_errors.def, and what to do about it; NULL if it
 * is unknown.
 */
const char *incomplete_explanation(const char *reason);

/*
 * Appends a line for each reason that occurs in the profile, with its share of the sample type
 * @value_num, and its explanation. Returns 0 or -errno with the reason.
 */
int incomplete_put(const struct profile *p, size_t value_num, struct buf *out, struct err *err);
