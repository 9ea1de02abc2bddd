/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Chrome's trace event format, for chrome://tracing and Perfetto: for each
 * thread its stacks, merged and laid out one behind the other, as nested
 * events. Their place on the time line means nothing, their length does.
 */
#include <stddef.h>

struct buf;
struct err;
struct profile;

/* Append the file, of sample type @value_num. 0, -EINVAL, -ENOMEM. */
int chrome_write(const struct profile *p, size_t value_num, struct buf *out, struct err *err);
