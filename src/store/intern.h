/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* From the stacks of a profile to nodes of the symbols. */
#include <stdint.h>

struct profile;
struct symbols;

/* The node of each stack's leaf into @out_nodes, one a stack of @p. 0 or -ENOMEM. */
int intern_stacks(struct symbols *s, const struct profile *p, uint32_t *out_nodes);
