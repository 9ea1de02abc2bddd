/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/table_message.h"

#include <string.h>

const struct table_need *table_need_check(const void *data, size_t len)
{
	const struct table_need *need = data;

	if (len != sizeof(*need) || !memchr(need->link, 0, sizeof(need->link)) ||
	    strchr(need->link, '/'))
		return NULL;
	return need;
}
