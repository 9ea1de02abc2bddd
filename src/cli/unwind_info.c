/* SPDX-License-Identifier: Apache-2.0 */
/* `cameo unwind-info FILE [OFFSET...]`: the rows that the walk would use, for debugging. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/sigbus.h"
#include "cli/cli.h"
#include "elf/image.h"
#include "unwind/rows.h"

static const char *const cfa_text[UNWIND_CFA_MAX] = {
	[UNWIND_CFA_NONE] = "none",
	[UNWIND_CFA_END] = "end",
	[UNWIND_CFA_RSP] = "rsp",
	[UNWIND_CFA_RBP] = "rbp",
	[UNWIND_CFA_RBX] = "rbx",
	[UNWIND_CFA_REG] = "reg",
	[UNWIND_CFA_RSP_DEREF] = "*rsp",
	[UNWIND_CFA_RBP_DEREF] = "*rbp",
	[UNWIND_CFA_PLT] = "plt",
	[UNWIND_CFA_SIGNAL] = "signal",
	[UNWIND_CFA_FP] = "frame-pointer",
	[UNWIND_CFA_GO_ASMCGOCALL] = "go-asmcgocall",
	[UNWIND_CFA_RSP_RA_REG] = "rsp, ra in reg",
	[UNWIND_CFA_RSP_INDEX] = "*rsp+8*reg",
	[UNWIND_CFA_SWITCHED] = "switched",
};

static void print_saved(const char *reg, uint8_t how, int off)
{
	switch (how) {
	case UNWIND_SAVED_CFA:
		printf("  %s at cfa%+d", reg, off);
		break;
	case UNWIND_SAVED_RBP:
		printf("  %s at rbp%+d", reg, off);
		break;
	case UNWIND_SAVED_UNDEF:
		printf("  %s lost", reg);
		break;
	default:
		break;
	}
}

static void print_row(const struct elf_image *img, const struct unwind_rows *rows, size_t i)
{
	const struct unwind_rule *u = unwind_rows_rule(rows, i);
	uint64_t off = rows->data[i].file_off, vaddr = off;

	(void)elf_image_vaddr_of(img, off, &vaddr);
	printf("%10" PRIx64 "  %10" PRIx64 "  %s", vaddr, off,
	       u->cfa < UNWIND_CFA_MAX && cfa_text[u->cfa] ? cfa_text[u->cfa] : "?");
	if (u->cfa == UNWIND_CFA_REG || u->cfa == UNWIND_CFA_RSP_RA_REG ||
	    u->cfa == UNWIND_CFA_RSP_INDEX)
		printf("%u", u->cfa_reg);
	if (u->cfa >= UNWIND_CFA_RSP && u->cfa <= UNWIND_CFA_SIGNAL)
		printf("%+d", u->cfa_off);
	if (u->cfa == UNWIND_CFA_RSP_DEREF || u->cfa == UNWIND_CFA_RBP_DEREF)
		printf(" %+d", u->cfa_add);
	if ((u->cfa == UNWIND_CFA_RSP || u->cfa == UNWIND_CFA_RBP) && u->cfa_reg)
		printf("  %s", u->cfa_reg == UNWIND_SWEPT ? "guessed" : "injected");
	print_saved("rbp", u->rbp, u->rbp_off);
	print_saved("rbx", u->rbx, u->rbx_off);
	if (u->ra_off != -8 && u->cfa > UNWIND_CFA_END)
		printf("  ra at cfa%+d", u->ra_off);
	putchar('\n');
}

struct job {
	int fd;
	struct err err;
};

static int show(void *ctx)
{
	struct job *job = ctx;
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	struct unwind_rows rows = { .sweep_all = true };
	int r = elf_image_open(&img, job->fd, &job->err);

	if (r < 0)
		return r;
	r = unwind_rows_from_file(&rows, img, &job->err);
	puts("   address      offset  cfa");
	for (size_t i = 0; i < rows.len; i++)
		print_row(img, &rows, i);
	printf("%zu rows, %u not supported\n", rows.len, rows.n_unsupported);
	unwind_rows_fini(&rows);
	return r;
}

int cli_unwind_info(int argc, char **argv)
{
	_cleanup_(closep) int fd = -1;
	struct job job = { 0 };
	int r;

	if (argc != 2 || !strcmp(argv[1], "--help")) {
		fputs("Usage: cameo unwind-info FILE\nShows each row of FILE's unwind table: "
		      "address, file "
		      "offset, where the caller's frame is.\nExample: cameo unwind-info /bin/ls\n",
		      argc == 2 ? stdout : stderr);
		return argc == 2 ? 0 : EXIT_USAGE;
	}
	fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return cli_fail("can't open %s: %s", argv[1], strerror(errno));
	job.fd = fd;
	r = sigbus_run(show, &job);
	if (r < 0)
		return cli_fail("%s: %s", argv[1], job.err.msg[0] ? job.err.msg : strerror(-r));
	return 0;
}
