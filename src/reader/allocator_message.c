/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/allocator_message.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "bpf/shared/allocs.h"

/* Offsets in files fit into a probe's cookie. */
#define OFFSET_MAX (1ULL << 47)

static bool is_valid(const struct allocator_function *f)
{
	return f->kind > ALLOC_NONE && f->kind < ALLOC_KIND_MAX && f->lo <= f->place &&
	       f->place < f->hi && f->hi < OFFSET_MAX;
}

int allocator_message_read(const void *reply, size_t len,
			   struct allocator_function out[ALLOCATOR_FUNCTIONS_MAX])
{
	size_t n = len / sizeof(*out);

	if (len % sizeof(*out) || n > ALLOCATOR_FUNCTIONS_MAX)
		return -EBADMSG;
	if (n)
		memcpy(out, reply, len);
	for (size_t i = 0; i < n; i++)
		if (!is_valid(&out[i]))
			return -EBADMSG;
	return (int)n;
}
