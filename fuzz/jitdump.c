/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a jitdump in two pieces for some addresses. */
#include "symbol/jitdump.h"

#include <errno.h>

#include "jit_scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct jit_input in;
	struct jit_places places = { 0 };
	uint64_t at = 0;

	jit_scan_begin(&in, &places, data, len);
	(void)jitdump_scan(&in, &at, &places);
	in.end = len;
	if (jitdump_scan(&in, &at, &places) == -EAGAIN) {
		at = 0;
		(void)jitdump_scan(&in, &at, &places);
	}
	jit_scan_end(&in, &places, len);
	return 0;
}
