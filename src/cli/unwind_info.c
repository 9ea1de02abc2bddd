/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cameo unwind-info FILE`: prints the rows from which stacks are unwound, for debugging. Rows come
 * from .eh_frame, and from the code itself where that has gaps, like those of a recording
 * (unwind/rows.h); gaps are swept completely, not only where samples need it.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/sigbus.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "elf/image.h"
#include "options/arguments.h"
#include "unwind/file_rows.h"
#include "unwind/rule_text.h"

/* An offset that no segment maps is printed as the address too. */
static void print_row(const struct elf_image *img, const struct unwind_rows *rows, size_t i)
{
	char text[UNWIND_RULE_TEXT_MAX];
	uint64_t off = rows->data[i].file_off, vaddr = off;

	(void)elf_image_vaddr_of(img, off, &vaddr);
	unwind_rule_text(unwind_rows_rule(rows, i), text);
	printf("%10" PRIx64 "  %10" PRIx64 "  %s\n", vaddr, off, text);
}

/* The argument of print_table(), and the reason of its failure. */
struct job {
	int fd;
	struct err err;
};

/* Runs under sigbus_run(), since the file may shrink. */
static int print_table(void *ctx)
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
	printf("%zu rows, %u unsupported\n", rows.len, rows.n_unsupported);
	unwind_rows_fini(&rows);
	return r;
}

/*
 * The rows that were read before an error are printed nevertheless: they show where it is.
 * O_NONBLOCK keeps open() from waiting for the other end of a FIFO.
 */
static int unwind_info(const char *path)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct job job = { .fd = fd };
	int r;

	if (fd < 0)
		return cli_fail("cannot open \"%s\": %s", path, strerror(errno));
	r = sigbus_run(print_table, &job);
	if (r < 0)
		return cli_fail("\"%s\": %s", path, job.err.msg[0] ? job.err.msg : strerror(-r));
	return 0;
}

static int run_command(int argc, char **argv)
{
	const struct option_set no_options[] = { { 0 } };
	struct operands paths = { 0 };
	int r = cli_parse(&unwind_info_command, no_options, 0, argc, argv, &paths);

	if (r == CLI_CONTINUE)
		r = paths.len == 1 ? unwind_info(paths.data[0])
				   : cli_fail_usage("expected exactly one ELF file");
	cli_fini(no_options, &paths);
	return r;
}

const struct command unwind_info_command = {
	.name = "unwind-info",
	.summary = "print the unwind table of an executable",
	.synopsis = "FILE",
	.description = "Print each row of the unwind table of an ELF file: the address, the offset "
		       "in the file, and the rule that leads from there to the caller's frame.",
	.options = COMMAND_OPTIONS(NULL),
	.examples =
		COMMAND_EXAMPLES({ "Print the unwind table of ls", "cameo unwind-info /bin/ls" }),
	.run = run_command,
};
