/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cameo COMMAND ...: finds the command and runs it.
 *
 * The same program is also its own helper processes: role_main() does not return in
 * these and is therefore called before anything else. Options without a command
 * belong to `up`.
 */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "disasm/disasm.h"
#include "export/exporter_role.h"
#include "opener/opener.h"
#include "options/help.h"
#include "reader/reader.h"
#include "roles/role.h"
#include "symbol/worker.h"

enum { LARGE_BYTES = 256 << 10 };

static int print_usage(void)
{
	struct buf text = { 0 };

	help_program(&text, &cameo_program);
	if (buf_error(&text) == 0)
		fwrite(text.data, 1, text.len, stdout);
	buf_fini(&text);
	return 0;
}

/*
 * Large blocks, such as the input of an unwind table, return to the kernel at free(). Without this,
 * glibc raises the threshold with every block it frees, and retains pieces of up to 32 MiB.
 */
static void return_large_blocks(void)
{
	mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
}

static void ignore_signal(int sig)
{
	(void)sig;
}

/*
 * Under a limit of file size (RLIMIT_FSIZE), a write must fail with EFBIG, so that it is reported
 * and unfinished files are removed, instead of ending the process. A handler is used because
 * commands that are started would inherit SIG_IGN.
 */
static void report_file_size_limit(void)
{
	const struct sigaction action = { .sa_handler = ignore_signal, .sa_flags = SA_RESTART };

	(void)sigaction(SIGXFSZ, &action, NULL);
}

static int run_command(const struct command *c, int argc, char **argv)
{
	static char name[64]; /* the prefix of error messages: see cli_fail() */

	snprintf(name, sizeof(name), "cameo %s", c->name);
	program_invocation_name = argv[0] = name;
	return c->run(argc, argv);
}

int main(int argc, char **argv)
{
	const struct role *const roles[] = { &reader_role, &symbolizer_role, &opener_role,
					     &exporter_role, &disassembler_role };

	return_large_blocks();
	role_main(argc, argv, roles, sizeof(roles) / sizeof(*roles));
	program_invocation_name = (char *)"cameo";
	report_file_size_limit();
	if (argc < 2)
		return run_command(&up_command, argc, argv);
	if (argc > 2 && !strcmp(argv[1], "help")) { /* help COMMAND is COMMAND --help */
		argv[1] = argv[2];
		argv[2] = (char *)"--help";
		argc = 3;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))
		return print_usage();
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		printf("cameo %s\n", cameo_program.version);
		return 0;
	}
	if (argv[1][0] == '-')
		return run_command(&up_command, argc, argv);
	for (size_t i = 0; cameo_program.commands[i]; i++)
		if (!strcmp(argv[1], cameo_program.commands[i]->name))
			return run_command(cameo_program.commands[i], argc - 1, argv + 1);
	return cli_fail_usage("no such command: \"%s\" (\"cameo --help\" lists them)", argv[1]);
}
