/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/place_client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "reader/place_message.h"
#include "reader/reader.h"
#include "roles/pool.h"

/* The symbol table of a browser has 100 MiB. */
enum { TIMEOUT_MS = 20000, HEAP_BYTES = 512 << 20 };

static int call(struct role_pool *pool, const struct role_request *request, uint64_t *out)
{
	_cleanup_(role_exchange_endp) struct role_exchange *x = NULL;
	const struct role_reply *reply;
	int r = role_pool_call(pool, request, &x);

	if (r < 0)
		return r;
	reply = role_exchange_reply(x);
	if (reply->result < 0)
		return reply->result;
	if (reply->len != sizeof(*out))
		return -EBADMSG;
	memcpy(out, reply->data, sizeof(*out));
	return 0;
}

int place_client_find(void *ctx, int fd, const char *name, uint64_t offset, uint64_t *out)
{
	const struct role_pool_opts opts = { .max_children = 1, .memory_bytes = HEAP_BYTES };
	size_t name_len = strlen(name) + 1, len = sizeof(struct place_request) + name_len;
	_cleanup_(freep) struct place_request *body = calloc(1, len);
	_cleanup_(role_pool_freep) struct role_pool *pool = NULL;
	const struct role_request request = {
		.kind = READER_PLACE,
		.data = body,
		.len = len,
		.fds = &fd,
		.n_fds = 1,
		.timeout_ms = TIMEOUT_MS,
	};
	int r;

	(void)ctx;
	if (!body)
		return -ENOMEM;
	if (name_len > PLACE_NAME_MAX)
		return -ENOENT;
	body->offset = offset;
	memcpy(body->name, name, name_len);
	r = role_pool_new(&pool, &reader_role, &opts, NULL);
	return r < 0 ? r : call(pool, &request, out);
}
