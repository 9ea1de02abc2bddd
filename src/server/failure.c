/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code for each status is the one of the Connect protocol, except that a request that is too
 * large gets 413 or 422, for which HTTP has statuses of its own: clients of Connect act on the code
 * in the body.
 *
 * Clients retry after 429, which is used when memory is short and when a service has used up its
 * series of the day. A full disk is 507 and an unreachable database 503, both of which agents retry
 * too. 504 is a query's own time limit, which only a narrower query avoids.
 */
#include "server/failure.h"

#include <errno.h>

#include "server/rpc.h"
#include "server/server_options.h"

enum { MAX_DECOMPRESSED = 128 << 20 };

static const struct failure failures[] = {
	{ -EINVAL, 400, 3, "invalid_argument", COUNTER_REFUSED },
	{ -EBADMSG, 400, 3, "invalid_argument", COUNTER_REFUSED },
	{ -EACCES, 401, 16, "unauthenticated", COUNTER_UNKNOWN_CLIENT },
	{ -EPERM, 403, 7, "permission_denied", COUNTER_UNKNOWN_CLIENT },
	{ -ENOENT, 404, 5, "not_found", COUNTER_REFUSED },
	{ -ENXIO, 404, 12, "unimplemented", COUNTER_REFUSED }, /* unknown method */
	{ -EMSGSIZE, 413, 8, "resource_exhausted", COUNTER_LIMIT_BODY },
	{ -EFBIG, 422, 3, "invalid_argument", COUNTER_LIMIT_SIZE },
	{ -ERANGE, 422, 3, "invalid_argument", COUNTER_LIMIT_RANGE },
	{ -EDQUOT, 429, 8, "resource_exhausted", COUNTER_LIMIT_SERIES },
	{ -ENOMEM, 429, 8, "resource_exhausted", COUNTER_LIMIT_MEMORY },
	{ -ENOSPC, 507, 14, "unavailable", COUNTER_LIMIT_DISK },
	{ -ENOSYS, 501, 12, "unimplemented", COUNTER_REFUSED },
	{ -ECONNREFUSED, 503, 14, "unavailable", COUNTER_REFUSED }, /* ClickHouse is unreachable */
	{ -EAGAIN, 503, 14, "unavailable", COUNTER_REFUSED },
	{ -ETIMEDOUT, 504, 4, "deadline_exceeded", COUNTER_LIMIT_TIME },
};

static const struct failure unknown = { 0, 500, 2, "unknown", COUNTER_REFUSED };

const struct failure *failure_record(struct rpc *rpc, int r)
{
	const struct failure *f = &unknown;

	for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++)
		if (failures[i].error == r)
			f = &failures[i];
	counters_add(rpc->counters, COUNTER_REFUSED);
	if (f->counter != COUNTER_REFUSED)
		counters_add(rpc->counters, f->counter);
	return f;
}

size_t request_max_decompressed(const struct rpc *rpc)
{
	size_t part = rpc->opt->max_memory / 8;

	return part && part < MAX_DECOMPRESSED ? part : MAX_DECOMPRESSED;
}
