/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds unwind tables from hostile bytes. The first byte selects either a whole ELF file, through
 * rows to pages, or the bytes of an .eh_frame or .debug_frame alone.
 */
#include <assert.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "elf/eh_frame.h"
#include "elf/image.h"
#include "unwind/cfi.h"
#include "unwind/file_rows.h"
#include "unwind/pages.h"
#include "unwind/rules.h"

enum { DEBUG_FRAME = 1, OPEN_ENDED = 2, ELF_FILE = 4 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

struct replay {
	const struct eh_frame *ef;
	const struct eh_frame_fde *fde;
	uint64_t at;
};

static int check_row(void *ctx, uint64_t start, uint64_t end, const struct cfi_state *s)
{
	struct replay *rp = ctx;
	struct unwind_rule rule;
	bool known = unwind_cfi_rule(rp->ef, rp->fde, s, &rule);

	assert(start == rp->at && start < end && end - rp->fde->start <= rp->fde->len);
	assert(rule.cfa < UNWIND_CFA_MAX && known == (rule.cfa != UNWIND_CFA_NONE));
	assert(rule.fp <= UNWIND_SAVED_REG && rule.aux <= UNWIND_SAVED_REG && rule.cfa_reg < 16);
	rp->at = end;
	return 0;
}

static void replay_section(const struct eh_frame_source *src)
{
	_cleanup_(eh_frame_fini) struct eh_frame ef = { 0 };

	eh_frame_read(&ef, src, NULL);
	for (size_t i = 0; i < ef.fdes.len; i++) {
		struct replay rp = { .ef = &ef, .fde = &ef.fdes.data[i] };

		rp.at = rp.fde->start;
		eh_frame_run(&ef, rp.fde, check_row, &rp, NULL);
	}
}

/*
 * Checks that rows ascend and differ from their neighbours, and that pages and rows give the same
 * rule.
 */
static void check_table(const struct unwind_rows *rows)
{
	_cleanup_(unwind_pages_fini) struct unwind_pages pages = { 0 };

	for (size_t i = 1; i < rows->len; i++)
		assert(rows->data[i - 1].file_off < rows->data[i].file_off);
	if (unwind_pages_build(&pages, rows, NULL) < 0)
		return;
	for (size_t i = 0; i < rows->len; i++) {
		const struct unwind_full_row *row = &rows->data[i];
		uint16_t id = unwind_pages_find(&pages, row->file_off);

		assert(id < rows->rules->n);
		assert(row->rule == UNWIND_RULE_NONE || id == row->rule);
	}
}

static void read_file(const uint8_t *data, size_t len)
{
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	_cleanup_(unwind_rows_fini) struct unwind_rows rows = { 0 };

	if (elf_image_from_memory(&img, data, len, NULL) < 0)
		return;
	unwind_rows_from_file(&rows, img, NULL);
	check_table(&rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct eh_frame_source src = { .text_base = 0x1000, .data_base = 0x4000 };

	if (!len)
		return 0;
	if (data[0] & ELF_FILE) {
		read_file(data + 1, len - 1);
		return 0;
	}
	src.debug_frame = data[0] & DEBUG_FRAME;
	src.open_ended = data[0] & OPEN_ENDED;
	src.span = (struct elf_span){ .data = data + 1, .len = len - 1, .vaddr = 0x2000 };
	replay_section(&src);
	return 0;
}
