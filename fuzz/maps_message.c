/* SPDX-License-Identifier: Apache-2.0 */
/* Checks mappings that a compromised opener has sent. */
#include "opener/maps_message.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static int check(void *ctx, const struct proc_map *m)
{
	if (m->start >= m->end || strlen(m->path) >= PROC_PATH_MAX)
		abort();
	return maps_message_put(ctx, m);
}

/* Valid mappings are the same again after they were written and read. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	_cleanup_(buf_fini) struct buf one = { 0 }, two = { 0 };
	struct maps_writer to_one = { .out = &one, .bytes_max = MAPS_BYTES_MAX };
	struct maps_writer to_two = { .out = &two, .bytes_max = MAPS_BYTES_MAX };
	_cleanup_(freep) uint8_t *aligned = malloc(len ? len : 1);

	if (!aligned)
		abort();
	memcpy(aligned, data, len);
	if (maps_message_read(aligned, len, check, &to_one) != 0)
		return 0;
	if (maps_message_read(one.data, one.len, check, &to_two) != 0 || one.len != two.len ||
	    (one.len && memcmp(one.data, two.data, one.len) != 0))
		abort();
	return 0;
}
