/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ruby's objects, as far as names need them: strings, symbols and the names of
 * classes. Where in a class its name is differs from version to version, so it
 * is looked for: the first string that reads like a constant.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "lang/find.h"
#include "lang/ruby/ruby.h"

enum {
	TYPE_MASK = 0x1f, /* of an object's flags */
	USER_SHIFT = 12,
	NOT_EMBEDDED = 1 << 13, /* of a string */
	EMBEDDED_ARRAY = 1 << 13,
	FIRST_VARIABLE = 302, /* from here on an object's size varies */
	EMBEDDED_LEN_SHIFT = 14,
	SYMBOL_SHIFT = 4,
	SYMBOLS_A_PAGE = 512,
	SYMBOLS_IDS = 16, /* in the table of symbols: its pages */
	CLASS_EXT = 24,   /* a class's more, behind it, or pointed to */
	CLASS_WORDS = 32, /* that are looked at */
	EXT_VARIABLES = 8,
	TABLE_ENTRIES = 48,
	TABLE_BOUND = 40,
	VARIABLES_MAX = 32,
};

int ruby_type_of(const struct lang_process *p, uint64_t v, int *out_imemo)
{
	uint64_t flags;

	if (!v || (v & 7) || lang_read_u64(p, v, &flags) < 0)
		return -1;
	if (out_imemo)
		*out_imemo = (int)(flags >> USER_SHIFT & 15);
	return (int)(flags & TYPE_MASK);
}

int ruby_read_string(const struct ruby_vm *ruby, const struct lang_process *p, uint64_t v,
		     char **out)
{
	uint64_t flags, len, data = v + 24;

	if (ruby_type_of(p, v, NULL) != RUBY_T_STRING || lang_read_u64(p, v, &flags) < 0 ||
	    lang_read_u64(p, v + 16, &len) < 0)
		return -EFAULT;
	if (flags & NOT_EMBEDDED) {
		if (lang_read_u64(p, v + 24, &data) < 0)
			return -EFAULT;
	} else if (ruby->version < FIRST_VARIABLE) {
		data = v + 16;
		len = flags >> EMBEDDED_LEN_SHIFT & 31;
	}
	return lang_read_text(p, data, len, out);
}

/* Element @i of the array @v. */
static int read_element(const struct lang_process *p, uint64_t v, uint64_t i, uint64_t *out)
{
	uint64_t flags, data = v + 16;

	if (ruby_type_of(p, v, NULL) != RUBY_T_ARRAY || lang_read_u64(p, v, &flags) < 0 ||
	    (!(flags & EMBEDDED_ARRAY) && lang_read_u64(p, v + 32, &data) < 0))
		return -EFAULT;
	return lang_read_u64(p, data + 8 * i, out);
}

int ruby_read_symbol(const struct ruby_vm *ruby, const struct lang_process *p, uint64_t bias,
		     uint64_t id, char **out)
{
	uint64_t serial = id > ruby->last_operator ? id >> SYMBOL_SHIFT : id;
	uint64_t ids, page, text;
	int r;

	if (!ruby->symbols || !id || serial > UINT32_MAX)
		return -ENOENT;
	r = lang_read_u64(p, bias + ruby->symbols + SYMBOLS_IDS, &ids);
	if (r == 0)
		r = read_element(p, ids, serial / SYMBOLS_A_PAGE, &page);
	if (r == 0)
		r = read_element(p, page, serial % SYMBOLS_A_PAGE * 2, &text);
	return r < 0 ? r : ruby_read_string(ruby, p, text, out);
}

/* ---- classes ------------------------------------------------------------------ */

