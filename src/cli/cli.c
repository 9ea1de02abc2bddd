/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors begin with the name of the command, "cameo record: ...", which main() has stored in
 * program_invocation_name.
 */
#include "cli/cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "cli/commands.h"
#include "cli/text.h"
#include "codec/format.h"
#include "options/arguments.h"
#include "options/help.h"

/*
 * Errors are one line without a full stop, like those of git and coreutils, so that scripts can
 * match them.
 */
__attribute__((format(printf, 1, 0))) static void print_error(const char *fmt, va_list ap)
{
	_cleanup_(freep) char *message = NULL, *line = NULL;

	if (vasprintf(&message, fmt, ap) < 0 ||
	    asprintf(&line, "%s: %s", program_invocation_name, message) < 0)
		return;
	text_print_message(line);
}

int cli_fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_error(fmt, ap);
	va_end(ap);
	return EXIT_FAILURE;
}

int cli_fail_usage(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_error(fmt, ap);
	va_end(ap);
	return EXIT_USAGE;
}

/* Help is the output of this call, so it goes to standard output; errors never print it. */
int cli_help(const struct command *c)
{
	_cleanup_(buf_fini) struct buf text = { 0 };

	help_command(&text, &cameo_program, c);
	if (buf_error(&text) < 0)
		return cli_fail("out of memory");
	fwrite(text.data, 1, text.len, stdout);
	return 0;
}

/* Defaults are set first, so that a table's presets need no code in the command. */
int cli_parse(const struct command *c, const struct option_set *sets, unsigned int flags, int argc,
	      char **argv, struct operands *out)
{
	struct err err = { 0 };
	int r = 0;

	for (size_t i = 0; r == 0 && sets[i].specs; i++)
		r = option_set_init(&sets[i]);
	if (r == 0)
		r = arguments_parse(sets, flags, argc, argv, out, &err);
	if (r == ARGUMENTS_HELP)
		return cli_help(c);
	return r < 0 ? cli_fail_usage("%s", err.msg[0] ? err.msg : strerror(-r)) : CLI_CONTINUE;
}

void cli_fini(const struct option_set *sets, struct operands *operands)
{
	for (size_t i = 0; sets[i].specs; i++)
		option_set_fini(&sets[i]);
	if (operands)
		vec_fini(operands);
}

/*
 * The suffix is ignored if @id is given, so a file can have any name. Standard output has no
 * suffix.
 */
int cli_output_format(const char *path, const char *option, const char *id, const char *fallback,
		      const struct format **out, struct err *err)
{
	const struct format *f;

	if (!id && !strcmp(path, "-"))
		id = fallback;
	f = id ? format_by_id(id) : format_by_name(path);
	if (id && (!f || !format_can_write(f)))
		return err_set(err, -EINVAL, "%s \"%.60s\": expected one of %s", option, id,
			       format_writable_ids());
	if (!f && !strcmp(path, "-"))
		return err_set(err, -EINVAL,
			       "standard output has no suffix that selects a format: use %s FORMAT",
			       option);
	if (!f)
		return err_set(err, -EINVAL,
			       "\"%.60s\" has no known suffix: use one of %s, or %s FORMAT", path,
			       format_suffixes(), option);
	*out = f;
	return 0;
}
