/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts of the option tables contain no markup. Names of options in them are set in bold, and
 * placeholders in a synopsis in italics, because they are recognizable by their spelling.
 */
#include "options/man.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "options/command.h"

/*
 * Appends @n bytes in which man(7) finds no markup. A period begins a request only on a new line.
 */
static void put_escaped(struct buf *out, const char *text, size_t n)
{
	if (n && (*text == '.' || *text == '\''))
		buf_put_str(out, "\\&");
	for (size_t i = 0; i < n; i++) {
		if (text[i] == '-' || text[i] == '\\')
			buf_put_str(out, text[i] == '-' ? "\\-" : "\\e");
		else
			buf_put_byte(out, (uint8_t)text[i]);
	}
}

static void put_styled(struct buf *out, char style, const char *text, size_t n)
{
	buf_printf(out, "\\f%c", style);
	put_escaped(out, text, n);
	buf_put_str(out, "\\fR");
}

/* The bytes at @text that are an option's name, "--keep-days" or "-F"; 0: none. */
static size_t option_name_len(const char *text)
{
	size_t n = strspn(text, "-");

	if (n == 2 && islower((unsigned char)text[2]))
		return 2 + strspn(text + 2, "abcdefghijklmnopqrstuvwxyz-");
	return n == 1 && isalpha((unsigned char)text[1]) && !isalnum((unsigned char)text[2]) ? 2
											     : 0;
}

/* Running text: names of options are bold, and an empty line begins a paragraph with @request. */
static void put_text(struct buf *out, const char *text, const char *request)
{
	for (const char *p = text; *p;) {
		bool starts_word = p == text || strchr(" \n(\"", p[-1]);
		size_t n = starts_word ? option_name_len(p) : 0;

		if (n) {
			put_styled(out, 'B', p, n);
		} else if (p[0] == '\n' && p[1] == '\n') {
			buf_printf(out, "\n%s\n", request);
			n = 2;
		} else {
			n = 1;
			if (*p == '.' && p > text && p[-1] != '\n')
				buf_put_byte(out, '.');
			else
				put_escaped(out, p, 1);
		}
		p += n;
	}
}

