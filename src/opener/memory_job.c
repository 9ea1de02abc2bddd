/* SPDX-License-Identifier: Apache-2.0 */
#include "opener/memory_job.h"

#include <errno.h>

#include "opener/open_message.h"
#include "proc/memory.h"
#include "roles/role.h"

int memory_job(struct role_call *call)
{
	const struct memory_request *request = call->request;
	int r;

	if (request->len > ROLE_BODY_MAX)
		return -EINVAL;
	r = proc_memory_read_here(request->pid, request->addr, call->reply, request->len);
	call->reply_len = r == 0 ? request->len : 0;
	return r;
}
