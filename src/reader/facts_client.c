/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/facts_client.h"

#include <errno.h>

#include "reader/payer.h"
#include "reader/reader.h"
#include "roles/pool.h"

enum { TIMEOUT_MS = 1000 };

static int call(struct role_pool *pool, const struct role_request *part, uid_t owner,
		struct role_exchange **out)
{
	struct role_request request = *part;

	request.timeout_ms = TIMEOUT_MS;
	request.is_urgent = true;
	request.payers[1] = reader_payer(owner);
	return role_pool_call(pool, &request, out);
}

int facts_client_read(struct role_pool *pool, int fd, uid_t owner, struct file_facts *out)
{
	const struct role_request request = { .kind = READER_FACTS, .fds = &fd, .n_fds = 1 };
	_cleanup_(role_exchange_endp) struct role_exchange *x = NULL;
	const struct file_facts *facts;
	const struct role_reply *reply;
	int r = call(pool, &request, owner, &x);

	if (r < 0)
		return r;
	reply = role_exchange_reply(x);
	facts = reply->result ? NULL : file_facts_check(reply->data, reply->len);
	if (!facts) {
		role_exchange_reject(x);
		return -EBADMSG;
	}
	*out = *facts;
	return 0;
}

bool facts_client_same(struct role_pool *pool, int fd_a, int fd_b, uid_t owner)
{
	const int fds[] = { fd_a, fd_b };
	const struct role_request request = { .kind = READER_SAME, .fds = fds, .n_fds = 2 };
	_cleanup_(role_exchange_endp) struct role_exchange *x = NULL;

	return call(pool, &request, owner, &x) == 0 && role_exchange_reply(x)->result == 0;
}
