/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Merged stacks as a profile of one sample type, to be written in any format. */
#include <stdint.h>

struct profile;
struct stacks;
struct store_type;

/* 0 and a new profile; -ENOMEM. It has the time of the range, the duration and period of the
 * windows. */
int export_profile(struct profile **out, const struct stacks *s, const struct store_type *type,
		   int64_t start_ns);
