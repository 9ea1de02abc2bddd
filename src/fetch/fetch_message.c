/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/fetch_message.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"

enum { STATUS_MIN = 100, STATUS_MAX = 999 };

int fetch_set_reply(struct fetch_reply *out, int r, const struct err *err)
{
	*out = (struct fetch_reply){ .status = r < 0 ? 0 : r };
	if (r < 0)
		snprintf(out->why, sizeof(out->why), "%.159s",
			 err->msg[0] ? err->msg : strerror(-r));
	return r < 0 ? r : 0;
}

const struct fetch_reply *fetch_check_reply(const void *data, size_t len, int result)
{
	const struct fetch_reply *reply = data;

	if (len != sizeof(*reply) || !memchr(reply->why, 0, sizeof(reply->why)))
		return NULL;
	if (result < 0 ? reply->status : reply->status < STATUS_MIN || reply->status > STATUS_MAX)
		return NULL;
	return reply;
}

const struct fetch_piece *fetch_check_piece(const void *data, size_t len, size_t n)
{
	const struct fetch_piece *p = data;

	return len >= sizeof(*p) && p->index < n ? p : NULL;
}

const struct fetch_end *fetch_check_end(const void *data, size_t len, size_t n)
{
	const struct fetch_end *e = data;

	if (len != sizeof(*e) || e->index >= n || e->result > 0 ||
	    !fetch_check_reply(&e->reply, sizeof(e->reply), e->result))
		return NULL;
	return e;
}
