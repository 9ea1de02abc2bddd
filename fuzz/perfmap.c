/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a perf map in two pieces, then looks up some addresses. */
#include "symbol/perfmap.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct jit_function f;
	struct perfmap *m;

	if (perfmap_new(&m) < 0)
		return 0;
	perfmap_feed(m, (const char *)data, len / 2);
	perfmap_find(m, 0x1000, &f);
	perfmap_feed(m, (const char *)data + len / 2, len - len / 2);
	for (uint64_t addr = 0; addr < 0x3000; addr += 0x101)
		if (perfmap_find(m, addr, &f) == 0 && (addr < f.start || addr - f.start >= f.size))
			abort();
	perfmap_free(m);
	return 0;
}
