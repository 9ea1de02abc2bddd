/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * From a profile's ids to those of a file that holds only what is referred to:
 * 1, 2, 3... in the order in which they are asked for.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct renumber {
	uint32_t *to; /* 0: not met */
	struct {
		VEC(uint32_t);
	} met; /* the profile's ids: met.data[0] has number 1 */
	int error;
};

/* For ids below @count. 0 or -ENOMEM. */
int renumber_init(struct renumber *n, uint32_t count);
void renumber_fini(struct renumber *n);

/* The number of @id. That memory ran out is told by error, once, at the end. */
uint32_t renumber_get(struct renumber *n, uint32_t id);
