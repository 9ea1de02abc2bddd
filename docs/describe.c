/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints what is generated from the commands' option tables, for the build:
 *
 *	describe man TEMPLATE [COMMAND]
 *	describe bash|zsh|fish
 */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "cli/commands.h"
#include "options/completion.h"
#include "options/man.h"

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; cameo_program.commands[i]; i++)
		if (!strcmp(cameo_program.commands[i]->name, name))
			return cameo_program.commands[i];
	return NULL;
}

static int read_file(const char *path, struct buf *out)
{
	_cleanup_(fclosep) FILE *f = fopen(path, "re");
	int c;

	while (f && (c = getc(f)) != EOF)
		buf_put_byte(out, (uint8_t)c);
	buf_put_byte(out, '\0');
	return f && !ferror(f) ? buf_error(out) : -1;
}

static int describe_page(struct buf *out, const char *template, const char *name)
{
	const struct command *c = name ? find_command(name) : NULL;
	_cleanup_(buf_fini) struct buf text = { 0 };

	if ((name && !c) || read_file(template, &text) < 0)
		return -1;
	return man_page(out, &cameo_program, c, (const char *)text.data);
}

int main(int argc, char **argv)
{
	_cleanup_(buf_fini) struct buf out = { 0 };
	int r = 0;

	if (argc > 2 && !strcmp(argv[1], "man"))
		r = describe_page(&out, argv[2], argv[3]);
	else if (argc == 2 && !strcmp(argv[1], "bash"))
		completion_bash(&out, &cameo_program);
	else if (argc == 2 && !strcmp(argv[1], "zsh"))
		completion_zsh(&out, &cameo_program);
	else if (argc == 2 && !strcmp(argv[1], "fish"))
		completion_fish(&out, &cameo_program);
	else
		r = -1;
	if (r < 0 || buf_error(&out) < 0) {
		fprintf(stderr, "describe: cannot describe %s\n", argc > 2 ? argv[2] : "that");
		return 1;
	}
	fwrite(out.data, 1, out.len, stdout);
	return 0;
}
