/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The reply of READER_ALLOCATOR, whose request is the descriptor of a file: an array of struct
 * allocator_function (symbol/allocators.h), which may be empty. The result is 0 or -errno.
 */
#include <stddef.h>

#include "symbol/allocators.h"

/*
 * Copies the functions of a reply of @len bytes to @out, if a reader may send them: kinds are
 * known, and places are inside of functions. Returns their number, or -EBADMSG.
 */
int allocator_message_read(const void *reply, size_t len,
			   struct allocator_function out[ALLOCATOR_FUNCTIONS_MAX]);