/* A string that is a constant's name: Thing, Some::Thing. */
static int read_constant(const struct ruby_vm *ruby, const struct lang_process *p, uint64_t v,
			 char **out)
{
	_cleanup_(freep) char *text = NULL;

	if (ruby_type_of(p, v, NULL) != RUBY_T_STRING)
		return -ENOENT;
	if (ruby_read_string(ruby, p, v, &text) < 0 || !isupper((unsigned char)text[0]))
		return -ENOENT;
	for (const char *c = text; *c; c++)
		if (!isalnum((unsigned char)*c) && *c != '_' && *c != ':' && !(*c & 0x80))
			return -ENOENT;
	*out = steal_ptr(&text);
	return 0;
}

/* To 3.1: among the class's variables, of which it is the first. */
static int name_from_variables(const struct ruby_vm *ruby, const struct lang_process *p, uint64_t v,
			       char **out)
{
	uint64_t ext, table, entries, n, value;

	if (lang_read_u64(p, v + CLASS_EXT, &ext) < 0 ||
	    lang_read_u64(p, ext + EXT_VARIABLES, &table) < 0 || !table ||
	    lang_read_u64(p, table + TABLE_ENTRIES, &entries) < 0 ||
	    lang_read_u64(p, table + TABLE_BOUND, &n) < 0)
		return -ENOENT;
	for (uint64_t i = 0; i < n && i < VARIABLES_MAX; i++)
		if (lang_read_u64(p, entries + 24 * i + 16, &value) == 0 &&
		    read_constant(ruby, p, value, out) == 0)
			return 0;
	return -ENOENT;
}

/* From 3.2: a field of what lies behind the class. */
static int name_from_fields(const struct ruby_vm *ruby, const struct lang_process *p, uint64_t v,
			    char **out)
{
	uint64_t value;

	for (uint64_t i = 0; i < CLASS_WORDS; i++)
		if (lang_read_u64(p, v + CLASS_EXT + 8 * i, &value) == 0 &&
		    read_constant(ruby, p, value, out) == 0)
			return 0;
	return -ENOENT;
}

static int read_own_name(const struct ruby_vm *ruby, const struct lang_process *p, uint64_t v,
			 char **out)
{
	int type = ruby_type_of(p, v, NULL);

	if (type != RUBY_T_CLASS && type != RUBY_T_MODULE)
		return -ENOENT;
	return ruby->version < FIRST_VARIABLE ? name_from_variables(ruby, p, v, out)
					      : name_from_fields(ruby, p, v, out);
}

/* The class that the singleton class @v is of: a variable of it, or a field. */
static int read_attached(const struct ruby_vm *ruby, const struct lang_process *p, uint64_t v,
			 char **out)
{
	bool old = ruby->version < FIRST_VARIABLE;
	uint64_t at = v + CLASS_EXT, n = CLASS_WORDS, step = 8, ext, table, value;

	if (old) {
		if (lang_read_u64(p, v + CLASS_EXT, &ext) < 0 ||
		    lang_read_u64(p, ext + EXT_VARIABLES, &table) < 0 || !table ||
		    lang_read_u64(p, table + TABLE_ENTRIES, &at) < 0 ||
		    lang_read_u64(p, table + TABLE_BOUND, &n) < 0)
			return -ENOENT;
		at += 16;
		step = 24;
	}
	for (uint64_t i = 0; i < n && i < VARIABLES_MAX; i++)
		if (lang_read_u64(p, at + step * i, &value) == 0 && value != v &&
		    read_own_name(ruby, p, value, out) == 0)
			return 0;
	return -ENOENT;
}

int ruby_read_class(const struct ruby_vm *ruby, const struct lang_process *p, uint64_t v,
		    char **out)
{
	_cleanup_(freep) char *name = NULL;
	const char *sign = "#";

	if (read_own_name(ruby, p, v, &name) < 0) {
		sign = ".";
		if (ruby_type_of(p, v, NULL) != RUBY_T_CLASS ||
		    read_attached(ruby, p, v, &name) < 0)
			return -ENOENT;
	}
	return asprintf(out, "%s%s", name, sign) < 0 ? -ENOMEM : 0;
}
