/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/fetch_message.h"

#include <string.h>

enum { STATUS_MIN = 100, STATUS_MAX = 999 };

const struct fetch_reply *fetch_check_reply(const void *data, size_t len, int result)
{
	const struct fetch_reply *reply = data;

	if (len != sizeof(*reply) || !memchr(reply->why, 0, sizeof(reply->why)))
		return NULL;
	if (result < 0 ? reply->status : reply->status < STATUS_MIN || reply->status > STATUS_MAX)
		return NULL;
	return reply;
}
