/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a jitdump in two pieces, then looks up some addresses. */
#include "symbol/jitdump.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct jit_function f;
	volatile size_t sum = 0;
	struct jitdump *j;
	const char *file;
	uint32_t line;

	if (jitdump_new(&j) < 0)
		return 0;
	if (jitdump_feed(j, data, len / 2) == 0)
		jitdump_feed(j, data + len / 2, len - len / 2);
	for (uint64_t addr = 0; addr < 0xa000; addr += 0x101)
		if (jitdump_find(j, addr, &f, &file, &line) == 0)
			sum += strlen(file) + strlen(f.name);
	jitdump_free(j);
	return 0;
}
