/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Copies the memory that names an iseq of Ruby (its body, label, path, lines and the code around
 * it) or a method that is written in C (its entry and symbol). Classes are read from the process:
 * they rarely vanish.
 */
#include "bpf/lib/copy.h"

/* The label of code that eval() compiled, "<compiled>", without its last two bytes. */
#define RUBY_COMPILED_TEXT 0x656c69706d6f633cULL

WALK_FN int ruby_copy_string(__u32 which, __u32 vm, __u64 at)
{
	const struct ruby_vm *ruby = ruby_get(vm);
	__u64 string[RUBY_STRING_BYTES / 8];
	struct ruby_text text;

	if (!ruby || !at || (at & 7) || read_user(string, sizeof(string), at))
		return -1;
	(void)copy_range(which, at, sizeof(string));
	text = ruby_text_of(ruby, at, string);
	return text.len > COPY_TEXT_MAX ? -1 : copy_range(which, text.at, (__u32)text.len);
}

/* True if @label is that of code that eval() compiled. */
WALK_FN int ruby_is_compiled(__u32 vm, __u64 label)
{
	const struct ruby_vm *ruby = ruby_get(vm);
	__u64 string[RUBY_STRING_BYTES / 8];

	return ruby && ruby->version >= RUBY_FIRST_COMPILED &&
	       !read_user(string, sizeof(string), label) &&
	       copy_word(ruby_text_of(ruby, label, string).at) == RUBY_COMPILED_TEXT;
}

/* Copies the path of an iseq: a string, or an array whose first element is the path. */
WALK_FN int ruby_copy_path(__u32 which, __u32 vm, __u64 at)
{
	if ((copy_word(at) & RUBY_TYPE_OF) != RUBY_TYPE_ARRAY)
		return ruby_copy_string(which, vm, at);
	(void)copy_range(which, at, RUBY_ARRAY_DATA + sizeof(__u64));
	return ruby_copy_string(which, vm, copy_word(at + RUBY_ARRAY_DATA));
}

WALK_FN int ruby_copy_lines(__u32 which, __u32 vm, __u64 body)
{
	const struct ruby_vm *ruby = ruby_get(vm);
	__u64 at, n_entries, n_index;

	if (!ruby)
		return -1;
	at = body + ruby_lines_at(ruby);
	n_entries = (__u32)copy_word(at + RUBY_LINES_COUNT);
	n_index = ruby_index_bytes((__u32)(copy_word(body) >> 32));
	if (n_entries > FUNCTION_RANGE_BYTES / 8 || n_index > FUNCTION_RANGE_BYTES ||
	    copy_range(which, copy_word(at), (__u32)n_entries * ruby_line_bytes(ruby)))
		return -1;
	return n_entries == 1 ? 0
			      : copy_range(which, copy_word(at + RUBY_LINES_INDEX), (__u32)n_index);
}

/* Copies an iseq with its label. Returns its body; 0 if it cannot be read. */
static __always_inline __u64 ruby_copy_body(__u32 which, __u32 vm, __u64 iseq)
{
	__u64 body = copy_word(iseq + RUBY_ISEQ_BODY);

	if (copy_range(which, iseq, RUBY_ISEQ_BYTES) || copy_range(which, body, RUBY_BODY_BYTES))
		return 0;
	(void)ruby_copy_string(which, vm, copy_word(body + RUBY_BODY_LABEL));
	return body;
}

/* Copies the iseqs around code that eval() compiled, which have the name of the method. */
WALK_FN int ruby_copy_around(__u32 which, __u32 vm, __u64 body)
{
	const struct ruby_vm *ruby = ruby_get(vm);

	if (!ruby)
		return -1;
	for (int i = 0; i < RUBY_COPIED_EVALS && body; i++) {
		if (!ruby_is_compiled(vm, copy_word(body + RUBY_BODY_LABEL)))
			break;
		body = ruby_copy_body(which, vm, copy_word(body + ruby_parent_at(ruby)));
	}
	return 0;
}

WALK_FN int ruby_copy_iseq(__u32 which, __u32 vm, __u64 iseq)
{
	__u64 body = ruby_copy_body(which, vm, iseq);

	if (!body)
		return WALK_OTHER;
	(void)ruby_copy_path(which, vm, copy_word(body + RUBY_BODY_PATH));
	(void)ruby_copy_around(which, vm, body);
	(void)ruby_copy_lines(which, vm, body);
	return WALK_CONTINUE;
}

/* Copies the array @at and its element @i. Returns the element. */
static __always_inline __u64 ruby_copy_element(__u32 which, __u64 at, __u64 i)
{
	__u64 data = at + RUBY_ARRAY_DATA;

	(void)copy_range(which, at, RUBY_ARRAY_BYTES);
	if (!(copy_word(at) & RUBY_EMBEDDED_ARRAY))
		data = copy_word(at + RUBY_ARRAY_DATA_AT);
	data += 8 * i;
	(void)copy_range(which, data, sizeof(data));
	return copy_word(data);
}

/* Copies the text of the symbol @id, which the table of symbols at @table leads to. */
WALK_FN int ruby_copy_symbol(__u32 which, __u32 vm, __u64 table, __u64 id)
{
	const struct ruby_vm *ruby = ruby_get(vm);
	__u64 serial, page;

	if (!ruby)
		return -1;
	serial = ruby_symbol_serial(ruby, id);
	(void)copy_range(which, table + RUBY_SYMBOLS_IDS, sizeof(table));
	page = ruby_copy_element(which, copy_word(table + RUBY_SYMBOLS_IDS),
				 serial / RUBY_SYMBOLS_A_PAGE);
	return ruby_copy_string(which, vm,
				ruby_copy_element(which, page, serial % RUBY_SYMBOLS_A_PAGE * 2));
}

WALK_FN int ruby_copy_cfunc(__u32 which, __u32 vm, __u64 method)
{
	struct walk *w = lang_walk_get(LANG_RUBY, which);
	const struct ruby_vm *ruby = ruby_get(vm);
	__u32 slot;
	__u64 name_at;

	if (!w || !ruby || copy_range(which, method, RUBY_METHOD_BYTES))
		return WALK_OTHER;
	slot = VM_FRAME_SLOT(w->function.words[0]) & (VM_SLOTS_MAX - 1);
	name_at = copy_word(method + RUBY_METHOD_DEF) + RUBY_DEF_NAME;
	(void)copy_range(which, name_at, sizeof(name_at));
	(void)ruby_copy_symbol(which, vm, w->process.vms[slot].bias + ruby->symbols,
			       copy_word(name_at));
	return WALK_CONTINUE;
}

WALK_FN int ruby_copy(__u32 which, __u32 vm, __u64 addr)
{
	__u64 at = addr & ~(__u64)RUBY_KIND_MASK;

	switch (addr & RUBY_KIND_MASK) {
	case RUBY_ISEQ:
		return ruby_copy_iseq(which, vm, at);
	case RUBY_CFUNC:
		return ruby_copy_cfunc(which, vm, at);
	}
	return WALK_STOP; /* garbage collection, which is named by its phase */
}
