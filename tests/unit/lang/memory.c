/* SPDX-License-Identifier: Apache-2.0 */
#include "memory.h"

#include <assert.h>
#include <string.h>

enum { OBJECT = 16, CODE_BYTES = 200, KIND_SHIFT = 2, COMPACT = 1 << 5, ASCII = 1 << 6 };

static int read_memory(void *ctx, uint64_t addr, void *dst, size_t len)
{
	const struct memory *m = ctx;
	uint64_t off = addr - MEMORY_AT;

	if (off > m->len || len > m->len - off)
		return -1;
	memcpy(dst, m->bytes + off, len);
	return 0;
}

void memory_init(struct memory *m, unsigned int minor)
{
	int r;

	memset(m, 0, sizeof(*m));
	m->tables.codes = m->codes;
	m->tables.python = m->python;
	m->codes[1].lang = LANG_PYTHON;
	r = python_offsets(&m->python[1], minor, 0, NULL, 0);
	assert(r == 0);
	m->process = (struct lang_process){ .pid = 7, .read = read_memory, .ctx = m };
}

uint64_t memory_add(struct memory *m, const void *data, size_t len)
{
	uint64_t at = m->len;

	assert(m->len + len + 8 <= sizeof(m->bytes));
	if (data)
		memcpy(m->bytes + at, data, len);
	m->len = (m->len + len + 7) & ~(size_t)7;
	return MEMORY_AT + at;
}

void *memory_at(struct memory *m, uint64_t addr)
{
	return m->bytes + (addr - MEMORY_AT);
}

void memory_put(struct memory *m, uint64_t addr, uint64_t word)
{
	memcpy(memory_at(m, addr), &word, sizeof(word));
}

/* Sets the type of @object to a new type with @name. */
static void put_type(struct memory *m, uint64_t object, const char *name)
{
	uint64_t type = memory_add(m, NULL, OBJECT + 16);

	memory_put(m, type + OBJECT + 8, memory_add(m, name, strlen(name) + 1));
	memory_put(m, object + OBJECT - 8, type);
}

uint64_t memory_string(struct memory *m, const void *text, size_t n, unsigned int width, bool ascii)
{
	uint64_t at = memory_add(m, NULL, ascii ? 48 : 72);

	memory_put(m, at + OBJECT, n);
	memory_put(m, at + OBJECT + 16,
		   (uint64_t)width << KIND_SHIFT | COMPACT | (ascii ? ASCII : 0));
	memory_add(m, text, n * width);
	memory_add(m, NULL, 8);
	return at;
}

uint64_t memory_code(struct memory *m, const char *name, uint32_t line, const void *lines,
		     size_t n_lines)
{
	const struct python_vm *py = &m->python[1];
	uint64_t at = memory_add(m, NULL, CODE_BYTES), table = memory_add(m, NULL, OBJECT + 16);

	memory_add(m, lines, n_lines);
	memory_put(m, table + OBJECT, n_lines);
	put_type(m, at, "code");
	memory_put(m, at + py->code_first_line, line);
	memory_put(m, at + py->code_lines, table);
	memory_put(m, at + py->code_qualname, memory_string(m, name, strlen(name), 1, true));
	memory_put(m, at + py->code_filename, memory_string(m, "memory.py", 9, 1, true));
	return at;
}

uint32_t memory_cookie(struct memory *m, uint64_t code)
{
	__u64 words[PYTHON_COOKIE_WORDS];

	memcpy(words, memory_at(m, python_cookie_at(&m->python[1], code)), sizeof(words));
	return lang_cookie(python_cookie_of(words));
}
