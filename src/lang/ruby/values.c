/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the objects of Ruby that names consist of: strings, symbols and classes
 * (include/ruby/internal/core/ and internal/class.h in Ruby's source). The offset of a class's name
 * differs between versions and builds, so it is searched for in the class Object, whose name is
 * known.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "lang/find.h"
#include "lang/ruby/ruby.h"

enum {
	TYPE_MASK = 0x1f, /* in an object's flags */
	USER_SHIFT = 12,
	FIRST_FIELDS = 303, /* from here on, the name of a class is one of its fields */
	OBJECT_CLASS = 8,
	CLASS_EXT = 24,   /* the extension of a class: a pointer to it, or its first word */
	CLASS_WORDS = 32, /* words of an extension that are searched */
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
	struct ruby_text text;
	__u64 string[RUBY_STRING_BYTES / 8];

	if (ruby_type_of(p, v, NULL) != RUBY_T_STRING || p->read(p->ctx, v, string, sizeof(string)))
		return -EFAULT;
	text = ruby_text_of(ruby, v, string);
	return lang_read_text(p, text.at, text.len, out);
}

/* Reads element @i of the array @v. */
static int read_element(const struct lang_process *p, uint64_t v, uint64_t i, uint64_t *out)
{
	uint64_t flags, data = v + 16;

	if (ruby_type_of(p, v, NULL) != RUBY_T_ARRAY || lang_read_u64(p, v, &flags) < 0 ||
	    (!(flags & RUBY_EMBEDDED_ARRAY) && lang_read_u64(p, v + 32, &data) < 0))
		return -EFAULT;
	return lang_read_u64(p, data + 8 * i, out);
}

int ruby_read_symbol(const struct ruby_vm *ruby, const struct lang_process *p, uint64_t bias,
		     uint64_t id, char **out)
{
	uint64_t serial = ruby_symbol_serial(ruby, id);
	uint64_t ids, page, text;
	int r;

	if (!ruby->symbols || !id || serial > UINT32_MAX)
		return -ENOENT;
	r = lang_read_u64(p, bias + ruby->symbols + RUBY_SYMBOLS_IDS, &ids);
	if (r == 0)
		r = read_element(p, ids, serial / RUBY_SYMBOLS_A_PAGE, &page);
	if (r == 0)
		r = read_element(p, page, serial % RUBY_SYMBOLS_A_PAGE * 2, &text);
	return r < 0 ? r : ruby_read_string(ruby, p, text, out);
}

/* ---- classes ------------------------------------------------------------------ */

/* Reads a string if it is the name of a constant, such as Some::Thing. Return: 0, or -ENOENT. */
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

/*
 * Reads the variable @name of the class @v, up to 3.1: a class has a table (st_table) whose entries
 * are hash, symbol and value.
 */
static int read_variable(const struct ruby_vm *ruby, const struct lang_process *p, uint64_t bias,
			 uint64_t v, const char *name, uint64_t *out)
{
	uint64_t ext, table, entries, n, entry[3];

	if (lang_read_u64(p, v + CLASS_EXT, &ext) < 0 ||
	    lang_read_u64(p, ext + EXT_VARIABLES, &table) < 0 || !table ||
	    lang_read_u64(p, table + TABLE_ENTRIES, &entries) < 0 ||
	    lang_read_u64(p, table + TABLE_BOUND, &n) < 0)
		return -ENOENT;
	for (uint64_t i = 0; i < n && i < VARIABLES_MAX; i++) {
		_cleanup_(freep) char *text = NULL;

		if (p->read(p->ctx, entries + sizeof(entry) * i, entry, sizeof(entry)) == 0 &&
		    ruby_read_symbol(ruby, p, bias, entry[1], &text) == 0 && !strcmp(text, name)) {
			*out = entry[2];
			return 0;
		}
	}
	return -ENOENT;
}

/*
 * Offsets in a class, from 3.3 on: of its name and, in a singleton class, of the object that it
 * belongs to. They are found in the class Object and in its singleton class, which is the class
 * that Object's header refers to.
 */
struct class_layout {
	uint64_t name, attached; /* attached: 0 if unknown */
};

/* Returns the offset in a class of the word @what of its extension; 0 if there is none. */
static uint64_t find_word(const uint64_t *words, size_t n, uint64_t what)
{
	for (size_t i = 0; i < n; i++)
		if (words[i] == what)
			return CLASS_EXT + 8 * i;
	return 0;
}

static int find_layout(const struct ruby_vm *ruby, const struct lang_process *p, uint64_t bias,
		       struct class_layout *out)
{
	uint64_t object, singleton, words[CLASS_WORDS];

	*out = (struct class_layout){ 0 };
	if (!ruby->object_class || lang_read_u64(p, bias + ruby->object_class, &object) < 0 ||
	    lang_read_u64(p, object + OBJECT_CLASS, &singleton) < 0 ||
	    p->read(p->ctx, singleton + CLASS_EXT, words, sizeof(words)))
		return -ENOENT;
	out->attached = find_word(words, CLASS_WORDS, object);
	if (p->read(p->ctx, object + CLASS_EXT, words, sizeof(words)))
		return -ENOENT;
	for (size_t i = 0; i < CLASS_WORDS && !out->name; i++) {
		_cleanup_(freep) char *text = NULL;

		if (read_constant(ruby, p, words[i], &text) == 0 && !strcmp(text, "Object"))
			out->name = CLASS_EXT + 8 * i;
	}
	return out->name ? 0 : -ENOENT;
}

/*
 * Reads the name of the class @v or, with @attached, the object that the singleton class @v belongs
 * to.
 */
static int read_part(const struct ruby_vm *ruby, const struct lang_process *p, uint64_t bias,
		     uint64_t v, bool attached, uint64_t *out)
{
	struct class_layout layout;
	uint64_t at;

	if (ruby->version < RUBY_FIRST_VARIABLE)
		return read_variable(ruby, p, bias, v, attached ? "__attached__" : "__classpath__",
				     out);
	if (ruby->version < FIRST_FIELDS)
		/* 3.2 has the variables in an array without names; the one needed is the first */
		return lang_read_u64(p, v + CLASS_EXT, &at) < 0 ? -ENOENT
								: lang_read_u64(p, at, out);
	if (find_layout(ruby, p, bias, &layout) < 0 || (attached && !layout.attached))
		return -ENOENT;
	return lang_read_u64(p, v + (attached ? layout.attached : layout.name), out);
}

/* Reads the name of a class or module that has one. */
static int read_own_name(const struct ruby_vm *ruby, const struct lang_process *p, uint64_t bias,
			 uint64_t v, char **out)
{
	int type = ruby_type_of(p, v, NULL);
	uint64_t name;

	if ((type != RUBY_T_CLASS && type != RUBY_T_MODULE) ||
	    read_part(ruby, p, bias, v, false, &name) < 0)
		return -ENOENT;
	return read_constant(ruby, p, name, out);
}

int ruby_read_class(const struct ruby_vm *ruby, const struct lang_process *p, uint64_t bias,
		    uint64_t v, char **out)
{
	_cleanup_(freep) char *name = NULL;
	const char *separator = "#";
	uint64_t attached;

	if (read_own_name(ruby, p, bias, v, &name) < 0) {
		separator = ".";
		if (ruby_type_of(p, v, NULL) != RUBY_T_CLASS ||
		    read_part(ruby, p, bias, v, true, &attached) < 0 || attached == v ||
		    read_own_name(ruby, p, bias, attached, &name) < 0)
			return -ENOENT;
	}
	return asprintf(out, "%s%s", name, separator) < 0 ? -ENOMEM : 0;
}
