/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Finds the functions of allocators in a reader. */
#include "symbol/allocators.h"

struct role_pool;

/*
 * Does the same as allocator_functions_find() (symbol/allocators.h), in a reader of @pool, whose
 * answer is checked. Returns also -ETIMEDOUT, -EPIPE or -EBADMSG: the reader needed too long,
 * crashed, or was killed for its answer.
 */
int allocator_client_find(struct role_pool *pool, int fd,
			  struct allocator_function out[ALLOCATOR_FUNCTIONS_MAX]);
