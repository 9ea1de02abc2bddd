/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the rows of unwind/go.h with the .debug_frame that Go's linker
 * writes into the same program, read by libdw: the CFA must be the same at
 * every STEP-th address and at the start of every row, except where a rule
 * knows about another stack, which .debug_frame does not.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "elf/image.h"
#include "unwind/go.h"

enum { STEP = 3, RSP = 7 };

struct tally {
	size_t same, special, unknown, wrong;
};

/* 1 and the distance of the CFA from rsp, 0 if libdw has another rule, -1 if none. */
static int libdw_cfa(Dwarf_CFI *cfi, uint64_t pc, int64_t *out)
{
	Dwarf_Frame *frame;
	Dwarf_Op *ops;
	size_t n;
	int r = 0;

	if (dwarf_cfi_addrframe(cfi, pc, &frame) != 0)
		return -1;
	if (!dwarf_frame_cfa(frame, &ops, &n) && n >= 1 && ops[0].atom == DW_OP_bregx &&
	    ops[0].number == RSP) {
		*out = (int64_t)ops[0].number2;
		r = 1;
	} else if (n >= 1 && ops[0].atom == DW_OP_breg0 + RSP) {
		*out = (int64_t)ops[0].number;
		r = 1;
	}
	free(frame);
	return r;
}

static void compare(const struct unwind_rule *rule, Dwarf_CFI *cfi, uint64_t pc,
		    struct tally *tally)
{
	int64_t theirs = 0;

	if (rule->cfa != UNWIND_CFA_SP_OFF) {
		tally->special++;
		return;
	}
	switch (libdw_cfa(cfi, pc, &theirs)) {
	case 1:
		if (theirs == rule->cfa_off) {
			tally->same++;
			return;
		}
		break;
	case -1:
		tally->unknown++;
		return;
	}
	if (tally->wrong++ < 10)
		fprintf(stderr, "%" PRIx64 ": rsp + %d, libdw says %" PRId64 "\n", pc,
			rule->cfa_off, theirs);
}

static void compare_rows(const struct unwind_rows *rows, const struct elf_image *img, uint64_t end,
			 Dwarf_CFI *cfi, struct tally *tally)
{
	for (size_t i = 0; i < rows->len; i++) {
		const struct unwind_full_row *row = &rows->data[i];
		uint64_t stop = i + 1 < rows->len ? row[1].file_off : end;
		uint64_t bias;

		if (row->file_off >= end)
			break;
		if (elf_image_vaddr_of(img, row->file_off, &bias) < 0) {
			tally->wrong++;
			continue;
		}
		bias -= row->file_off;
		for (uint64_t off = row->file_off; off < stop; off += STEP)
			compare(unwind_rows_rule(rows, i), cfi, off + bias, tally);
	}
}

static bool check_program(const char *path)
{
	_cleanup_(unwind_rows_fini) struct unwind_rows rows = { 0 };
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct tally tally = { 0 };
	struct err err = { 0 };
	uint64_t lo, hi;
	Dwarf_CFI *cfi;
	Dwarf *dw;

	if (fd < 0 || elf_image_open(&img, fd, &err) < 0 ||
	    unwind_go_rows(&rows, img, &lo, &hi, &err) < 0) {
		fprintf(stderr, "%s: %s\n", path, err.msg);
		return false;
	}
	dw = dwarf_begin(fd, DWARF_C_READ);
	cfi = dw ? dwarf_getcfi(dw) : NULL;
	if (!cfi) {
		fprintf(stderr, "%s: no .debug_frame\n", path);
		return false;
	}
	compare_rows(&rows, img, hi, cfi, &tally);
	dwarf_end(dw);
	printf("%s: %zu rows, %zu addresses the same, %zu on other stacks, %zu not known to libdw, "
	       "%zu wrong\n",
	       path, rows.len, tally.same, tally.special, tally.unknown, tally.wrong);
	return !tally.wrong && tally.same > 10000 && tally.unknown < tally.same / 10;
}

int main(int argc, char **argv)
{
	bool ok = argc > 1;

	for (int i = 1; i < argc; i++)
		ok = check_program(argv[i]) && ok;
	return ok ? 0 : 1;
}
