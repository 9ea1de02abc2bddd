/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/allocator_client.h"

#include <errno.h>

#include "base/cleanup.h"
#include "reader/allocator_message.h"
#include "reader/reader.h"
#include "roles/pool.h"

/* The symbol table of a browser has 100 MiB. */
enum { TIMEOUT_MS = 20000 };

int allocator_client_find(struct role_pool *pool, int fd,
			  struct allocator_function out[ALLOCATOR_FUNCTIONS_MAX])
{
	const struct role_request request = {
		.kind = READER_ALLOCATOR,
		.fds = &fd,
		.n_fds = 1,
		.timeout_ms = TIMEOUT_MS,
		.is_urgent = true,
	};
	_cleanup_(role_exchange_endp) struct role_exchange *x = NULL;
	const struct role_reply *reply;
	int r = role_pool_call(pool, &request, &x);

	if (r < 0)
		return r;
	reply = role_exchange_reply(x);
	if (reply->result < 0)
		return reply->result;
	r = allocator_message_read(reply->data, reply->len, out);
	if (r < 0)
		role_exchange_reject(x);
	return r;
}
