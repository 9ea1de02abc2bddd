/* SPDX-License-Identifier: Apache-2.0 */
/* Checks resident pages that a compromised opener has sent. */
#include "opener/resident_message.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static int put_mapping(void *ctx, const struct proc_resident_mapping *m)
{
	if (m->map.start >= m->map.end || strlen(m->map.path) >= PROC_PATH_MAX)
		abort();
	resident_message_put_mapping(ctx, m);
	return 0;
}

static int put_pages(void *ctx, const struct proc_pages *pages)
{
	if (pages->start >= pages->end)
		abort();
	resident_message_put_pages(ctx, pages);
	return 0;
}

/* Valid records are the same again after they were written and read. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	_cleanup_(buf_fini) struct buf one = { 0 }, two = { 0 };
	const struct proc_resident_sink to_one = { put_mapping, put_pages, &one };
	const struct proc_resident_sink to_two = { put_mapping, put_pages, &two };
	_cleanup_(freep) uint8_t *aligned = malloc(len ? len : 1);

	if (!aligned)
		abort();
	memcpy(aligned, data, len);
	if (resident_message_read(aligned, len, &to_one) != 0)
		return 0;
	if (resident_message_read(one.data, one.len, &to_two) != 0 || one.len != two.len ||
	    (one.len && memcmp(one.data, two.data, one.len) != 0))
		abort();
	return 0;
}
