/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/place_job.h"

#include <errno.h>

#include "reader/place_message.h"
#include "roles/role.h"
#include "symbol/probe_place.h"

int reader_place_job(struct role_call *call)
{
	const struct place_request *request = call->request;
	size_t name_len = call->request_len - sizeof(*request);
	uint64_t *place = call->reply;
	int r;

	if (call->n_fds != 1 || !name_len || name_len > PLACE_NAME_MAX ||
	    request->name[name_len - 1])
		return -EINVAL;
	r = probe_place_find(call->fds[0], request->name, request->offset, place);
	call->reply_len = r == 0 ? sizeof(*place) : 0;
	return r;
}
