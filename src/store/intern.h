/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The stacks of a profile as nodes of a day's symbols. */
#include <stdint.h>

#include "store/memo.h"

struct profile;
struct symbols;

/* What one day's profiles had before: most of the next one. */
struct intern {
	struct memo frames, stacks;
};

void intern_init(struct intern *in);
void intern_fini(struct intern *in);

/* A node for each stack, by its id. 0 or -ENOMEM. */
int intern_stacks(struct intern *in, struct symbols *s, const struct profile *p,
		  uint32_t *out_nodes);
