/* SPDX-License-Identifier: Apache-2.0 */
/* Files of the spool: accepted input is written again and must be unchanged. */
#include <stdlib.h>
#include <string.h>

#include "export/sink.h"
#include "export/spool_item.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	_cleanup_(export_item_freep) struct export_item *i = NULL;
	struct buf b = { 0 };

	if (spool_item_read(&i, data, len) < 0)
		return 0;
	spool_item_write(i, &b);
	if (b.len != len || memcmp(b.data, data, len) != 0)
		abort();
	buf_fini(&b);
	return 0;
}
