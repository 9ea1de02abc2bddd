/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a perf map in two pieces for some addresses. */
#include "symbol/perfmap.h"

#include <stdlib.h>

#include "jit_scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct jit_input in;
	struct jit_places places = { 0 };
	uint64_t at = 0;

	jit_scan_begin(&in, &places, data, len);
	perfmap_scan(&in, &at, &places);
	in.end = len;
	perfmap_scan(&in, &at, &places);
	if (at > len)
		abort();
	jit_scan_end(&in, &places, len);
	return 0;
}
