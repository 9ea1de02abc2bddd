/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the code that a control frame of Ruby 2.7 to 4.0 runs (vm_core.h, method.h and iseq.c in
 * Ruby's source). It is an instruction sequence (iseq), which has the label, the file and the lines
 * and whose method has the class, or it is a method written in C. Each object's type is checked
 * before it is used, because it may have been freed since the sample was taken.
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
	BODY_CODE = 8, /* offsets in an iseq's body */
	BODY_FIRST_LINE = 88,
	EVALS_MAX = 16,    /* nesting depth of eval() */
	METHOD_OWNER = 32, /* offsets in a method entry and an svar */
	METHOD_DEF = RUBY_METHOD_DEF,
	SVAR_METHOD = 8,
	CODE_WORDS_MAX = LANG_LINES_MAX / 4,
	PLACE_MASK = (1 << RUBY_PLACE_BITS) - 1,
};

/* ---- lines ---------------------------------------------------------------------- */

static uint64_t index_word(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

uint32_t ruby_index_rank(const uint8_t *index, size_t len, uint32_t pos)
{
	const uint8_t *block;
	uint32_t rank, bit, word;
	uint64_t bits;

	if (pos < RUBY_INDEX_SMALL) {
		if (len < RUBY_INDEX_SMALL_BYTES)
			return 0;
		return index_word(index + 8 * (pos / 9)) >> (pos % 9 * 7) & 0x7f;
	}
	pos -= RUBY_INDEX_SMALL;
	if (RUBY_INDEX_SMALL_BYTES +
		    ((size_t)pos / RUBY_INDEX_BLOCK_BITS + 1) * RUBY_INDEX_BLOCK_BYTES >
	    len)
		return 0;
	block = index + RUBY_INDEX_SMALL_BYTES +
		(size_t)pos / RUBY_INDEX_BLOCK_BITS * RUBY_INDEX_BLOCK_BYTES;
	bit = pos % RUBY_INDEX_BLOCK_BITS;
	word = bit / 64;
	memcpy(&rank, block, sizeof(rank));
	bits = index_word(block + 16 + 8 * word) << (63 - bit % 64);
	if (word)
		rank += index_word(block + 8) >> ((word - 1) * 9) & 0x1ff;
	return rank + (uint32_t)__builtin_popcountll(bits);
}

/* A copy of an iseq's line table: entries of {line, ...}, and the index from positions to them. */
struct table {
	uint8_t *index, *entries;
	size_t index_len;
	uint32_t n_entries, entry_bytes;
};

static void table_fini(struct table *t)
{
	free(t->index);
	free(t->entries);
}

/* Reads @len bytes; the caller frees *@out. */
static int read_bytes(const struct lang_process *p, uint64_t at, size_t len, uint8_t **out)
{
	uint8_t *data = malloc(len);

	if (!data)
		return -ENOMEM;
	if (p->read(p->ctx, at, data, len)) {
		free(data);
		return -EFAULT;
	}
	*out = data;
	return 0;
}

/*
 * Reads the line table; with one entry there is no index. @t owns what was read, on errors as well.
 */
static int read_table(const struct ruby_vm *ruby, const struct lang_process *p, uint64_t body,
		      uint32_t n_words, struct table *t)
{
	uint64_t at = body + ruby_lines_at(ruby), entries, index;
	int r;

	t->entry_bytes = ruby_line_bytes(ruby);
	if (lang_read_u64(p, at, &entries) < 0 ||
	    lang_read_u64(p, at + RUBY_LINES_INDEX, &index) < 0 ||
	    p->read(p->ctx, at + RUBY_LINES_COUNT, &t->n_entries, sizeof(t->n_entries)))
		return -EFAULT;
	if (!t->n_entries || t->n_entries > CODE_WORDS_MAX)
		return -ENOENT;
	r = read_bytes(p, entries, (size_t)t->n_entries * t->entry_bytes, &t->entries);
	if (r < 0 || t->n_entries == 1)
		return r;
	t->index_len = ruby_index_bytes(n_words);
	return read_bytes(p, index, t->index_len, &t->index);
}

/* Computes one line for each word of the code; without a table, none. */
static int read_lines(const struct ruby_vm *ruby, const struct lang_process *p, uint64_t body,
		      uint32_t n_words, struct lang_function *out)
{
	_cleanup_(table_fini) struct table t = { 0 };
	int r = n_words && n_words <= CODE_WORDS_MAX ? read_table(ruby, p, body, n_words, &t)
						     : -ENOENT;

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	out->lines = calloc(n_words, 4);
	if (!out->lines)
		return -ENOMEM;
	out->n_lines = 4 * n_words;
	for (uint32_t i = 0; i < n_words; i++) {
		uint32_t n = t.n_entries == 1 ? 1 : ruby_index_rank(t.index, t.index_len, i);

		if (n && n <= t.n_entries)
			memcpy(out->lines + 4 * i, t.entries + (size_t)(n - 1) * t.entry_bytes, 4);
	}
	return 0;
}

/* Returns the low part of the place for an address in code. */
static uint32_t code_place(uint64_t at)
{
	return (uint32_t)(at >> 3) & PLACE_MASK;
}

uint32_t ruby_line(const struct lang_function *f, uint32_t place)
{
	uint32_t pos = (place - f->bytecode) & PLACE_MASK, line = 0;

	/* the place is the next instruction, so the running one is before it */
	if (pos)
		pos--;
	if (4 * pos + 4 <= f->n_lines)
		memcpy(&line, f->lines + 4 * pos, sizeof(line));
	return line && line <= INT32_MAX ? line : f->first_line;
}

bool ruby_is_suspect(uint64_t addr, const struct lang_function *f, uint32_t place)
{
	uint32_t pos = (place - f->bytecode) & PLACE_MASK;

	/*
	 * Within the known code, the iseq is assumed to be unchanged. If a place is outside of it,
	 * either generated code did not update the place, or another iseq with other code is at the
	 * address.
	 */
	return (addr & RUBY_KIND_MASK) == RUBY_ISEQ && 4 * pos > f->n_lines;
}

bool ruby_is_still(const struct lang_process *p, uint64_t addr, const struct lang_function *f,
		   uint32_t place)
{
	uint64_t body, code;

	return !ruby_is_suspect(addr, f, place) ||
	       lang_read_u64(p, addr + RUBY_ISEQ_BODY, &body) < 0 ||
	       lang_read_u64(p, body + BODY_CODE, &code) < 0 || code_place(code) == f->bytecode;
}

/* ---- names ---------------------------------------------------------------------- */

#define SINGLETON "singleton class"

/*
 * Reads the class of the method entry that a frame's environment refers to, possibly through an
 * svar. Returns NULL if there is none; the caller frees the result.
 */
static char *read_method_class(const struct ruby_vm *ruby, const struct lang_process *p,
			       uint64_t bias, uint64_t method)
{
	uint64_t owner;
	char *class = NULL;
	int imemo;

	if (ruby_type_of(p, method, &imemo) != RUBY_T_IMEMO)
		return NULL;
	if (imemo == RUBY_IMEMO_SVAR && (lang_read_u64(p, method + SVAR_METHOD, &method) < 0 ||
					 ruby_type_of(p, method, &imemo) != RUBY_T_IMEMO))
		return NULL;
	if (imemo != RUBY_IMEMO_METHOD || lang_read_u64(p, method + METHOD_OWNER, &owner) < 0 ||
	    ruby_read_class(ruby, p, bias, owner, &class) < 0)
		return NULL;
	return class;
}

/* Returns the method within a label: "foo" in "block (2 levels) in foo". */
static const char *label_method(const char *label)
{
	const char *method = label;

	for (const char *at = label; (at = strstr(at, " in ")); at += 4)
		method = at + 4;
	return method;
}

/*
 * Skips the prefix of rescue and ensure clauses: from 3.4 on, Ruby's backtraces merge them with
 * their method.
 */
static const char *skip_rescue(const struct ruby_vm *ruby, const char *label)
{
	while (ruby->version >= RUBY_FIRST_COMPILED &&
	       (!strncmp(label, "rescue in ", 10) || !strncmp(label, "ensure in ", 10)))
		label += 10;
	return label;
}

/*
 * Inserts the class: "foo" becomes "Thing#foo", "block in foo" becomes "block in Thing#foo".
 * "<main>" and similar labels have no class. @method points into @label; @as replaces it.
 */
static int join_label(const char *class, const char *label, const char *method, const char *as,
		      char **out)
{
	if (!class || (as[0] == '<' && isalpha((unsigned char)as[1])) || !strcmp(as, SINGLETON))
		class = "";
	return asprintf(out, "%.*s%s%s", (int)(method - label), label, class, as) < 0 ? -ENOMEM : 0;
}

static int read_label(const struct ruby_vm *ruby, const struct lang_process *p, uint64_t body,
		      char **out)
{
	uint64_t at;

	return lang_read_u64(p, body + RUBY_BODY_LABEL, &at) < 0
		       ? -EFAULT
		       : ruby_read_string(ruby, p, at, out);
}

/*
 * Finds the label of the code that surrounds code of eval(), as Ruby's backtraces show it from 3.4
 * on.
 * *@out is NULL if the code is not evaluated; the caller frees it. Return: 0, or -ENOMEM.
 */
static int read_surrounding(const struct ruby_vm *ruby, const struct lang_process *p, uint64_t body,
			    const char *method, char **out)
{
	_cleanup_(freep) char *label = NULL;
	uint64_t parent;

	*out = NULL;
	for (int i = 0; i < EVALS_MAX && ruby->version >= RUBY_FIRST_COMPILED; i++) {
		if (strcmp(label ? label_method(label) : method, "<compiled>") != 0)
			break;
		freep(&label);
		label = NULL;
		if (lang_read_u64(p, body + ruby_parent_at(ruby), &parent) < 0 ||
		    lang_read_u64(p, parent + RUBY_ISEQ_BODY, &body) < 0 ||
		    read_label(ruby, p, body, &label) < 0)
			return 0;
	}
	if (label)
		*out = strdup(label_method(label));
	return label && !*out ? -ENOMEM : 0;
}

/* Reads the file of an iseq and makes its name of class and label. */
static int read_iseq_name(const struct ruby_vm *ruby, const struct lang_process *p, uint64_t bias,
			  uint64_t body, uint64_t method, struct lang_function *out)
{
	_cleanup_(freep) char *label = NULL, *class = NULL, *around = NULL;
	const char *method_label, *own;
	uint64_t path;
	int r;

	if (lang_read_u64(p, body + RUBY_BODY_PATH, &path) < 0)
		return -EFAULT;
	/* pathobj is the path, or an array of the path and the real path */
	if (ruby_type_of(p, path, NULL) == RUBY_T_ARRAY && lang_read_u64(p, path + 16, &path) < 0)
		return -EFAULT;
	r = read_label(ruby, p, body, &label);
	if (r == 0)
		r = ruby_read_string(ruby, p, path, &out->file);
	if (r < 0)
		return r;
	method_label = label_method(label);
	r = read_surrounding(ruby, p, body, method_label, &around);
	if (r < 0)
		return r;
	class = read_method_class(ruby, p, bias, method);
	own = skip_rescue(ruby, label);
	out->covers_caller = own != label;
	return join_label(class, own, method_label, around ? around : method_label, &out->name);
}

static int read_iseq(const struct ruby_vm *ruby, const struct lang_process *p, uint64_t bias,
		     uint64_t iseq, uint64_t method, struct lang_function *out)
{
	uint64_t body, code, first;
	uint32_t n_words;
	int imemo, r;

	if (ruby_type_of(p, iseq, &imemo) != RUBY_T_IMEMO || imemo != RUBY_IMEMO_ISEQ ||
	    lang_read_u64(p, iseq + RUBY_ISEQ_BODY, &body) < 0 ||
	    p->read(p->ctx, body + RUBY_BODY_SIZE, &n_words, sizeof(n_words)) ||
	    lang_read_u64(p, body + BODY_CODE, &code) < 0 ||
	    lang_read_u64(p, body + BODY_FIRST_LINE, &first) < 0)
		return -ESTALE;
	/* an object (a small integer, shifted left by one), or an int */
	first = ruby->version < RUBY_FIRST_PLAIN_LINE ? first >> 1 : first & UINT32_MAX;
	out->first_line = first <= INT32_MAX ? (uint32_t)first : 0;
	out->bytecode = code_place(code);
	r = read_iseq_name(ruby, p, bias, body, method, out);
	return r < 0 ? r : read_lines(ruby, p, body, n_words, out);
}

/* Reads a method written in C: CLASS#NAME, or NAME if the class is unknown. */
static int read_cfunc(const struct ruby_vm *ruby, const struct lang_process *p, uint64_t bias,
		      uint64_t method, uint32_t cookie, struct lang_function *out)
{
	_cleanup_(freep) char *class = NULL, *name = NULL;
	uint64_t def, id;
	int imemo, r;

	if (ruby_type_of(p, method, &imemo) != RUBY_T_IMEMO || imemo != RUBY_IMEMO_METHOD ||
	    lang_read_u64(p, method + METHOD_DEF, &def) < 0)
		return -ESTALE;
	r = lang_check_cookie(cookie, def);
	if (r < 0 || lang_read_u64(p, def + RUBY_DEF_NAME, &id) < 0)
		return -ESTALE;
	r = ruby_read_symbol(ruby, p, bias, id, &name);
	if (r < 0)
		return r;
	class = read_method_class(ruby, p, bias, method);
	out->file = strdup("");
	return !out->file || asprintf(&out->name, "%s%s", class ? class : "", name) < 0 ? -ENOMEM
											: 0;
}

/* Names garbage collection by its phase, which the walk recorded above the kind. */
static int read_gc(uint64_t addr, struct lang_function *out)
{
	static const char *const names[] = { "(garbage collection)",
					     "(garbage collection: marking)",
					     "(garbage collection: sweeping)",
					     "(garbage collection: compacting)" };

	out->name = strdup(names[addr >> RUBY_KIND_BITS & RUBY_GC_PHASE_MASK]);
	out->file = strdup("");
	return out->name && out->file ? 0 : -ENOMEM;
}

int ruby_read(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
	      uint64_t addr, uint32_t cookie, struct lang_function *out)
{
	const struct ruby_vm *ruby = &tables->ruby[vm];
	uint64_t at = addr & ~(uint64_t)RUBY_KIND_MASK;
	uint64_t top = out->place >> RUBY_PLACE_BITS, method = (top << 32 | cookie) << 3;
	uint64_t bias = p->bias ? p->bias(p->ctx, vm) : 0;
	int r;

	if ((addr & RUBY_KIND_MASK) == RUBY_GC)
		return read_gc(addr, out);
	if ((addr & RUBY_KIND_MASK) == RUBY_CFUNC)
		r = read_cfunc(ruby, p, bias, at, cookie, out);
	else
		r = read_iseq(ruby, p, bias, at, method, out);
	return r == 0 || r == -ENOMEM ? r : -ESTALE;
}
