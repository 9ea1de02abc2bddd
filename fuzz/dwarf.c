/* SPDX-License-Identifier: Apache-2.0 */
/* Looks up functions, inlined calls and lines in a file with false DWARF data. */
#include "dwarf/dwarf.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Reads the strings of a result to their ends. */
static size_t touch(const struct dwarf_frame *f)
{
	return strlen(f->name) + strlen(f->linkage) + strlen(f->file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct dwarf_opts opts = { .max_heap = 16 << 20 };
	struct dwarf_frame frames[DWARF_FRAMES_MAX];
	volatile size_t sum = 0;
	struct dwarf *d;

	if (dwarf_from_memory(&d, data, len, &opts, NULL) < 0)
		return 0;
	for (uint64_t addr = 0x1000; addr < 0x1400; addr += 3) {
		int n = dwarf_frames(d, addr, frames, DWARF_FRAMES_MAX);

		if (n > DWARF_FRAMES_MAX)
			abort();
		for (int i = 0; i < n; i++)
			sum += touch(&frames[i]);
	}
	dwarf_trim(d);
	dwarf_free(d);
	(void)sum;
	return 0;
}
