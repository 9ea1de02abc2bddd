/* SPDX-License-Identifier: Apache-2.0 */
/* Reads Go's function table from a hostile ELF file, from names to unwind rows. */
#include "elf/gopclntab.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elf/image.h"
#include "unwind/go.h"

enum { FUNCTIONS = 256, STEPS = 64, FRAMES = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

struct runs {
	uint64_t at, end;
};

static int check_run(void *ctx, uint64_t start, uint64_t end, int32_t depth)
{
	struct runs *runs = ctx;

	assert(start == runs->at && start < end && end <= runs->end);
	runs->at = end;
	return 0;
}

static void check_frames(const struct gopclntab *t, uint64_t pc)
{
	struct gopclntab_frame frames[FRAMES];
	int n = gopclntab_frames(t, pc, frames, FRAMES);
	volatile size_t sum = 0;

	assert(n == -ENOENT || (n >= 1 && n <= FRAMES));
	for (int i = 0; i < n; i++)
		sum += strlen(frames[i].function) + strlen(frames[i].file);
	(void)sum;
}

static void check_table(const struct gopclntab *t)
{
	size_t n = gopclntab_count(t);
	struct gopclntab_func f;

	for (size_t i = 0; i < n && i < FUNCTIONS; i++) {
		struct runs runs;

		if (gopclntab_func_at(t, i, &f) < 0)
			continue;
		assert(f.start <= f.end && f.name);
		runs = (struct runs){ f.start, f.end };
		gopclntab_spdeltas(t, i, check_run, &runs);
		for (uint64_t pc = f.start, k = 0; pc < f.end && k < STEPS; pc += 5, k++)
			check_frames(t, pc);
	}
}

static void check_rows(const struct elf_image *img)
{
	struct unwind_rows rows = { 0 };
	uint64_t lo, hi;

	if (!unwind_go_rows(&rows, img, &lo, &hi, NULL)) {
		assert(rows.len && lo <= hi && rows.data[0].file_off == lo);
		for (size_t i = 1; i < rows.len; i++)
			assert(rows.data[i - 1].file_off < rows.data[i].file_off);
		assert(rows.data[rows.len - 1].file_off <= hi && hi <= elf_image_len(img));
	}
	unwind_rows_fini(&rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct elf_image *img = NULL;
	struct gopclntab *t = NULL;

	if (elf_image_from_memory(&img, data, len, NULL) < 0)
		return 0;
	if (!gopclntab_open(&t, img, NULL))
		check_table(t);
	check_rows(img);
	gopclntab_free(t);
	elf_image_free(img);
	return 0;
}