/* Sets placeholders, which are in capitals, in italics, and literal text in bold. */
static void put_synopsis(struct buf *out, const char *text, size_t len)
{
	static const char placeholder[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ:_";
	static const char literal[] = "abcdefghijklmnopqrstuvwxyz-0123456789";

	for (size_t i = 0, n; i < len; i += n) {
		n = strspn(text + i, placeholder);
		if (n) {
			put_styled(out, 'I', text + i, n);
			continue;
		}
		n = strspn(text + i, literal);
		if (n)
			put_styled(out, 'B', text + i, n);
		else
			buf_put(out, text + i, n = 1);
	}
}

static void put_head(struct buf *out, const struct program *p, const struct command *c)
{
	const char *form = c ? c->synopsis : "[COMMAND] [OPTION...]";
	const char *dash = c ? "-" : "", *name = c ? c->name : "";

	buf_put_str(out, ".TH ");
	for (const char *s = p->name; *s; s++)
		buf_put_byte(out, (uint8_t)toupper(*s));
	buf_put_str(out, c ? "\\-" : "");
	for (const char *s = name; *s; s++)
		buf_put_byte(out, (uint8_t)toupper(*s));
	buf_printf(out, " 1 \"\" \"%s %s\" \"User Commands\"\n.nh\n.SH NAME\n", p->name,
		   p->version);
	put_escaped(out, p->name, strlen(p->name));
	put_escaped(out, dash, strlen(dash));
	put_escaped(out, name, strlen(name));
	buf_put_str(out, " \\- ");
	put_text(out, c ? c->summary : p->summary, ".PP");
	buf_put_str(out, "\n.SH SYNOPSIS\n");
	for (int i = 0; !i || *form; i++) {
		size_t n = strcspn(form, "\n");

		buf_printf(out, "%s\\fB%s%s", i ? ".br\n" : "", p->name, c ? " " : "");
		put_escaped(out, name, strlen(name));
		buf_put_str(out, "\\fR ");
		put_synopsis(out, form, n);
		buf_put_byte(out, '\n');
		form += n + (form[n] == '\n');
	}
}

static void put_option(struct buf *out, const struct option_spec *o)
{
	buf_put_str(out, ".TP\n");
	if (o->letter)
		buf_printf(out, "\\fB\\-%c\\fR, ", o->letter);
	buf_put_str(out, "\\fB\\-\\-");
	put_escaped(out, o->name, strlen(o->name));
	buf_put_str(out, "\\fR");
	if (option_value_is_optional(o))
		buf_printf(out, "[=\\fI%s\\fR]", o->arg);
	else if (option_takes_value(o)) {
		buf_put_str(out, " ");
		put_styled(out, 'I', o->arg, strlen(o->arg));
	}
	buf_put_byte(out, '\n');
	put_text(out, o->help, ".IP");
	if (o->kind == OPTION_TEXTS)
		buf_put_str(out, "; may be repeated");
	if (o->list) {
		buf_put_str(out, ": ");
		put_text(out, o->list(), ".IP");
	}
	buf_put_str(out, ".\n");
	if (o->details) {
		put_text(out, o->details, ".IP");
		buf_put_byte(out, '\n');
	}
	if (o->preset) {
		buf_put_str(out, "The default is ");
		put_escaped(out, o->preset, strlen(o->preset));
		buf_put_str(out, ".\n");
	}
	if (o->flags & OPTION_FIXED)
		buf_put_str(out, "Changes take effect at the next start.\n");
}

static void put_options(struct buf *out, const struct command *c)
{
	buf_put_str(out, ".SH OPTIONS\n");
	for (size_t i = 0; c->options[i]; i++) {
		for (const struct option_spec *o = c->options[i]; o->kind != OPTION_END; o++) {
			if (o->kind == OPTION_HEADING)
				buf_printf(out, ".SS %s\n", o->help);
			else
				put_option(out, o);
		}
	}
}

static void put_examples(struct buf *out, const struct command *c)
{
	if (!c->examples)
		return;
	buf_put_str(out, ".SH EXAMPLES\n");
	for (const struct command_example *e = c->examples; e->line; e++) {
		buf_put_str(out, ".PP\n");
		put_text(out, e->purpose, ".PP");
		buf_put_str(out, ":\n.PP\n.RS 4\n.EX\n");
		put_escaped(out, e->line, strlen(e->line));
		buf_put_str(out, "\n.EE\n.RE\n");
	}
}

static void put_commands(struct buf *out, const struct program *p)
{
	for (size_t i = 0; p->commands[i]; i++) {
		buf_printf(out, ".TP\n\\fB%s\\-", p->name);
		put_escaped(out, p->commands[i]->name, strlen(p->commands[i]->name));
		buf_put_str(out, "\\fR(1)\n");
		put_text(out, p->commands[i]->summary, ".IP");
		buf_put_byte(out, '\n');
	}
}

static bool is_line(const char *line, size_t n, const char *word)
{
	return strlen(word) == n && !memcmp(line, word, n);
}

int man_page(struct buf *out, const struct program *p, const struct command *c,
	     const char *template)
{
	while (*template) {
		size_t n = strcspn(template, "\n");

		if (is_line(template, n, "@HEAD@")) {
			put_head(out, p, c);
		} else if (c && is_line(template, n, "@OPTIONS@")) {
			put_options(out, c);
		} else if (c && is_line(template, n, "@EXAMPLES@")) {
			put_examples(out, c);
		} else if (is_line(template, n, "@COMMANDS@")) {
			put_commands(out, p);
		} else if (*template == '@') {
			return -EINVAL;
		} else {
			buf_put(out, template, n);
			buf_put_byte(out, '\n');
		}
		template += n + (template[n] == '\n');
	}
	return 0;
}
