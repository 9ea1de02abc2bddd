/* SPDX-License-Identifier: Apache-2.0 */
/*
 * getopt_long() and argp are not used because they print their own messages, of several lines, and
 * know neither types nor several tables at once.
 */
#include "options/arguments.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "options/option.h"

enum { LABEL_LEN = 42, IMPLIED_LEN = 24 };

struct parser {
	const struct option_set *sets;
	unsigned int flags;
	int argc;
	char *const *argv;
	int next; /* the argument to be read next */
	struct operands *out;
};

/* An option that was found on the command line. */
struct found {
	const struct option_set *set;
	const struct option_spec *spec;
	char label[LABEL_LEN]; /* "--freq" or "-F", for messages */
	const char *attached;  /* value after '=' or the letter; NULL: none */
};

static int unknown(const char *word, struct err *err)
{
	return err_set(err, -EINVAL, "unknown option %.60s (--help lists the options)", word);
}

/* Finds the option @name: exactly, or by a prefix that only one option has. */
static int find_name(const struct parser *p, const char *name, size_t len, struct found *f,
		     struct err *err)
{
	for (const struct option_set *s = p->sets; s->specs; s++) {
		f->set = s;
		f->spec = option_find(s->specs, name, len);
		if (f->spec)
			return 0;
	}
	for (const struct option_set *s = p->sets; len && s->specs; s++) {
		for (const struct option_spec *o = s->specs; o->kind != OPTION_END; o++) {
			if (!o->name || strncmp(o->name, name, len) != 0)
				continue;
			if (f->spec)
				return err_set(err, -EINVAL, "--%.*s is ambiguous: --%s or --%s",
					       (int)len, name, f->spec->name, o->name);
			f->set = s;
			f->spec = o;
		}
	}
	return f->spec ? 0 : unknown(p->argv[p->next - 1], err);
}

static int find_letter(const struct parser *p, char letter, struct found *f, struct err *err)
{
	for (const struct option_set *s = p->sets; s->specs; s++) {
		f->set = s;
		f->spec = option_find_letter(s->specs, letter);
		if (f->spec)
			return 0;
	}
	return unknown(p->argv[p->next - 1], err);
}

/* Returns the value of an option that has none: "yes", or the first of its choices in @word. */
static const char *implied_value(const struct option_spec *o, char word[IMPLIED_LEN])
{
	if (o->kind != OPTION_CHOICE)
		return "yes";
	snprintf(word, IMPLIED_LEN, "%.*s", (int)strcspn(o->arg, "|"), o->arg);
	return word;
}

/*
 * Assigns the value of an option: the attached one, the next argument, or the value that the option
 * implies.
 */
static int assign(struct parser *p, const struct found *f, struct err *err)
{
	const char *value = f->attached;
	char word[IMPLIED_LEN];

	if (value && f->spec->kind == OPTION_FLAG)
		return err_set(err, -EINVAL, "%s does not accept a value", f->label);
	if (!value && !option_takes_value(f->spec))
		value = implied_value(f->spec, word);
	if (!value && p->next >= p->argc)
		return err_set(err, -EINVAL, "%s requires a value: %s", f->label, f->spec->arg);
	if (!value)
		value = p->argv[p->next++];
	return option_assign(f->set, f->spec, f->label, value, err);
}

/* Options after --help are not checked: the help is printed in any case. */
static int parse_long(struct parser *p, const char *word, struct err *err)
{
	const char *name = word + 2, *equals = strchr(name, '=');
	size_t len = equals ? (size_t)(equals - name) : strlen(name);
	struct found f = { .attached = equals ? equals + 1 : NULL };
	int r;

	if (!strcmp(name, "help"))
		return ARGUMENTS_HELP;
	r = find_name(p, name, len, &f, err);
	if (r < 0)
		return r;
	snprintf(f.label, sizeof(f.label), "--%s", f.spec->name);
	return assign(p, &f, err);
}

/*
 * Letters can be combined: -vF99 is -v -F 99. The rest of the word is the value of the first letter
 * that takes one. -h is --help unless a table uses that letter.
 */
static int parse_letters(struct parser *p, const char *letters, struct err *err)
{
	int r = 0;

	for (; *letters && r == 0; letters++) {
		struct found f = { 0 };

		if (*letters == 'h' && find_letter(p, 'h', &f, NULL) < 0)
			return ARGUMENTS_HELP;
		r = find_letter(p, *letters, &f, err);
		if (r < 0)
			return r;
		snprintf(f.label, sizeof(f.label), "-%c", *letters);
		if (!option_takes_value(f.spec)) {
			r = assign(p, &f, err);
			continue;
		}
		f.attached = letters[1] ? letters + 1 : NULL;
		return assign(p, &f, err);
	}
	return r;
}

static int add_operand(struct parser *p, char *word, struct err *err)
{
	if (p->flags & ARGUMENTS_NO_OPERANDS)
		return err_set(err, -EINVAL, "unexpected argument \"%.60s\"", word);
	return vec_push(p->out, word);
}

int arguments_parse(const struct option_set *sets, unsigned int flags, int argc, char *const *argv,
		    struct operands *out, struct err *err)
{
	struct parser p = { sets, flags, argc, argv, 1, out };
	bool only_operands = false;
	int r = 0;

	while (r == 0 && p.next < argc) {
		char *word = argv[p.next++];

		if (only_operands || word[0] != '-' || !word[1]) {
			r = add_operand(&p, word, err);
			only_operands |= (flags & ARGUMENTS_STOP_AT_OPERAND) != 0;
		} else if (!strcmp(word, "--")) {
			only_operands = true;
		} else if (word[1] == '-') {
			r = parse_long(&p, word, err);
		} else {
			r = parse_letters(&p, word + 1, err);
		}
	}
	return r == -ENOMEM ? err_set(err, r, "out of memory") : r;
}
