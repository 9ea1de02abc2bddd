/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/profile_message.h"

#include <string.h>

#include "profile/delta.h"

const struct profile_reply *profile_check_reply(const void *data, size_t len)
{
	const struct profile_reply *reply = data;

	if (len != sizeof(*reply) || reply->n_types > PROFILE_DELTA_TYPES_MAX ||
	    !memchr(reply->why, 0, sizeof(reply->why)))
		return NULL;
	return reply;
}
