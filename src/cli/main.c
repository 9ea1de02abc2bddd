/* SPDX-License-Identifier: Apache-2.0 */
/* cameo COMMAND ...: finds the command and hands over. */
#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "cli/cli.h"
#include "codec/format.h"
#include "symbol/worker.h"

static const struct cli_command commands[] = {
	{ "agent", cli_agent, "profile this machine for ever and send what was seen" },
	{ "convert", cli_convert, "turn profiles into another format" },
	{ "diff", cli_diff, "compare two profiles, and tell changes from noise" },
	{ "doctor", cli_doctor, "tell what this machine allows, and how to mend the rest" },
	{ "record", cli_record, "profile this machine, a process or a command into a file" },
	{ "report", cli_report, "show where the time of a profile goes" },
	{ "server", cli_server, "keep profiles and answer questions about them" },
	{ "symbols", cli_symbols, "name addresses of an executable" },
	{ "top", cli_top, "show what takes the time now" },
	{ "unwind-info", cli_unwind_info, "show the unwind table of an executable" },
	{ "up", cli_up, "profile this machine, keep it and show it: the default" },
	{ "view", cli_view, "show a profile in the browser" },
};

enum { N_COMMANDS = sizeof(commands) / sizeof(commands[0]), LARGE_BYTES = 256 << 10 };

int cli_fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("cameo: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	return 1;
}

int cli_output_format(const char *path, const char *id, const char *fallback,
		      const struct format **out, struct err *err)
{
	const struct format *f;

	if (!id && !strcmp(path, "-"))
		id = fallback;
	f = id ? format_by_id(id) : format_by_name(path);
	if (!f && id)
		return err_set(err, -EINVAL, "unknown format %.60s: one of %s", id, format_ids());
	if (!f && !strcmp(path, "-"))
		return err_set(err, -EINVAL,
			       "standard output has no suffix: --to names the format");
	if (!f)
		return err_set(err, -EINVAL,
			       "unknown format of %.80s: its name must end in one of %s", path,
			       format_suffixes());
	if (!format_can_write(f))
		return err_set(err, -EINVAL, "%s can only be read, not written", format_id(f));
	*out = f;
	return 0;
}

static int usage(FILE *f, int status)
{
	fputs("Usage: cameo COMMAND [OPTION...]\n\n"
	      "A profiler for whole Linux machines: kernel, native and interpreted code in one "
	      "stack.\n\n"
	      "Commands:\n",
	      f);
	for (int i = 0; i < N_COMMANDS; i++)
		fprintf(f, "  %-14s %s\n", commands[i].name, commands[i].summary);
	fputs("\n`cameo COMMAND --help` tells a command's options.\n"
	      "Example: cameo record -d 10 -o cameo.html\n",
	      f);
	return status;
}

/*
 * What an unwind table was built from goes back to the kernel at once: left to
 * itself, glibc keeps ever larger pieces (up to 32 MiB) for the next time.
 */
static void keep_no_memory(void)
{
	mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
}

int main(int argc, char **argv)
{
	char name[64];

	keep_no_memory();
	symbol_worker_main(argc, argv);
	if (argc < 2)
		return cli_up(argc, argv);
	if (argc > 2 && !strcmp(argv[1], "help")) { /* help COMMAND is COMMAND --help */
		argv[1] = argv[2];
		argv[2] = (char *)"--help";
		argc = 3;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))
		return usage(stdout, 0);
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts("cameo " CAMEO_VERSION);
		return 0;
	}
	if (argv[1][0] == '-')
		return cli_up(argc, argv);
	for (int i = 0; i < N_COMMANDS; i++) {
		if (strcmp(argv[1], commands[i].name) != 0)
			continue;
		snprintf(name, sizeof(name), "cameo %s", commands[i].name);
		argv[1] = name;
		return commands[i].run(argc - 1, argv + 1);
	}
	cli_fail("no such command: %s (`cameo --help` lists them)", argv[1]);
	return EXIT_USAGE;
}
