/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/allocator_job.h"

#include <errno.h>

#include "reader/allocator_message.h"
#include "roles/role.h"

_Static_assert(ALLOCATOR_FUNCTIONS_MAX * sizeof(struct allocator_function) <= ROLE_BODY_MAX,
	       "a reply has room for all functions");

int reader_allocator_job(struct role_call *call)
{
	struct allocator_function *functions = call->reply;
	int n;

	if (call->n_fds != 1)
		return -EINVAL;
	n = allocator_functions_find(call->fds[0], functions);
	if (n < 0)
		return n;
	call->reply_len = (size_t)n * sizeof(*functions);
	return 0;
}
